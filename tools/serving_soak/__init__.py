"""A long run of ascend-serve under mixed, partly hostile traffic, every answer checked."""
