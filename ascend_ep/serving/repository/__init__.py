"""Models: where they lie, which versions are wanted, how one is loaded and taken away."""
