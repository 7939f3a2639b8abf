"""Edits of a model that may make it faster and leave its inputs and outputs as they are.

Each takes an ONNX model and changes it; it returns how many places it changed, 0 for a model without any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ascend_ep.profiling.advice.graphs import all_nodes, opset_of
from ascend_ep.profiling.advice.integers import narrow_integers
from ascend_ep.profiling.advice.loops import unroll_loops
from ascend_ep.profiling.advice.spellings import respell
from ascend_ep.profiling.advice.transposes import keep_layout, move_transposes

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
#: Operators whose output has a type of their attribute.
_TYPED = {
    "Cast": "to",
    "EyeLike": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniformLike": "dtype",
}


@dataclass(frozen=True)
class Edit:
    """`weakness`: what a model has that gains by it."""

    name: str
    weakness: str
    apply: Callable[[ModelProto], int]


def narrow_doubles(model: ModelProto) -> int:
    """float64 inside becomes float32; inputs and outputs of the model keep their types."""
    graph = model.graph
    boundary = {v.name: v for v in (*graph.input, *graph.output)}
    changed = 0
    for tensor in _tensors(graph):
        if tensor.data_type == DOUBLE:
            array = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
            changed += 1
    for node in all_nodes(graph):
        for attribute in node.attribute:
            if attribute.name == _TYPED.get(node.op_type) and attribute.i == DOUBLE:
                attribute.i = FLOAT
                changed += 1
    doubles = [v for v in boundary.values() if v.type.tensor_type.elem_type == DOUBLE]
    if not changed and not doubles:
        return 0
    del graph.value_info[:]
    for value in doubles:
        _cast_at_boundary(graph, value.name, value.name in {v.name for v in graph.input})
    return changed + len(doubles)


def _cast_at_boundary(graph: GraphProto, name: str, is_input: bool) -> None:
    inner = f"{name}/float32"
    for node in graph.node:
        names = node.input if is_input else [*node.output, *node.input]
        if name in names:
            node.input[:] = [inner if n == name else n for n in node.input]
            if not is_input:
                node.output[:] = [inner if n == name else n for n in node.output]
    if is_input:
        graph.node.insert(0, helper.make_node("Cast", [name], [inner], to=FLOAT))
    else:
        graph.node.append(helper.make_node("Cast", [inner], [name], to=DOUBLE))


def join_products(model: ModelProto) -> int:
    """Products of one input with constant matrices become one product, which is split."""
    graph = model.graph
    weights = {t.name: t for t in graph.initializer}
    uses = Counter(name for node in all_nodes(graph) for name in node.input)
    groups: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            weight = weights[node.input[1]]
            if len(weight.dims) == 2 and weight.data_type == FLOAT and uses[weight.name] == 1:
                groups.setdefault(node.input[0], []).append(node)
    joined = 0
    for source, nodes in groups.items():
        if len(nodes) < 2 or opset_of(model) < 13:
            continue
        joined += len(nodes)
        _join(graph, source, nodes, weights)
    return joined


def _join(graph: GraphProto, source: str, nodes: list[NodeProto], weights: dict[str, TensorProto]) -> None:
    arrays = [numpy_helper.to_array(weights[n.input[1]]) for n in nodes]
    base = f"{nodes[0].output[0]}/joined"
    widths = np.array([a.shape[1] for a in arrays], np.int64)
    graph.initializer.append(numpy_helper.from_array(np.concatenate(arrays, 1), f"{base}/weight"))
    graph.initializer.append(numpy_helper.from_array(widths, f"{base}/widths"))
    product = helper.make_node("MatMul", [source, f"{base}/weight"], [base], name=base)
    outputs = [n.output[0] for n in nodes]
    split = helper.make_node("Split", [base, f"{base}/widths"], outputs, axis=-1, name=f"{base}/split")
    kept = [n for n in graph.node if n not in nodes]
    at = next(i for i, n in enumerate(graph.node) if n == nodes[0])
    kept[at:at] = [product, split]
    del graph.node[:]
    graph.node.extend(kept)
    used = {n.input[1] for n in nodes}
    rest = [t for t in graph.initializer if t.name not in used]
    del graph.initializer[:]
    graph.initializer.extend(rest)


def raise_opset(model: ModelProto) -> int:
    """The newest operator set that the converter of onnx reaches, and what its operators say in one word."""
    if opset_of(model) >= NEWEST:
        return 0
    model.CopyFrom(onnx.version_converter.convert_version(model, NEWEST))
    return 1 + respell(model)


NEWEST = 21

EDITS = (
    Edit("unroll", "Loops of a known number of rounds, which run outside of kernels", unroll_loops),
    Edit("float32", "float64 inside the model", narrow_doubles),
    Edit("int32", "arithmetic in int64, of values that int32 holds", narrow_integers),
    Edit("transposes", "transpositions between operators that would be fused", move_transposes),
    Edit("layout", "images that change their layout between operators", keep_layout),
    Edit("respell", "operators spelled in primitives that no fusion knows", respell),
    Edit("join_products", "several products of one input", join_products),
    Edit("opset", "an operator set that is too old for what the model spells out", raise_opset),
)


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from _tensors(attribute.g)
