"""Operators of the user's in a model: the code that runs them, its shapes, its proof."""
