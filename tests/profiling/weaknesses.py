"""Models with one planted weakness each, and healthy ones: what advice is tried on.

Each runs in milliseconds, and its weakness is most of its time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ascend_ep.codegen import search
from ascend_ep.codegen.schedule import Schedule
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry

RNG = np.random.default_rng(0)
Array = np.ndarray[Any, Any]


def _nothing(_: Path) -> list[str]:
    return []


@dataclass(frozen=True)
class Planted:
    """`first`: the advice that has to come first. `write` puts files into the model's folder and returns
    flags of `ascend-prof advise`. `trades`: whether the advice costs accuracy. `environment`: variables."""

    first: str
    make: Callable[[], onnx.ModelProto]
    write: Callable[[Path], list[str]] = _nothing
    trades: bool = False
    environment: tuple[tuple[str, str], ...] = ()


def parsed(text: str, opset: int = 17, **constants: Any) -> onnx.ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "custom": 1]> g {text}')
    for name, value in constants.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return made


def weight(*shape: int) -> Array:
    scale = np.sqrt(shape[-2] if len(shape) > 1 else 1)
    return (RNG.standard_normal(shape) / scale).astype(np.float32)


def transposed_norm() -> onnx.ModelProto:
    """A layer norm between two transpositions, so over an axis on which no pattern looks for one."""
    text = """(float[8,64,256] x) => (float[8,64,256] y) {
        t = Transpose<perm = [0, 2, 1]>(x)  m = ReduceMean<axes = [1]>(t)  d = Sub(t, m)  q = Mul(d, d)
        v = ReduceMean<axes = [1]>(q)  e = Add(v, eps)  s = Sqrt(e)  f = Div(d, s)  h = Mul(f, scale)
        i = Add(h, bias)  y = Transpose<perm = [0, 2, 1]>(i) }"""
    return parsed(text, eps=np.float32(1e-5), scale=weight(256, 1), bias=weight(256, 1))


def doubles() -> onnx.ModelProto:
    """A constant of float64 makes float64 of what it meets."""
    text = """(float[32,256] x) => (float[32,256] y) {
        d = Cast<to = 11>(x)  s = Mul(d, scale)  m = MatMul(s, w)  t = Tanh(m)  y = Cast<to = 1>(t) }"""
    return parsed(text, scale=np.float64(0.125), w=weight(256, 256).astype(np.float64))


def one_sample() -> onnx.ModelProto:
    text = "(float[1,512] x) => (float[1,512] y) { a = MatMul(x, v)  b = Relu(a)  y = MatMul(b, w) }"
    return parsed(text, v=weight(512, 512), w=weight(512, 512))


def spelled_activation() -> onnx.ModelProto:
    """GELU by the complement of the normal distribution, which no pattern has."""
    text = """(float[8,64,256] x) => (float[8,64,256] y) {
        n = Neg(x)  q = Mul(n, root)  e = Erf(q)  f = Sub(one, e)  h = Mul(f, half)  y = Mul(h, x) }"""
    numbers = {"root": np.sqrt(0.5), "one": 1.0, "half": 0.5}
    return parsed(text, **{name: np.float32(value) for name, value in numbers.items()})


def wide_integers() -> onnx.ModelProto:
    """Positions as int64, as Python numbers become in an export."""
    text = """(int32[8,32,1024] x) => (float[8,32,1024] y) {
        a = Cast<to = 7>(x)  b = Mul(a, three)  c = Add(b, seven)  d = Mod(c, many)  e = Sub(d, a)  f = Abs(e)
        y = Cast<to = 1>(f) }"""
    return parsed(text, three=np.int64(3), seven=np.int64(7), many=np.int64(1000))


def loop() -> onnx.ModelProto:
    text = """(float[8,64] x) => (float[8,64] y) { y = Loop<body = b (int64 i, bool c, float[8,64] s) =>
        (bool co, float[8,64] so) { co = Identity(c)  z = MatMul(s, w)  so = Tanh(z) }>(n, t, x) }"""
    return parsed(text, n=np.int64(8), t=np.array(True), w=weight(64, 64))


def layout_flips() -> onnx.ModelProto:
    """The head of a segmentation with channels first, between images with channels last."""
    text = """(float[8,32,32,64] x) => (float[8,32,32,64] y) {
        a = Transpose<perm = [0, 3, 1, 2]>(x)  b = Mul(a, scale)  c = Softmax<axis = 1>(b)
        y = Transpose<perm = [0, 2, 3, 1]>(c) }"""
    return parsed(text, scale=weight(64, 1, 1))


def old_opset() -> onnx.ModelProto:
    """HardSwish in primitives: the operator is of a later set than this model's."""
    text = """(float[8,64,256] x) => (float[8,64,256] y) {
        a = Add(x, three)  b = Clip(a, low, six)  c = Mul(x, b)  y = Div(c, six) }"""
    numbers = {"low": 0.0, "three": 3.0, "six": 6.0}
    return parsed(text, 11, **{name: np.float32(value) for name, value in numbers.items()})


