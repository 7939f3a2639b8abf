"""Every elementwise ONNX operator, lowered and run here, against onnxruntime on a model of that one node."""

from __future__ import annotations

from dataclasses import replace
from math import erf
from typing import Any

import numpy as np
import pytest
from kernel_call import DTYPES
from lowered import reference, run, view_of
from onnx import TensorProto, helper

from ascend_ep.compiler.lower.elementwise import power
from ascend_ep.compiler.lowering import NodeView, Unsupported
from ascend_ep.opdef.definition import Formula, Kernel
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.tile_program import TileProgram

REGISTRY = Registry.from_options()
RNG = np.random.default_rng(7)


def resolved(view: NodeView) -> tuple[str, NodeView]:
    """The name of the node's lowering and the node with its definition, as the converter has them."""
    found = REGISTRY.resolve(view.domain, view.op_type, view.version)
    assert found is not None, f"{view.op_type} has no definition"
    semantics = found.opdef.semantics
    assert isinstance(semantics, Kernel | Formula)
    return (
        semantics.name if isinstance(semantics, Kernel) else "formula",
        replace(view, opdef=found.opdef),
    )


def lower_and_run(
    op: str,
    inputs: list[np.ndarray | None],
    opset: int = 21,
    known: tuple[int, ...] = (),
    want: list[np.ndarray] | None = None,
    **attributes: Any,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(ours, onnxruntime's) outputs; `want` stands in for onnxruntime where it lacks the operator."""
    names = [f"i{k}" if a is not None else "" for k, a in enumerate(inputs)]
    feeds = {n: a for n, a in zip(names, inputs, strict=True) if a is not None}
    n_outputs = len(want) if want else 1
    node = helper.make_node(op, names, [f"o{k}" for k in range(n_outputs)], **attributes)
    if want is None:
        want = list(reference(node, feeds, opset).values())
    outputs = {f"o{k}": (DTYPES[a.dtype], a.shape) for k, a in enumerate(want)}
    kernel, view = resolved(view_of(node, feeds, outputs, opset, [names[k] for k in known]))
    got = run(kernel, view, feeds)
    assert all(g is not None for g in got)
    return [g for g in got if g is not None], want


def check(*args: Any, rtol: float = 0.0, atol: float = 0.0, **kwargs: Any) -> None:
    for got, want in zip(*lower_and_run(*args, **kwargs), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def floats(shape: tuple[int, ...] = (3, 5, 7), scale: float = 3.0) -> np.ndarray:
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


UNARY = [
    "Exp",
    "Sin",
    "Cos",
    "Tan",
    "Sinh",
    "Cosh",
    "Asinh",
    "Atan",
    "Tanh",
    "Erf",
    "Sigmoid",
    "Floor",
    "Ceil",
    "Round",
    "Abs",
    "Neg",
    "Sign",
    "Relu",
    "Reciprocal",
    "LeakyRelu",
    "Elu",
    "Selu",
    "Celu",
    "ThresholdedRelu",
    "Softplus",
    "Softsign",
    "HardSigmoid",
    "HardSwish",
    "Gelu",
    "Mish",
]


@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_float(op: str) -> None:
    check(op, [floats()], opset=22 if op == "Round" else 20, rtol=2e-6, atol=3e-7)


@pytest.mark.parametrize(
    ("op", "low", "high"),
    [("Log", 0, 9), ("Sqrt", 0, 9), ("Asin", -1, 1), ("Acos", -1, 1), ("Acosh", 1, 9), ("Atanh", -1, 1)],
)
def test_functions_with_a_domain(op: str, low: float, high: float) -> None:
    x = RNG.uniform(low, high, 97).astype(np.float32)
    check(op, [x], rtol=2e-6, atol=3e-7)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("LeakyRelu", {"alpha": 0.3}),
        ("Elu", {"alpha": 2.5}),
        ("Selu", {"alpha": 1.5, "gamma": 1.1}),
        ("Celu", {"alpha": 0.7}),
        ("ThresholdedRelu", {"alpha": 0.25}),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.1}),
        ("Gelu", {"approximate": "tanh"}),
    ],
)
def test_attributes_count(op: str, attributes: dict[str, Any]) -> None:
    check(op, [floats()], opset=20, rtol=2e-6, atol=5e-7, **attributes)


def test_swish_of_opset_24() -> None:
    x = floats()
    check("Swish", [x], opset=24, want=[x / (1 + np.exp(-1.5 * x))], rtol=1e-6, atol=1e-7, alpha=1.5)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_arithmetic_broadcasts(op: str, dtype: Any) -> None:
    a = RNG.integers(-50, 50, (2, 3, 1, 5)).astype(dtype)
    b = RNG.integers(1, 9, (4, 1)).astype(dtype)
    check(op, [a, b])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_small_integers_wrap(op: str, dtype: Any) -> None:
    a, b = (RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 70).astype(dtype) for _ in range(2))
    want = {"Add": a + b, "Sub": a - b, "Mul": a * b}[op]
    check(op, [a, b], want=[want])


