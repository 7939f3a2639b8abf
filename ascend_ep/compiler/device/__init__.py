"""Files and facts of the real device: its chips and their limits, its model definitions, single operators."""
