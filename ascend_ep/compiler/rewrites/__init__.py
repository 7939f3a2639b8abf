"""Rewrites of a native partition's instructions: fusion into epilogues, layouts, narrow weights."""
