"""Programs that run inside the rivals' environments."""
