"""Small ONNX models for the tests of the converter and the runtime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BFLOAT16 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BFLOAT16
WEIGHT = np.random.default_rng(7).standard_normal((16, 8)).astype(np.float32)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[tuple[str, int, Sequence[int | str | None] | None]],
    outputs: Sequence[tuple[str, int, Sequence[int | str | None] | None]],
    weights: dict[str, np.ndarray] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    """A model with the custom domain `my`."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="tests")


def projection() -> onnx.ModelProto:
    """y = (x @ W)^T for x of [N, 16]: wholly native."""
    return model(
        [
            helper.make_node("MatMul", ["x", "W"], ["m"], "mm"),
            helper.make_node("Transpose", ["m"], ["y"], "flip", perm=[1, 0]),
        ],
        [("x", FLOAT, ["N", 16])],
        [("y", FLOAT, [8, "N"])],
        {"W": WEIGHT},
    )


def swish() -> onnx.ModelProto:
    """y = x * sigmoid(1.5 x), a custom operator."""
    return model(
        [helper.make_node("Swish", ["x"], ["y"], "sw", domain="my", beta=1.5)],
        [("x", FLOAT, ["N", 16])],
        [("y", FLOAT, ["N", 16])],
    )


def mixed() -> onnx.ModelProto:
    """Native, host (NonZero: its size depends on the data), native; an input and a constant as outputs."""
    return model(
        [
            helper.make_node("MatMul", ["x", "W"], ["m"], "mm"),
            helper.make_node("NonZero", ["m"], ["nz"], "nz"),
            helper.make_node("Transpose", ["nz"], ["nzt"], "flip", perm=[1, 0]),
            helper.make_node("Concat", ["nzt", "nzt"], ["y"], "twice", axis=1),
            helper.make_node("Shape", ["y"], ["size"], "size"),
        ],
        [("x", FLOAT, ["N", 16])],
        [("y", INT64, None), ("x", FLOAT, ["N", 16]), ("W", FLOAT, [16, 8]), ("size", INT64, [2])],
        {"W": WEIGHT},
    )


def unknown() -> onnx.ModelProto:
    """Two operators that nobody defines."""
    return model(
        [
            helper.make_node("Foo", ["x"], ["a"], "foo", domain="my", alpha=0.5),
            helper.make_node("Swsh", ["a"], ["y"], "sw", domain="my"),
        ],
        [("x", FLOAT, ["N"])],
        [("y", FLOAT, None)],
    )


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Inputs of `projection`."""
    return np.random.default_rng(seed).standard_normal((n, 16)).astype(np.float32)


def assert_projected(result: np.ndarray, x: np.ndarray) -> None:
    """Whether it is what `projection` makes of x."""
    # 16 products of magnitude ~1 in float32
    np.testing.assert_allclose(result, (x.astype(np.float64) @ WEIGHT).T, rtol=0, atol=16 * 4 * 6e-8 * 3)
