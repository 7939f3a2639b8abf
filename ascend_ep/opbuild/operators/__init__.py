"""Operators as they are built: expected, measured, and written with their proof."""
