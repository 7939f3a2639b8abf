"""Convolutions and what lies between get channels last; results stay onnxruntime's, borders are copies."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.plan import NativePartition

rng = np.random.default_rng(0)
WEIGHTS = {
    "stem": (8, 3, 3, 3), "k": (8, 8, 3, 3), "k2": (8, 8, 1, 1), "deep": (8, 1, 3, 3), "pair": (8, 4, 3, 3),
    "bias": (8,), "squeeze": (4, 8, 1, 1), "excite": (8, 4, 1, 1), "two": (8, 16, 1, 1), "channel": (8, 1, 1),
    "mask": (1, 1, 6, 6), "flat": (128, 5), "up": (8, 8, 2, 2), "mix": (1, 8, 1, 1), "gain": (8, 1, 3, 3),
    "k3": (8, 8, 3, 3, 3), "deep3": (8, 1, 3, 1, 3), "one3": (8, 8, 1, 1, 1), "line": (8, 8, 3), "one": (),
    "fourteen": (8, 14, 1, 1),
}  # fmt: skip
INTS = {
    "hw": [2, 3], "to_flat": [0, -1], "halves": [4, 4],
    "more_channels": [0, 0, 0, 0, 0, 8, 0, 0], "around": [0, 0, 1, 0, 0, 0, 2, 1],
    "crop": [0, 0, -1, 0, 0, 0, 0, 2],
    "from": [1], "to": [4], "left": [0], "right": [2], "width": [3], "channels": [1], "by_two": [2],
    "groups": [1, 2, 4, 6, 6], "whole": [1, 8, 6, 6],
}  # fmt: skip
FLOATS = {"twice": [1, 1, 2, 2], "wider": [1, 1, 1, 1.5]}


def model(body: str, inputs: str, outputs: str) -> onnx.ModelProto:
    weights = ", ".join(f"float[{','.join(map(str, s))}] {n}" for n, s in WEIGHTS.items())
    weights += "".join(f", int64[{len(v)}] {n}" for n, v in INTS.items())
    weights += "".join(f", float[{len(v)}] {n}" for n, v in FLOATS.items())
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    text = (
        f"""<ir_version: 10, opset_import: ["" : 20]> g ({inputs}) => ({results}) <{weights}> {{ {body} }}"""
    )
    made = onnx.parser.parse_model(text)
    values = {n: (rng.standard_normal(s) / 4).astype(np.float32) for n, s in WEIGHTS.items()}
    values |= {n: np.array(v, np.int64) for n, v in INTS.items()}
    values |= {n: np.array(v, np.float32) for n, v in FLOATS.items()}
    del made.graph.initializer[:]
    made.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in values.items())
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def kernels_of(source: onnx.ModelProto, *shapes: tuple[int, ...], codegen: str = "off") -> Counter[str]:
    """Converts, compares a run for each shape of x with onnxruntime's, counts the instructions by kernel."""
    conversion = convert(source, ConvertOptions(self_check=False, sample_seed=None, codegen=codegen))
    mine = ascend_ep.InferenceSession(conversion.to_bytes())
    theirs = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    for shape in shapes:
        feeds = {"x": rng.standard_normal(shape).astype(np.float32)}
        if shape[0] == 0:  # onnxruntime's Conv fails
            assert all(y.shape[0] == 0 for y in mine.run(None, feeds))
            continue
        for got, wanted in zip(mine.run(None, feeds), theirs.run(None, feeds), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=5e-6 * max(1.0, float(abs(wanted).max())))
    insns = [i for p in conversion.plan.partitions if isinstance(p, NativePartition) for i in p.insns]
    return Counter(i.kernel for i in insns)


CONV = "Conv <pads = [1, 1, 1, 1]>"
THREE = f"a = {CONV} (x, k, bias) b = Relu(a) b1 = {CONV} (b, k) c = Conv(b1, k2) "
SHUFFLE = "d = Reshape(c, groups) e = Transpose <perm = [0, 2, 1, 3, 4]> (d) f = Reshape(e, whole) "
SHUFFLE += "g, h = Split <axis = 1, num_outputs = 2> (f) "

