"""ONNX's own test-suite through ascend_ep.backend; see __main__."""
