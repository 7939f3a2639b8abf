"""Kernels from formulas: built, proven, measured and installed; as Ascend C; as projects of msopgen."""
