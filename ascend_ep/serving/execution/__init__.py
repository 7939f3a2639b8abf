"""How requests run: jobs, and the schedulers that a version can have (direct, batched)."""
