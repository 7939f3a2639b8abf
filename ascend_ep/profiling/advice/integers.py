"""Arithmetic in int64 where int32 would hold the values."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ascend_ep.profiling.advice.graphs import STANDARD, constants_of, copied, reads

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
#: Operators whose integers take the type of their data, and which of their inputs are data.
_OF_ALL = """Abs Add Clip Concat Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Neg Sign
    Sub Sum"""
_OF_FIRST = """CumSum Expand Flatten Identity ReduceMax ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape
    Slice Squeeze Tile Transpose Unsqueeze"""
ARITHMETIC: dict[str, Iterable[int]] = {
    **dict.fromkeys(_OF_ALL.split(), range(64)),
    **dict.fromkeys(_OF_FIRST.split(), (0,)),
    "Where": (1, 2),
}
#: Fewer elements are sizes and axes.
LEAST = 65


def narrow_integers(model: ModelProto) -> int:
    """int64 arithmetic on tensors becomes int32; what others read of it stays int64. Returns how many nodes
    changed. Values beyond 2^31 would wrap: that is for a comparison of results to find."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = {v.name: v.type.tensor_type for v in (*graph.input, *graph.output, *graph.value_info)}
    constants = constants_of(model.graph)
    nodes = list(model.graph.node)
    chosen = {id(n) for n in nodes if _is_wide(n, types, constants)}
    if not chosen:
        return 0
    _Narrower(model.graph, nodes, types, constants, chosen).narrow()
    del model.graph.value_info[:]
    return len(chosen)


def _elements(kind: onnx.TypeProto.Tensor) -> int:
    if not kind.HasField("shape"):
        return 0
    dims = [d.dim_value if d.HasField("dim_value") else 64 for d in kind.shape.dim]
    return math.prod(dims)


def _is_wide(
    node: NodeProto, types: dict[str, onnx.TypeProto.Tensor], constants: dict[str, TensorProto]
) -> bool:
    """Whether it computes with int64 tensors, and its constants would fit."""
    if node.domain not in STANDARD or node.op_type not in ARITHMETIC:
        return False
    data = [name for i, name in enumerate(node.input) if name and i in ARITHMETIC[node.op_type]]
    wide = [n for n in data if n in types and types[n].elem_type == INT64]
    fits = all(_fits(constants[n]) for n in data if n in constants)
    known = all(n in constants or n in wide for n in data)
    return bool(wide) and known and fits and max(_elements(types[n]) for n in wide) >= LEAST


def _fits(tensor: TensorProto) -> bool:
    array, limits = numpy_helper.to_array(tensor), np.iinfo(np.int32)
    return tensor.data_type == INT64 and (
        not array.size or (limits.min <= array.min() and array.max() <= limits.max)
    )


class _Narrower:
    def __init__(
        self,
        graph: GraphProto,
        nodes: list[NodeProto],
        types: dict[str, onnx.TypeProto.Tensor],
        constants: dict[str, TensorProto],
        chosen: set[int],
    ) -> None:
        self.graph, self.types, self.constants, self.chosen = graph, types, constants, chosen
        self.nodes = nodes
        self.results = {v.name for v in graph.output}
        self.narrow_of: dict[str, str] = {}  # int64 value -> its int32 one
        self.made: list[NodeProto] = []

    def narrow(self) -> None:
        for node in self.nodes:
            new = copied(node)
            if id(node) in self.chosen:
                self._narrow(node, new)
            elif node.op_type == "Cast" and node.input[0] in self.narrow_of:
                new.input[0] = self.narrow_of[node.input[0]]  # from one type as well as from the other
                self.made.append(new)
            else:
                self.made.append(new)
        wanted = {n for node in self.made for n in reads(node)} | self.results
        kept = [n for n in self.made if any(o in wanted for o in n.output)]
        del self.graph.node[:]
        self.graph.node.extend(kept)

    def _narrow(self, node: NodeProto, new: NodeProto) -> None:
        for i, name in enumerate(node.input):
            if name and i in ARITHMETIC[node.op_type]:
                new.input[i] = self._narrowed(name)
        ends = [o for o in node.output if o and o in self.types and self.types[o].elem_type == INT64]
        new.output[:] = [f"{o}/int32" if o in ends else o for o in node.output]
        self.made.append(new)
        for name in ends:
            self.narrow_of[name] = f"{name}/int32"
            self.made.append(helper.make_node("Cast", [f"{name}/int32"], [name], to=INT64))

    def _narrowed(self, name: str) -> str:
        if name in self.narrow_of:
            return self.narrow_of[name]
        made = self.narrow_of[name] = f"{name}/int32"
        if name in self.constants:
            array = numpy_helper.to_array(self.constants[name]).astype(np.int32)
            self.graph.initializer.append(numpy_helper.from_array(array, made))
            return made
        maker = next((n for n in self.nodes if name in n.output), None)
        if maker is not None and maker.op_type == "Cast":
            self.made.append(helper.make_node("Cast", [maker.input[0]], [made], to=INT32))
        else:
            self.made.append(helper.make_node("Cast", [name], [made], to=INT32))
        return made
