"""The float64 references against PyTorch and closed forms; programs specialized for a node against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import Formula, Kernel, OpDef
from ascend_ep.opdef.elementwise import round_to
from ascend_ep.opdef.expression import AttributeRef, Given
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate, evaluate_program
from ascend_ep.opdef.registry import Registry
from ascend_ep.opdef.specialize import specialize

REGISTRY = Registry()
RANDOM = np.random.default_rng(7)
X = np.concatenate([RANDOM.normal(0, 3, (5, 8)), [[0.0, -0.0, 80.0, -80.0, 800.0, -800.0, 1e-30, -1e-30]]])


def builtin(op: str) -> OpDef:
    found = REGISTRY.resolve("any", op, 1)
    assert found is not None
    return found.opdef


def formula(text: str, **more: object) -> OpDef:
    entry = {"op": "A", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "formula": text, **more}
    return parse_definitions(json.dumps(entry))[0]


def torch64(function: Callable[..., torch.Tensor], *arrays: np.ndarray, **options: Any) -> np.ndarray:
    return function(*map(torch.from_numpy, arrays), **options).numpy()


ACTIVATIONS: dict[str, Callable[..., torch.Tensor]] = {
    "Swish": F.silu,
    "SiLU": F.silu,
    "Mish": F.mish,
    "HardSwish": F.hardswish,
    "ReLU6": F.relu6,
    "Gelu": F.gelu,
    "LogSigmoid": F.logsigmoid,
    "GELUCustom": lambda x: F.gelu(x, approximate="tanh"),
    "FastGelu": lambda x: F.gelu(x, approximate="tanh"),
    "QuickGelu": lambda x: x * torch.sigmoid(1.702 * x),
    "SquaredReLU": lambda x: torch.relu(x) ** 2,
}


@pytest.mark.parametrize("op", ACTIVATIONS)
def test_activations(op: str) -> None:
    (y,) = evaluate(builtin(op), [X])
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, torch64(ACTIVATIONS[op], X), rtol=1e-12, atol=1e-15)


def test_activations_with_attributes_and_inputs() -> None:
    b = RANDOM.normal(size=8)
    np.testing.assert_allclose(
        evaluate(builtin("Swish"), [X], {"scale": 2})[0], X * torch64(torch.sigmoid, 2 * X)
    )
    tanh = torch64(F.gelu, X, approximate="tanh")
    np.testing.assert_allclose(evaluate(builtin("Gelu"), [X], {"approximate": "tanh"})[0], tanh, atol=1e-15)
    np.testing.assert_allclose(evaluate(builtin("FastGelu"), [X, b]), evaluate(builtin("FastGelu"), [X + b]))
    np.testing.assert_allclose(evaluate(builtin("BiasGelu"), [X, b])[0], torch64(F.gelu, X + b), atol=1e-15)
    np.testing.assert_allclose(evaluate(builtin("PReLU"), [X, b])[0], np.where(X > 0, X, b * X))
    up = RANDOM.normal(size=X.shape)
    np.testing.assert_allclose(evaluate(builtin("GEGLU"), [X, up])[0], torch64(F.gelu, X) * up, atol=1e-15)
    np.testing.assert_allclose(evaluate(builtin("ReGLU"), [X, up])[0], np.maximum(X, 0) * up)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity(value: float) -> None:
    for op in ("Swish", "Mish", "Gelu", "ReLU6", "PReLU"):
        inputs = [np.array([value]), np.array([0.5])][: 2 if op == "PReLU" else 1]
        (y,) = evaluate(builtin(op), inputs)
        expected = 6.0 if (op, value) == ("ReLU6", np.inf) else value
        np.testing.assert_equal(y, [expected], err_msg=op)


def test_norms() -> None:
    x, weight, bias = RANDOM.normal(size=(3, 4, 6)), RANDOM.normal(size=6), RANDOM.normal(size=6)
    expected = torch64(lambda t, w: F.rms_norm(t, (6,), w, 1e-5), x, weight)
    np.testing.assert_allclose(evaluate(builtin("RMSNorm"), [x, weight])[0], expected)
    whole = torch64(lambda t: F.rms_norm(t, (4, 6), None, 1e-6), x)
    np.testing.assert_allclose(evaluate(builtin("RMSNorm"), [x], {"axis": 1, "epsilon": 1e-6})[0], whole)
    normed = torch64(lambda t, w, b: F.gelu(F.layer_norm(t, (6,), w, b)), x, weight, bias)
    np.testing.assert_allclose(evaluate(builtin("LayerNormGelu"), [x, weight, bias])[0], normed, atol=1e-14)


def test_swiglu() -> None:
    gate, up = RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(3, 5))
    expected = torch64(F.silu, gate) * up
    np.testing.assert_allclose(evaluate(builtin("SwiGLU"), [gate, up])[0], expected)
    np.testing.assert_allclose(evaluate(builtin("SwiGLU"), [np.concatenate([gate, up], 1)])[0], expected)
    with pytest.raises(AscendError, match=r"E42005.*broadcast"):
        evaluate(builtin("SwiGLU"), [gate])


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rope_is_a_rotation_in_the_complex_plane(interleaved: int) -> None:
    batch, heads, length, width, positions = 2, 3, 5, 8, 11
    x = RANDOM.normal(size=(batch, heads, length, width))
    ids = RANDOM.integers(0, positions, (batch, length))
    angle = RANDOM.normal(size=(positions, width // 2))
    pairs = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, 4), slice(4, None))
    z = (x[..., pairs[0]] + 1j * x[..., pairs[1]]) * np.exp(1j * angle[ids])[:, None]
    expected = np.empty_like(x)
    expected[..., pairs[0]], expected[..., pairs[1]] = z.real, z.imag
    attributes = {"interleaved": interleaved}
    (y,) = evaluate(builtin("RoPE"), [x, np.cos(angle), np.sin(angle), ids], attributes)
    np.testing.assert_allclose(y, expected)
    both = np.repeat(angle, 2, axis=1) if interleaved else np.tile(angle, 2)
    (wide,) = evaluate(builtin("RoPE"), [x, np.cos(both), np.sin(both), ids], attributes)
    np.testing.assert_allclose(wide, expected)
    rows = angle[ids][:, None]
    (plain,) = evaluate(builtin("RoPE"), [x, np.cos(rows), np.sin(rows)], attributes)
    np.testing.assert_allclose(plain, expected)
    with pytest.raises(AscendError, match=r"E42005.*position"):
        evaluate(builtin("RoPE"), [x, np.cos(angle), np.sin(angle), ids + positions], attributes)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2), st.booleans(), st.integers(0, 2**32))
def test_topk_is_a_stable_sort(axis: int, largest: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(-3, 3, (3, 4, 5)).astype(np.float64)
    x[random.random(x.shape) < 0.1] = np.nan
    k = int(random.integers(0, x.shape[axis] + 1))
    values, indices = evaluate(builtin("TopK"), [x], {"k": k, "axis": axis, "largest": int(largest)})
    keys = np.where(np.isnan(x), np.inf, x)
    expected = np.argsort(-keys if largest else keys, axis=axis, kind="stable").take(range(k), axis=axis)
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, axis))
    by_input = evaluate(builtin("TopK"), [x, np.array([k])], {"axis": axis, "largest": int(largest)})
    np.testing.assert_array_equal(by_input[1], indices)


def test_reductions_casts_and_indices() -> None:
    x = RANDOM.normal(size=(3, 4, 5))

    def value(text: str, **attributes: object) -> np.ndarray:
        attr = [{"name": "axes", "type": "ints"}]
        return evaluate(formula(text, attr=attr), [x], attributes)[0]

    np.testing.assert_allclose(value("var(x)"), x.var(-1, keepdims=True))
    np.testing.assert_allclose(value("prod(x, axis=[0, -1], keepdims=false)"), x.prod((0, 2)))
    np.testing.assert_allclose(value("sum(x, axis=axes)", axes=[1, 2]), x.sum((1, 2), keepdims=True))
    np.testing.assert_allclose(value("softmax(x, axis=1)"), torch64(torch.softmax, x, dim=1))
    np.testing.assert_array_equal(value("index(x, axis=1)"), np.arange(4.0).reshape(1, 4, 1))
    np.testing.assert_array_equal(value("size(x, axis=0) + 0*x"), 3 + 0 * x)
    np.testing.assert_array_equal(value("float16(x)"), x.astype(np.float16))
    np.testing.assert_array_equal(value("int8(1000*x)"), np.clip(np.trunc(1000 * x), -128, 127))
    with pytest.raises(AscendError, match=r"E42005.*axis 3"):
        value("sum(x, axis=3)")


def test_integers_have_no_negative_zero() -> None:
    for dtype in (dtypes.INT8, dtypes.UINT16, dtypes.INT64):
        assert not np.signbit(
            round_to(np.array([-0.0, -0.3, np.nan, -np.inf, -0.9]), dtype)[[0, 1, 2, 4]]
        ).any()


@given(st.floats(width=32))
def test_rounding_to_bfloat16(value: float) -> None:
    ours = round_to(np.float64(value), dtypes.BFLOAT16)
    np.testing.assert_equal(float(ours), float(torch.tensor(value, dtype=torch.float32).bfloat16()))


def test_what_has_no_reference_says_so() -> None:
    (opdef,) = parse_definitions('{"op": "A", "input_num": 1, "output_num": 1, "kernel": "unheard_of"}')
    with pytest.raises(AscendError, match=r"E42005.*A has no reference"):
        evaluate(opdef, [X])
    with pytest.raises(AscendError, match=r"E42005.*broadcast"):
        evaluate(builtin("BiasGelu"), [X, np.ones(3)])
    with pytest.raises(AscendError, match="E41011"):
        evaluate(builtin("Swish"), [X, X])


def test_every_operation_and_kernel_has_a_reference() -> None:
    for _, opdef in REGISTRY.definitions():
        if isinstance(opdef.semantics, Kernel) and not opdef.standard:
            assert opdef.formula or opdef.semantics.name in KERNEL_REFERENCES, opdef.op


SPECIALIZED: list[tuple[str, Mapping[str, object], int]] = [
    ("Gelu", {}, 1),
    ("Gelu", {"approximate": "tanh"}, 1),
    ("FastGelu", {}, 1),
    ("FastGelu", {}, 2),
    ("Swish", {}, 1),
    ("Swish", {"alpha": 0.5, "scale": 3.0}, 1),
    ("PReLU", {}, 2),
    ("HardSwish", {}, 1),
]


@pytest.mark.parametrize(("op", "attributes", "count"), SPECIALIZED)
def test_specializing_keeps_the_values(op: str, attributes: Mapping[str, object], count: int) -> None:
    opdef = builtin(op)
    inputs = dict(zip([t.name for t in opdef.inputs], [X, X[0]][:count], strict=False))
    program = specialize(formula_program(opdef), bind_attributes(opdef, attributes), inputs)
    assert not any(isinstance(n, AttributeRef | Given) for n in program.expressions())
    (y,) = evaluate_program(program, inputs, {})
    np.testing.assert_allclose(y, evaluate(opdef, list(inputs.values()), attributes)[0], rtol=1e-15)


def test_specializing_folds_and_prunes() -> None:
    def text(formula_text: str, given_inputs: list[str], **attributes: object) -> str:
        inputs = [{"name": "x"}, {"name": "b", "param_type": "optional"}]
        attr = [
            {"name": "k", "type": "float", "default": 1.0},
            {"name": "mode", "type": "string", "default": "a"},
            {"name": "axis", "type": "int", "default": -2},
        ]
        opdef = formula(formula_text, inputs=inputs, attr=attr)
        bound = bind_attributes(opdef, attributes)
        return program_text(specialize(formula_program(opdef), bound, given_inputs))

    assert text("x*sigmoid(k*x)", ["x"]) == "y = x*sigmoid(x)"
    assert text("x*(2*k + 1)", ["x"], k=3.0) == "y = x*7"
    assert text('z = x + b if given(b) and mode == "a" else x\ny = z', ["x"]) == "y = x"
    assert text('z = x + b if given(b) and mode == "a" else x\ny = z', ["x", "b"]) == "z = x + b\ny = z"
    assert text("unused = exp(x); y = sum(x, axis=axis)", ["x"]) == "y = sum(x, axis=-2)"
    assert text("x*int32(2.7)", ["x"]) == "y = x*2"


def test_formulas_of_given_definitions_run() -> None:
    opdef = formula("1/sqrt(mean(x*x) + 1e-6)*x")
    assert isinstance(opdef.semantics, Formula)
    np.testing.assert_allclose(evaluate(opdef, [X])[0], X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-6))
