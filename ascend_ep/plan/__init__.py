"""What a bundle holds: values and kernel calls, what builds them, and their bytes."""
