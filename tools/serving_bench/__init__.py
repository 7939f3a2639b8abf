"""Requests per second and latency of ascend-serve beside other servers of the same models."""
