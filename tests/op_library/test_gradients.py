"""Gradients of library operators: against finite differences in float64, and their bundles in float32."""

from __future__ import annotations

import json

import numpy as np
import pytest
from library_cases import LIBRARY, Case, cases, run

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef, TensorSpec
from ascend_ep.opdef.derivative import differentiate
from ascend_ep.opdef.expression import REDUCTIONS, Apply, Input, Local, Program
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.reference import evaluate, evaluate_program
from ascend_ep.opdef.registry import Registry
from ascend_ep.opdef.simplify import simplify

#: Operators of integers, and of steps alone.
WITHOUT = {"AscendAntiQuant", "AscendQuant", "Ternarize", "ToFloatImage"}


def gradient(op: str) -> OpDef | None:
    try:
        return differentiate(LIBRARY[op])
    except AscendError as error:
        assert error.code == "E42006", error  # noqa: PT017
        return None


GRADIENTS = {op: made for op in LIBRARY if (made := gradient(op))}


def test_what_has_no_gradient_is_known() -> None:
    assert set(LIBRARY) - set(GRADIENTS) == WITHOUT


def is_float(spec: TensorSpec) -> bool:
    return not spec.types or dtypes.FLOAT32 in spec.types


def wide(case: Case) -> list[np.ndarray | None]:
    return [a.astype(np.float64) if a is not None and a.dtype == np.float32 else a for a in case.inputs]


def check(opdef: OpDef, made: OpDef, inputs: list[np.ndarray | None], attributes: dict[str, object]) -> None:
    """The change of the outputs along a random direction is what the gradient says."""
    random = np.random.default_rng(11)
    outputs = evaluate(opdef, inputs, attributes)
    smooth = [i for i, t in enumerate(opdef.inputs) if f"grad_{t.name}" in {o.name for o in made.outputs}]
    seeds = [random.normal(size=y.shape) for y, t in zip(outputs, opdef.outputs, strict=True) if is_float(t)]
    found = evaluate(made, [*inputs, *seeds], attributes)
    floats = [y for y, t in zip(outputs, opdef.outputs, strict=True) if is_float(t)]
    for i, slope in zip(smooth, found, strict=True):
        x = inputs[i]
        if x is None:
            continue
        assert slope.shape == x.shape, opdef.inputs[i].name
        if "sign" in opdef.inputs[i].doc:
            continue  # compared with 1: there is no slope
        direction = random.normal(size=x.shape)
        ends = []
        for h in (1e-6, -1e-6):
            moved = [*inputs[:i], x + h * direction, *inputs[i + 1 :]]
            results = evaluate(opdef, moved, attributes)
            kept = [y for y, t in zip(results, opdef.outputs, strict=True) if is_float(t)]
            with np.errstate(invalid="ignore"):
                changes = [np.where(np.isfinite(y), y - y0, 0) for y, y0 in zip(kept, floats, strict=True)]
            ends.append(sum(float(np.sum(s * c)) for s, c in zip(seeds, changes, strict=True)))
        expected = (ends[0] - ends[1]) / 2e-6
        size = float(np.sum(np.abs(slope * direction)))
        assert abs(float(np.sum(slope * direction)) - expected) <= 1e-6 * (1 + size), opdef.inputs[i].name


@pytest.mark.parametrize("op", GRADIENTS)
def test_gradient_against_finite_differences(op: str) -> None:
    for case in cases(LIBRARY[op]):
        if max(a.size for a in case.inputs if a is not None) < 3000:
            check(LIBRARY[op], GRADIENTS[op], wide(case), dict(case.attributes))


@pytest.mark.parametrize("op", GRADIENTS)
def test_bundle_of_the_gradient(op: str) -> None:
    made = GRADIENTS[op]
    wanted = []
    for case in list(cases(LIBRARY[op]))[:1] + list(cases(LIBRARY[op]))[3:]:
        random = np.random.default_rng(12)
        outputs = evaluate(LIBRARY[op], case.inputs, case.attributes)
        seeds = [
            random.normal(size=y.shape).astype(np.float32)
            for y, t in zip(outputs, LIBRARY[op].outputs, strict=True)
            if is_float(t)
        ]
        wanted.append(Case((*case.inputs, *seeds), case.attributes))
    for case, found in zip(wanted, run(made, wanted, Registry(definitions=[made])), strict=True):
        for y, exact in zip(found, evaluate(made, case.inputs, case.attributes), strict=True):
            assert y.shape == exact.shape
            # sums over up to 600 elements and reciprocals of differences near 0.02, in float32
            np.testing.assert_allclose(
                y, exact, rtol=2e-4, atol=2e-5 * (1 + np.max(np.abs(exact), initial=0))
            )


