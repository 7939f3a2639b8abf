"""Ascend C kernels of others, compiled, run and compared; see __main__."""
