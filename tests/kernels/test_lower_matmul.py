"""MatMul, Gemm and LinearAddGelu lowered to the matmul kernel, against onnxruntime or float64."""

from __future__ import annotations

from math import erf, pi, sqrt

import numpy as np
import onnx
import pytest
from lowered import check, run, view_of

from ascend_ep.compiler.lowering import Unsupported
from ascend_ep.opdef.dims import symbol

RNG = np.random.default_rng(0)
NEAR = {"rtol": 1e-5, "atol": 1e-5}  # both sides sum at most 40 products of unit size, in different orders


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("known", [(), ("b",)])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 5), (5, 40)), ((2, 3, 5), (5, 4)), ((2, 1, 3, 5), (4, 5, 6)), ((5,), (5, 4)), ((2, 3, 5), (5,))],
)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], known: tuple[str, ...]) -> None:
    node = onnx.helper.make_node("MatMul", ["a", "b"], ["y"])
    check("matmul", node, {"a": normal(*left), "b": normal(*right)}, 13, known=known, **NEAR)


@pytest.mark.parametrize("known", [(), ("b", "c")])
@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("c", [None, (), (1,), (20,), (7, 1), (1, 20), (7, 20)])
def test_gemm(transposed: tuple[int, int], c: tuple[int, ...] | None, known: tuple[str, ...]) -> None:
    a, b = normal(7, 40), normal(40, 20)
    inputs = {"a": a.T.copy() if transposed[0] else a, "b": b.T.copy() if transposed[1] else b}
    if c is not None:
        inputs["c"] = normal(*c)
    node = onnx.helper.make_node(
        "Gemm", list(inputs), ["y"], alpha=0.5, beta=1.5, transA=transposed[0], transB=transposed[1]
    )
    check("gemm", node, inputs, 13, known=known, **NEAR)


def test_symbolic_batch() -> None:
    inputs = {"a": normal(6, 5), "b": normal(5, 9)}
    node = onnx.helper.make_node("MatMul", ["a", "b"], ["y"])
    batch = symbol("N")
    view = view_of(node, inputs, {"y": (1, [batch, 9])}, 13, known=["b"], dims={"a": [batch, 5]})
    (y,) = run("matmul", view, inputs, {"N": 6})
    np.testing.assert_allclose(y, inputs["a"] @ inputs["b"], **NEAR)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("names", [["x", "w"], ["x", "w", "b"], ["x", "w", "b", "r"], ["x", "w", "", "r"]])
def test_linear_add_gelu(names: list[str], approximate: str) -> None:
    every = {"x": normal(2, 3, 40), "w": normal(40, 33), "b": normal(33), "r": normal(2, 3, 33)}
    inputs = {n: every[n] for n in names if n}
    node = onnx.helper.make_node("LinearAddGelu", names, ["y"], approximate=approximate)
    view = view_of(node, inputs, {"y": (1, (2, 3, 33))}, 1, known=["w"])
    (y,) = run("linear_add_gelu", view, inputs)
    x = every["x"].astype(np.float64) @ every["w"]
    x += sum(every[n] for n in names[2:] if n)
    if approximate == "none":
        expect = x / 2 * (1 + np.vectorize(erf)(x / sqrt(2)))
    else:
        expect = x / 2 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(y, expect, **NEAR)


def test_other_types_go_to_the_host() -> None:
    node = onnx.helper.make_node("MatMul", ["a", "b"], ["y"])
    inputs = {"a": np.ones((2, 2), np.int8), "b": np.ones((2, 2), np.int8)}
    with pytest.raises(Unsupported, match="float32"):
        run("matmul", view_of(node, inputs, {"y": (3, (2, 2))}, 13), inputs)
