"""Models as an attacker would write them: each must end in a coded error, in little time and memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.parser
from onnx import TensorProto, helper

HUGE = 2**31
Make = Callable[[Path], Path]


def save(folder: Path, model: onnx.ModelProto) -> Path:
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def graph(text: str, opset: int = 17) -> Make:
    """A model in ONNX's text form."""

    def make(folder: Path) -> Path:
        header = f'<ir_version: 9, opset_import: ["" : {opset}]> agraph '
        return save(folder, onnx.parser.parse_model(header + text))

    return make


def external(**entries: str) -> Make:
    """A weight of 12 bytes outside the file."""

    def make(folder: Path) -> Path:
        inner = folder / "model"
        inner.mkdir(exist_ok=True)
        (inner / "w").write_bytes(bytes(12))
        (folder / "secret").write_bytes(bytes(12))
        for link, target in (("symbolic", "../secret"), ("up", "..")):
            if not (inner / link).is_symlink():
                (inner / link).symlink_to(target)
        if not (inner / "hard").exists():
            os.link(folder / "secret", inner / "hard")
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3])
        weight.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            weight.external_data.add(key=key, value=value.replace("FOLDER", str(folder)))
        return save(inner, add(weight))

    return make


def initializer(dims: list[int], dtype: int = TensorProto.FLOAT, raw: bytes = b"") -> Make:
    def make(folder: Path) -> Path:
        return save(folder, add(TensorProto(name="w", data_type=dtype, dims=dims, raw_data=raw)))

    return make


def add(weight: TensorProto) -> onnx.ModelProto:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    made = helper.make_graph([node], "g", [x], [y], [weight])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def sparse(dims: list[int], index: int, place: str) -> Make:
    """A sparse tensor of one element, as an initializer or the value of a Constant."""

    def make(folder: Path) -> Path:
        values = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], float_data=[1.0])
        indices = TensorProto(name="i", data_type=TensorProto.INT64, dims=[1], int64_data=[index])
        tensor = onnx.SparseTensorProto(values=values, indices=indices, dims=dims)
        model = add(TensorProto())
        del model.graph.initializer[:]
        if place == "initializer":
            model.graph.sparse_initializer.append(tensor)
        else:
            made = helper.make_attribute("sparse_value", tensor)
            node = onnx.NodeProto(op_type="Constant", output=["w"], attribute=[made])
            model.graph.node.insert(0, node)
        return save(folder, model)

    return make


def nested_graphs(folder: Path) -> Path:
    """Branches in branches, 20 deep."""
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    leaf = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "leaf", [], [y])
    body = leaf
    for _ in range(20):
        node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=leaf)
        body = helper.make_graph([node], "b", [], [y])
    return save(folder, _with(body))


def _with(body: onnx.GraphProto) -> onnx.ModelProto:
    body.input.extend(
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ]
    )
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def functions(depth: int, calls: int, recursive: bool = False) -> Make:
    """Functions that call one another: calls**depth nodes once they are inlined."""

    def make(folder: Path) -> Path:
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        made = []
        for level in range(depth):
            inner = (
                ("own", f"f{level - 1}") if level else ("own", f"f{depth - 1}") if recursive else ("", "Neg")
            )
            nodes = [
                helper.make_node(inner[1], [f"v{i}"], [f"v{i + 1}"], domain=inner[0]) for i in range(calls)
            ]
            made.append(helper.make_function("own", f"f{level}", ["v0"], [f"v{calls}"], nodes, opsets))
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
        top = helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="own")
        body = helper.make_graph([top], "g", [x], [y])
        return save(folder, helper.make_model(body, opset_imports=opsets, functions=made, ir_version=9))

    return make


