"""A norm that only products read becomes a part of them, and no bit of a result changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.rewrites.norm_prologue import RULE
from ascend_ep.plan.plan import NativePartition

K = 40
rng = np.random.default_rng(6)
VALUES = {name: rng.standard_normal((K, 64)).astype(np.float32) for name in ("v", "w", "u")}
VALUES |= {"few": rng.standard_normal((K, 31)).astype(np.float32), "last": np.array([-1])}
VALUES |= {"scale": rng.standard_normal(K).astype(np.float32), "flat": np.array([-1, K])}
VALUES |= {"other": rng.standard_normal(K).astype(np.float32)}
VALUES |= {"both": np.ones((5, K), np.float32), "five": np.ones((5, 5), np.float32)}
VALUES |= {"bytes": rng.integers(-9, 9, (K, 64)).astype(np.int8), "step": np.float32(0.1)}
FEEDS = {"x": (2, 5, K), "r": (2, 5, K), "c": (K, 64)}
NORM = "n = RMSNormalization<axis = -1>(x, scale)"
EXPORTED = """p = Mul(x, x) m = ReduceMean(p, last) e = Add(m, step) d = Sqrt(e) i = Reciprocal(d)
h = Mul(x, i) n = Mul(h, scale)"""
F32, BF16 = "must_keep_origin_dtype", "allow_mix_precision_bf16"


def check(
    body: str, outputs: str, precision: str = F32, rows: str = "2", batches: tuple[int, ...] = (2, 1, 17)
) -> tuple[list[str], list[str], list[int]]:
    """(kernels of a model, decisions of the rule, floats of the products), whose results are those with the
    rule switched off."""
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    version = 20 if EXPORTED in body else 23
    source = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : {version}]>
    m (float[{rows},5,{K}] x, float[{rows},5,{K}] r, float[{K},64] c) => ({results}) {{ {body} }}""")
    source.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in VALUES.items())
    for output in source.graph.output:
        output.type.tensor_type.ClearField("shape")
    options = ConvertOptions(self_check=False, sample_seed=None, precision=precision)
    made = convert(source, options)
    plain = convert(source, replace(options, fusions_off=frozenset({RULE.name})))
    assert not any(o.rule is RULE for o in plain.fusions)
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in FEEDS.items()}
    sessions = [ascend_ep.InferenceSession(c.to_bytes()) for c in (made, plain)]
    for batch in (2,) if rows == "2" else batches:
        feeds |= {n: rng.standard_normal((batch, 5, K)).astype(np.float32) for n in "xr"}
        for a, b in zip(*(s.run(None, feeds) for s in sessions), strict=True):
            np.testing.assert_array_equal(a, b)
    insns = [i for p in made.plan.partitions if isinstance(p, NativePartition) for i in p.insns]
    reasons = [o.reason for o in made.fusions if o.rule is RULE]
    return [i.kernel for i in insns], reasons, [len(i.floats) for i in insns if i.kernel == "matmul"]


@pytest.mark.parametrize("precision", [F32, BF16])
@pytest.mark.parametrize("rows", ["2", "rows"])
def test_a_norm_joins_its_products(precision: str, rows: str) -> None:
    body = f"{NORM} a = MatMul(n, v) b = MatMul(n, w) e = MatMul(n, u) g = Add(e, a)"
    assert check(body, "a b g", precision, rows) == (["matmul"] * 3, [""], [5, 5, 5])


@pytest.mark.parametrize("precision", [F32, BF16])
def test_so_it_does_with_gated_products(precision: str) -> None:
    body = f"{NORM} g = MatMul(n, v) h = MatMul(n, w) s = Sigmoid(g) i = Mul(g, s) y = Mul(i, h)"
    assert check(body, "y", precision) == (["matmul"], [""], [5])


def test_so_it_does_with_weights_of_float16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VALUES, "v", rng.integers(-4, 4, (K, 768)).astype(np.float32))
    assert check(f"{NORM} y = MatMul(n, v)", "y") == (["matmul"], [""], [5])


@pytest.mark.parametrize(
    ("body", "outputs", "reason"),
    [
        (f"{NORM} y = MatMul(n, v)", "y n", "'n' is used elsewhere"),
        (f"{NORM} y = MatMul(n, v) f = Reshape(n, flat) h = MatMul(f, w)", "y h", "'n' is used elsewhere"),
        (f"{NORM} y = MatMul(n, v) h = Softmax(n)", "y h", None),
        (f"{NORM} y = MatMul(n, c)", "y", "not by weights"),
        (f"{NORM} y = MatMul(n, few)", "y", "31 columns"),
        (f"{NORM} y = MatMul(five, n)", "y", "on its right, or transposed"),
        (f"{EXPORTED} q = DequantizeLinear(bytes, step) y = MatMul(n, q)", "y", "lie as bytes32"),
        ("s = Add(x, r) n = RMSNormalization<axis = -1>(s, scale) y = MatMul(n, v)", "y", "of a sum"),
        ("n = RMSNormalization<axis = 1>(x, both) y = MatMul(n, v)", "y", "of several axes"),
        ("n = LayerNormalization<axis = -1>(x, scale) y = MatMul(n, v)", "y", None),
    ],
)
def test_what_is_more_than_that_stays(body: str, outputs: str, reason: str | None) -> None:
    kernels, decided, floats = check(body, outputs)
    assert any(k.endswith("norm") for k in kernels)
    assert set(floats) == {4}
    assert len(decided) == (reason is not None)
    assert all(reason is not None and reason in d for d in decided)


@pytest.mark.parametrize("precision", [F32, BF16])
def test_products_find_rows_packed_in_any_order(precision: str) -> None:
    """Three products of one input, whose workers have a block of rows or several: the norm is within each of
    them, those of another norm among them, and rows that none of them shares."""
    others = (
        "o = RMSNormalization<axis = -1>(x, other) k = RMSNormalization<axis = -1, epsilon = 1.0>(x, scale)"
    )
    like = "a = MatMul(n, v) b = MatMul(n, w) e = MatMul(n, u)"
    body = f"{NORM} {others} {like} f = MatMul(o, v) g = MatMul(k, v) h = MatMul(x, v)"
    kernels, reasons, floats = check(body, "a b e f g h", precision, "rows", (2, 120, 301))
    assert (kernels, reasons, floats) == (["matmul"] * 6, [""] * 3, [5] * 5 + [4])
