"""Small models as onnxruntime's quantiser writes them: static QDQ, static QOperator, dynamic."""

from __future__ import annotations

import numpy as np
import onnx
from graph_builder import GraphBuilder
from quantised import Samples, quantise
from saturation import saturates

FORMS = ("qdq", "qdq_int8", "qoperator", "dynamic")


def residual() -> onnx.ModelProto:
    """A stem, a residual block with a strided shortcut, depthwise and grouped convolutions, a classifier."""
    g = GraphBuilder("residual")
    x = g.input("x", [1, 3, 16, 16])

    def conv(name: str, source: str, outputs: int, fan_in: int, size: int, **attributes: object) -> str:
        w = g.weight(f"{name}_w", outputs, fan_in, size, size, scale=(fan_in * size * size) ** -0.5)
        return g.node("Conv", [source, w, g.weight(f"{name}_b", outputs, scale=0.1)], name, **attributes)

    pads = [1, 1, 1, 1]
    stem = g.node("Relu", [conv("stem", x, 16, 3, 3, pads=pads)], "stem_relu")
    pool = g.node("MaxPool", [stem], "pool", kernel_shape=[2, 2], strides=[2, 2])
    left = g.node("Relu", [conv("first", pool, 24, 16, 3, pads=pads, strides=[2, 2])], "first_relu")
    left = conv("second", left, 24, 8, 3, pads=pads, group=3)
    right = conv("shortcut", pool, 24, 16, 1, strides=[2, 2])
    y = g.node("Relu", [g.node("Add", [left, right], "sum")], "sum_relu")
    y = conv("apart", y, 24, 1, 3, pads=pads, group=24)
    y = g.node("Sigmoid", [y], "gate")
    y = g.node("Flatten", [g.node("GlobalAveragePool", [y], "mean")], "flat")
    classifier = [y, g.weight("fc_w", 10, 24), g.weight("fc_b", 10, scale=0.1)]
    g.node("Gemm", classifier, g.output("y", [1, 10]), transB=1)
    return g.model(17)


def encoder() -> onnx.ModelProto:
    """One layer of a BERT: attention of two heads, two LayerNormalizations, a gated product."""
    g = GraphBuilder("encoder")
    width, heads, length = 32, 2, 12
    x = g.input("x", [1, length, width])

    def linear(name: str, source: str, k: int, n: int) -> str:
        product = g.node("MatMul", [source, g.weight(f"{name}_w", k, n)], f"{name}_product")
        return g.node("Add", [product, g.weight(f"{name}_b", n, scale=0.1)], name)

    def split(name: str, perm: list[int]) -> str:
        shape = g.constant(f"{name}_shape", [1, length, heads, width // heads])
        return g.node(
            "Transpose", [g.node("Reshape", [name, shape], f"{name}_4d")], f"{name}_heads", perm=perm
        )

    for name in ("q", "k", "v"):
        linear(name, x, width, width)
    scores = g.node("MatMul", [split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1])], "scores")
    scaled = g.node("Mul", [scores, g.constant("scale", np.asarray(0.25, np.float32))], "scaled")
    weights = g.node("Softmax", [scaled], "weights", axis=-1)
    mixed = g.node("MatMul", [weights, split("v", [0, 2, 1, 3])], "mixed")
    mixed = g.node("Transpose", [mixed], "mixed_t", perm=[0, 2, 1, 3])
    joined = g.node("Reshape", [mixed, g.constant("joined_shape", [1, length, width])], "joined")
    ones, zeros = (
        g.constant("ones", np.ones(width, np.float32)),
        g.constant("zeros", np.zeros(width, np.float32)),
    )
    y = g.node("Add", [linear("out", joined, width, width), x], "residual")
    y = g.node("LayerNormalization", [y, ones, zeros], "norm", axis=-1)
    inner = linear("up", y, width, 64)
    halved = g.node("Div", [inner, g.constant("root", np.asarray(2**0.5, np.float32))], "halved")
    erf = g.node(
        "Add", [g.node("Erf", [halved], "erf"), g.constant("one", np.asarray(1, np.float32))], "erf1"
    )
    half = g.constant("half", np.asarray(0.5, np.float32))
    gelu = g.node("Mul", [g.node("Mul", [inner, erf], "gated"), half], "gelu")
    y = g.node("Add", [linear("down", gelu, 64, width), y], "second")
    g.node("LayerNormalization", [y, ones, zeros], g.output("y", [1, length, width]), axis=-1)
    return g.model(17)


MODELS = {"residual": residual, "encoder": encoder}


def quantised(name: str, form: str) -> onnx.ModelProto:
    """The model of that name in one of FORMS, calibrated with three random inputs."""
    model = MODELS[name]()
    dims = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(1)
    samples = Samples(*({"x": rng.standard_normal(dims).astype(np.float32)} for _ in range(3)))
    return quantise(model, form, samples, saturates())
