"""Every rule of the kernels' calls can be transposed off by itself; results stay."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.fusion.switches import switched_off
from ascend_ep.opdef.fusion_rules import KERNEL, RULES

rng = np.random.default_rng(3)
BODY = """i = Conv<pads = [1, 1, 1, 1]>(x, k) i2 = Conv<pads = [1, 1, 1, 1]>(i, k2)
          ij = Concat<axis = 1>(i, i2) c = Conv<pads = [1, 1, 1, 1]>(ij, k3) r = Relu(c)
          rr = Reshape(r, split) rn = InstanceNormalization(rr, ones, zeros) rs = Reshape(rn, image)
          rm = Mul(rs, rw) f = Reshape(rm, flat)
          s = Add(f, f2) q = Mul(s, s) m = ReduceMean(q, last) v = Add(m, tiny) d = Sqrt(v) h = Div(s, d)
          n = Mul(h, w) l = LayerNormalization<axis = -1>(n, w, b) g = Gelu(l)
          e = Exp(g) t = Tanh(e) p = MatMul(t, u) o = Sigmoid(p) a = Reshape(o, heads)
          ks = Concat<axis = 2>(k0, a) vs = Concat<axis = 2>(v0, a) kt = Transpose<perm = [0, 1, 3, 2]>(ks)
          sc = MatMul(a, kt) pr = Softmax<axis = -1>(sc) z = MatMul(pr, vs)
          ga = MatMul(z, gv) si = Sigmoid(ga) sw = Mul(ga, si) up = MatMul(z, gw) j = Mul(sw, up)
          jq = Mul(j, j) jm = ReduceMean(jq, last) jv = Add(jm, tiny) jd = Sqrt(jv) jh = Div(j, jd)
          jn = Mul(jh, jw) y = MatMul(jn, ju)"""
VALUES = {
    "k2": rng.standard_normal((4, 4, 3, 3)) / 6, "k3": rng.standard_normal((4, 8, 3, 3)) / 8,
    "k": rng.standard_normal((4, 3, 3, 3)), "f2": rng.standard_normal((8, 63)), "w": rng.standard_normal(63),
    "b": rng.standard_normal(63), "u": rng.standard_normal((63, 5)), "tiny": np.float32(1e-5),
    "k0": rng.standard_normal((1, 1, 3, 5)), "v0": rng.standard_normal((1, 1, 3, 5)),
    "gv": rng.standard_normal((5, 8)), "gw": rng.standard_normal((5, 8)),
    "ones": np.ones(2), "zeros": np.zeros(2), "rw": rng.standard_normal((4, 1, 1)),
    "jw": rng.standard_normal(8), "ju": rng.standard_normal((8, 32)),
}  # fmt: skip


def model() -> onnx.ModelProto:
    made = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 20]> g (float[2,3,7,9] x) => (float[1,1,8,32] y) {{ {BODY} }}'
    )
    arrays = {n: np.asarray(v, np.float32) for n, v in VALUES.items()}
    arrays |= {"flat": np.array([8, 63]), "last": np.array([-1]), "heads": np.array([1, 1, 8, 5])}
    arrays |= {"split": np.array([2, 2, -1]), "image": np.array([2, 4, 7, 9])}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
    return made


def run(off: frozenset[str]) -> tuple[np.ndarray, dict[str, int]]:
    """The output, and how often each rule took effect; of one that only weighs, how often it did."""
    options = ConvertOptions(sample_seed=None, self_check=False, codegen="off", fusions_off=off)
    conversion = convert(model(), options)
    x = np.linspace(-1, 1, 378, dtype=np.float32).reshape(2, 3, 7, 9)
    (y,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, {"x": x})
    effects = dict.fromkeys((rule.name for rule in RULES), 0)
    for outcome in conversion.fusions:
        effects[outcome.rule.name] += outcome.is_fused or not outcome.rule.fuses
    return y, effects


@pytest.mark.parametrize("rule", [r.name for r in RULES if r.group == KERNEL])
def test_a_rule_is_off_by_itself(rule: str) -> None:
    wanted, every = run(frozenset())
    found, effects = run(frozenset({rule}))
    assert every[rule] > 0
    assert effects[rule] == 0
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_switches() -> None:
    off, unknown = switched_off({"GraphFusion": {"ALL": False, "GeluFusionPass": True}})
    graph = {rule.name for rule in RULES if rule.group != KERNEL}
    assert off == graph - {"GeluFusionPass"}
    assert not unknown
    off, (switch,) = switched_off({"UBFusion": {"GeluFusionPass": False}})  # a rule of the other group
    assert not off
    assert "GeluFusionPass" in switch.near
