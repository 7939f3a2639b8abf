"""Operators that onnxruntime contributes, as nodes of ONNX's, by what op_schemas give as `kernel`."""

from __future__ import annotations

from ascend_ep.bodies import attention, attention_grouped, attention_rotary, conv, matmul, norm
from ascend_ep.bodies.body import BODIES, Body

__all__ = ["BODIES", "Body", "attention", "attention_grouped", "attention_rotary", "conv", "matmul", "norm"]
