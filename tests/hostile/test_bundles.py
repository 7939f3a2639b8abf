"""Damaged bundles end in an error or in a run that stays in bounds, under AddressSanitizer and UBSan.

The driver (native/fuzz/hostile_bundle.c) opens every damaged version and, where that succeeds, runs it on
buffers of exactly the declared size. tools/test names the folder of its sanitized build.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from graph_builder import GraphBuilder

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

ROOT = Path(__file__).resolve().parent.parent.parent


def gated() -> GraphBuilder:
    """A gated layer with custom operators, at any batch."""
    g = GraphBuilder("gated")
    x = g.input("x", ["N", 6])
    gate = g.node("MatMul", [x, g.weight("wg", 6, 5)], "gate")
    up = g.node("MatMul", [x, g.weight("wu", 6, 5)], "up")
    mixed = g.node("SwiGLU", [gate, up], "mixed", domain="ai.custom")
    scale = g.constant("scale", np.linspace(0.5, 1.5, 5, dtype=np.float32))
    g.node("RMSNorm", [mixed, scale], g.output("y", ["N", 5]), domain="ai.custom", epsilon=1e-5)
    return g


def windowed() -> GraphBuilder:
    """Convolution, pooling and a softmax."""
    g = GraphBuilder("windowed")
    x = g.input("x", [1, 2, 6, 5])
    y = g.node("Conv", [x, g.weight("w", 3, 2, 3, 3)], "conv", pads=[1, 1, 1, 1])
    y = g.node("MaxPool", [g.node("Relu", [y], "relu")], "pool", kernel_shape=[2, 2], strides=[2, 2])
    flat = g.node("Flatten", [y], "flat")
    g.node("Softmax", [flat], g.output("y", [1, 18]), axis=-1)
    return g


def joined() -> GraphBuilder:
    """A convolution of groups that itself puts images together, and scales, shifts and limits them."""
    g = GraphBuilder("joined")
    images = [g.input(name, [1, n, 4, 5]) for name, n in (("a", 3), ("b", 5))]
    made = g.node("Conv", [images[0], g.weight("v", 4, 3, 1, 1)], "made")
    y = g.node("Concat", [made, *images], "together", axis=1)
    y = g.node("Mul", [y, g.weight("scale", 1, 12, 1, 1)], "scaled")
    y = g.node("Relu", [g.node("Add", [y, g.weight("shift", 1, 12, 1, 1)], "shifted")], "limited")
    g.node("Conv", [y, g.weight("w", 6, 6, 3, 3)], g.output("y", [1, 6, 4, 5]), group=2, pads=[1, 1, 1, 1])
    return g


def mixed() -> GraphBuilder:
    """Two native partitions around one operator that only onnxruntime has; data-dependent indices."""
    g = GraphBuilder("mixed")
    x = g.input("x", [2, 3, 3])
    i = g.input("i", [2], onnx.TensorProto.INT64)
    determinant = g.node("Det", [g.node("Exp", [x], "exp")], "det")
    g.node("Gather", [g.node("Neg", [determinant], "neg"), i], g.output("y", [2]), axis=0)
    return g


def attended() -> GraphBuilder:
    """Attention with a mask, after a product in bfloat16."""
    g = GraphBuilder("attended")
    x, mask = g.input("x", [1, 2, "N", 4]), g.input("mask", [1, 1, "N", "N"])
    keys = g.node("Transpose", [g.node("MatMul", [x, g.weight("w", 4, 4)], "k")], "kt", perm=[0, 1, 3, 2])
    scores = g.node("Add", [g.node("MatMul", [x, keys], "qk"), mask], "scores")
    weights = g.node("Softmax", [scores], "weights", axis=-1)
    g.node("MatMul", [weights, x], g.output("y", [1, 2, "N", 4]))
    return g


def quantised() -> GraphBuilder:
    """Weights of 8 and 4 bits that products read, and int8 that is dequantised as it runs."""
    g = GraphBuilder("quantised")
    x, q = g.input("x", ["N", 6]), g.input("q", ["N", 5], onnx.TensorProto.INT8)
    w = g.constant("w", np.arange(30, dtype=np.int8).reshape(6, 5))
    scale, zero = g.constant("scale", np.full(5, 0.5, np.float32)), g.constant("zero", np.ones(5, np.int8))
    product = g.node("MatMul", [x, g.node("DequantizeLinear", [w, scale, zero], "dw", axis=1)], "product")
    packed = g.constant("packed", np.arange(40, dtype=np.uint8).reshape(5, 1, 8))
    four = {"K": 6, "N": 5, "bits": 4, "block_size": 16}
    narrow = g.node("MatMulNBits", [x, packed, scale], "narrow", domain="com.microsoft", **four)
    both = g.node("Add", [product, narrow], "both")
    g.node("Add", [both, g.node("DequantizeLinear", [q, scale], "dq", axis=1)], g.output("y", ["N", 5]))
    return g


def integers() -> GraphBuilder:
    """Products of integers, with packed and with unpacked right operands, and a dynamic quantisation."""
    g = GraphBuilder("integers")
    x = g.input("x", ["N", 6])
    q, scale, zero = (f"dynamic_{name}" for name in ("q", "scale", "zero"))
    g.node("DynamicQuantizeLinear", [x], [q, scale, zero])
    w = g.constant("w", np.arange(30, dtype=np.int8).reshape(6, 5))
    one, w_zero = g.constant("one", np.asarray(0.5, np.float32)), g.constant("w_zero", np.asarray(1, np.int8))
    ins = [q, scale, zero, w, one, w_zero, one, g.constant("y_zero", np.asarray(3, np.uint8))]
    y = g.node("QLinearMatMul", ins, "y8")
    transposed = g.node("Transpose", [y], "transposed", perm=[1, 0])
    g.node("MatMulInteger", [transposed, y], g.output("y", [5, 5], onnx.TensorProto.INT32))
    image = g.input("image", [1, 3, 5, 6], onnx.TensorProto.INT8)
    filters = g.constant("filters", np.arange(54, dtype=np.int8).reshape(2, 3, 3, 3))
    i_zero = g.constant("i_zero", np.asarray(-7, np.int8))
    ins = [image, one, i_zero, filters, one, w_zero, one, i_zero]
    g.node("QLinearConv", ins, g.output("z", [1, 2, 5, 6], onnx.TensorProto.INT8), pads=[1, 1, 1, 1])
    return g


BUNDLES = {
    "gated": gated, "windowed": windowed, "joined": joined, "mixed": mixed, "attended": attended,
    "quantised": quantised, "integers": integers,
}  # fmt: skip


def build(folder: Path) -> None:
    """The driver, sanitized; what tools/test has done already."""
    options = ["-DASC_SANITIZE=ON", "-DASC_TESTS=ON", "-DASC_PYTHON=OFF"]
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options]
    for command in (configure, ["cmake", "--build", str(folder), "--target", "hostile_bundle"]):
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = os.environ.get("ASCEND_EP_TEST_SANITIZED")
    if built is None:
        built = str(tmp_path_factory.mktemp("sanitized"))
        build(Path(built))
    return Path(built) / "native" / "test" / "hostile_bundle"


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each of BUNDLES, converted once."""
    folder, found = tmp_path_factory.mktemp("bundles"), {}
    for name, builder in BUNDLES.items():
        options = ConvertOptions(precision="mixed_bfloat16" if name == "attended" else "origin")
        found[name] = folder / f"{name}.om"
        convert(builder().model(17, "ai.custom", "com.microsoft"), options).write(found[name])
    return found


#: Cases of a mode, evenly spread; with --slow every one, and 10,000 of "mutate", which has no end.
SAMPLES = {"truncate": 2000, "flip": 5000, "reflip": 8000, "mutate": 4000}


@pytest.mark.parametrize("mode", SAMPLES)
@pytest.mark.parametrize("name", sorted(BUNDLES))
def test_damage(
    name: str,
    mode: str,
    driver: Path,
    bundles: dict[str, Path],
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    count = [] if pytestconfig.getoption("--slow") else [str(SAMPLES[mode])]
    environment = {**os.environ, "ASCEND_EP_TRUST": str(tmp_path / "nothing"), "ASCEND_EP_THREADS": "1"}
    done = subprocess.run(
        [driver, bundles[name], mode, *count],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
