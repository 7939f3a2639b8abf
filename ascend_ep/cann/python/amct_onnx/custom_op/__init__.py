"""The operators of models that quantize_model writes; libamct_onnx_ops.so is here."""
