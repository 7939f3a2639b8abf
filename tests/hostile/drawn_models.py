"""Models that an attacker would write, drawn by seed: each begins as a right one, of which one or two parts
become what nobody means."""

from __future__ import annotations

import random
from typing import Any

import onnx
import onnx.parser
from drawn_values import FLOATS, NAMES, WHOLE
from onnx import TensorProto

#: Marks tensors that contradict themselves.
WRONG = "wrong"
#: Nodes with the sizes, axes, counts and numbers that operators take, as attributes and as constants.
NODES = (
    "(float[2,8] x) => (float[2,8] y) { y = Softmax<axis = 1>(x) }",
    "(float[2,8] x) => (float[2,8] y) { y = LayerNormalization<axis = 1, epsilon = 0.1>(x, s) }",
    "(float[2,8] x) => (float[a,b] y) <int64[2] n = {4, 4}> { y = Reshape(x, n) }",
    '(float[2,8] x) => (float[a,b] y) <int64[4] n = {0, 1, 0, 1}> { y = Pad<mode = "edge">(x, n) }',
    "(float[2,8] x) => (float[a,b] y) <int64[2] n = {2, 3}> { y = Tile(x, n) }",
    "(float[2,8] x) => (float[a,b] y) <int64[2] n = {2, 8}> { y = Expand(x, n) }",
    "(float[2,8] x) => (float[a,b] y) <int64[1] n = {1}, int64[1] m = {5}> { y = Slice(x, n, m, n, n) }",
    "(float[2,8] x) => (float[a,b] y) <int64[2] n = {0, 1}> { y = Gather<axis = 1>(x, n) }",
    "(float[2,8] x) => (float[a,b] y, int64[a,b] i) <int64[1] n = {3}> { y, i = TopK<axis = 1>(x, n) }",
    "(float[2,8] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = 1>(x) }",
    "(float[2,8] x) => "
    "(float[a] y) <int64 n = {0}, int64 m = {9}, int64 o = {2}> { r = Range(n, m, o) y = Cast<to = 1>(r) }",
    "(float[2,8] x) => (float[a,b] y) <int64[2] n = {3, 4}> { y = ConstantOfShape(n) }",
    "(int64[2,8] x) => "
    "(float[a,b,c] y) <int64 n = {4}, float[2] m = {0, 1}> { y = OneHot<axis = -1>(x, n, m) }",
    "(float[1,4,8,8] x, float[4,4,3,3] w) => "
    "(float[1,4,a,b] y) "
    "{ y = Conv<pads = [1, 1, 1, 1], strides = [1, 1], dilations = [1, 1], group = 1>(x, w) }",
    "(float[1,4,8,8] x, float[4,4,3,3] w) => "
    "(float[1,4,a,b] y) { y = ConvTranspose<pads = [1, 1, 1, 1], output_padding = [0, 0]>(x, w) }",
    "(float[1,4,8,8] x) => "
    "(float[1,4,a,b] y) "
    "{ y = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2], ceil_mode = 1>(x) }",
    "(float[1,4,8,8] x) => "
    "(float[1,4,a,b] y) { y = LpPool<kernel_shape = [3, 3], p = 2, strides = [2, 2]>(x) }",
    "(float[1,4,8,8] x) => (float[a,b,c,d] y) { y = DepthToSpace<blocksize = 2>(x) }",
    "(float[1,4,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 2, 2}> { y = Resize(x, , s) }",
    "(float[1,4,8,8] x) => (float[1,4,8,8] y) { y = LRN<size = 3, alpha = 0.1, beta = 0.7, bias = 1.0>(x) }",
    "(float[1,4,8,8] x, float[4] s) => "
    "(float[1,4,8,8] y) { y = InstanceNormalization<epsilon = 0.1>(x, s, s) }",
    "(float[4,1,8] x, float[1,16,8] w, float[1,16,4] r) => "
    "(float[a,b,c,d] y) { y = LSTM<hidden_size = 4>(x, w, r) }",
    "(float[2,8] x) => (uint8[2,8] y) <float s = {0.1}, uint8 n = {3}> { y = QuantizeLinear(x, s, n) }",
    "(float[2,8] x, float[8,4] w) => (float[2,4] y) { y = Gemm<alpha = 0.5, beta = 0.5, transA = 0>(x, w) }",
    '(float[2,8] x, float[8,4] w) => (float[a,b] y) { y = Einsum<equation = "ij,jk->ik">(x, w) }',
    "(float[1,3,4] b, float[1,2,3] x) => "
    "(int64[n,c] y) <int64 m = {2}, float f = {0.5}> { y = NonMaxSuppression(b, x, m, f, f) }",
    "(float[2,8] x) => (float[2,8] y) <float f = {0.5}, float g = {1.5}> { y = Clip(x, f, g) }",
    "(float[2,8] x) => (float[2,8] y) <int64 n = {1}> { y = CumSum(x, n) }",
)


def model(seed: int) -> bytes:
    """An ONNX model."""
    chance = random.Random(seed)
    text = chance.choice(NODES).replace("(x, s) }", "(x, x) }")
    made = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> agraph {text}')
    for _ in range(chance.choice([1, 1, 2, 3])):
        chance.choice([_numbers, _numbers, _sizes, _tensor, _names, _wires, _deep])(made, chance)
    data = made.SerializeToString()
    if chance.random() < 0.1:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data


def plain() -> bytes:
    """A model that is right."""
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 18]> agraph {NODES[0]}'
    ).SerializeToString()


