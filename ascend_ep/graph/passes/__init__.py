"""Passes over the graph, and the order in which the compiler runs them (pipeline.py)."""
