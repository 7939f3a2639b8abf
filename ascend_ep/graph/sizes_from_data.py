"""Sizes that come with the data, where the model declares what they will be.

Operators whose axes, sizes or bounds are fed give shapes that nobody knows before a run. Their kernels can
take such arguments as they run, into outputs of a shape that is known. So numbers declared of these outputs
are believed, and kernels compare what they read with them. onnxruntime takes the numbers for remarks: data
that make other sizes run on the plan that is made without what the model declares (graph/apart.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.naming import fresh_symbol, named_value
from ascend_ep.opdef.dims import Dim, symbols

_REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceSumSquare",
)  # fmt: skip
#: By operator the inputs whose elements decide on its outputs' shapes. Operators whose kernels don't compare
#: these with the shapes have no place here.
ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_REDUCTIONS, (1,)),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow", "ConstantOfShape"), (0,)),
    **dict.fromkeys(("AffineGrid", "CenterCropPad", "Expand", "OneHot", "Reshape", "Split"), (1,)),
    **dict.fromkeys(("Squeeze", "Tile", "TopK", "Unsqueeze", "Upsample"), (1,)),
    "Col2Im": (1, 2),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
}


def may_believe(model: ir.Model) -> bool:
    """Whether some node of the model, of its functions or bodies may take its arguments with the data."""
    functions = (node for function in model.functions.values() for node in function.all_nodes())
    return any(is_fed(node) for nodes in (model.graph.all_nodes(), functions) for node in nodes)


def is_fed(node: ir.Node) -> bool:
    """Whether the shapes that a node makes may be decided by data."""
    arguments = _arguments(node)
    return any(v.const_value is None and not _is_constant(v.producer()) for v in arguments)


def _is_constant(producer: ir.Node | None) -> bool:
    return producer is not None and producer.op_type == "Constant"


def _arguments(node: ir.Node) -> list[ir.Value]:
    places = ARGUMENTS.get(node.op_type, ()) if node.domain in ("", "ai.onnx") else ()
    return [v for i in places if i < len(node.inputs) and (v := node.inputs[i]) is not None]


def declared_sizes(
    node: ir.Node, value: ir.Value, fact: Fact, declared: Fact, facts: Facts
) -> list[Dim] | None:
    """The dims of an output with the declared numbers in the place of those that only the node's arguments
    decide; None where there are none, or some are left."""
    if declared.dims is None or not _arguments(node) or all(_is_known(facts[v]) for v in _arguments(node)):
        return None
    if not _have_ranks(facts[v] for v in node.inputs if v is not None):
        return None
    fresh = tuple(fresh_symbol(value, i) for i in range(len(declared.dims)))
    dims = fresh if fact.dims is None else fact.dims
    own = {v.name for v in node.outputs if v.name}
    open_axes = [i for i, d in enumerate(dims) if any(named_value(name) in own for name in symbols((d,)))]
    if not open_axes or not all(isinstance(declared.dims[i], int) for i in open_axes):
        return None
    return [declared.dims[i] if i in open_axes else d for i, d in enumerate(dims)]


def _is_known(fact: Fact) -> bool:
    return fact.is_const or fact.shape_value is not None


def _have_ranks(given: Iterable[Fact]) -> bool:
    return all(fact.dims is not None for fact in given)
