"""The two products of a gated layer become one, and no bit of a result changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.rewrites import gate_products
from ascend_ep.compiler.rewrites.gate_products import RULE
from ascend_ep.plan.plan import Insn, NativePartition, Weight

K, N = 24, 20
rng = np.random.default_rng(4)
VALUES = {name: rng.standard_normal((K, N)).astype(np.float32) for name in ("v", "w")}
VALUES |= {name: rng.standard_normal((K, 18)).astype(np.float32) for name in ("v18", "w18")}
VALUES |= {name: rng.standard_normal((2306, 8)).astype(np.float32) for name in ("tall_v", "tall_w")}
VALUES |= {"b": np.ones(N, np.float32), "zero": np.array([0]), "one": np.array([1])}
FEEDS = {
    "x": rng.standard_normal((2, 5, K)),
    "z": rng.standard_normal((2, 5, K)),
    "t": np.ones((20, 2306)),
    "c": np.ones((K, N)),
}
GLU = "s = Sigmoid(g) i = Mul(g, s) y = Mul(i, u)"


def check(
    body: str, outputs: str, precision: str = "allow_mix_precision_bf16"
) -> tuple[list[str], list[str]]:
    """(kernels of a model, decisions of the rule), whose results are those with the rule switched off."""
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    source = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 20]>
    m (float[2,5,{K}] x, float[2,5,{K}] z, float[20,2306] t, float[{K},{N}] c) => ({results}) {{ {body} }}""")
    source.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in VALUES.items())
    for output in source.graph.output:
        output.type.tensor_type.ClearField("shape")
    options = ConvertOptions(self_check=False, sample_seed=None, precision=precision)
    made = convert(source, options)
    plain = convert(source, replace(options, fusions_off=frozenset({RULE.name})))
    assert not decisions(plain)
    assert not any(i.kernel == "matmul" and i.ints[2] == gate_products.GATED for i in insns(plain))
    feeds = {name: x.astype(np.float32) for name, x in FEEDS.items()}
    runs = [ascend_ep.InferenceSession(c.to_bytes()).run(None, feeds) for c in (made, plain)]
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)
    return [i.kernel for i in insns(made)], decisions(made)


def insns(made: Conversion) -> list[Insn]:
    return [i for p in made.plan.partitions if isinstance(p, NativePartition) for i in p.insns]


def decisions(made: Conversion) -> list[str]:
    return [o.reason for o in made.fusions if o.rule is RULE]


@pytest.mark.parametrize("precision", ["must_keep_origin_dtype", "allow_mix_precision_bf16"])
def test_two_products_are_one(precision: str) -> None:
    body = f"g = MatMul(x, v) u = MatMul(x, w) {GLU}"
    assert check(body, "y", precision) == (["matmul"], [""])


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_columns_lie_by_turns(order: str, kind: type) -> None:
    sides = [
        np.asarray(rng.standard_normal((6, 12)).astype(kind), order="F" if order == "F" else "C")
        for _ in "vw"
    ]
    if order == "strided":
        sides = [s[::2, 2:10] for s in sides]
    made = gate_products._ByTurns(*(Weight(s) for s in sides)).numpy()
    columns = sides[0].shape[1]
    wanted = [s[:, at : at + 4] for at in range(0, columns, 4) for s in sides]
    np.testing.assert_array_equal(made, np.concatenate(wanted, axis=1))
    assert made.dtype == kind


def test_so_are_those_of_float16_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large ones that float16 holds are stored in it."""
    for weight in ("half_v", "half_w"):
        monkeypatch.setitem(VALUES, weight, rng.integers(-4, 4, (K, 768)).astype(np.float32))
    body = f"g = MatMul(x, half_v) u = MatMul(x, half_w) {GLU}"
    assert check(body, "y", "must_keep_origin_dtype") == (["matmul"], [""])


@pytest.mark.parametrize(
    ("body", "outputs", "reason"),
    [
        (f"g = MatMul(x, v) u = MatMul(x, w) {GLU}", "y u", "'u' is used elsewhere"),
        (f"g = MatMul(x, v) u = MatMul(x, w) {GLU} r = Relu(g)", "y r", "'g' is used elsewhere"),
        (f"g = MatMul(x, v) u = MatMul(z, w) {GLU}", "y", "of different inputs"),
        (f"g = MatMul(x, v) m = MatMul(x, w) u = Add(m, b) {GLU}", "y", "'u' is transposed, scaled or has"),
        (f"g = MatMul(x, v18) u = MatMul(x, w18) {GLU}", "y", "18 columns"),
        (f"g = MatMul(t, tall_v) u = MatMul(t, tall_w) {GLU}", "y", "2306 terms"),
        (f"g = MatMul(x, c) u = MatMul(x, w) {GLU}", "y", "not both by weights"),
        (f"r = Slice(x, zero, one, one) g = MatMul(r, v) u = MatMul(r, w) {GLU}", "y", "have 2 rows"),
        (f"g = MatMul(x, v) u = Sin(g) {GLU}", "y", None),
    ],
)
def test_what_is_more_than_that_stays(body: str, outputs: str, reason: str | None) -> None:
    kernels, decided = check(body, outputs)
    assert len(kernels) > kernels.count("matmul") >= 1
    assert len(decided) == (reason is not None)
    assert all(reason is not None and reason in d for d in decided)
