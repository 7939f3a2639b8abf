"""Computes that read parts, windows and dimensions in another order; matrix products; against NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tbe_files import computed, describe_file, formula

from ascend_ep.errors import AscendError
from ascend_ep.opdef.output_types import infer

#: The documents' depthwise convolution with its mistakes corrected: four indices, reduced axes declared.
DEPTHWISE = """
    from te import tvm

    def depthwise_conv2d(data, weight):
        batch, channel, height, width = data.shape
        kh, kw = weight.shape[-2:]
        dh, dw = tvm.reduce_axis((0, kh), name="dh"), tvm.reduce_axis((0, kw), name="dw")
        output = tvm.compute(
            (batch, channel, height - kh + 1, width - kw + 1),
            lambda n, c, h, w: tvm.sum(
                data[n, c, h + dh, w + dw].astype("float32") * weight[c, 0, dh, dw].astype("float32"),
                axis=[dh, dw]),
            name="dwconv")
        s = tvm.create_schedule(output.op)
        s[output].vectorize(s[output].op.axis[1])
        s[data].double_buffer()
        return output, s
"""
ATTENTION = """
    import te.lang.cce as dsl
    from te import tvm

    def attention(q, k, v):
        b, m, d = q.shape
        n, e = k.shape[1], v.shape[2]
        along, over = tvm.reduce_axis((0, d), name="along"), tvm.reduce_axis((0, n), name="over")
        scores = tvm.compute((b, m, n), lambda z, i, j: tvm.sum(q[z, i, along] * k[z, j, along], axis=along))
        scores = dsl.vmuls(scores, tvm.const(0.125, "float32"))
        shifted = dsl.vsub(scores, dsl.broadcast(dsl.reduce_max(scores, -1, True), scores.shape))
        weights = dsl.vexp(shifted)
        weights = dsl.vdiv(weights, dsl.broadcast(dsl.sum(weights, -1, True), scores.shape))
        return tvm.compute((b, m, e), lambda z, i, j: tvm.sum(weights[z, i, over] * v[z, over, j], axis=over))
