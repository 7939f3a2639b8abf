"""Formulas as people write them: the documents' texts letter for letter, the notation, carets, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.frontends.mathematics import describe_mathematics
from ascend_ep.opdef.definition import Formula, OpDef
from ascend_ep.opdef.reference import evaluate

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(3, 5)) * 3
TX = torch.from_numpy(X)


def opdef_of(text: str) -> OpDef:
    return describe_mathematics(text).opdef


def printed(text: str) -> str:
    semantics = opdef_of(text).semantics
    assert isinstance(semantics, Formula)
    return semantics.text


@pytest.mark.parametrize(
    ("text", "inputs", "expected"),
    [
        ("Swish(x) = x * σ(x),其中 σ(x) = 1 / (1 + exp(-x))", [X], F.silu(TX)),
        ("Swish(x) = x * σ(x), where σ(x) = 1 / (1 + exp(-x))", [X], F.silu(TX)),
        ("Swish（x） ＝ x × σ（x），其中：σ（x） ＝ 1 ÷ （1 ＋ exp（−x））。", [X], F.silu(TX)),
        ("Swish(x) = x * sigmoid(x)", [X], F.silu(TX)),
        (
            "用 TBE DSL 实现 Swish 激活函数:swish(x) = x * sigmoid(x),输入 FP16 Tensor,shape 任意。",
            [X],
            F.silu(TX),
        ),
        (
            "实现 PReLU: y = x if x > 0 else alpha * x,alpha 为可学习参数",
            [X, np.full((1,), 0.25)],
            torch.where(TX > 0, TX, 0.25 * TX),
        ),
        ("LeakyReLU(x, α=0.1) = {x if x ≥ 0, α·x otherwise}", [X], F.leaky_relu(TX, 0.1)),
        ("H(x) = {−1, x < −1; x, −1 ≤ x ≤ 1; 1, otherwise}", [X], F.hardtanh(TX)),
        ("H(x) = {\n -1 if x < -1\n x if -1 ≤ x < 1\n 1 otherwise\n}", [X], F.hardtanh(TX)),
        ("Gelu(x) = 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))", [X], F.gelu(TX, approximate="tanh")),
        ("Relu(x) = max(0, x)", [X], F.relu(TX)),
        ("Softmax(x) = e^(x − m) / Σ(e^(x − m)), where m = max(x)", [X], F.softmax(TX, -1)),
        ("Energy(x) = √(Σ x²)", [X], TX.norm(dim=-1, keepdim=True)),
        ("Inv(x) = |x|⁻¹ + ln(|x|)", [X], 1 / TX.abs() + TX.abs().log()),
        ("Total(x) = Σ(x, axis=0, keepdims=false)", [X], TX.sum(0)),
        ("Spread(x) = std(x, dim=(0, 1)) + ∏(x)", [X], TX.std((0, 1), correction=0) + TX.prod(-1, True)),
        (
            "RMSNorm(x, γ, ε=1e-6) = γ · x / √(mean(x²) + ε)",
            [X, X[0]],
            F.rms_norm(TX, (5,), TX[0], 1e-6),
        ),
        (
            "LayerNormGelu(x, γ, β, ε=1e-5) = gelu(z)\nwhere z = γ·(x − μ)/√(s + ε) + β,\n"
            "μ = mean(x) and s = mean((x − μ)²)",
            [X, X[0], X[1]],
            F.gelu(F.layer_norm(TX, (5,), TX[0], TX[1], 1e-5)),
        ),
        ("SwiGLU(gate, up) = gate · σ(gate) · up", [X, X + 1], F.silu(TX) * (TX + 1)),
        (
            "Mix(x) = log_softmax(x) + mish(x) + elu(x, 2)",
            [X],
            F.log_softmax(TX, -1) + F.mish(TX) + F.elu(TX, 2),
        ),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_values(text: str, inputs: list[np.ndarray], expected: torch.Tensor) -> None:
    (result,) = evaluate(opdef_of(text), inputs)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-12, atol=1e-12)


def test_the_interface() -> None:
    opdef = opdef_of("Norm(x, γ, ε=1e-5, k=1) = γ·x/√(mean(x², axis=k) + ε)")
    assert opdef.op == "Norm"
    assert [i.name for i in opdef.inputs] == ["x", "gamma"]
    assert [(a.name, a.type, a.default) for a in opdef.attributes] == [
        ("epsilon", "float", 1e-5),
        ("k", "int", 1),
    ]
    assert opdef_of("实现 PReLU: y = x if x > 0 else alpha * x").op == "PReLU"
    given_type = describe_mathematics("x * sigmoid(x)", op_type="Silu")
    assert given_type.opdef.op == "Silu"
    with_attribute = describe_mathematics("LeakyReLU(x, a) = max(x, a*x)", attributes={"a": 0.2})
    assert with_attribute.opdef.attribute("a").default == 0.2  # type: ignore[union-attr]
    scalar = opdef_of("f(x, alpha) = alpha*x, alpha is a scalar")
    assert scalar.attribute("alpha").required  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("Implement Mish: f(x) = x", "Mish"),
        ("Implement the Mish activation: y = x", "Mish"),
        ("实现激活函数 swish：Swish(x) = x", "swish"),
        ("Write an operator: Twice(x) = 2*x", "Twice"),
        ("Scale(x, a=2): y = a*x", "Scale"),
        ("Scale(x, a=2): a*x", "Scale"),
        ("f(x) = x", "f"),
    ],
)
def test_the_operators_name(text: str, op: str) -> None:
    assert opdef_of(text).op == op


def test_functions_in_the_capitals_of_papers() -> None:
    assert printed("f(x) = ReLU(x) + sgn(x) + Softplus(x)") == "y = max(x, 0) + sign(x) + softplus(x)"


def test_several_outputs_take_the_names_of_their_definitions() -> None:
    opdef = opdef_of("Stats(x) = (m, s), where m = mean(x), s = mean((x - m)²)")
    assert [o.name for o in opdef.outputs] == ["m", "s"]
    mean, variance = evaluate(opdef, [X])
    np.testing.assert_allclose(mean, X.mean(-1, keepdims=True))
    np.testing.assert_allclose(variance, X.var(-1, keepdims=True))


def test_definitions_are_computed_once() -> None:
    assert printed("f(x) = m*m + m, where m = mean(x)") == "m = mean(x, axis=-1)\ny = m*m + m"
    assert printed("f(x) = g(x + 1), where g(a) = a*a") == "t0 = x + 1\ny = t0*t0"


def test_remarks_and_unused_parts_are_warned_about() -> None:
    described = describe_mathematics("f(x, b) = x*2, 输入 Tensor, where k = 3")
    assert described.kind == "formula"
    assert any("输入 Tensor" in w for w in described.warnings)
    assert any(w.startswith("k is defined") for w in described.warnings)
    assert any("input b" in w for w in described.warnings)


@pytest.mark.parametrize(
    ("text", "code", "words", "column"),
    [
        ("f(x) = x + q", "E42002", "[q]. It is free", 11),
        ("f(x) = x + q(x)", "E42002", "q()", 11),
        ("f(x) = x * σ(x), where σ(x) = 1 + σ(x)", "E42003", "by itself (σ → σ)", 34),
        ("f(x) = g(x) where g(a) = h(a), h(b) = g(b)", "E42003", "(g → h → g)", 38),
        ("f(x) = f(x - 1)", "E42003", "never ends", 7),
        ("f(x) = m where m = m + 1", "E42003", "(m → m)", 19),
        ("f(x) = g(x, x) where g(a) = a", "E42003", "takes 1 arguments, not 2", 7),
        ("f(x) = (x + 1", "E42001", "expected )", 13),
        ("f(x) = |x + 1", "E42001", "expected |", 13),
        ("f(x) = {x if x > 0}", "E42001", "otherwise", 18),
        ("f(x) = {x, x > 0", "E42001", "value instead of the end", 16),
        ("f(x) = x = 2", "E42001", "unexpected =", 9),
        ("f(x) = x² y", "E42001", "unexpected y", 10),
        ("f(x) = tanh - x", "E42001", "tanh is a function", 7),
        ("f(x) -> a, b = x", "E42003", "names 2 outputs and has 1 values", 8),
        ("f(x) -> a, b = x, x, x", "E42001", "unexpected x", 18),
        ("f(x) = 0.5.5", "E42001", "0.5.5 is no number", 7),
        ("f(x, x) = x", "E42003", "named twice", 5),
        ("f(x=y) = x", "E42001", "a default is", 4),
        ("f(x) = x, where a = 1, a = 2", "E42003", "defined twice", 23),
        ("f() = 1", "E42003", "no inputs", None),
        ("y = x", "E42102", "no name", None),
        ("f(x) = x, then some words", "E42001", "unexpected then", 10),
        ("测试(x) = 其中", "E42003", "can't be a name", 0),
        ("", "E42001", "empty", 0),
    ],
)
def test_mistakes_are_shown_at_their_column(text: str, code: str, words: str, column: int | None) -> None:
    with pytest.raises(AscendError) as caught:
        describe_mathematics(text)
    error = caught.value
    assert error.code == code
    assert words in error.text
    assert error.fix
    if column is not None:
        assert error.details[1] == " " * column + "^"


def test_the_caret_stands_below_text_with_wide_characters() -> None:
    with pytest.raises(AscendError) as caught:
        describe_mathematics("f(x) = a,其中 a = b")
    assert caught.value.details[1] == " " * (len("f(x) = a,其中 a = ") + 2) + "^"


@pytest.mark.parametrize(
    "text",
    [
        "f(x) = " + "x+" * 500_000 + "x",
        "f(x) = " + "(" * 9_000,
        "f(x) = " + "√" * 9_000 + "x",
        "f(x) = " + "|" * 9_000 + "x",
        "f(x) = " + "Σ" * 9_000 + "x",
        "f(x) = " + "{" * 9_000,
        "f(x) = " + "{" + "x if x > 0, " * 100 + "0 otherwise}",
        "f(x) = g0(x), where "
        + ", ".join(f"g{i}(x) = g{i + 1}(x)*g{i + 1}(x + 1)" for i in range(40))
        + ", g40(x) = x",
        "f(x) = a0, where " + ", ".join(f"a{i} = a{i + 1}" for i in range(300)) + ", a300 = x",
    ],
    ids=lambda t: t[:10],
)
def test_limits(text: str) -> None:
    with pytest.raises(AscendError, match="E42004"):
        describe_mathematics(text)


NOTATION = [
    "f(x) = ",
    "x",
    "y",
    "σ(",
    "√",
    "Σ",
    "|",
    "²",
    "{",
    "}",
    ")",
    "(",
    " if ",
    " otherwise",
    ",",
    ";",
    "where ",
    "其中 ",
    "g(x) = ",
    "m = ",
    "max(",
    "axis=",
    "1",
    "0.5",
    "+",
    "·",
    "≤",
    "^",
    "-",
    "\n",
    "=",
    ":",
    '"',
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(NOTATION), max_size=14).map("".join) | st.text(max_size=40))
def test_any_text_is_an_operator_or_an_error(text: str) -> None:
    try:
        described = describe_mathematics(text, op_type="Op")
    except AscendError:
        return
    assert isinstance(described.opdef.semantics, Formula)


def test_infinity_and_e() -> None:
    assert (
        printed("f(x) = {∞ if x = 0, e^x otherwise}".replace("x = 0", "x == 0"))
        == "y = where(x == 0, inf, exp(x))"
    )
    (result,) = evaluate(opdef_of("f(x) = x·e"), [np.ones(2)])
    assert result[0] == math.e
