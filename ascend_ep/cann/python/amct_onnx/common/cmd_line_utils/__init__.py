"""What scripts of --evaluator import."""
