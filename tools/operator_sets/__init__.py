"""Operators in the forms of all their versions, converted, beside onnxruntime; see __main__."""