#: body; outputs; how many of each kernel
CASES = {
    "a chain": (THREE + "y = Relu(c)", "y", {"conv_last": 3, "copy": 2}),
    "a residual": (THREE + "d = Conv(c, k2) e = Add(d, b) y = Relu(e)", "y", {"conv_last": 4, "copy": 2}),
    "a residual that the convolution reads": (
        THREE + "d = Conv(c, k2) e = Add(d, c) f = Conv <pads = [1, 1, 1, 1]> (e, k) y = Add(e, f)", "y",
        {"conv_last": 5, "copy": 2},
    ),
    "channels apart": (
        "a = Conv <group = 8, pads = [1, 1, 1, 1]> (x, deep) b = Conv(a, k2) "
        "y = Conv <group = 8, strides = [2, 2], pads = [1, 1, 1, 1]> (b, deep)",
        "y", {"conv_last": 3, "copy": 2},
    ),
    "groups and strides": (
        "a = Conv <group = 2, pads = [1, 1, 1, 1]> (x, pair) "
        "b = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, k) y = Conv(b, k2)",
        "y", {"conv_last": 3, "copy": 2},
    ),
    "poolings": (
        THREE + "d = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (c) "
        "e = AveragePool <kernel_shape = [2, 2], count_include_pad = 1, pads = [0, 0, 1, 1]> (d) "
        "y = Conv(e, k2)",
        "y", {"conv_last": 4, "max_pool_last": 1, "average_pool_last": 1, "copy": 2},
    ),
    "a flattened average": (
        THREE + "d = GlobalAveragePool(c) y = Flatten(d)", "y",
        {"conv_last": 3, "average_pool_last": 1, "copy": 2},
    ),
    "a mean": (
        THREE + "y = ReduceMean <keepdims = 0> (c, hw)", "y", {"conv_last": 3, "reduce": 1, "copy": 1},
    ),
    "a kept mean": (
        THREE + "d = ReduceMean (c, hw) e = Conv(d, k2) y = Add(e, channel)", "y",
        {"conv_last": 4, "reduce": 1, "elementwise": 1, "copy": 2},
    ),
    "squeeze and excite": (
        THREE + "g = GlobalAveragePool(c) h = Conv(g, squeeze) i = Relu(h) j = Conv(i, excite) "
        f"s = Sigmoid(j) m = Mul(c, s) y = {CONV} (m, k)",
        "y", {"conv_last": 6, "average_pool_last": 1, "elementwise": 1, "copy": 2},
    ),
    "formulas of images that are flat": (
        THREE + "g = GlobalAveragePool(c) h = Conv(g, squeeze) i = LeakyRelu(h) j = Conv(i, excite) "
        "s = HardSigmoid(j) m = Mul(c, s) t = Conv(m, mix) v = HardSwish(t) w = Mul(m, v) "
        f"y = {CONV} (w, k)",
        "y", {"conv_last": 7, "average_pool_last": 1, "copy": 2},
    ),
    "concatenation": (
        THREE + "d = Concat <axis = 1> (b, c) e = Conv(d, two) f = Concat <axis = 3> (e, e) y = Conv(f, k2)",
        "y", {"conv_last": 4, "conv_joined": 1, "concat": 1, "copy": 2},
    ),
    "constants of a channel and of a place": (
        THREE + "d = Mul(c, channel) e = Mul(d, mask) f = Exp(e) y = Conv(f, k2)",
        "y", {"conv_last": 4, "elementwise": 1, "copy": 2},
    ),
    "channels that are padded": (
        THREE + "d = Pad (c, more_channels) e = Conv(d, two) y = Add(e, b)", "y",
        {"conv_last": 4, "pad": 1, "copy": 2},
    ),
    "images that are padded and cropped": (
        THREE + "d = Pad <mode = \"reflect\"> (c, around) e = Conv(d, k2) "
        "f = Pad <mode = \"edge\"> (e, crop) y = Conv(f, k2)",
        "y",
        {"conv_last": 5, "pad": 2, "copy": 2},
    ),
    "images of other sizes": (
        THREE + "d = Resize <mode = \"linear\"> (c, , twice) e = Conv(d, k2) "
        "f = Resize <mode = \"nearest\"> (e, , wider) y = Conv(f, k2)", "y",
        {"conv_last": 5, "resize": 2, "resize_nearest": 1, "copy": 2},
    ),
    "parts of images": (
        THREE + "d = Slice (c, from, to, width, by_two) e = Slice (c, left, right, width) "
        "f = Concat <axis = 3> (d, e, c) g = Conv(f, k2) h = Slice (g, from, to, channels) "
        "i = Concat <axis = 1> (h, h, g) y = Conv(i, fourteen)",
        "y", {"conv_last": 5, "concat": 2, "copy": 3},
    ),
    "channels that are shuffled": (
        THREE + SHUFFLE + "i = Conv <pads = [1, 1, 1, 1]> (h, pair) y = Concat <axis = 1> (g, i)",
        "y", {"conv_last": 4, "concat": 1, "copy": 4},
    ),
    "something else reads inside": (
        THREE + "d = Conv(c, k2) e = Softmax <axis = 3> (b) y = Mul(d, d) z = Add(e, e)", "y z",
        {"conv_last": 4, "softmax": 1, "elementwise": 2, "copy": 3},
    ),
    "a flattened image": (
        THREE + "d = Conv(c, k2) e = MaxPool <kernel_shape = [3, 3], strides = [1, 1]> (d) f = Flatten(e) "
        "g = MatMul(f, flat) y = Relu(g)",
        "y", {"conv_last": 4, "max_pool_last": 1, "matmul": 1, "copy": 2},
    ),
    "one channel": (THREE + "d = Conv(c, mix) y = Conv <pads = [1, 1, 1, 1]> (d, gain)", "y",
                    {"conv_last": 5, "copy": 2}),
    "alone": (f"y = {CONV} (x, k)", "y", {"conv_last": 1, "copy": 2}),
    "more borders than convolutions": (
        "a = Conv(x, k2) b = Softmax(a) c = Conv(b, k2) y = Softmax(c)", "y", {"conv": 2, "softmax": 2},
    ),
    "transposed": (
        "a = ConvTranspose <strides = [2, 2], output_padding = [1, 1]> (x, up) y = Conv(a, k2)", "y",
        {"conv_transposed_last": 1, "conv_last": 1, "copy": 2},
    ),
    "weights made at run time": (
        "a = Mul(k2, one) b = GlobalMaxPool(x) c = Mul(k2, b) y = Conv(x, c)", "y",
        {"conv": 1, "max_pool": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("codegen", ["off", "always"])
@pytest.mark.parametrize("case", CASES)
def test_static_shapes(case, codegen) -> None:
    body, outputs, wanted = CASES[case]
    found = kernels_of(model(body, "float[1,8,6,6] x", outputs), (1, 8, 6, 6), codegen=codegen)
    if codegen == "off":
        assert {k: n for k, n in found.items() if k in wanted or k in ("conv", "conv_last", "copy")} == wanted


#: Their weights, or Reshape, fix the image's size.
FIXED = ("constants of a channel and of a place", "a flattened image", "channels that are shuffled")


@pytest.mark.parametrize("case", [c for c in CASES if c not in FIXED])
def test_symbolic_shapes(case) -> None:
    body, outputs, _ = CASES[case]
    batches = (8, 8, 8) if case == "weights made at run time" else (1, 3, 0)
    shapes = [(n, 8, *hw) for n, hw in zip(batches, [(6, 6), (9, 14), (6, 6)], strict=True)]
    kernels_of(model(body, "float[N,8,H,W] x", outputs), *shapes)


def test_the_image_of_three_channels_is_read_as_it_lies() -> None:
    body = f"""a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, stem) b = Relu(a)
               c = {CONV} (b, k) y = GlobalAveragePool(c)"""
    found = kernels_of(model(body, "float[N,3,H,W] x", "y"), (1, 3, 12, 16), (2, 3, 7, 7))
    assert found["conv_last"] == 2
    assert found["copy"] == 1, "the pooled output alone, whose axes only change places"


def test_padding_that_depends_on_the_image() -> None:
    body = """a = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, k) b = Relu(a)
              y = Conv <auto_pad = "SAME_LOWER"> (b, k)
              z = AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [2, 2], strides = [2, 2]> (y)
              w = Conv(z, k2)"""
    found = kernels_of(model(body, "float[N,8,H,W] x", "w"), (1, 8, 12, 15), (2, 8, 7, 9))
    assert (found["conv_last"], found["average_pool_last"]) == (3, 1)


def test_wide_windows_pay_for_their_copies() -> None:
    """As where a norm with channels first lies on either side."""
    for channels, taps, wanted in ((16, 3, 1), (16, 5, 1), (2, 3, 1), (16, 1, 0)):
        shape, pads = (channels, channels, taps, taps), [taps // 2] * 4
        norm = "InstanceNormalization"
        body = f"a = {norm}(x, s, s) b = Conv <pads = {pads}> (a, w) y = {norm}(b, s, s)"
        text = f"""<ir_version: 10, opset_import: ["" : 20]> g (float[N,{channels},H,9] x) => (float[] y)
                   <float[{channels}] s, float[{",".join(map(str, shape))}] w> {{ {body} }}"""
        made = onnx.parser.parse_model(text)
        values = {"s": np.ones(channels, np.float32), "w": rng.standard_normal(shape).astype(np.float32)}
        del made.graph.initializer[:]
        made.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in values.items())
        made.graph.output[0].type.tensor_type.ClearField("shape")
        found = kernels_of(made, (1, channels, 12, 9), (2, channels, 7, 9))
        assert found["conv_last"] + found["conv_winograd"] == wanted


def test_lines_have_channels_last() -> None:
    body = "a = Conv <pads = [1, 1]> (x, line) b = Relu(a) c = Conv(b, line) y = Conv(c, line)"
    assert kernels_of(model(body, "float[N,8,L] x", "y"), (2, 8, 30))["conv_last"] == 3


@pytest.mark.parametrize(("dilation", "kernel"), [(1500, "conv_last"), (1 << 18, "conv")])
def test_taps_that_lie_far_apart(dilation: int, kernel: str) -> None:
    body = f"a = Conv(x, line) y = Conv <dilations = [{dilation}], pads = [{dilation}, {dilation}]> (a, line)"
    assert kernels_of(model(body, "float[1,8,L] x", "y"), (1, 8, 3100))[kernel] >= 1


def test_volumes_have_channels_last() -> None:
    body = """a = Conv <pads = [1, 1, 1, 1, 1, 1], strides = [1, 2, 1]> (x, k3, bias) b = Relu(a)
              c = Conv <group = 8, pads = [1, 0, 1, 1, 0, 1]> (b, deep3) d = Add(b, c)
              e = MaxPool <kernel_shape = [2, 1, 2], strides = [2, 1, 2]> (d) f = Conv(e, one3)
              g = AveragePool <kernel_shape = [1, 2, 2]> (f) h = Conv(g, one3) y = GlobalAveragePool(h)"""
    source = model(body, "float[N,8,D,H,W] x", "y")
    found = kernels_of(source, (1, 8, 4, 8, 9), (2, 8, 5, 6, 6), (0, 8, 4, 8, 9))
    assert (found["conv_last"], found["max_pool_last"], found["average_pool_last"]) == (4, 1, 2)
    assert found["copy"] == 2, "the image and the result alone"


def test_transposed_convolutions_have_channels_last() -> None:
    """Of strides that don't divide the kernel, and of volumes; even alone between two copies."""
    up = "ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]>"
    found = kernels_of(model(f"y = {up} (x, k, bias)", "float[N,8,H,W] x", "y"), (1, 8, 5, 6), (2, 8, 1, 9))
    assert (found["conv_transposed_last"], found["copy"]) == (1, 2)
    body = f"a = {up} (x, k, bias) b = Relu(a) c = {CONV} (b, k) d = {up} (c, k) y = Add(d, channel)"
    found = kernels_of(model(body, "float[N,8,H,W] x", "y"), (1, 8, 5, 6), (2, 8, 7, 3))
    assert (found["conv_transposed_last"], found["conv_last"], found["copy"]) == (2, 1, 2)
    body = "a = ConvTranspose <strides = [1, 2, 3]> (x, k3) y = Relu(a)"
    found = kernels_of(model(body, "float[N,8,D,H,W] x", "y"), (1, 8, 3, 4, 2), (2, 8, 1, 1, 5))
    assert (found["conv_transposed_last"], found["copy"]) == (1, 2)


def test_transposed_convolutions_that_stay() -> None:
    for given in ("dilations = [2, 2]", "strides = [4, 4]"):
        source = model(f"y = ConvTranspose <{given}> (x, k)", "float[N,8,H,W] x", "y")
        assert kernels_of(source, (2, 8, 5, 6))["conv"] == 1
