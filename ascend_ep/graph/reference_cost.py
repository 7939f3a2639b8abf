"""What evaluating a model in float64 would take, from shapes alone: the bytes alive at once, and the time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import onnx
import onnx_ir as ir

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.load import load_model
from ascend_ep.graph.partition import used_values
from ascend_ep.graph.reference_windows import BLOCK
from ascend_ep.graph.shape_inference import Registry, infer_facts

WIDTH = 8  #: bytes of an element, of whatever type
#: Copies of the weights: as they are read, in the reference's own model, and widened.
WEIGHT_COPIES = 3
#: Arrays of the size of the largest operand or of all results that a formula makes on its way; 1 for PLAIN.
TEMPORARIES = 5
PLAIN = frozenset(
    {
        *("Add", "Sub", "Mul", "Div", "MatMul", "Max", "Min", "Sqrt", "Neg", "Abs", "Exp", "Tanh", "Log"),
        *("Cast", "Reshape", "Transpose", "Slice", "Split", "Concat", "Gather", "Squeeze", "Unsqueeze"),
        *(
            "Identity",
            "Flatten",
            "Expand",
            "Shape",
            "Constant",
            "Pad",
            "ReduceSum",
            "ReduceMean",
            "ReduceMax",
        ),
    }
)

#: Nanoseconds for an element of a result, measured; GENERAL elsewhere.
GENERAL = 20
SLOW = {
    **dict.fromkeys(("Erf", "Gelu", "MaxPool", "AveragePool", "STFT", "ScatterND"), 400),
    **dict.fromkeys(("Resize", "Upsample", "RoiAlign", "ScatterElements", "DFT", "GatherElements"), 1_200),
    **dict.fromkeys(("GatherND", "Einsum", "NonZero", "Unique"), 2_500),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), 8_000),
    **dict.fromkeys(("TopK", "LpPool", "Col2Im", "MaxUnpool"), 35_000),
    **dict.fromkeys(("GridSample", "AffineGrid", "NonMaxSuppression", "MaxRoiPool"), 500_000),
    "DeformConv": 12_000_000,
}
#: Nanoseconds for a multiplication and addition of a product.
PER_PRODUCT = 0.2

CONVOLUTIONS = frozenset({"Conv", "ConvInteger", "QLinearConv", "DeformConv"})
#: Convolutions whose columns are made in blocks, or never.
IN_BLOCKS = frozenset({"Conv", "ConvTranspose"})


@dataclass(frozen=True)
class Cost:
    bytes: int
    seconds: float


def reference_cost(
    source: str | os.PathLike[str] | onnx.ModelProto,
    inputs: Mapping[str, tuple[int, tuple[int, ...]]],
    registry: Registry | None = None,
) -> Cost:
    """The cost of `reference_run` with inputs of these types and shapes.

    Values whose sizes only a run tells count as nothing. Raises AscendError for a model that can't be read or
    whose shapes can't be.
    """
    model = load_model(source)
    facts = infer_facts(model, registry, given={n: Fact(dtype, dims) for n, (dtype, dims) in inputs.items()})
    nodes = list(model.graph)
    last = {value: i for i, node in enumerate(nodes) for value in _used(node)}
    last |= dict.fromkeys(model.graph.outputs, len(nodes))
    weights = [v for graph in (model.graph, *model.graph.subgraphs()) for v in graph.initializers.values()]
    fixed = WEIGHT_COPIES * _bytes(weights, facts)
    alive = peak = _bytes(model.graph.inputs, facts)
    seconds = 0.0
    for i, node in enumerate(nodes):
        results = _bytes(node.outputs, facts)
        peak = max(peak, alive + results + _temporary_bytes(node, facts, results))
        seconds += _seconds(node, facts)
        ended = [v for v in {*_used(node), *node.outputs} if last.get(v, i) == i and not v.is_initializer()]
        alive += results - _bytes(ended, facts)
    return Cost(fixed + peak, seconds)


def _used(node: ir.Node) -> set[ir.Value]:
    return {value for value in used_values(node) if value is not None}


def _elements(value: ir.Value | None, facts: Facts) -> int:
    dims = None if value is None else facts[value].static_dims
    return 0 if dims is None else prod(dims)


def _bytes(values: Iterator[ir.Value] | Sequence[ir.Value], facts: Facts) -> int:
    return WIDTH * sum(_elements(v, facts) for v in values)


def _temporary_bytes(node: ir.Node, facts: Facts, results: int) -> int:
    """What a node's evaluation holds besides its operands and its results."""
    inner = sum(
        _bytes(child.outputs, facts)
        for a in node.attributes.values()
        if a.type == ir.AttributeType.GRAPH
        for child in a.as_graph()
    )
    if node.op_type in IN_BLOCKS:
        return 2 * BLOCK + results // 2 + 2 * _bytes([v for v in node.inputs[:1] if v is not None], facts)
    largest = max([results, *(_bytes([v], facts) for v in node.inputs if v is not None)])
    found = (1 if node.op_type in PLAIN else TEMPORARIES) * largest + 2 * inner
    if "Attention" in node.op_type:
        found += TEMPORARIES * WIDTH * _scores(node, facts)
    elif node.op_type in CONVOLUTIONS or (node.op_type == "MaxPool" and len(node.outputs) > 1):
        found += 2 * WIDTH * _products(node, facts) // max(1, _channels(node, facts))
    return found


def _seconds(node: ir.Node, facts: Facts) -> float:
    elements = sum(_elements(v, facts) for v in node.outputs)
    inner = sum(
        _seconds(child, facts)
        for a in node.attributes.values()
        if a.type == ir.AttributeType.GRAPH
        for child in a.as_graph()
    )
    slow = SLOW.get(node.op_type, GENERAL)
    return 1e-9 * (elements * slow + PER_PRODUCT * (_products(node, facts) + _scores(node, facts))) + inner


def _products(node: ir.Node, facts: Facts) -> int:
    """Multiplications of a product, a convolution, or (as comparisons) a pooling."""
    results = _elements(node.outputs[0], facts)
    shapes = [() if v is None else facts[v].static_dims or () for v in node.inputs]
    if node.op_type in CONVOLUTIONS:
        weight = shapes[3 if node.op_type == "QLinearConv" else 1] if len(shapes) > 1 else ()
        return results * prod(weight[1:])
    if node.op_type == "ConvTranspose" and len(shapes) > 1:
        return _elements(node.inputs[0], facts) * prod(shapes[1][1:])
    if "MatMul" in node.op_type or "Gemm" in node.op_type:
        return results * (shapes[0][-1] if shapes and shapes[0] else 1)
    if "kernel_shape" in node.attributes:
        return results * prod(node.attributes["kernel_shape"].as_ints())
    return 0


def _channels(node: ir.Node, facts: Facts) -> int:
    """The channels of a convolution's result that share their columns."""
    dims = facts[node.outputs[0]].static_dims or ()
    group = node.attributes["group"].as_int() if "group" in node.attributes else 1
    return dims[1] // max(1, group) if len(dims) > 1 and node.op_type in CONVOLUTIONS else 1


def _scores(node: ir.Node, facts: Facts) -> int:
    """The scores of an attention, of every query and key."""
    if "Attention" not in node.op_type or len(node.inputs) < 2:
        return 0
    query, key = (() if v is None else facts[v].static_dims or () for v in node.inputs[:2])
    if min(len(query), len(key)) < 2:
        return 0
    heads = max(
        [a.as_int() for n, a in node.attributes.items() if n in ("num_heads", "q_num_heads")], default=1
    )
    return prod(query[:-1]) * key[-2] * heads
