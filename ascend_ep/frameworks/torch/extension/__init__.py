"""An operator as a C++ extension of PyTorch: what `ascend-op gen -f pytorch` writes."""
