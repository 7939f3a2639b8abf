"""Formulas lowered and run against their float64 reference: built-in definitions, and inventions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_call import DTYPES
from lowered import run

from ascend_ep.compiler.lower import lowering
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, lower_node
from ascend_ep.opdef.definition import Attribute, Formula, OpDef, TensorSpec
from ascend_ep.opdef.dims import symbol
from ascend_ep.opdef.reference import evaluate

RNG = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * 2).astype(np.float32)


def view_of(
    opdef: OpDef,
    inputs: list[np.ndarray | None],
    shapes: list[tuple[Any, ...]],
    attributes: Mapping[str, Any] | None = None,
    dtype: int = 1,
) -> NodeView:
    ins = [None if a is None else Operand(f"i{k}", DTYPES[a.dtype], a.shape) for k, a in enumerate(inputs)]
    outs = [Operand(f"o{k}", dtype, shape) for k, shape in enumerate(shapes)]
    return NodeView(opdef.op, ins, outs, dict(attributes or {}), name="n", opdef=opdef)


def check(
    opdef: OpDef,
    inputs: list[np.ndarray | None],
    attributes: Mapping[str, Any] | None = None,
    rtol: float = 3e-6,
) -> None:
    want = evaluate(opdef, inputs, attributes)
    view = view_of(opdef, inputs, [w.shape for w in want], attributes)
    feeds = {f"i{k}": a for k, a in enumerate(inputs) if a is not None}
    for got, exact in zip(run("formula", view, feeds), want, strict=True):
        assert got is not None
        np.testing.assert_allclose(got, exact, rtol=rtol, atol=1e-6)


def invented(text: str, *inputs: str, outputs: str = "y", **attributes: float) -> OpDef:
    return OpDef(
        "Invented",
        inputs=tuple(TensorSpec(name) for name in inputs),
        outputs=tuple(TensorSpec(name) for name in outputs.split()),
        attributes=tuple(Attribute(n, "float", v) for n, v in attributes.items()),
        semantics=Formula(text),
    )


ELEMENTWISE = [
    "x^2 - 3*x + 1/(1 + abs(x))",
    "atan2(x, 1 + x*x) + log2(1 + x^2) + log10(2 + abs(x))",
    "x // 1.5 + x % 1.5",
    "1 if isnan(x) or isinf(x) else sin(x)^3",
    "min(max(x, -1), 1, x/2)",
    "where(x > 0 and not x > 1, x, -x)",
    "float16(x) + bfloat16(x/3)",
    "exp(-x^2/2)/sqrt(2*pi)",
    "x*index(x, axis=0) + index(x)/size(x)",
    "(x > 0) + (x > 1)",
]
REDUCING = [
    "softmax(x)",
    "softmax(x, axis=0)",
    "(x - mean(x))/sqrt(var(x) + 1e-5)",
    "x/max(abs(x), axis=[0, 1])",
    "x - sum(x*x, axis=0)*mean(exp(x))",
    "sum(x, axis=-1, keepdims=false)",
    "min(x) + prod(x/2)",
    "var(x, axis=[0, 1])",
]


@pytest.mark.parametrize("text", [*ELEMENTWISE, *REDUCING])
def test_inventions(text: str) -> None:
    check(invented(text, "x"), [floats(7, 19)], rtol=2e-5)


def test_broadcast_inputs_attributes_and_several_outputs() -> None:
    opdef = invented(
        "t = exp(a*x)\ny = t + row\nz = mean(t)*column", "x", "row", "column", outputs="y z", a=0.5
    )
    check(opdef, [floats(6, 9), floats(9), floats(6, 1)])
    check(opdef, [floats(6, 9), floats(9), floats(6, 1)], {"a": -0.25})


def test_double_and_integer_inputs_compute_in_double() -> None:
    x = RNG.standard_normal((4, 9))
    opdef = invented("exp(x)*x", "x")
    (want,) = evaluate(opdef, [x])
    (got,) = run("formula", view_of(opdef, [x], [x.shape], dtype=11), {"i0": x})
    assert got is not None
    np.testing.assert_allclose(got, want, rtol=1e-14)
    big = np.array([2**40 + 1, -(2**33)], np.int64)
    (got,) = run("formula", view_of(invented("x + 1", "x"), [big], [big.shape], dtype=7), {"i0": big})
    np.testing.assert_array_equal(got, big + 1)


def test_half_inputs_round_once_at_the_end() -> None:
    x = floats(4, 50).astype(np.float16)
    opdef = invented("x*sigmoid(x) + x*x*x", "x")
    (want,) = evaluate(opdef, [x])
    (got,) = run("formula", view_of(opdef, [x], [x.shape], dtype=10), {"i0": x})
    assert got is not None
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2.0**-10 * 0.51, atol=1e-7)


def test_symbolic_dims() -> None:
    n = symbol("N")
    opdef = invented("x*index(x, axis=0) - mean(x, axis=0)/size(x, axis=0)", "x")
    x = floats(11, 6)
    view = view_of(opdef, [x], [(n, 6)])
    view = replace(view, inputs=[Operand("i0", 1, (n, 6))])
    (got,) = run("formula", view, {"i0": x}, bindings={"N": 11})
    np.testing.assert_allclose(got, evaluate(opdef, [x])[0], rtol=1e-5, atol=1e-6)


def test_one_program_without_reductions() -> None:
    opdef = invented("t = x*x\ny = 0.5*t*(1 + erf(t/sqrt(2)))", "x")
    b = PlanBuilder()
    view = view_of(opdef, [floats(3)], [(3,)])
    assert view.inputs[0] is not None
    b.input(view.inputs[0])
    function = lowering("formula")
    assert function is not None
    lower_node(view, function, b)
    assert [insn.kernel for insn in b.insns] == ["elementwise"]


def test_float64_has_reductions() -> None:
    x = np.array([[1.0, 2.0, 1e10], [3.0, 3.0, 3.0 + 1e-12]])
    (y,) = run("formula", view_of(invented("x - mean(x)", "x"), [x], [x.shape], dtype=11), {"i0": x})
    np.testing.assert_allclose(y, x - x.mean(1, keepdims=True), rtol=1e-3)  # float32 has no such differences