def products() -> onnx.ModelProto:
    text = "(float[8,64,256] x) => (float[8,64,256] y) { a = MatMul(x, v)  b = Relu(a)  y = MatMul(b, w) }"
    return parsed(text, v=weight(256, 256), w=weight(256, 256))


def wide_weights() -> onnx.ModelProto:
    """Few rows against weights larger than a core's caches: half the bytes take less time anywhere, while
    bfloat16 itself may be slower than float32."""
    text = "(float[4,2048] x) => (float[4,2048] y) { a = MatMul(x, w)  b = Relu(a)  y = MatMul(b, w) }"
    return parsed(text, w=weight(2048, 2048))


def kept_types(folder: Path) -> list[str]:
    (folder / "keep.txt").write_text("OpType::MatMul\n")
    return ["--atc=--precision_mode_v2=mixed_bfloat16", f"--atc=--keep_dtype={folder / 'keep.txt'}"]


def gelus() -> onnx.ModelProto:
    """As exporters spell GELU, between sums that are fused with it or not."""
    text = """(float[8,64,256] x) => (float[8,64,256] y) {
        a = Add(x, bias)  q = Mul(a, root)  e = Erf(q)  f = Add(e, one)  h = Mul(f, a)  i = Mul(h, half)
        y = Add(i, x) }"""
    numbers = {"root": np.sqrt(0.5), "one": 1.0, "half": 0.5}
    return parsed(text, bias=weight(256), **{name: np.float32(value) for name, value in numbers.items()})


def fusions_off(folder: Path) -> list[str]:
    switch = folder / "switch.json"
    switch.write_text(json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}))
    return [f"--atc=--fusion_switch_file={switch}"]


def custom_rows() -> onnx.ModelProto:
    return parsed("(float[64,1024] x) => (float[64,1024] y) { y = custom.Entropic(x) }")


def poor_schedule(folder: Path) -> list[str]:
    """A definition of the operator, and a schedule in the cache, as a search on a busy machine leaves it."""
    formula = ["d = x - mean(x)", "z = d*rsqrt(mean(d*d) + 1e-5)", "y = exp(z) / sum(exp(z))"]
    one = {"op": "Entropic", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "formula": formula}
    definition = folder / "entropic.json"
    definition.write_text(json.dumps(one))
    poor = Schedule(tile=4096, unroll=1, keep=1000, optimize=1)
    options = ConvertOptions(registry=Registry.from_options(custom_op_info=[definition]), codegen="always")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "predicted", lambda _: poor)
        patch.setattr(search, "candidates", lambda: [poor])
        patch.setenv("ASCEND_EP_SEARCH", "0.1")
        convert(custom_rows(), options)
    return [f"--atc=--custom_op_info={definition}"]


WEAKNESSES = {
    "transposition pair": Planted("transposes", transposed_norm),
    "float64 constant": Planted("float32", doubles),
    "batch of one": Planted("batch", one_sample),
    "activation spelled out": Planted("respell", spelled_activation),
    "int64 everywhere": Planted("int32", wide_integers),
    "loop": Planted("unroll", loop),
    "layout flips": Planted("layout", layout_flips),
    "old opset": Planted("opset", old_opset),
    "kept types": Planted("keep_dtype", wide_weights, kept_types, trades=True),
    "fusions switched off": Planted("fusion_switch_file", gelus, fusions_off),
    "threads": Planted("threads", products, environment=(("ASCEND_EP_THREADS", "1"),)),
    "poor schedule": Planted("schedule", custom_rows, poor_schedule),
}


def softmax_rows() -> onnx.ModelProto:
    return parsed("(float[64,1024] x) => (float[64,1024] y) { y = Softmax(x) }")


def image_block() -> onnx.ModelProto:
    text = """(float[8,32,28,28] x) => (float[8,32,28,28] y) {
        a = Conv<pads = [1, 1, 1, 1]>(x, w, b)  r = Relu(a)
        c = Conv<pads = [1, 1, 1, 1]>(r, w, b)  d = Add(c, x)  y = Relu(d) }"""
    return parsed(text, w=(weight(32, 288) / 3).reshape(32, 32, 3, 3), b=weight(32))


def attention() -> onnx.ModelProto:
    text = """(float[4,8,64,32] q, float[4,8,64,32] k, float[4,8,64,32] v) => (float[4,8,64,32] y) {
        t = Transpose<perm = [0, 1, 3, 2]>(k)  s = MatMul(q, t)  d = Mul(s, scale)  p = Softmax(d)
        y = MatMul(p, v) }"""
    return parsed(text, scale=np.float32(32**-0.5))


def norm() -> onnx.ModelProto:
    text = "(float[256,1024] x) => (float[256,1024] y) { y = LayerNormalization(x, w, b) }"
    return parsed(text, w=weight(1024), b=weight(1024))


HEALTHY = {
    "products": products,
    "softmax": softmax_rows,
    "convolutions": image_block,
    "attention": attention,
    "norm": norm,
}
