"""Single operators and short chains, written as torch's exporters write them: standard operators only."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import onnx
from graph_builder import GraphBuilder, save_from_command_line

OPSET = 17


def scalar(g: GraphBuilder, value: float) -> str:
    return g.constant(f"float.{value!r}", np.array(value, np.float32))


def gelu_nodes(g: GraphBuilder, x: str, output: str) -> str:
    """x * (1 + erf(x / sqrt 2)) * 0.5"""
    scaled = g.node("Div", [x, scalar(g, 2**0.5)], f"{output}.scaled")
    shifted = g.node("Add", [g.node("Erf", [scaled], f"{output}.erf"), scalar(g, 1)], f"{output}.1+erf")
    product = g.node("Mul", [x, shifted], f"{output}.product")
    return g.node("Mul", [product, scalar(g, 0.5)], output)


def rms_norm_nodes(g: GraphBuilder, x: str, weight: str, output: str, epsilon: float = 1e-5) -> str:
    """weight * (x * (1 / sqrt(mean(x^2) + epsilon))), over the last axis"""
    square = g.node("Pow", [x, scalar(g, 2)], f"{output}.square")
    mean = g.node("ReduceMean", [square], f"{output}.mean", axes=[-1], keepdims=1)
    shifted = g.node("Add", [mean, scalar(g, epsilon)], f"{output}.shifted")
    root = g.node("Sqrt", [shifted], f"{output}.root")
    inverse = g.node("Div", [scalar(g, 1), root], f"{output}.inverse")
    normal = g.node("Mul", [x, inverse], f"{output}.normal")
    return g.node("Mul", [weight, normal], output)


def rope_nodes(g: GraphBuilder, x: str, cos: str, sin: str, width: int, output: str) -> str:
    """x * cos + concat(-x[width/2:], x[:width/2]) * sin, over the last axis, of size `width`"""
    axis, step = g.constant("rope.axis", [-1]), g.constant("rope.step", [1])
    start, half, end = (
        g.constant("rope.start", [0]),
        g.constant("rope.half", [width // 2]),
        g.constant("rope.end", [np.iinfo(np.int64).max]),
    )
    first = g.node("Slice", [x, start, half, axis, step], f"{output}.first")
    second = g.node("Slice", [x, half, end, axis, step], f"{output}.second")
    rotated = g.node(
        "Concat", [g.node("Neg", [second], f"{output}.neg"), first], f"{output}.rotated", axis=-1
    )
    left = g.node("Mul", [x, cos], f"{output}.cos")
    return g.node("Add", [left, g.node("Mul", [rotated, sin], f"{output}.sin")], output)


def swish_nodes(g: GraphBuilder, x: str, output: str) -> str:
    return g.node("Mul", [x, g.node("Sigmoid", [x], f"{output}.sigmoid")], output)


def rope(shape: Sequence[int] = (1, 32, 512, 128)) -> onnx.ModelProto:
    g = GraphBuilder("rope")
    x, cos, sin = g.input("x", shape), g.input("cos", shape[-2:]), g.input("sin", shape[-2:])
    rope_nodes(g, x, cos, sin, shape[-1], g.output("y", shape))
    return g.model(OPSET)


def topk(shape: Sequence[int] = (128, 32000), k: int = 10) -> onnx.ModelProto:
    g = GraphBuilder("topk")
    x = g.input("x", shape)
    found = [*shape[:-1], k]
    outputs = [g.output("values", found), g.output("indices", found, onnx.TensorProto.INT64)]
    g.node("TopK", [x, g.constant("k", [k])], outputs, axis=-1, largest=1, sorted=1)
    return g.model(OPSET)


def rms_norm(shape: Sequence[int] = (1, 512, 1024)) -> onnx.ModelProto:
    g = GraphBuilder("rms_norm")
    x = g.input("x", shape)
    rms_norm_nodes(g, x, g.weight("weight", shape[-1], scale=1.0), g.output("y", shape))
    return g.model(OPSET)


def add_rms_norm(shape: Sequence[int] = (1, 512, 4096)) -> onnx.ModelProto:
    """The sum is an output too, as the residual stream of a decoder needs it."""
    g = GraphBuilder("add_rms_norm")
    x, residual = g.input("x", shape), g.input("residual", shape)
    total = g.node("Add", [x, residual], g.output("sum", shape))
    rms_norm_nodes(g, total, g.weight("weight", shape[-1], scale=1.0), g.output("y", shape))
    return g.model(OPSET)


def layer_norm_gelu(shape: Sequence[int] = (1, 512, 1024)) -> onnx.ModelProto:
    g = GraphBuilder("layer_norm_gelu")
    x = g.input("x", shape)
    operands = [x, g.weight("weight", shape[-1], scale=1.0), g.weight("bias", shape[-1], scale=0.1)]
    normal = g.node("LayerNormalization", operands, "normal", axis=-1, epsilon=1e-5)
    gelu_nodes(g, normal, g.output("y", shape))
    return g.model(OPSET)


def gelu(shape: Sequence[int] = (512, 1024)) -> onnx.ModelProto:
    g = GraphBuilder("gelu")
    gelu_nodes(g, g.input("x", shape), g.output("y", shape))
    return g.model(OPSET)


def swish(shape: Sequence[int] = (512, 1024)) -> onnx.ModelProto:
    g = GraphBuilder("swish")
    swish_nodes(g, g.input("x", shape), g.output("y", shape))
    return g.model(OPSET)


def swiglu(rows: int = 512, width: int = 11008, concatenated: bool = False) -> onnx.ModelProto:
    """swish(gate) * up; both inputs, or the halves of one."""
    g = GraphBuilder("swiglu")
    if concatenated:
        sizes = g.constant("sizes", [width, width])
        gate, up = "gate", "up"
        g.node("Split", [g.input("x", [rows, 2 * width]), sizes], [gate, up], axis=-1)
    else:
        gate, up = g.input("gate", [rows, width]), g.input("up", [rows, width])
    g.node("Mul", [swish_nodes(g, gate, "swish"), up], g.output("y", [rows, width]))
    return g.model(OPSET)


def softmax(shape: Sequence[int] = (512, 4096)) -> onnx.ModelProto:
    g = GraphBuilder("softmax")
    g.node("Softmax", [g.input("x", shape)], g.output("y", shape), axis=-1)
    return g.model(OPSET)


def attention(shape: Sequence[int] = (1, 16, 512, 64)) -> onnx.ModelProto:
    """softmax(q k^T / sqrt(width)) v, for [batch, heads, length, width]"""
    g = GraphBuilder("attention")
    q, k, v = (g.input(name, shape) for name in "qkv")
    keys = g.node("Transpose", [k], "keys", perm=[0, 1, 3, 2])
    scores = g.node("MatMul", [q, keys], "scores")
    scaled = g.node("Div", [scores, scalar(g, shape[-1] ** 0.5)], "scaled")
    weights = g.node("Softmax", [scaled], "weights", axis=-1)
    g.node("MatMul", [weights, v], g.output("y", shape))
    return g.model(OPSET)


def depthwise(shape: Sequence[int] = (1, 64, 112, 112)) -> onnx.ModelProto:
    """A 3×3 convolution of every channel by itself, with bias."""
    g = GraphBuilder("depthwise")
    channels = shape[1]
    operands = [g.input("x", shape), g.weight("weight", channels, 1, 3, 3, scale=1 / 3)]
    operands.append(g.weight("bias", channels, scale=0.1))
    same = [1, 1, 1, 1]
    g.node("Conv", operands, g.output("y", shape), group=channels, kernel_shape=[3, 3], pads=same)
    return g.model(OPSET)


def linear_gelu(rows: int = 128, fan_in: int = 1024, fan_out: int = 1024) -> onnx.ModelProto:
    g = GraphBuilder("linear_gelu")
    x = g.input("x", [rows, fan_in])
    product = g.node("MatMul", [x, g.weight("weight", fan_in, fan_out)], "product")
    shifted = g.node("Add", [g.weight("bias", fan_out, scale=0.1), product], "shifted")
    gelu_nodes(g, shifted, g.output("y", [rows, fan_out]))
    return g.model(OPSET)


def chain(length: int = 100, shape: Sequence[int] = (1, 64)) -> onnx.ModelProto:
    """Elementwise nodes one after another: Add, Mul and Sub of a row, Sigmoid."""
    g = GraphBuilder("chain")
    value = g.input("x", shape)
    for i in range(length):
        op = ("Add", "Mul", "Sub", "Sigmoid")[i % 4]
        operands = [value] if op == "Sigmoid" else [value, g.weight(f"row{i}", shape[-1], scale=1.0)]
        value = g.node(op, operands, g.output("y", shape) if i == length - 1 else f"v{i}")
    return g.model(OPSET)


BLOCKS: dict[str, Callable[[], onnx.ModelProto]] = {
    f.__name__: f
    for f in (
        rope,
        topk,
        rms_norm,
        add_rms_norm,
        layer_norm_gelu,
        gelu,
        swish,
        swiglu,
        softmax,
        attention,
        depthwise,
        linear_gelu,
        chain,
    )
}


def build(block: str = "rope", **arguments: object) -> onnx.ModelProto:
    """One block by name; `arguments` are those of its function."""
    return BLOCKS[block](**arguments)


def sample_inputs(
    model: onnx.ModelProto, order: str = "random", seed: int = 0, scale: float = 1.0
) -> dict[str, np.ndarray]:
    """Normal inputs that fit; `order` arranges each row: random, ascending, descending, or constant."""
    random = np.random.default_rng(seed)
    found = {}
    for info in model.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        array = random.standard_normal(shape, np.float32) * np.float32(scale)
        if order in ("ascending", "descending"):
            array.sort(-1)
            array = array[..., ::-1] if order == "descending" else array
        elif order == "constant":
            array[...] = array[..., :1]
        found[info.name] = np.ascontiguousarray(array)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--block", choices=sorted(BLOCKS), default="rope")
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()
