"""The generated DSL file: for every formula of the library, and through the front end back to the same operator."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.frontends.tbe.description import describe_tbe
from ascend_ep.opbuild.msopgen.tbe_source import tbe_text
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula, OpDef
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.registry import Registry

LIBRARY = {
    d.op: d
    for _, d in Registry(folder=None).definitions()
    if isinstance(d.semantics, Formula) and not d.standard
}
#: What only operators that move elements or count positions may lack.
MOVING = "the tensor DSL has nothing for"
ELEMENTARY = (
    "sin(x) + cos(3*x) + tan(x/4)", "erf(x) - erf(x/16)", "pow(abs(x), y) + x^2 + x^3 + x^-1 + x^0.5", "x // y + x % y",
    "tanh(x) + tanh(x/1000)", "expm1(x/100) + log1p(x/100)", "sinh(x) + cosh(x)", "asinh(x) + acosh(1.5 + x) + atanh(x/2)",
    "sigmoid(x) + softplus(x)", "sign(x - 0.5)*floor(10*x) + ceil(10*x) + round(10*x) + trunc(10*x)",
    "where(isnan(x) or not (x > y), rsqrt(x), log2(y) + log10(y))", "max(x, 0.5) - min(0.25, y) + 2/x - (1 - y)",
    "x - max(x) + sum(y, axis=0)/size(x)", "logsumexp(x) + var(y)", "float16(x) + int8(100*y)", "any(x > 0.9) + all(y > 0.1)",
)  # fmt: skip


def generated(opdef: OpDef) -> str:
    return tbe_text(SimpleNamespace(opdef=opdef, function="made"))


def read_back(opdef: OpDef, shape: tuple[int, ...], attributes: dict[str, object]) -> OpDef:
    inputs = [(t.types[0] if t.types and not t.variable else dtypes.FLOAT32, shape) for t in opdef.inputs]
    return describe_tbe(generated(opdef), "made.py", attributes=attributes, inputs=inputs).opdef


def check_same(opdef: OpDef, shape: tuple[int, ...], low: float = 0.1) -> None:
    attributes = {a.name: 1 for a in opdef.attributes if a.default is None and a.required}
    back = read_back(opdef, shape, attributes)
    values = [np.random.default_rng(i).uniform(low, 0.9, shape) for i in range(len(opdef.inputs))]
    kept = {k: v for k, v in attributes.items() if back.attribute(k)}
    for wanted, got in zip(evaluate(opdef, values, attributes), evaluate(back, values, kept), strict=True):
        np.testing.assert_allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=2e-6, atol=5e-7)


def refusal(opdef: OpDef) -> str:
    """Why an operator has no file; "" when it has one, which is Python."""
    try:
        text = generated(opdef)
    except AscendError as error:
        return f"{error.code}: {error.text}"
    compile(text, opdef.op, "exec")
    return "" if "NotImplementedError" not in text else "a file that is to be completed"


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_every_formula_has_a_file_or_a_reason(name: str) -> None:
    reason = refusal(LIBRARY[name])
    assert not reason or (reason.startswith("E43106") and MOVING in reason)


def test_most_of_the_library_can_be_said() -> None:
    assert sum(not refusal(d) for d in LIBRARY.values()) >= 0.9 * len(LIBRARY)


@pytest.mark.parametrize(
    "name",
    ["Mish", "Serf", "SIREN", "PReLU", "TripletMarginLoss", "AdamWStep", "DequantBias", "ImageNormalize", "Standardize",
     "LogCoshLoss", "DynamicQuant"],
)  # fmt: skip
def test_operators_come_back(name: str) -> None:
    check_same(LIBRARY[name], (4, 6))


@pytest.mark.parametrize("formula", ELEMENTARY)
def test_functions_come_back(formula: str) -> None:
    from ascend_ep.frontends.description import describe

    both = "" if "y" in formula.replace("any", "") else " + 0*y"
    check_same(describe(f"Made(x, y) = {formula}{both}").opdef, (4, 6))


def test_negative_numbers_and_zero() -> None:
    from ascend_ep.frontends.description import describe

    opdef = describe("Made(x) = erf(x) + tanh(x) + sin(9*x) + expm1(x) + sigmoid(-x) + abs(x)^1.7").opdef
    check_same(opdef, (64, 8), low=-3.0)
    back = read_back(opdef, (4, 6), {})
    assert np.isclose(evaluate(back, [np.zeros(3)])[0], 0.5).all()


def test_without_a_formula_it_is_to_be_written() -> None:
    opdef = OpDef("Later", inputs=LIBRARY["Mish"].inputs, outputs=LIBRARY["Mish"].outputs)
    assert "raise NotImplementedError" in generated(opdef)
