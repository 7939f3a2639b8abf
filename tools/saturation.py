"""Whether onnxruntime is a reference for products of uint8 with int8.

Its kernels for CPUs without VNNI add two products in 16 bits, and what doesn't fit saturates.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray


@cache
def saturates() -> bool:
    """On this CPU."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        product (uint8[1, 2] a, int8[2, 1] b) => (int32[1, 1] y) { y = MatMulInteger(a, b) }""")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    a, b = np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)
    return int(session.run(None, {"a": a, "b": b})[0].item()) != 2 * 255 * 127


def unsaturated(b: NDArray[Any]) -> NDArray[Any]:
    """The same array; int8 of 7 bits where products with 8 would saturate."""
    return b >> 1 if b.dtype == np.int8 and saturates() else b
