"""Lowering of reductions and TopK, against onnxruntime; 1e-5 relative where both sum in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lowered import check, run
from onnx.helper import make_node

from ascend_ep.compiler.lower.reduction import OPS
from ascend_ep.compiler.lowering import NodeView, Operand, Unsupported
from ascend_ep.opdef.dims import symbol

rng = np.random.default_rng(4)
X = np.abs(rng.standard_normal((2, 3, 4, 5))).astype(np.float32) + np.float32(0.1)


@pytest.mark.parametrize("op", [*OPS, "ReduceLogSumExp"])
@pytest.mark.parametrize("axes", [[1], [-1, 0], [1, 2], [0, 2], []])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduce(op: str, axes: list[int], keepdims: int) -> None:
    kernel = "logsumexp" if op == "ReduceLogSumExp" else "reduce"
    by_input = {"x": X, "a": np.array(axes, np.int64)}
    check(kernel, make_node(op, ["x", "a"], ["y"], keepdims=keepdims), by_input, 18, ["a"], 1e-5, 1e-6)
    check(kernel, make_node(op, ["x"], ["y"], keepdims=keepdims), {"x": X}, 18, (), 1e-5, 1e-6)
    given = {"axes": axes} if axes else {}
    opset = 11 if op == "ReduceSum" else 13
    check(kernel, make_node(op, ["x"], ["y"], keepdims=keepdims, **given), {"x": X}, opset, (), 1e-5, 1e-6)


@pytest.mark.parametrize("op", [*OPS, "ReduceLogSumExp"])
def test_reduce_of_no_axes(op: str) -> None:
    kernel = "logsumexp" if op == "ReduceLogSumExp" else "reduce"
    inputs = {"x": X, "a": np.zeros(0, np.int64)}
    check(kernel, make_node(op, ["x", "a"], ["y"], noop_with_empty_axes=1), inputs, 18, ["a"], 1e-5, 1e-6)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"])
def test_integer_reduce(op: str, dtype: type) -> None:
    x = {"x": rng.integers(-99, 99, (3, 4, 5)).astype(dtype)}
    if op == "ReduceMean" and dtype == np.int64:
        return  # onnxruntime has none
    check("reduce", make_node(op, ["x"], ["y"], keepdims=0), x, 18)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("attrs", [{}, {"axis": -1, "keepdims": 0}, {"axis": 1, "select_last_index": 1}])
def test_arg_reduce(op: str, attrs: dict[str, Any]) -> None:
    for x in (X, rng.integers(0, 3, (4, 5, 6)).astype(np.int32)):
        check(op.lower(), make_node(op, ["x"], ["y"], **attrs), {"x": x}, 13)


@pytest.mark.parametrize("attrs", [{}, {"axis": 1}, {"largest": 0, "axis": 0}])
def test_topk(attrs: dict[str, Any]) -> None:
    x = rng.integers(0, 9, (6, 7, 40)).astype(np.float32)
    k = np.array([5], np.int64)
    check("topk", make_node("TopK", ["x", "k"], ["v", "i"], **attrs), {"x": x, "k": k}, 13, ["k"])


def test_topk_of_which_one_output_is_wanted() -> None:
    x = np.array([[3, 1, 2]], np.float32)
    outputs = [Operand("v", 1, (1, 2)), Operand("i", 7, (1, 2))]
    for wanted in range(2):
        outs = [o if i == wanted else None for i, o in enumerate(outputs)]
        node = NodeView(
            "TopK", [Operand("x", 1, (1, 3)), Operand("k", 7, (1,), np.array([2]))], outs, version=13
        )
        got = run("topk", node, {"x": x})
        np.testing.assert_array_equal(got[wanted], [[[3, 2]], [[0, 2]]][wanted])
        assert got[1 - wanted] is None


def test_topk_of_a_symbolic_count() -> None:
    k = symbol("K")
    x = rng.standard_normal((3, 50)).astype(np.float32)
    node = NodeView(
        "TopK",
        [Operand("x", 1, (3, 50)), Operand("k", 7, (1,), None, (k,))],
        [Operand("v", 1, (3, k)), Operand("i", 7, (3, k))],
        version=13,
    )
    values, indices = run("topk", node, {"x": x}, {"K": 4})
    np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :4])
    np.testing.assert_array_equal(indices, np.argsort(-x, 1)[:, :4])


def test_refusals_give_the_reason() -> None:
    node = NodeView("ReduceSum", [Operand("x", 13, (2, 3))], [Operand("y", 13, (1, 1))], version=18)
    with pytest.raises(Unsupported, match="no kernel 'reduce' takes"):
        run("reduce", node, {"x": np.zeros((2, 3))})
