"""Sums before and GELUs behind a normalisation join it, what others read stays, results are onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fused_kernels import fused_kernels

rng = np.random.default_rng(5)
WIDTH = 37
NORM = """q = Pow(s, two) a = ReduceMean(q, axes) v = Add(a, tiny) d = Sqrt(v) i = Div(one, d)
          h = Mul(s, i) n = Mul(w, h)"""
LAYER = "n = LayerNormalization<axis = -1>(x, w, b)"
GELU = "c = Div(n, root2) e = Erf(c) f = Add(e, one) g = Mul(n, f) y = Mul(g, half)"
VALUES = {
    "two": np.float32(2), "one": np.float32(1), "half": np.float32(0.5), "tiny": np.float32(1e-5),
    "root2": np.float32(2**0.5), "axes": np.array([-1]), "w": rng.standard_normal(WIDTH).astype(np.float32),
    "b": rng.standard_normal(WIDTH).astype(np.float32), "flat": np.array([5, -1]),
}  # fmt: skip


def model(body: str, outputs: str) -> onnx.ModelProto:
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    g (float[2,5,{WIDTH}] x, float[2,5,{WIDTH}] r, float[{WIDTH}] row) => ({results}) {{ {body} }}"""
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in VALUES.items())
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def kernels_of(source: onnx.ModelProto) -> list[str]:
    shapes = {"x": (2, 5, WIDTH), "r": (2, 5, WIDTH), "row": (WIDTH,)}
    return fused_kernels(source, {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()})


@pytest.mark.parametrize("outputs", ["n", "n s", "s n"])
def test_a_sum_joins_its_norm(outputs: str) -> None:
    assert kernels_of(model(f"s = Add(x, r) {NORM}", outputs)) == ["rms_norm"]


def test_a_sum_that_is_read_again_is_the_second_output() -> None:
    assert kernels_of(model(f"s = Add(x, r) {NORM} y = Add(s, n)", "y")) == ["rms_norm", "elementwise"]
    assert kernels_of(model(f"s = Add(x, r) {NORM} t = Reshape(s, flat) y = Relu(t)", "n y"))[0] == "rms_norm"


def test_a_sum_that_is_read_before_the_norm_too() -> None:
    body = f"s = Add(x, r) z = Softmax(s) {NORM} y = Add(z, n)"
    assert kernels_of(model(body, "y")) == ["rms_norm", "softmax", "elementwise"]


@pytest.mark.parametrize(
    "before", ["s = Add(x, row)", "s = Add(x, one)", "s = Sub(x, r)", "u = Add(x, r) s = Relu(u)"]
)
def test_what_is_no_sum_of_whole_tensors_stays(before: str) -> None:
    assert kernels_of(model(f"{before} {NORM}", "n"))[-2:] == ["elementwise", "rms_norm"]


@pytest.mark.parametrize("gelu", [GELU, "y = Gelu(n)", 'y = Gelu<approximate="tanh">(n)'])
def test_a_gelu_joins_its_norm(gelu: str) -> None:
    assert kernels_of(model(f"{LAYER} {gelu}", "y")) == ["layer_norm"]


@pytest.mark.parametrize(
    ("tail", "outputs"), [("y = Gelu(n)", "y n"), ("y = Relu(n)", "y"), ("g = Gelu(n) y = Add(g, r)", "y")]
)
def test_other_tails_stay(tail: str, outputs: str) -> None:
    assert "elementwise" in kernels_of(model(f"{LAYER} {tail}", outputs))
