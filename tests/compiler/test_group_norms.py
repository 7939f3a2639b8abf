"""GroupNormalization as PyTorch exports it is one call on the image, channels last beside convolutions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

C, GROUPS = 12, 3
NORM = (
    "r = Reshape(c, split) i = InstanceNormalization<epsilon = 0.001>(r, ones, zeros) s = Reshape(i, whole)"
)
LAST, FIRST = {"group_norm_last": 1}, {"group_norm": 1}
AND_MORE = {**LAST, "elementwise": 1}
#: What stands between the two convolutions c and y, and which kernels the model then has.
CASES = {
    "scale and shift": (f"{NORM} m = Mul(s, w) n = Add(m, b)", LAST),
    "the other way round": (f"{NORM} m = Mul(w, s) n = Add(b, m)", LAST),
    "no scale": (f"{NORM} n = Add(s, b)", LAST),
    "an activation behind": (f"{NORM} m = Mul(s, w) a = Add(m, b) n = Tanh(a)", AND_MORE),
    "a scale for each pixel": (f"{NORM} m = Mul(s, pixels) n = Add(m, b)", AND_MORE),
    "read twice": (f"{NORM} m = Mul(s, w) n = Add(m, s)", AND_MORE),
    "groups read, too": (f"{NORM} m = Mul(s, w) t = Reshape(i, whole) n = Mul(m, t)", AND_MORE),
    "other sizes behind": (f"{NORM.replace('whole', 'turned')} t = Reshape(s, whole) n = Mul(t, w)", FIRST),
    "of the operator": ("n = InstanceNormalization(c, scale, shift)", LAST),
}


def model(body: str, batch: str) -> onnx.ModelProto:
    made = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[{batch},{C},6,7] x) => (float[{batch},{C},6,7] y) {{
            c = Conv<pads = [1, 1, 1, 1]>(x, k) {body} y = Conv<pads = [1, 1, 1, 1]>(n, k2)
        }}"""
    )
    rng = np.random.default_rng(4)
    shapes = {
        "k": (C, C, 3, 3), "k2": (C, C, 3, 3), "w": (C, 1, 1), "b": (1, C, 1, 1), "pixels": (6, 7),
        "scale": (C,), "shift": (C,),
    }  # fmt: skip
    constants = {n: rng.standard_normal(s).astype(np.float32) / 3 for n, s in shapes.items()}
    constants |= {"ones": np.full(GROUPS, 1.5, np.float32), "zeros": np.full(GROUPS, 0.25, np.float32)}
    constants |= {
        "split": np.array([0, GROUPS, -1]),
        "whole": np.array([0, C, 6, 7]),
        "turned": np.array([0, C, 7, 6]),
    }
    used = {i for n in made.graph.node for i in n.input}
    made.graph.initializer.extend(
        onnx.numpy_helper.from_array(v, k) for k, v in constants.items() if k in used
    )
    return made


@pytest.mark.parametrize("batch", ["2", "N"])
@pytest.mark.parametrize("name", CASES)
def test_norms_of_groups(name: str, batch: str) -> None:
    body, wanted = CASES[name]
    given = model(body, batch)
    made = convert(given, ConvertOptions(self_check=False, sample_seed=None))
    found = Counter(i.kernel for p in made.plan.native_parts() for i in p.insns)
    assert {k: n for k, n in found.items() if k in (*FIRST, *AND_MORE)} == wanted
    x = np.random.default_rng(7).standard_normal((2, C, 6, 7)).astype(np.float32)
    (expected,) = ort.InferenceSession(given.SerializeToString()).run(None, {"x": x})
    (got,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-5)


def test_images_between_are_bfloat16() -> None:
    body, _ = CASES["an activation behind"]
    made = convert(
        model(body, "2"),
        ConvertOptions(self_check=False, sample_seed=None, precision="allow_mix_precision_bf16"),
    )
    norm = next(i for p in made.plan.native_parts() for i in p.insns if i.kernel == "group_norm_last")
    assert norm.ins[0] is not None
    assert norm.ins[0].dtype == norm.outs[0].dtype == onnx.TensorProto.BFLOAT16


def test_the_rule_has_a_switch() -> None:
    off = ConvertOptions(self_check=False, sample_seed=None, fusions_off={"GroupNormFusionPass"})
    made = convert(model(CASES["scale and shift"][0], "2"), off)
    assert "group_norm" in {i.kernel for p in made.plan.native_parts() for i in p.insns}