def many_nodes(folder: Path) -> Path:
    """600,000 nodes in a few MB."""
    node = helper.make_node("Neg", ["x"], ["y"]).SerializeToString()
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    model = _with(helper.make_graph([], "g", [], [y]))
    del model.graph.input[:]
    model.graph.input.extend([x])
    field = b"\x0a" + bytes([len(node)]) + node
    body = model.graph.SerializeToString() + field * 600_000
    shell = onnx.ModelProto()
    shell.CopyFrom(model)
    shell.ClearField("graph")
    (folder / "m.onnx").write_bytes(shell.SerializeToString() + b"\x3a" + _varint(len(body)) + body)
    return folder / "m.onnx"


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def deep_protobuf(folder: Path) -> Path:
    """A type of sequences of sequences, 5,000 deep: field 4 (sequence_type) of field 1 (elem_type)."""
    inner = b""
    for _ in range(5000):
        inner = b"\x0a" + _varint(len(inner)) + inner
        inner = b"\x22" + _varint(len(inner)) + inner
    value = b"\x0a\x01x\x12" + _varint(len(inner)) + inner
    body = b"\x5a" + _varint(len(value)) + value
    (folder / "m.onnx").write_bytes(b"\x08\x09\x3a" + _varint(len(body)) + body + b"\x42\x02\x10\x11")
    return folder / "m.onnx"


def function_attribute(folder: Path) -> Path:
    """A node of the graph whose attribute is that of a function."""
    node = helper.make_node("Softmax", ["x"], ["y"])
    node.attribute.add(name="axis", ref_attr_name="a", type=onnx.AttributeProto.INT)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    opsets = [helper.make_opsetid("", 17)]
    made = helper.make_graph([node], "g", [x], [y])
    return save(folder, helper.make_model(made, opset_imports=opsets, ir_version=9))


def operator(name: str) -> Make:
    def make(folder: Path) -> Path:
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
        made = helper.make_graph([helper.make_node(name, ["x"], ["y"])], "g", [x], [y])
        return save(folder, helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)]))

    return make


def repeated(times: int, operator: str, inputs: int, **attributes: object) -> Make:
    """Of a free size, which the operator changes so many times."""

    def make(folder: Path) -> Path:
        x, y = (
            helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1, s])
            for n, s in zip("xy", "NM", strict=True)
        )
        names = ["x", *(f"v{i}" for i in range(1, times)), "y"]
        nodes = [
            helper.make_node(operator, [names[i]] * inputs, [names[i + 1]], **attributes)
            for i in range(times)
        ]
        made = helper.make_graph(nodes, "g", [x], [y])
        opsets = [helper.make_opsetid("", 17)]
        return save(folder, helper.make_model(made, opset_imports=opsets, ir_version=9))

    return make


