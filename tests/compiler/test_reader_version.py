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