def test_uint64_order() -> None:
    a = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    b = np.array([1, 1, 1, 2**63], np.uint64)
    check("Max", [a, b], want=[np.maximum(a, b)])
    check("Less", [a, b], want=[a < b])
    check("Cast", [a], want=[a.astype(np.float32)], to=1)


@pytest.mark.parametrize("op", ["Min", "Max", "Sum", "Mean"])
def test_variadic(op: str) -> None:
    check(op, [floats((3, 1)), floats((1, 4)), floats((4,))], rtol=1e-6, atol=1e-6)
    check(op, [floats((3, 4))])


@pytest.mark.parametrize("op", ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_comparisons(op: str, dtype: Any) -> None:
    a, b = RNG.integers(-3, 3, (2, 40)).astype(dtype)
    check(op, [a, b], opset=19)


@pytest.mark.parametrize("op", ["And", "Or", "Xor", "Equal"])
def test_logic(op: str) -> None:
    a, b = RNG.integers(0, 2, (2, 40)).astype(bool)
    check(op, [a, b], opset=19)
    check("Not", [a])


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.uint32, np.uint64])
def test_bits(dtype: Any) -> None:
    top = np.iinfo(dtype).max
    a, b = (RNG.integers(0, top, 50, dtype=dtype) for _ in range(2))
    check("BitwiseAnd", [a, b], want=[a & b])
    check("BitwiseOr", [a, b], want=[a | b])
    check("BitwiseXor", [a, b], want=[a ^ b])
    check("BitwiseNot", [a], want=[~a])
    if np.iinfo(dtype).min == 0:
        n = (b % (8 * a.itemsize)).astype(dtype)
        check("BitShift", [a, n], want=[a >> n], direction="RIGHT")
        check("BitShift", [a, n], want=[a << n], direction="LEFT")


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_shifts_of_signed_numbers(dtype: Any) -> None:
    """Also by all bits and more, and by negative numbers: then the sign is all that is left."""
    low, high, bits = np.iinfo(dtype).min, np.iinfo(dtype).max, 8 * np.dtype(dtype).itemsize
    a = np.array([low, low + 1, -5, -1, 0, 1, 5, high], dtype)[:, None]
    n = np.array([0, 1, 2, bits - 1, bits, bits + 1, 100, -1, low], dtype)
    inside = (n >= 0) & (n < bits)
    some = np.where(inside, n, 0)
    right = np.where(inside, a >> some, np.where(a < 0, -1, 0)).astype(dtype)
    check("BitShift", [a, n], want=[right], direction="RIGHT", opset=28)
    check("BitShift", [a, n], want=[np.where(inside, a << some, 0).astype(dtype)], direction="LEFT", opset=28)


def test_pow() -> None:
    x = np.abs(floats()) + 0.1
    for exponent in (2.0, 3.0, 0.5, -1.5):
        y = np.array(exponent, np.float32)
        check("Pow", [x, y], rtol=2e-6)
        check("Pow", [x, y], known=(1,), rtol=2e-6)
    check("Pow", [np.arange(-4, 5), np.array(3, np.int64)])
    check("Pow", [x, np.array(2, np.int64)], rtol=2e-6)
    check("Pow", [np.arange(1, 5, dtype=np.int32), np.array(1.5, np.float32)])


def test_squares_are_products() -> None:
    for exponent in (TensorProto.FLOAT, TensorProto.INT64):
        program: TileProgram[str] = TileProgram()
        x = program.input("x", TensorProto.FLOAT)
        two = program.cast(program.const(2, exponent), TensorProto.FLOAT)
        assert power(program, x, two) is x * x


def test_mod() -> None:
    a = RNG.integers(-50, 50, 60)
    b = RNG.integers(1, 9, 60) * RNG.choice([-1, 1], 60)
    check("Mod", [a, b])
    check("Mod", [a, b], fmod=1)
    check("Mod", [a.astype(np.float32), b.astype(np.float32)], fmod=1)


def test_clip() -> None:
    x = floats()
    low, high = np.array(-1, np.float32), np.array(0.5, np.float32)
    check("Clip", [x, low, high])
    check("Clip", [x, low, high], known=(1, 2))
    check("Clip", [x, None, high])
    check("Clip", [x, low])
    check("Clip", [x], opset=6, min=-0.5, max=1.5)
    check("Clip", [np.arange(9), np.array(2), np.array(5)], opset=13)


