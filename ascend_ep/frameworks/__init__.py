"""Operator definitions in other frameworks."""
