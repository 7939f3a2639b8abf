"""A bundle names the oldest reader that knows its calls, so that an older one says what to update."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from plan_header import min_reader

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.rewrites.norm_prologue import RULE

K = 64
F32, BF16 = "must_keep_origin_dtype", "allow_mix_precision_bf16"
NORM = "n = RMSNormalization<axis = -1>(x, scale)"
GATE = "g = MatMul(n, v) h = MatMul(n, w) s = Sigmoid(g) i = Mul(g, s) y = Mul(i, h)"
rng = np.random.default_rng(3)


def converted(body: str, precision: str, off: tuple[str, ...] = ()) -> bytes:
    source = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 23]>
    m (float[2,5,{K}] x) => (float[2,5,{K}] y) {{ {body} }}""")
    tensors = {name: rng.standard_normal((K, K)) for name in "vw"} | {"scale": rng.standard_normal(K)}
    source.graph.initializer.extend(
        onnx.numpy_helper.from_array(t.astype(np.float32), name) for name, t in tensors.items()
    )
    options = ConvertOptions(
        self_check=False, sample_seed=None, precision=precision, fusions_off=frozenset(off)
    )
    return convert(source, options).to_bytes()


@pytest.mark.parametrize(
    ("body", "precision", "off", "reader"),
    [
        (f"{NORM} y = MatMul(n, v)", F32, (), 9),  # a product that normalises its rows
        (f"{NORM} y = MatMul(n, v)", F32, (RULE.name,), 1),
        (f"n = Relu(x) {GATE}", BF16, (), 9),  # a gated product
        (f"{NORM} m = MatMul(n, v) r = Relu(m) y = MatMul(r, w)", BF16, (RULE.name,), 9),  # of bfloat16
        ("y = MatMul(x, v)", BF16, (), 1),
    ],
)
def test_calls_that_older_readers_do_not_know(
    body: str, precision: str, off: tuple[str, ...], reader: int
) -> None:
    assert min_reader(converted(body, precision, off)) == reader


SAME = 'Conv<auto_pad = "SAME_UPPER">'
CONVS = f"a = {SAME}(x, k) b = Relu(a) c = {SAME}(b, k) d = Add(c, b) y = Conv(d, k)"


@pytest.mark.parametrize(
    ("body", "x", "kernel", "reader"),
    [
        (CONVS, "N,8,H,W", (8, 8, 3, 3), 1),
        (CONVS, "N,8,D,H,W", (8, 8, 3, 3, 3), 9),
        ("y = ConvTranspose<strides = [2, 2]>(x, k)", "N,8,H,W", (8, 8, 3, 3), 9),
    ],
)
def test_convolutions_with_channels_last(body: str, x: str, kernel: tuple[int, ...], reader: int) -> None:
    source = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 20]> m (float[{x}] x) => (float[] y) {{ {body} }}"""
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    weights = onnx.numpy_helper.from_array(rng.standard_normal(kernel).astype(np.float32), "k")
    source.graph.initializer.append(weights)
    made = convert(source, ConvertOptions(self_check=False, sample_seed=None, precision=F32))
    assert any(i.kernel.endswith("_last") for p in made.plan.native_parts() for i in p.insns)
    assert min_reader(made.to_bytes()) == reader


@pytest.mark.parametrize(("dtype", "reader"), [("float", 1), ("uint8", 9), ("int8", 9)])
def test_maxima_of_bytes(dtype: str, reader: int) -> None:
    source = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 20]>
        m ({dtype}[1,2,8,8] x) => ({dtype}[1,2,7,7] y) {{ y = MaxPool<kernel_shape = [2, 2]>(x) }}"""
    )
    made = convert(source, ConvertOptions(self_check=False, sample_seed=None, precision=F32))
    assert min_reader(made.to_bytes()) == reader
