"""Files and facts of CANN: its chips, its model definitions, its single operators."""