def contributed_attention(folder: Path) -> Path:
    """Keys and values of different sizes, to be handed out in one tensor: onnxruntime 1.32 writes outside of
    its memory."""
    x, y, present = (helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("x", "y", "present"))
    x.type.tensor_type.shape.dim.extend([onnx.TensorShapeProto.Dimension(dim_value=n) for n in (2, 4, 5)])
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[5, 134], raw_data=bytes(5 * 134 * 4))
    sizes = [66, 66, 2]
    node = helper.make_node(
        "Attention", ["x", "w"], ["y", "present"], domain="com.microsoft", num_heads=2, qkv_hidden_sizes=sizes
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_graph([node], "g", [x], [y, present], [weight])
    return save(folder, helper.make_model(made, opset_imports=opsets, ir_version=9))


IMAGE = "(float[1,4,8,8] x, float[4,4,3,3] w) => (float[1,4,a,b] y)"

#: name -> (codes that it may end in, how it is made)
MODELS: dict[str, tuple[tuple[str, ...], Make]] = {
    # paths
    "location above the folder": (("E10041",), external(location="../secret")),
    "location that leaves and returns": (("E10041",), external(location="a/../../secret")),
    "absolute location": (("E10041",), external(location="FOLDER/secret")),
    "symbolic link": (("E10041",), external(location="symbolic")),
    "symbolic link as a folder": (("E10041",), external(location="up/secret")),
    "hard link": (("E10041",), external(location="hard")),
    "offset beyond 2^63": (("E10041",), external(location="w", offset=str(2**63), length="12")),
    "length beyond the file": (("E10041",), external(location="w", length=str(2**62))),
    "offset and length that overflow": (
        ("E10041",), external(location="w", offset=str(2**64 - 4), length="12")
    ),
    "negative offset": (("E10041",), external(location="w", offset="-8")),
    # sizes
    "dims whose product overflows": (("E10041",), initializer([HUGE, HUGE, HUGE])),
    "dims times element size overflow": (("E10041",), initializer([2**61], TensorProto.DOUBLE)),
    "a terabyte without data": (("E10041",), initializer([2**38])),
    "negative dim": (("E10041",), initializer([-3], raw=bytes(12))),
    "less data than dims": (("E10041",), initializer([1000], raw=bytes(12))),
    "a sparse weight of 2^40 elements": (("E10041",), sparse([2**20, 2**20], 5, "initializer")),
    "a sparse constant of 2^40 elements": (("E10041",), sparse([2**20, 2**20], 5, "constant")),
    "a sparse weight beyond its dims": (("E10041",), sparse([3], 2**40, "initializer")),
    "a sparse constant before its dims": (("E10041",), sparse([3], -1, "constant")),
    "a type that is none": (("E10041",), initializer([3], 99, bytes(12))),
    "a filled tensor of 2^62": (
        ("E19014",),
        graph("(float[3] x) => (float[A,B] y) <int64[2] s = {2147483648, 2147483648}>"
            " { y = ConstantOfShape(s) }"),
    ),
    "an endless range": (
        ("E19014",),
        graph(
            "(float[1] x) => (float[N] y) <float a = {0}, float b = {1e12}, float c = {1e-3}>"
            " { r = Range(a, b, c) y = Add(r, x) }"
        ),
    ),
    "a tile of 2^60": (
        ("E19014",),
        graph("(float[4] x) => (float[N] y) <int64[1] n = {1152921504606846976}> { y = Tile(x, n) }"),
    ),
    "an expansion that overflows": (
        ("E19014",),
        graph("(float[1,1] x) => (float[A,B] y) <int64[2] n = {4294967296, 4294967296}>"
            " { y = Expand(x, n) }"),
    ),
    "padding of 2^62": (
        ("E19014",),
        graph("(float[4] x) => (float[N] y) <int64[2] p = {4611686018427387904, 4611686018427387904}>"
            " { y = Pad(x, p) }"),
    ),
    "one-hot of depth 2^40": (
        ("E19014",),
        graph(
            "(int64[4096] x) => (float[N,D] y) <int64 d = {1099511627776}, float[2] v = {0, 1}>"
            " { y = OneHot(x, d, v) }"
        ),
    ),
    "a declared input of 2^62": (
        ("E19014",),
        graph("(float[2147483648,2147483648] x) => (float[2147483648,2147483648] y) { y = Neg(x) }"),
    ),
    "a free size halved 70 times": (
        ("E40008",), repeated(70, "MaxPool", 1, kernel_shape=[3], strides=[2], pads=[1, 1])
    ),
    # indices and axes
    "an index below the first": (
        ("E19014",),
        graph("(float[4] x) => (float[1] y) <int64[1] i = {-5}> { y = Gather(x, i) }"),
    ),
    "an axis of 2^40": (
        ("E19014",), graph("(float[4] x) => (float[N] y) { y = Concat<axis = 1099511627776>(x, x) }")
    ),
    "a negative axis too far": (
        ("E19014", "E40006"), graph("(float[4] x) => (float[4] y) { y = Softmax<axis = -2>(x) }")
    ),
    "a permutation that repeats": (
        ("E19014",), graph("(float[2,2] x) => (float[2,2] y) { y = Transpose<perm = [1, 1]>(x) }")
    ),
    "more top elements than there are": (
        ("E19014",),
        graph("(float[4] x) => (float[A] v, int64[A] i) <int64[1] k = {4611686018427387904}>"
            " { v, i = TopK(x, k) }"),
    ),
    "fewer than none": (
        ("E19014",),
        graph("(float[4] x) => (float[A] v, int64[A] i) <int64[1] k = {-1}> { v, i = TopK(x, k) }"),
    ),
    "a scale for each channel in the place of each group": (
        ("E19014",),
        graph(
            "(float[N,4,H] x) => (float[N,4,H] y) <float[4] s = {1, 1, 1, 1}, float[4] b = {0, 0, 0, 0}>"
            " { y = GroupNormalization<num_groups = 2>(x, s, b) }",
            18,
        ),
    ),
    # division by zero
    "stride 0": (("E19014",), graph(f"{IMAGE} {{ y = Conv<strides = [0, 0]>(x, w) }}")),
    "dilation 0": (("E19014",), graph(f"{IMAGE} {{ y = Conv<dilations = [0, 0]>(x, w) }}")),
    "group 0": (("E19014",), graph(f"{IMAGE} {{ y = Conv<group = 0>(x, w) }}")),
    "a window of 0": (
        ("E19014",),
        graph("(float[1,4,8,8] x) => (float[1,4,a,b] y) { y = MaxPool<kernel_shape = [0, 0]>(x) }"),
    ),
    "pooling stride 0": (
        ("E19014",),
        graph(
            "(float[1,4,8,8] x) => (float[1,4,a,b] y)"
            " { y = AveragePool<kernel_shape = [2, 2], strides = [0, 1]>(x) }"
        ),
    ),
    "block size 0": (
        ("E19014",), graph("(float[1,4,8,8] x) => (float[a,b,c,d] y) { y = DepthToSpace<blocksize = 0>(x) }")
    ),
    "step 0": (
        ("E19014",),
        graph(
            "(float[4] x) => (float[N] y) <int64[1] a = {0}, int64[1] b = {4}, int64[1] s = {0}>"
            " { y = Slice(x, a, b, a, s) }"
        ),
    ),
    "split in 0 parts": (
        ("E19014",), graph("(float[4] x) => (float[N] y) { y = Split<num_outputs = 0>(x) }", 18)
    ),
    "groups 0": (
        ("E19014", "E40006"),
        graph(
            "(float[1,4,8] x, float[4] s) => (float[1,4,8] y)"
            " { y = GroupNormalization<num_groups = 0>(x, s, s) }",
            21,
        ),
    ),
    "reshape to nothing": (
        ("E19014",), graph("(float[0,4] x) => (float[A,B] y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }")
    ),
    "a scale that is no number": (
        ("E19014",),
        graph("(float[1,1,4,4] x) => (float[1,1,a,b] y) <float[4] s = {1, 1, nan, nan}>"
            " { y = Resize(x, , s) }"),
    ),
    "an infinite scale": (
        ("E19014",),
        graph("(float[1,1,4,4] x) => (float[1,1,a,b] y) <float[4] s = {1, 1, inf, 2}>"
            " { y = Resize(x, , s) }"),
    ),
    "a scale below zero": (
        ("E19014",),
        graph("(float[1,1,4,4] x) => (float[1,1,a,b] y) <float[4] s = {1, 1, -1, 2}>"
            " { y = Resize(x, , s) }"),
    ),
    # names
    "an operator whose name has lines": (("E10041",), operator("a\nE10000: forged")),
    "an operator whose name clears the screen": (("E10041",), operator("\x1b[2J")),
    "one output twice": (("E10041",), graph("(float[3] x) => (float[3] y, float[3] y) { y = Neg(x) }")),
    "an attribute of a function outside of one": (("E10041",), function_attribute),
    # what ends onnxruntime
    "keys and values of different sizes in one output": (("E20001",), contributed_attention),
    # depth and number
    "branches 20 deep": (("E10041",), nested_graphs),
    "messages 5,000 deep": (("E10041",), deep_protobuf),
    "a function that calls itself": (("E10041",), functions(3, 1, recursive=True)),
    "functions of a billion nodes": (("E10041",), functions(9, 10)),
    "600,000 nodes": (("E10041",), many_nodes),
}  # fmt: skip