def single(text: str) -> OpDef:
    tensors = [{"name": n, "type": "float32"} for n in "xw"]
    entry = {"op": "A", "inputs": tensors, "outputs": [{"name": "y"}], "formula": text}
    return parse_definitions(json.dumps(entry))[0]


STEPS = {"sign", "floor", "ceil", "round", "trunc", "floordiv"}
UNARY = [
    n for n, o in OPERATIONS.items() if o.takes == ("number",) and o.gives == "number" and n not in STEPS
]
BINARY = ["x + w", "x - w", "x*w", "x/w", "x % w", "x^w", "x^3", "max(x, w)", "min(x, w)", "atan2(x, w)"]
REDUCED = [n for n, r in REDUCTIONS.items() if r.gives == "number" and not n.startswith("arg")]
OTHERS = [
    "x*sum(w*x, axis=0, keepdims=false)",
    "unsqueeze(mean(x*x, axis=1, keepdims=false), axis=1)*w",
    "x - mean(x, axis=all)*w",
    "logsumexp(x*w, axis=[0, 1])",
    "softmax(x*w, axis=0)*x",
    "log_softmax(x + w)",
    "sum_to(x*w, w)*x",
    "sum_to(w, x)*x",
    "x/sum(x, axis=all, keepdims=false)",
    "float32(x)*0 + x*w",
    "where(x > 1, x*w, w^2)",
    "exp(-x)*max(x, axis=[0, 1])",
    "topk(x, 2)*sum(w)",
    "topk(x*w, 3, axis=0, largest=false)*w",
    "sum(topk(x*w, 2, axis=1)*topk_indices(x, 2, axis=-1))*w",
    "sum(x*w, axis=0:)*x",
    "sum(x*w, axis=:-1)*x + mean(x, axis=-1:)*w",
    "take(x*w, topk_indices(w, 3), axis=1)*sum(x)",
    "take(w*w, index(x, axis=1) % 3)*sum(x)",
    "add_at(x*x, sum(index(x, axis=0), axis=1, keepdims=false) % 2, x*w)*x",
]


@pytest.mark.parametrize(
    "text",
    [("-x" if op == "neg" else f"{op}(x{' + 1' if op == 'acosh' else ''})*w") for op in UNARY]
    + BINARY
    + [
        f"{op}(x, axis={axes}, keepdims={keep})*w"
        for op in REDUCED
        for axes in (0, 1)
        for keep in ("true", "false")
        if (axes, keep) != (1, "false")
    ]
    + OTHERS,
)
def test_every_operation_against_finite_differences(text: str) -> None:
    random = np.random.default_rng(4)
    opdef = single(text)
    check(opdef, differentiate(opdef), [random.uniform(0.1, 0.9, (4, 5)), random.uniform(0.2, 2, 5)], {})


def test_products_with_zeros() -> None:
    made = differentiate(single("prod(x)*sum(w)"))
    x = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0], [2.0, 3.0, 4.0]])
    slope, _ = evaluate(made, [x, np.ones(1), np.ones((3, 1))])
    np.testing.assert_array_equal(slope, [[0, 6, 0], [0, 0, 0], [12, 8, 6]])


def test_equal_largest_elements_share() -> None:
    slope, _ = evaluate(
        differentiate(single("max(x)*sum(w)")), [np.array([[1.0, 3.0, 3.0]]), np.ones(1), np.ones((1, 1))]
    )
    np.testing.assert_array_equal(slope, [[0, 0.5, 0.5]])


@pytest.mark.parametrize("text", ["floor(x)*sign(w)", "x > w"])
def test_without_gradient(text: str) -> None:
    with pytest.raises(AscendError, match=r"E42006.*A"):
        differentiate(single(text))


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("x*1 + 0", "x"),
        ("-(-x)", "x"),
        ("x - (-w)", "x + w"),
        ("2*(3*x)", "6*x"),
        ("(x + w)*(x + w)", "t0 = x + w\ny = t0*t0"),
        ("(-x)*w", "-(x*w)"),
        ("x^1 + sqrt(4)", "x + 2"),
        ("where(1 < 2, x, w)", "x"),
    ],
)
def test_simplified(text: str, simple: str) -> None:
    shown = program_text(simplify(formula_program(single(text))))
    assert shown == (simple if simple.startswith("t0") else f"y = {simple}")


def test_simplifying_is_not_slow_where_values_are_shared() -> None:
    names = [f"a{i}" for i in range(60)]
    operands = [Input("x"), *map(Local, names)]
    lets = tuple((name, Apply("mul", (v, v))) for name, v in zip(names, operands, strict=False))
    (y,) = evaluate_program(simplify(Program(lets, (("y", operands[-1]),))), {"x": np.ones(2)}, {})
    np.testing.assert_array_equal(y, np.ones(2))
