"""Which element type every node computes in, and what that costs."""
