"""Every family of transformers, tiny, as PyTorch exports it: tools/transformers_families."""
