"""amct_onnx.common, as programs import it."""
