"""AMCT's interface over the quantiser: its configuration files, its steps, and what it writes."""
