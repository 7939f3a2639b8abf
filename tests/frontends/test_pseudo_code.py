"""Pseudo-code: PyTorch's meaning, the documents' texts, and that nothing else is let through or run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.frontends.pseudo_code import describe_pseudo_code
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula
from ascend_ep.opdef.reference import evaluate

RANDOM = np.random.default_rng(5)
X = torch.from_numpy(RANDOM.normal(size=(3, 4, 5)) * 2)
W = torch.from_numpy(RANDOM.normal(size=5))
B = torch.from_numpy(RANDOM.normal(size=5))


@pytest.mark.parametrize(
    "text", ["def swish(x):\nreturn x * torch.sigmoid(x)", "def swish(x):\n    return x * torch.sigmoid(x)"]
)
def test_the_documents_swish(text: str) -> None:
    described = describe_pseudo_code(text)
    assert (described.opdef.op, described.kind) == ("Swish", "pseudo-code")
    (result,) = evaluate(described.opdef, [X.numpy()])
    np.testing.assert_allclose(result, F.silu(X).numpy(), rtol=1e-13)


#: Text of the body of f(x, w, b), executed here by Python itself as the measure.
EXPRESSIONS = [
    "torch.where(x > 0, x, w * x)",
    "F.gelu(x, approximate='tanh') + F.gelu(x)",
    "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
    "F.layer_norm(x, x.shape[-1:], w, b, eps=1e-5)",
    "F.layer_norm(x, (x.shape[-2], x.size(-1)))",
    "F.gelu(F.layer_norm(x, (x.shape[-1],), w, b))",
    "F.rms_norm(x, (x.shape[-1],), w, eps=1e-6)",
    "F.silu(x) * (x + w)",
    "x @ x.transpose(-1, -2) + torch.matmul(x, w).unsqueeze(-1)",
    "torch.softmax(torch.bmm(x, x.mT) / math.sqrt(x.size(-1)), -1) @ x",
    "F.scaled_dot_product_attention(x, x * 2, x + b, is_causal=True)",
    "F.scaled_dot_product_attention(x, x, x, attn_mask=x @ x.mT > 0, scale=0.5)",
    "F.linear(x, x.mean(0) + w)",
    "x.permute(2, 0, 1) * 2",
    "x.swapaxes(0, 2).sum(0)",
    "F.silu(x.chunk(2, dim=1)[0]) * x.chunk(2, dim=1)[1]",
    "torch.cat([x, x.chunk(2, -1)[1]], dim=-1)",
    "torch.chunk(x, 2)[0] + x.chunk(3)[1].sum(0)",
    "x.sum(dim=-1)",
    "x.sum(-1, keepdim=True) - x.mean(dim=(0, 2))",
    "torch.sum(x, 1, True)",
    "x.float().double().pow(2).mean(-1, keepdim=True).sqrt()",
    "x.var(-1, keepdim=True) + x.var(dim=-1, unbiased=False, keepdim=True)",
    "torch.std(x, dim=(1, 2)) + torch.var(x, (1, 2), correction=0)",
    "x.amax(dim=-1) + torch.max(x, dim=-1).values + torch.min(x, -1)[0]",
    "torch.max(x, -x) + torch.maximum(x, w)",
    "torch.softmax(x, dim=1) + F.softmax(x, -1) + x.softmax(0)",
    "F.log_softmax(x, dim=1) + torch.logsumexp(x, dim=1, keepdim=True)",
    "x.logsumexp(-1)",
    "x.norm(dim=-1, keepdim=True) + F.normalize(x, dim=-1)",
    "torch.clamp(x, min=-1) + x.clamp(-1, 1) + x.clamp(max=w)",
    "F.leaky_relu(x) + F.elu(x, 0.5) + F.celu(x, alpha=2.0) + F.selu(x) + F.relu6(x)",
    "F.hardswish(x) + F.hardsigmoid(x) + F.hardtanh(x, -2.0, 2.0) + F.mish(x) + F.softsign(x)",
    "F.logsigmoid(x) + F.tanhshrink(x) + F.hardshrink(x) + F.softshrink(x, 0.3) + F.softplus(x)",
    "F.softplus(x, beta=2.0) + F.threshold(x, 0.1, 20.0)",
    "torch.add(x, w, alpha=2) + torch.sub(x, b) + torch.addcmul(x, w, b, value=0.5) + torch.lerp(x, w, 0.3)",
    "torch.fmod(x, 0.7) + torch.remainder(x, 0.7) + x % 0.7 + x // 0.7",
    "torch.round(x) + x.floor() + x.ceil() + x.trunc() + x.frac() + x.sign()",
    "torch.hypot(x, w) + torch.logaddexp(x, w) + torch.xlogy(x, w.abs()) + torch.atan2(x, w)",
    "x.masked_fill(x > 1, 0.0) + torch.where(torch.isfinite(x), 1.0, torch.zeros_like(x))",
    "torch.where((x > 0) & ~(w > 0) | (b < 0), x, -x)",
    "(x > 0).double() + torch.logical_not(x > 1).double()",
    "(x > 0).any(dim=-1).double() + torch.all(x > -3, dim=-1).double()",
    "torch.exp2(x) + torch.rsqrt(x.abs()) + torch.log1p(x.abs()) + torch.square(x) + torch.reciprocal(x)",
    "x / x.shape[-1] + x.size(0)",
    "max(0.5, 2.0) * x + abs(-3) + pow(2, 3)",
    "x.to(w.dtype) + x.type_as(w) + x.contiguous() - -x",
    "x + math.e + torch.pi + math.inf * 0 if False else x",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_mean_what_pytorch_computes(expression: str) -> None:
    text = f"def f(x, w, b):\n    y = {expression}\n    return y"
    scope = {"torch": torch, "F": F, "math": math}
    exec(text, scope)
    function: Callable[..., torch.Tensor] = scope["f"]  # type: ignore[assignment]
    (result,) = evaluate(describe_pseudo_code(text).opdef, [X.numpy(), W.numpy(), B.numpy()])
    expected = function(X, W, B).numpy()
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-6 if ".float()" in text else 1e-11, atol=1e-12)


def test_numpy_keeps_its_own_meaning() -> None:
    text = "def f(x): return np.max(x, axis=-1) + np.var(x, axis=-1) + np.clip(x, -1, 1).mean(axis=-1)"
    x = X.numpy()
    (result,) = evaluate(describe_pseudo_code(text).opdef, [x])
    np.testing.assert_allclose(result, x.max(-1) + x.var(-1) + np.clip(x, -1, 1).mean(-1))


LLAMA = '''
import torch
from typing import Optional

def rms_norm(hidden: torch.Tensor, weight=None, eps: float = 1e-6, dim: int = -1):
    """Root mean square
    normalization."""
    dtype = hidden.dtype
    hidden = hidden.to(torch.float32)
    variance = hidden.pow(2).mean(dim, keepdim=True)
    hidden *= torch.rsqrt(variance + eps)
    if weight is not None:
        hidden = weight * hidden
    return hidden.to(dtype)
'''


def test_a_whole_function() -> None:
    opdef = describe_pseudo_code(LLAMA).opdef
    assert (opdef.op, opdef.doc) == ("RmsNorm", "Root mean square normalization.")
    assert [(i.name, i.occurrence) for i in opdef.inputs] == [("hidden", "required"), ("weight", "optional")]
    assert [(a.name, a.type, a.default) for a in opdef.attributes] == [
        ("eps", "float", 1e-6),
        ("dim", "int", -1),
    ]
    x, w = X.numpy(), W.numpy()
    (weighted,) = evaluate(opdef, [x, w])
    np.testing.assert_allclose(weighted, F.rms_norm(X, (5,), W, 1e-6).numpy(), rtol=1e-12)
    (plain,) = evaluate(opdef, [x, None], {"dim": 1, "eps": 0.5})
    np.testing.assert_allclose(plain, x / np.sqrt((x**2).mean(1, keepdims=True) + 0.5))


def test_branches_on_attributes_choose_at_conversion() -> None:
    text = (
        "def act(x, mode='relu', scale: float = 2):\n"
        "    if mode == 'relu':\n        y = torch.relu(x)\n    elif mode == 'tanh':\n"
        "        return x.tanh()\n"
        "    else:\n        y = x\n    return y * scale\n"
    )
    described = describe_pseudo_code(text)
    assert described.warnings == ()
    for mode, expected in (("relu", X.relu()), ("tanh", X.tanh()), ("none", X)):
        factor = 1 if mode == "tanh" else 2
        (result,) = evaluate(described.opdef, [X.numpy()], {"mode": mode})
        np.testing.assert_allclose(result, factor * expected.numpy())


def test_a_condition_of_tensors_is_read_elementwise_with_a_warning() -> None:
    described = describe_pseudo_code("def prelu(x, alpha):\n    return x if x > 0 else alpha * x")
    assert any("torch.where" in w for w in described.warnings)
    (result,) = evaluate(described.opdef, [X.numpy(), W.numpy()])
    np.testing.assert_allclose(result, torch.where(X > 0, X, W * X).numpy())


def test_several_outputs_and_their_types() -> None:
    text = "def stats(x):\n    mean, top = x.mean(-1), x.amax(-1)\n    return mean, top, x > 0, x.int()"
    opdef = describe_pseudo_code(text).opdef
    float_types = (dtypes.FLOAT32, dtypes.FLOAT16, dtypes.BFLOAT16)
    assert [o.types for o in opdef.outputs] == [float_types, float_types, (dtypes.BOOL,), (dtypes.INT32,)]
    results = evaluate(opdef, [X.numpy()])
    for result, expected in zip(results, (X.mean(-1), X.amax(-1), X > 0, X.to(torch.int32)), strict=True):
        np.testing.assert_allclose(result, expected.numpy())


def test_other_functions_are_inlined() -> None:
    text = (
        "def scaled(v, by=3.0):\n    return v * by\n\n"
        "def f(x):\n    def twice(v):\n        return scaled(v, by=2)\n    return twice(x) + scaled(x)"
    )
    (result,) = evaluate(describe_pseudo_code(text).opdef, [X.numpy()])
    np.testing.assert_allclose(result, 5 * X.numpy())


@pytest.mark.parametrize(
    "text",
    [
        "def g(v): return v * v\ndef f(x): return " + "g(" * 40 + "x" + ")" * 40,
        "def f(x):\n"
        + "    r = torch.max(x, dim=-1)\n    x = r.values * r.values + r[0]\n" * 40
        + "    return x",
        "def f(x, m=1):\n" + "    if m: x = x * x\n    else: x = x + x\n" * 40 + "    return x",
        "def f(x):\n" + "    s = (x + x).shape\n    x = x / s[0] + s[-1]\n" * 40 + "    return x",
    ],
    ids=["arguments", "tuples", "branches", "shapes"],
)
def test_a_name_is_computed_once_however_often_it_is_used(text: str) -> None:
    semantics = describe_pseudo_code(text).opdef.semantics
    assert isinstance(semantics, Formula)
    assert len(semantics.text) < 8_000


def test_attributes_given_from_outside() -> None:
    opdef = describe_pseudo_code("def f(x, a): return a * x", "Scale", {"a": None}).opdef
    assert (opdef.op, [i.name for i in opdef.inputs]) == ("Scale", ["x"])
    assert opdef.attribute("a").required  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ("import os\ndef f(x): return x", "os can't be imported", 1, 0),
        ("def f(x):\n  import os\n  return x", "import isn't allowed", 2, 2),
        ("def f(x): return __import__('os').system('ls')", "__import__ isn't known", 1, 17),
        ("def f(x): return eval('x')", "eval isn't known", 1, 17),
        ("def f(x): return x.__class__", ".__class__ isn't allowed", 1, 17),
        ("def f(x): return torch.load('x')", "load isn't known", 1, 17),
        ("def f(x): return (lambda: x)()", "can be called", 1, 17),
        ("def f(x): return [v for v in x]", "ListComp isn't allowed", 1, 17),
        ("def f(x):\n  while x: x = 1\n  return x", "while isn't allowed", 2, 2),
        ("def f(x):\n  for i in x: pass\n  return x", "a loop goes over range", 2, 11),
        ("def f(x):\n  for i in range(x.shape[0]): x = x + i\n  return x", "isn't known here", 2, 17),
        ("def f(x, n=3):\n  for i in range(n): x = x + i\n  return x", "isn't known here", 2, 17),
        ("def f(x):\n  for i in range(2):\n    break\n  return x", "break isn't allowed", 3, 4),
        ("def f(x):\n  while x > 0: x = x - 1\n  return x", "while isn't allowed", 2, 2),
        ("def f(x):\n  x.a = 1\n  return x", "only names", 2, 2),
        ("def f(x):\n  open('a')\n  return x", "expr isn't allowed", 2, 2),
        ("def f(x): return f(x - 1)", "calls itself", 1, 17),
        ("def g(x): return h(x)\ndef h(x): return g(x)\ndef f(x): return h(x)", "(h → g → h)", 1, 17),
        ("def f(x): return x.sum()", "axes to reduce", 1, 17),
        ("def f(x): return x.permute(0, 0)", "each axis once", 1, 17),
        ("def f(x): return x.squeeze(-1)", "squeeze isn't known", 1, 17),
        ("def f(x): return x[0.5]", "can't pick elements", 1, 19),
        ("def f(x): return torch.exp(x, 1, out=x)", "at most 1", 1, 17),
        ("def f(x): return torch.exp(x, foo=1)", "foo isn't taken", 1, 34),
        ("def f(x): return x or 1", "join conditions", 1, 17),
        ("def f(x): return x is None", "only asks whether", 1, 17),
        ("def f(*x): return x", "*args", 1, 7),
        ("@jit\ndef f(x): return x", "decorators", 1, 1),
        ("class A:\n  def f(x): return x", "only functions", 1, 0),
        ("def f(x, a=[1]): return x", "a default is", 1, 11),
        ("def f(x):\n  y = x", "returns nothing", 1, 0),
        ("def f(x): return 'a'", "no tensor", 1, 0),
        ("def f(x): return torch", "no value", 1, 17),
        ("def f(x, y=9**9**9): return x", "a default is", 1, 11),
        ("def f(x): return F.rms_norm(x, x.shape[-1:])", "needs eps", 1, 17),
        ("def f(x): return F.prelu(x, x)", "prelu isn't known", 1, 17),
        ("def f(x): return torch.topk(x, 2.5)", "k is a whole number", 1, 17),
        ("def f(x): return torch.argmax(x)", "axes to reduce", 1, 17),
    ],
)
def test_everything_else_is_refused_at_its_place(text: str, words: str, line: int, column: int) -> None:
    with pytest.raises(AscendError) as caught:
        describe_pseudo_code(text, where="op.py")
    error = caught.value
    assert error.code == "E42101"
    assert words in error.text
    assert error.where == f"op.py line {line}"
    assert error.details[1] == " " * column + "^"
    assert error.fix


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def f(x): return q", "E42002"),
        ("def f(x): return os.path(x)", "E42002"),
        ("def f(x: return", "E42001"),
        ("def f(x):\n\treturn x\n  return x", "E42001"),
        ("def f(x): return '\0'", "E42001"),
        ("def f(x): return " + "(" * 5000 + "x" + ")" * 5000, "E42001"),
        ("def f(x): return " + "-" * 500 + "x", "E42004"),
        ("def f(x): return " + "x + " * 2000 + "x", "E42004"),
        ("def f(x): return x" + ".abs()" * 1500, "E42004"),
        ("def f(x): return " + "x if x else " * 300 + "x", "E42004"),
        ("def f(x): return x\n" + "#" * 1_000_000, "E42004"),
        (
            "def g0(x): return x*x\n"
            + "".join(f"def g{i}(x): return g{i - 1}(g{i - 1}(x))\n" for i in range(1, 20)),
            "E42004",
        ),
    ],
    ids=lambda value: value[:28],
)
def test_unreadable_and_too_large(text: str, code: str) -> None:
    with pytest.raises(AscendError) as caught:
        describe_pseudo_code(text)
    assert caught.value.code == code


WORDS = [
    "x",
    "w",
    "1",
    "2.5",
    " + ",
    " - ",
    " * ",
    " if ",
    " else ",
    "(",
    ")",
    "[",
    "]",
    ", ",
    "torch.",
    "F.",
    "softmax",
    "sum",
    "mean",
    "where",
    "layer_norm",
    "max",
    ".shape",
    "[-1:]",
    "dim=",
    "keepdim=True",
    "-1",
    " and ",
    "not ",
    " > ",
    " is None",
    "'a'",
    "None",
    "\n    y = ",
    "\n    return ",
    "to",
    "torch.int32",
    "~",
    "**",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join) | st.text(max_size=30))
def test_any_body_is_an_operator_or_an_error(body: str) -> None:
    try:
        described = describe_pseudo_code(f"def f(x, w=None, n=1):\n    return {body}")
    except AscendError:
        return
    assert isinstance(described.opdef.semantics, Formula)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(5):\n        x = x * 0.5 + i\n    return x",
        "y = 0 * x\n    for k in range(1, 8, 2):\n        y = y + x**k / k\n    return y",
        "for i in range(3):\n        if i % 2 == 0:\n            x = torch.tanh(x)\n        elif i == 1:\n"
        "            x = x + 1\n        else:\n            z = x\n    return x",
        "n = 2 * 2\n    total = 0\n    for i in range(n):\n        for j in range(i):\n"
        "            total = total + i * j * x\n    return total",
        "for i, (a, b) in enumerate(zip((1.0, 2.0, 3.0), [0.5, 0.25, 0.125])):\n"
        "        x = x * a + b * i\n    return x",
        "for w in (0.1, 0.2):\n        x += w * x\n    return x",
    ],
)
def test_loops_are_written_out(body: str) -> None:
    text = f"def f(x):\n    {body}"
    names: dict[str, Callable[..., torch.Tensor]] = {}
    exec(text, {"torch": torch}, names)
    (result,) = evaluate(describe_pseudo_code(text).opdef, [X.numpy()])
    np.testing.assert_allclose(result, names["f"](X).numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(10**6): x = x + 1",
        "for i in range(100):\n    for j in range(100):\n      x = x",
        "for i in range(900): x = torch.tanh(x + i) * x + x",
    ],
)
def test_loops_have_limits(loop: str) -> None:
    with pytest.raises(AscendError, match="E42004"):
        describe_pseudo_code(f"def f(x):\n  {loop}\n  return x")