"""
rng = np.random.default_rng(5)


def compute_of(shape: str, body: str, *, placed: str = "") -> str:
    return f"""
    import te.lang.cce as dsl
    from te import tvm

    def moved_compute(x):
        n, m = x.shape[0], x.shape[1]
        k = tvm.reduce_axis((0, 3), name="k")
        {placed or "y = x"}
        return tvm.compute({shape}, {body})
    """


def convolved(x: Any, w: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[-2:], (-2, -1))
    return np.einsum("nchwij,cij->nchw", windows, w[:, 0])


def attended(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.swapaxes(-1, -2) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def test_the_documents_depthwise_convolution(tmp_path) -> None:
    described = describe_file(tmp_path, DEPTHWISE, (1, 8, 12, 13), (8, 1, 3, 3))
    assert any("the operator is for [?, ?, ?, ?], [?, 1, 3, 3] only" in w for w in described.warnings)
    x, w = rng.normal(size=(2, 5, 9, 7)), rng.normal(size=(5, 1, 3, 3))
    np.testing.assert_allclose(computed(described, x, w), convolved(x, w))
    assert infer(described.opdef, [(1, (2, 5, 9, 7)), (1, (5, 1, 3, 3))], {})[0][1] == (2, 5, 7, 5)
    with pytest.raises(AscendError, match=r"input \[weight\] must have the shape \[\?, 1, 3, 3\]"):
        infer(described.opdef, [(1, (2, 5, 9, 7)), (1, (5, 1, 5, 5))], {})


def test_attention_of_computes(tmp_path) -> None:
    described = describe_file(tmp_path, ATTENTION, (2, 6, 10), (2, 7, 10), (2, 7, 9))
    q, k, v = (rng.normal(size=s) for s in ((3, 4, 5), (3, 6, 5), (3, 6, 8)))
    np.testing.assert_allclose(computed(described, q, k, v), attended(q, k, v))


@pytest.mark.parametrize(
    ("text", "shapes", "wanted"),
    [
        ("matmul(a, b)", ((4, 5), (5, 6)), lambda a, b: a @ b),
        ("matmul(a, b, trans_a=True, trans_b=True)", ((5, 4), (6, 5)), lambda a, b: a.T @ b.T),
        ("matmul(a, b, False, True)", ((2, 4, 5), (2, 6, 5)), lambda a, b: a @ b.swapaxes(1, 2)),
        ("matmul(a, b, alpha_num=0.5, tensor_bias=dsl.vabs(b))", ((5, 5), (5, 5)),
         lambda a, b: a @ b * 0.5 + abs(b)),
        ("concat([a, b, a], -1)", ((4, 5), (4, 6)), lambda a, b: np.concatenate([a, b, a], -1)),
        ("vadd(dsl.transpose(a, (2, 0, 1)), b)", ((4, 5, 6), (6, 4, 5)),
         lambda a, b: np.moveaxis(a, 2, 0) + b),
    ],
)  # fmt: skip
def test_functions_of_the_dsl(tmp_path, text, shapes, wanted) -> None:
    file = f"import te.lang.cce as dsl\ndef combined_compute(a, b):\n    return dsl.{text}\n"
    described = describe_file(tmp_path, file, *shapes)
    a, b = (rng.normal(size=s) for s in shapes)
    np.testing.assert_allclose(computed(described, a, b), wanted(a, b))


@pytest.mark.parametrize(
    ("shape", "body", "wanted"),
    [
        ("(m, n)", "lambda i, j: x[j, i]", lambda x: x.T),
        ("(n, m - 1)", "lambda i, j: x[i, j + 1]", lambda x: x[:, 1:]),
        ("(n, m - 1)", "lambda i, j: x[i, j + 1] - x[i, j]", lambda x: np.diff(x)),
        ("(n, 3)", "lambda i, j: x[i, j]", lambda x: x[:, :3]),
        ("(n,)", "lambda i: x[i, 2]", lambda x: x[:, 2]),
        ("(n, m - 2)", "lambda i, j: tvm.sum(x[i, j + k], axis=k)",
         lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1).sum(-1)),
        ("(n, (m - 5) // 2 + 1)", "lambda i, j: tvm.max(x[i, 2 * j + k * 2], axis=k)",
         lambda x: np.lib.stride_tricks.sliding_window_view(x, 5, 1)[:, ::2, ::2].max(-1)),
        ("(m - 2, n)", "lambda i, j: tvm.sum(x[j, i + k] * x[j, k], axis=k)",
         lambda x: (np.lib.stride_tricks.sliding_window_view(x, 3, 1) * x[:, None, :3]).sum(-1).T),
    ],
)  # fmt: skip
def test_computes_that_read_elsewhere(tmp_path, shape, body, wanted) -> None:
    described = describe_file(tmp_path, compute_of(shape, body), (4, 11))
    for size in [(4, 11), (6, 11)]:
        x = rng.normal(size=size)
        np.testing.assert_allclose(computed(described, x), wanted(x), err_msg=formula(described))


def test_halves(tmp_path) -> None:
    """Of odd widths the file drops the last element: the operator keeps to its width."""
    body = "lambda i, j: x[i, j] * x[i, j + m // 2]"
    described = describe_file(tmp_path, compute_of("(n, m // 2)", body), (4, 12))
    x = rng.normal(size=(3, 12))
    assert formula(described) == "y = chunk(x, 2, 0, axis=-1)*chunk(x, 2, 1, axis=-1)"
    assert described.opdef.inputs[0].required_shape == (-1, 12)
    np.testing.assert_allclose(computed(described, x), x[:, :6] * x[:, 6:])


# ---- random programs -------------------------------------------------------------------------------

Step = tuple[str, Callable[[Any], Any]]


def random_step(draw: random.Random, shape: tuple[int, ...]) -> Step:
    """A line over `v`, and what it does with an array of this shape."""
    axis = draw.randrange(-len(shape), 0)
    number = draw.choice([0.5, -1.5, 2.0])
    steps: list[Step] = [
        (f"dsl.vmuls(v, tvm.const({number}, v.dtype))", lambda a: a * number),
        (f"dsl.vadds(v, {number})", lambda a: a + number),
        ("dsl.vabs(v)", np.abs),
        ("dsl.vmul(v, v)", lambda a: a * a),
        ("dsl.vmax(v, dsl.vmuls(v, -0.25))", lambda a: np.maximum(a, a * -0.25)),
        ("dsl.vexp(dsl.vmins(v, 1.5))", lambda a: np.exp(np.minimum(a, 1.5))),
        ("dsl.vrelu(v)", lambda a: np.maximum(a, 0)),
        (f"dsl.reduce_max(v, {axis}, keepdims=True)", lambda a: a.max(axis, keepdims=True)),
        (f"dsl.vsub(v, dsl.broadcast(dsl.sum(v, {axis}, True), v.shape))",
         lambda a: a - a.sum(axis, keepdims=True)),
        ("dsl.cast_to(dsl.floor(v), v.dtype)", np.floor),
        ("dsl.vcmpsel(v, 0.5, 'gt', v, dsl.vmuls(v, 3.0))", lambda a: np.where(a > 0.5, a, a * 3)),
        (f"dsl.concat([v, dsl.vmuls(v, 2.0)], {axis})", lambda a: np.concatenate([a, a * 2], axis)),
    ]  # fmt: skip
    if len(shape) == 2 and shape[1] > 3:
        steps += [
            ("tvm.compute((v.shape[1], v.shape[0]), lambda i, j: v[j, i])", np.transpose),
            ("tvm.compute((v.shape[0], v.shape[1] - 1), lambda i, j: v[i, j + 1] - v[i, j])", np.diff),
            ("tvm.compute((v.shape[0], v.shape[1] - 2), lambda i, j: v[i, j] * v[i, j + 2])",
             lambda a: a[:, :-2] * a[:, 2:]),
        ]  # fmt: skip
    return draw.choice(steps)


WRAPPERS = (
    "def program_compute(v):\n    {lines}\n    return v\n",
    "@register('program')\ndef program_compute(v, y, kernel_name='program'):\n    {lines}\n    return v\n"
    "\n@check.check_input_type(dict, dict, str)\ndef program(x, y, kernel_name='program'):\n"
    "    data = tvm.placeholder(x.get('shape'), name='data', dtype=x.get('dtype').lower())\n"
    "    res = program_compute(data, y, kernel_name)\n    with tvm.target.cce():\n"
    "        sch = generic.auto_schedule(res)\n"
    "    config = {{'name': kernel_name, 'tensor_list': [data, res]}}\n"
    "    dsl.cce_build_code(sch, config)\n",
)
IMPORTS = (
    "import te.lang.cce as dsl\nfrom te import tvm\nfrom topi import generic\n"
    "from topi.cce import util as check\nfrom te.platform.fusion_manager import fusion_manager\n"
    "register = fusion_manager.register\n",
    "import tbe.dsl as dsl\nfrom tbe import tvm\nimport tbe.dsl as generic\n"
    "from tbe.common.utils import para_check as check\n"
    "from tbe.common.register import register_op_compute as register\n",
)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(tmp_path, seed) -> None:
    """As people write them, with decorators or bare, for another shape than they were recorded with."""
    draw = random.Random(seed)
    shape = tuple(draw.sample([4, 6, 9, 11], draw.choice([1, 2, 2, 3])))
    value = np.random.default_rng(seed).uniform(-2, 2, shape)
    lines, functions = [], []
    for _ in range(draw.randrange(2, 6)):
        line, function = random_step(draw, value.shape)
        lines.append(f"v = {line}")
        functions.append(function)
        value = function(value)
    text = draw.choice(IMPORTS) + "\n" + draw.choice(WRAPPERS).format(lines="\n    ".join(lines))
    text = text.replace("dsl.cce_build_code", "dsl.build") if "tbe.dsl" in text else text
    described = describe_file(tmp_path, text, shape)
    required = described.opdef.inputs[0].required_shape
    other = tuple(n if r > 0 else n + 3 for n, r in zip(shape, required or [-1] * len(shape), strict=True))
    x = np.random.default_rng(seed + 100).uniform(-2, 2, other)
    wanted = x
    for function in functions:
        wanted = function(wanted)
    got = computed(described, x)
    np.testing.assert_allclose(
        np.asarray(got, dtype=float).reshape(wanted.shape), wanted, rtol=1e-9, err_msg=text
    )