def test_where_prelu_isnan_isinf() -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf, -2.0], np.float32)
    check("Where", [x > 0, x, np.float32([7.0])])
    check("Where", [x > 0, np.arange(5), np.array(7)])
    check("PRelu", [floats(), floats((5, 1))])
    check("IsNaN", [x])
    check("IsInf", [x])
    check("IsInf", [x], detect_negative=0)
    check("IsInf", [x], detect_positive=0)


NUMBERS = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64]


@pytest.mark.parametrize("source", [*NUMBERS, np.uint32, np.uint64, np.bool_])
@pytest.mark.parametrize("target", [*NUMBERS, np.uint32, np.uint64, np.bool_])
def test_cast(source: Any, target: Any) -> None:
    low = 0 if np.dtype(source).kind in "ub" or np.dtype(target).kind == "u" else -100
    x = RNG.integers(low, 100, 41).astype(source)
    if np.dtype(source).kind == "f":
        x = (x + source(0.5)).astype(source)
    check("Cast", [x], to=DTYPES[np.dtype(target)])


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**63 - 1])
def test_constants_of_uint64(number: int) -> None:
    """As PyTorch's exporter has them for arithmetic shifts."""
    x, c = np.array([0, 1, 5, 2**63, 2**64 - 2], np.uint64), np.array(number, np.uint64)
    check("BitwiseOr", [x, c], want=[x | c], opset=18, known=(1,))
    check("Max", [x, c], known=(1,))
    check("Greater", [x, c], known=(1,))
    check("Where", [x > 1, x, c], want=[np.where(x > 1, x, c)], known=(2,))


def test_cast_rounds_half_to_even_and_keeps_nan() -> None:
    bits = RNG.integers(0, 2**32, 4000, dtype=np.uint32)
    x = bits.view(np.float32)
    with np.errstate(over="ignore"):
        got, want = lower_and_run("Cast", [x], to=10, want=[x.astype(np.float16)])
    np.testing.assert_array_equal(got[0], want[0])


def test_cast_like_and_dropout() -> None:
    x = floats()
    check("CastLike", [x, np.zeros(1, np.int32)], want=[x.astype(np.int32)])
    check("Dropout", [x], want=[x, np.ones(x.shape, bool)])
    with pytest.raises(Unsupported, match="training"):
        lower_and_run("Dropout", [x, np.array(0.5, np.float32), np.array(True)], want=[x], known=(1, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int32, np.int64])
def test_range(dtype: Any) -> None:
    arguments = [np.array(v, dtype) for v in (3, 40, 4)]
    check("Range", arguments, known=(0, 1, 2))
    check("Range", arguments)


def test_shape_and_size() -> None:
    x = floats((3, 4))
    node = helper.make_node("Shape", ["x"], ["y"])
    view = view_of(node, {"x": x}, {"y": (7, (2,))}, 21)
    target = replace(view.outputs[0], shape_value=(3, 4))  # type: ignore[type-var]
    (got,) = run("shape", replace(view, outputs=[target]), {"x": x})
    np.testing.assert_array_equal(got, [3, 4])


def test_refusals_say_why() -> None:
    x = np.array([1 + 2j], np.complex64)
    DTYPES.setdefault(x.dtype, 14)
    try:
        with pytest.raises(Unsupported, match="arithmetic on complex64"):
            lower_and_run("Add", [x, x], want=[x + x])
    finally:
        del DTYPES[x.dtype]
    u = np.ones(3, np.uint64)
    with pytest.raises(Unsupported, match="pow of uint64"):
        lower_and_run("Pow", [u, u], want=[u])


@pytest.mark.parametrize("op", ["Add", "Mul", "Relu", "Gelu", "Sigmoid"])
@pytest.mark.parametrize("dtype", [np.float16, "bfloat16"])
def test_half_floats_round_once(op: str, dtype: Any) -> None:
    kind = np.dtype(np.float16) if dtype == np.float16 else next(d for d in DTYPES if d.name == "bfloat16")
    x, y = floats((2, 50)).astype(kind)
    wide = [v.astype(np.float64) for v in (x, y)]
    exact = {
        "Add": wide[0] + wide[1],
        "Mul": wide[0] * wide[1],
        "Relu": np.maximum(wide[0], 0),
        "Gelu": 0.5 * wide[0] * (1 + np.vectorize(erf)(wide[0] / 2**0.5)),
        "Sigmoid": 1 / (1 + np.exp(-wide[0])),
    }[op]
    inputs: list[np.ndarray | None] = [x, y] if op in ("Add", "Mul") else [x]
    (got,), _ = lower_and_run(op, inputs, opset=20, want=[exact.astype(kind)])
    near = np.float32(2.0**-10 if dtype == np.float16 else 2.0**-7)  # one unit: float32 may sit on a tie
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=float(near) * 0.51, atol=1e-6)
