"""Ascend C sources of anybody as operators: compiled, run, proven and built."""
