"""Mistakes planted in Ascend C kernels."""
