"""Operator projects in the layout of msopgen, from our own templates, filled in where an expression is
known.
"""