def _numbers(made: onnx.ModelProto, chance: random.Random) -> None:
    """An attribute, or an element of a constant."""
    found: list[Any] = [a for n in made.graph.node for a in n.attribute]
    found += [t for t in made.graph.initializer if t.doc_string != WRONG]
    if not found:
        return
    one = chance.choice(found)
    if isinstance(one, TensorProto):
        array = onnx.numpy_helper.to_array(one).copy().reshape(-1)
        kind = array.dtype.kind
        if array.size:
            new = chance.choice(FLOATS if kind == "f" else WHOLE)
            array[chance.randrange(array.size)] = new if kind == "f" else new % 256 if kind == "u" else new
        size = chance.choice([list(one.dims)] * 4 + [[0], [array.size, 1]])
        one.CopyFrom(
            onnx.numpy_helper.from_array(array[: 0 if size == [0] else None].reshape(size), one.name)
        )
    elif one.ints:
        values = list(one.ints)
        values[chance.randrange(len(values))] = chance.choice(WHOLE)
        del one.ints[:]
        one.ints.extend(chance.choice([values, values, values[:-1], values * 3]))
    elif one.type == onnx.AttributeProto.INT:
        one.i = chance.choice(WHOLE)
    elif one.type == onnx.AttributeProto.FLOAT:
        one.f = chance.choice(FLOATS)
    elif one.type == onnx.AttributeProto.STRING:
        one.s = chance.choice(
            [*NAMES, "i" * 2000 + "->i", "ij,jk->" + "z", "...", "reflect", "SAME_UPPER"]
        ).encode()


def _sizes(made: onnx.ModelProto, chance: random.Random) -> None:
    """A declared dim, rank or type."""
    kind = chance.choice([*made.graph.input, *made.graph.output]).type.tensor_type
    dims = kind.shape.dim
    match chance.randrange(4):
        case 0 if dims:
            chance.choice(dims).dim_value = chance.choice(WHOLE)
        case 1 if dims:
            chance.choice(dims).dim_param = chance.choice(NAMES)
        case 2:
            kind.elem_type = chance.choice([0, 2, 7, 8, 9, 11, 14, 16, 17, 21, 99])
        case _:
            for _ in range(chance.choice([1, 9, 40])):
                dims.add().dim_value = 1


def _tensor(made: onnx.ModelProto, chance: random.Random) -> None:
    """A constant that contradicts itself, or lies elsewhere."""
    tensor = made.graph.initializer.add(name=chance.choice(["x", "w", "n", "s", "extra"]))
    tensor.doc_string = WRONG
    tensor.data_type = chance.choice([0, 1, 6, 7, 8, 9, 10, 11, 16, 22, 99])
    tensor.dims.extend(chance.choice([[], [0], [3], [-3], [2**31, 2**31], [2**62, 4], [10**6] * 3]))
    tensor.raw_data = bytes(chance.choice([0, 1, 3, 12, 4096]))
    if chance.random() < 0.3:
        tensor.float_data.extend([1.0] * chance.choice([1, 3]))
    if chance.random() < 0.3:
        tensor.data_location = TensorProto.EXTERNAL
        where = chance.choice(
            ["../m", "/dev/zero", "/dev/stdin", "m.onnx", ".", "a\x00b", "x" * 5000, "/proc/self/mem"]
        )
        tensor.external_data.add(key="location", value=where)
        for key in ("offset", "length"):
            tensor.external_data.add(key=key, value=str(chance.choice([*WHOLE, 2**64, "1e9", "0x10", ""])))


def _names(made: onnx.ModelProto, chance: random.Random) -> None:
    node, name = chance.choice(made.graph.node), chance.choice(NAMES)
    match chance.randrange(6):
        case 0:
            node.op_type = name
        case 1:
            node.domain = chance.choice([name, "com.microsoft", "ai.onnx.ml", "ai.onnx.training"])
        case 2:
            node.name = name
        case 3:
            made.graph.input[0].name = name
            node.input[0] = name
        case 4:
            made.graph.output[0].name = name
            node.output[0] = name
        case _:
            made.metadata_props.add(key=name, value=name)
            made.producer_name = name


def _wires(made: onnx.ModelProto, chance: random.Random) -> None:
    """Cycles, values that nobody makes or two make, sets of operators that don't exist."""
    nodes, node = made.graph.node, chance.choice(made.graph.node)
    match chance.randrange(7):
        case 0:
            node.input[0] = node.output[0]
        case 1:
            nodes.add().CopyFrom(node)
        case 2:
            del node.input[chance.randrange(len(node.input)) :]
        case 3:
            node.input.extend([node.input[0]] * chance.choice([1, 1000]))
        case 4:
            node.output.extend(["more", node.output[0]])
        case 5:
            made.opset_import[0].version = chance.choice([0, -1, 1, 7, 99, 2**62])
        case _:
            made.ir_version = chance.choice([0, -1, 2, 3, 99, 2**62])


def _deep(made: onnx.ModelProto, chance: random.Random) -> None:
    """Long chains, or branches in branches."""
    node, graph = made.graph.node[-1], made.graph
    if chance.random() < 0.5:
        last = node.output[0]
        for k in range(chance.choice([10, 3000])):
            graph.node.add(op_type=chance.choice(["Neg", "Identity"]), input=[last], output=[f"v{k}"])
            last = f"v{k}"
        return
    body = onnx.helper.make_graph(
        [onnx.helper.make_node("Neg", ["x"], ["z"])], "b", [], [onnx.ValueInfoProto(name="z")]
    )
    for _ in range(chance.choice([2, 30])):
        inner = onnx.helper.make_node("If", ["x"], ["z"], then_branch=body, else_branch=body.__deepcopy__())
        if inner.ByteSize() > 1 << 20:
            break
        body = onnx.helper.make_graph([inner], "b", [], [onnx.ValueInfoProto(name="z")])
    graph.node.extend(body.node)
