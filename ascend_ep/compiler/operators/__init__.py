"""Operators that are built: measured, installed, or a library of the user's."""
