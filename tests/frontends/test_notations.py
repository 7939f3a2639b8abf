"""One expression in LaTeX, unicode, PyTorch and NumPy: all read alike; what has two readings is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.frontends.mathematics import describe_mathematics
from ascend_ep.opdef.definition import Formula
from ascend_ep.opdef.reference import evaluate

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(3, 5))
W = RANDOM.normal(size=5)
BETA = 1.5
LETTERS = "ijklmn"


@dataclass(frozen=True)
class Form:
    """How one notation writes an operation of `count` operands, and what it computes."""

    count: int
    value: Callable[..., np.ndarray]
    latex: str
    unicode: str
    torch: str
    numpy: str


def soft(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def total(x: np.ndarray) -> np.ndarray:
    return np.sum(x, -1, keepdims=True)


#: {0}, {1} are operands in brackets where they need them; {b0} always bare.
FORMS = {
    "add": Form(2, np.add, "{0} + {1}", "{0} + {1}", "{0} + {1}", "np.add({b0}, {b1})"),
    "sub": Form(2, np.subtract, "{0} - {1}", "{0} − {1}", "{0} - {1}", "{0} - {1}"),
    "times": Form(2, np.multiply, r"{0} \cdot {1}", "{0}·{1}", "{0} * {1}", "np.multiply({b0}, {b1})"),
    "beside": Form(2, np.multiply, r"{0} {1}", "{0} {1}", "torch.mul({b0}, {b1})", "{0} * {1}"),
    "div": Form(2, np.divide, r"\frac{{{b0}}}{{{b1}}}", "{0}/{1}", "{0} / {1}", "{0} / {1}"),
    "neg": Form(1, np.negative, "-{0}", "−{0}", "-{0}", "np.negative({b0})"),
    "square": Form(1, np.square, "{0}^{{2}}", "{0}²", "{0} ** 2", "np.square({b0})"),
    "cube": Form(1, lambda x: x * x * x, "{0}^3", "{0}³", "torch.pow({b0}, 3)", "np.power({b0}, 3)"),
    "exp": Form(1, np.exp, "e^{{{b0}}}", "e^({b0})", "torch.exp({b0})", "np.exp({b0})"),
    "half": Form(1, lambda x: 0.5 * x, r"\frac12 {0}", "½{0}", "0.5 * {0}", "{0} / 2"),
    "number": Form(1, lambda x: 0.25 * x, r"0.25{0}", "0.25{0}", "0.25 * {0}", "{0} / 4"),
    "root": Form(
        1,
        lambda x: np.sqrt(np.abs(x)),
        r"\sqrt{{\left|{0}\right|}}",
        "√(|{0}|)",
        "torch.sqrt(torch.abs({b0}))",
        "np.sqrt(np.abs({b0}))",
    ),
    "tanh": Form(1, np.tanh, r"\tanh\left({b0}\right)", "tanh({b0})", "torch.tanh({b0})", "np.tanh({b0})"),
    "sigmoid": Form(1, soft, r"\sigma({b0})", "σ({b0})", "torch.sigmoid({b0})", "1 / (1 + np.exp(-({b0})))"),
    "abs": Form(1, np.abs, r"\lvert {0} \rvert", "|{0}|", "({b0}).abs()", "np.abs({b0})"),
    "larger": Form(
        2,
        np.maximum,
        r"\max\{{{b0}, {b1}\}}",
        "max({b0}, {b1})",
        "torch.maximum({b0}, {b1})",
        "max({b0}, {b1})",
    ),
    "cases": Form(
        2,
        lambda a, b: np.where(a > 0, a, b),
        r"\begin{{cases}} {b0} & \text{{if }} {b0} > 0 \\ {b1} & \text{{otherwise}} \end{{cases}}",
        "{{{b0} if {b0} > 0, {b1} otherwise}}",
        "torch.where({b0} > 0, {b0}, {b1})",
        "np.where({b0} > 0, {b0}, {b1})",
    ),
    "norm": Form(
        1,
        lambda x: np.sqrt(total(x * x)),
        r"\lVert {b0} \rVert_2",
        "‖{b0}‖₂",
        "torch.norm({b0}, dim=-1, keepdim=True)",
        "np.sqrt(np.sum(np.square({b0}), axis=-1, keepdims=True))",
    ),
    "sum": Form(
        1,
        total,
        r"\sum_{{{i}=1}}^{{N}} \left({b0}\right)",
        "Σ_{i} ({b0})",
        "({b0}).sum(dim=-1, keepdim=True)",
        "np.sum({b0}, axis=-1, keepdims=True)",
    ),
    "most": Form(
        1,
        lambda x: np.max(x, -1, keepdims=True),
        r"\max_{i} \left({b0}\right)",
        "max_{i}({b0})",
        "torch.amax({b0}, dim=-1, keepdim=True)",
        "np.max({b0}, axis=-1, keepdims=True)",
    ),
}
NAMES = {"x": X, "w": W, "β": np.asarray(BETA)}
#: Operations after which an operand of another needs no brackets.
CLOSED = ("exp", "root", "tanh", "sigmoid", "abs", "larger", "cases", "norm")
Tree = tuple


def trees() -> st.SearchStrategy[Tree]:
    leaves = st.sampled_from(list(NAMES)).map(lambda n: ("name", n))

    def over(below: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        kinds = {1: [n for n in FORMS if FORMS[n].count == 1], 2: [n for n in FORMS if FORMS[n].count == 2]}
        return st.tuples(st.sampled_from(kinds[1]), below) | st.tuples(
            st.sampled_from(kinds[2]), below, below
        )

    return st.recursive(leaves, over, max_leaves=6)


def value(tree: Tree) -> np.ndarray:
    if tree[0] == "name":
        return NAMES[tree[1]]
    operands = [value(t) for t in tree[1:]]
    if tree[0] in ("sum", "most"):
        operands = [operands[0] * X]
    if tree[0] == "norm":
        operands = [operands[0] + X]
    return FORMS[tree[0]].value(*operands)


def printed(tree: Tree, notation: str, index: str = "", level: int = 0) -> str:
    if tree[0] == "name":
        plain = {"β": {"latex": r"\beta", "unicode": "β"}.get(notation, "beta")}.get(tree[1], tree[1])
        return f"{plain}_{index}" if index and tree[1] != "β" else plain
    kind, operands = tree[0], list(tree[1:])
    if kind in ("sum", "most"):
        operands = [("times", operands[0], ("name", "x"))]
        index = LETTERS[level] if notation in ("latex", "unicode") else ""
        level += 1
    if kind == "norm":
        operands = [("add", operands[0], ("name", "x"))]
    parts = [printed(t, notation, index, level) for t in operands]
    opened, closed = (r"\left(", r"\right)") if notation == "latex" else ("(", ")")
    grouped = [
        p if t[0] == "name" or (t[0] in CLOSED and kind in ("add", "sub")) else f"{opened}{p}{closed}"
        for t, p in zip(operands, parts, strict=True)
    ]
    form = getattr(FORMS[kind], notation)
    bare = {f"b{i}": p for i, p in enumerate(parts)}
    return form.format(*grouped, **bare, i=index)


def text_of(tree: Tree, notation: str) -> str:
    body = printed(tree, notation)
    if notation in ("torch", "numpy"):
        return f"def f(x, w, beta={BETA}):\n    return {body}"
    beta = r"\beta" if notation == "latex" else "β"
    return f"f(x, w, {beta}={BETA}) = {body}"


@settings(max_examples=120, deadline=None)
@given(trees())
def test_every_notation_means_the_same(tree: Tree) -> None:
    with np.errstate(all="ignore"):
        expected = value(tree)
    for notation in ("latex", "unicode", "torch", "numpy"):
        text = text_of(tree, notation)
        (got,) = evaluate(describe(text).opdef, [X, W])
        np.testing.assert_allclose(
            np.broadcast_to(got, np.broadcast_shapes(got.shape, np.shape(expected))),
            np.broadcast_to(expected, np.broadcast_shapes(got.shape, np.shape(expected))),
            rtol=1e-9,
            atol=1e-12,
            err_msg=text,
        )


@settings(max_examples=150, deadline=None)
@given(
    trees(),
    st.sampled_from(["latex", "unicode"]),
    st.integers(0, 200),
    st.text(max_size=3),
    st.integers(0, 4),
)
def test_a_broken_text_is_an_operator_or_an_error_at_a_caret(
    tree: Tree, notation: str, at: int, added: str, removed: int
) -> None:
    text = text_of(tree, notation)
    at %= len(text)
    try:
        described = describe_mathematics(text[:at] + added + text[at + removed :], op_type="Op")
    except AscendError as error:
        caret = error.code == "E42003" or error.details[-1].strip() == "^"
    else:
        caret = isinstance(described.opdef.semantics, Formula)
    assert caret


def formula(text: str) -> str:
    semantics = describe_mathematics(text, op_type="Op").opdef.semantics
    assert isinstance(semantics, Formula)
    return semantics.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(x) = Σ x_i^2", "y = sum(x^2, axis=-1)"),
        ("f(x) = e^{-x}", "y = exp(-x)"),
        ("f(x) = 0.5x", "y = 0.5*x"),
        ("f(x, β=2.0) = βx", "y = beta*x"),
        ("f(x, β=2.0) = xσ(βx)", "y = x*sigmoid(beta*x)"),
        ("f(x) = x / ||x||", "y = x/sqrt(sum(x*x, axis=-1))"),
        ("f(x) = ||x| - 1|", "y = abs(abs(x) - 1)"),
        (r"f(x) = \left|\left|x\right|\right|_1", "y = sum(abs(x), axis=-1)"),
        ("f(x) = ||x||_1 + ‖x‖_∞", "y = sum(abs(x), axis=-1) + max(abs(x), axis=-1)"),
        ("f(x) = 2|x|x", "y = 2*abs(x)*x"),
        (r"\text{Swish}(x) = x \cdot \sigma(\beta x), \quad \beta = 1.5", "y = x*sigmoid(1.5*x)"),
        (
            r"\mathrm{RMSNorm}(x, \gamma) = \frac{x_i}{\sqrt{\frac{1}{n}\sum_{i=1}^{n} x_i^2 + \epsilon}}"
            r" \gamma_i, \epsilon = 10^{-6}",
            "epsilon = 10^-6\ny = x/sqrt(1/size(x, axis=-1)*sum(x^2, axis=-1) + epsilon)*gamma",
        ),
        (
            r"$$y = \left\{ \begin{array}{ll} x & x > 0 \\ 0.1x & \text{otherwise} \end{array} \right.$$",
            "y = where(x > 0, x, 0.1*x)",
        ),
        (
            r"softmax(x)_i = \frac{e^{x_i - \max_j x_j}}{\sum_j e^{x_j - \max_k x_k}}",
            "y = exp(x - max(x, axis=-1))/sum(exp(x - max(x, axis=-1)), axis=-1)",
        ),
        ("f(x) = Σ_{k=1}^{3} x^k/k", "y = x^1/1 + x^2/2 + x^3/3"),
        ("f(x) = Σᵢ₌₁ⁿ xᵢ²", "y = sum(x^2, axis=-1)"),
        ("f(x) = Σ_i Σ_j x_{ij}", "y = sum(sum(x, axis=-1), axis=-2)"),
        ("f(x) = Σ_i x_{ij}", "y = sum(x, axis=-2)"),
        ("f(x) = Σ (x - 1)²", "y = sum((x - 1)^2, axis=-1)"),
        ("f(x, y) = x^2 y", "y_ = x^2*y"),
        (r"f(x) = \sin^2 x + cos²(x) + ln |x|", "y = sin(x)^2 + cos(x)^2 + log(abs(x))"),
        (r"f(x) = \lfloor x \rfloor + ⌈x⌉ + \log_2 x", "y = floor(x) + ceil(x) + log2(x)"),
        (r"f(x) = \sqrt[3]{x}e⁻ˣ", "y = x^(1/3)*exp(-x)"),
        ("f(x, a) = a(x + 1)", "y = a*(x + 1)"),
        ("f(x) = (x + 1)(x − 1)2π", None),
        ("y_i = x_i / Σ_j x_j", "y = x/sum(x, axis=-1)"),
        ("f(x, w_q) = w_q x", "y = w_q*x"),
        (
            "F(Q, K, V) = softmax(Q Kᵀ)V",
            "t0 = matmul(Q, transpose(K, axis=[-2, -1]))\nt1 = exp(t0 - max(t0, axis=-1))\n"
            "y = matmul(t1/sum(t1, axis=-1), V)",
        ),
        (r"F(X, W, b) = \sigma(XW^\top + b)", "y = sigmoid(matmul(X, transpose(W, axis=[-2, -1])) + b)"),
        ("f(x, w) = 2x @ w", "y = matmul(2*x, w)"),
        ("f(x) = tanh x + 1", "y = tanh(x) + 1"),
        ("f(x) = x if x > 0, else 0.1x", "y = where(x > 0, x, 0.1*x)"),
        ("f(x) = x if x > 0; otherwise a, where a = 0.1x", "a = 0.1*x\ny = where(x > 0, x, a)"),
    ],
)
def test_as_people_write(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(AscendError, match="E42001"):
            formula(text)
    else:
        assert formula(text) == expected


@pytest.mark.parametrize(
    ("text", "words", "column"),
    [
        ("f(x) = 1/2x", "divides by isn't clear", 8),
        ("f(x) = 1/x(x + 1)", "divides by isn't clear", 8),
        ("f(x) = 1/√(x)x", "divides by isn't clear", 8),
        ("f(x) = e^2x", "exponent ends", 8),
        ("f(x) = e^-2x", "exponent ends", 8),
        ("f(x) = √2x", "root ends", 7),
        ("f(x) = √x²", "root ends", 7),
        ("f(x) = ln x/2", "argument ends", 11),
        ("f(x) = tanh x (x + 1)", "argument ends", 14),
        ("f(x, σ=1.0) = σ(x)", "a parameter and a function", 14),
        ("f(x) = sin^{-1} x", "positive number", 10),
        ("f(x, y) = x_i y_j", "index j where another has i", 14),
        ("f(x) = Σ_j e^{x_j − x_i}", "index i where another has j", 20),
        ("f(x, w) = Σ_j w_{ij} x_i", "index i where another has j", 21),
        ("f(x) = Σ_i Σ_j x_i", "nothing here has the index j", 11),
        ("f(x, n=3) = Σ_{i=1}^{n} x_i", "doesn't go over a whole axis", 21),
        ("f(x) = Σ_{i=1}^{3} x_i", "can't be picked", 19),
        ("f(x) = Σ_{k=1}^{999} x^k", "1 to 64 terms", 10),
        (r"f(x) = \foo{x}", r"the command \foo isn't known", 7),
        (r"f(x) = \frac{x}", "needs an argument", 7),
        ("f(x) = x^{2", "this { isn't closed", 9),
        (r"f(x) = \sqrt[3{x}", "this [ isn't closed", 12),
        (r"f(x) = \begin{foo} x", "the environment foo", 7),
        ("f(x) = x & 1", "no sign '&'", 9),
        ("f(x) = |x|_2", "two bars", 10),
        ("f(x) = ‖x‖_0", "a norm has the order", 7),
        ("f(x) = log_3(x)", "base e, 2 or 10", 7),
        ("f(x) = x ± 1", "no sign '±'", 9),
        ("f(x) = 2 3", "unexpected 3", 9),
        ("f(W, x) = Wx", "matrix product", 11),
    ],
)
def test_two_readings_and_mistakes_are_refused(text: str, words: str, column: int) -> None:
    with pytest.raises(AscendError, match="E42001") as caught:
        formula(text)
    assert words in caught.value.text
    assert caught.value.details[1] == " " * column + "^"


@pytest.mark.parametrize(
    "text",
    [
        "f(x) = " + r"\frac{" * 3_000,
        "f(x) = " + "x^{" * 5_000 + "}" * 5_000,
        "f(x) = " + "|" * 9_000 + "x" + "|" * 9_000,
        "f(x) = " + "‖" * 9_000,
        "f(x) = " + "Σ_{k=1}^{64} " * 4 + "x^k",
        "f(x) = " + "x" + " x" * 6_000,
        "f(x) = " + "tanh " * 3_000 + "x",
        "f(x) = " + "ᵢ" * 9_000,
    ],
    ids=lambda t: t[:16],
)
def test_limits(text: str) -> None:
    with pytest.raises(AscendError, match="E4200"):
        formula(text)
