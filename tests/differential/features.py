"""What a program and its inputs have of all that the expression form can say.

EVERY is made from the tables of the form, so that a new operation, reduction, node or element type has to be
drawn before the tests pass again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
from programs import Array, Operator

from ascend_ep.codegen.graph import ELEMENTS
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    REDUCTIONS,
    Apply,
    AttributeRef,
    Cast,
    Expression,
    Index,
    Reduce,
    TopK,
)
from ascend_ep.opdef.operations import OPERATIONS

_TYPES = tuple(dtypes.name(t) for t in ELEMENTS)
#: Products and parts of tensors: tests/codegen draws them (test_matrix_formulas, test_moved_formulas).
ELSEWHERE = frozenset({"Chunk", "Concat", "MatMul", "Slice", "Take", "Transpose", "Windows"})
#: What only instructions of a plan hold: tests/plan and tests/kernels/test_elementwise.py draw it.
IN_INSTRUCTIONS = frozenset({"Number", "Position"})
#: What only gradients hold: tests/frameworks/test_torch_gradients.py has them.
IN_GRADIENTS = frozenset({"AddAt"})
EVERY = frozenset(
    {
        *(f"operation {op}" for op in OPERATIONS),
        *(f"reduction {op}" for op in REDUCTIONS),
        *(
            f"node {kind.__name__}"
            for kind in get_args(Expression)
            if kind.__name__ not in ELSEWHERE | IN_INSTRUCTIONS | IN_GRADIENTS
        ),
        *(f"{what} {kind}" for what in ("cast", "input", "output") for kind in _TYPES),
        *(f"{kind} attribute" for kind in ("float", "int", "bool", "string")),
        *(f"rank {n}" for n in range(5)),
        *(f"{kind} input" for kind in ("scalar", "row", "column", "middle", "whole", "optional", "absent")),
        *(f"{n} outputs" for n in (1, 2, 3)),
        *(f"reduction of {axes}" for axes in ("the last axis", "another axis", "several axes", "all axes")),
        *("reduction by attribute", "kept dimensions", "dropped dimensions"),
        *("topk values", "topk indices", "topk of the smallest", "topk by attribute", "index", "size"),
        *("softmax", "log_softmax", "layer_norm", "rms_norm"),
        *("attribute given", "attribute by default", "no elements", "one element", "more than a tile"),
        *("NaN", "infinity", "subnormal", "negative zero", "large number"),
    }
)


def features_of(operator: Operator) -> set[str]:
    """The features of one operator and of all its cases."""
    found = set(operator.tags)
    for node in operator.program.expressions():
        found |= {f"node {type(node).__name__}", *_of_node(node)}
    for spec, dims, dtype in zip(operator.opdef.inputs, operator.shapes, operator.types, strict=True):
        if spec.occurrence == "optional":
            found.add("absent input" if dims is None else "optional input")
        if dims is not None:
            whole = operator.shapes[0] or ()
            found |= {f"input {dtypes.name(dtype)}", f"rank {len(dims)}", f"{_broadcast(dims, whole)} input"}
    found |= {f"output {dtypes.name(o.types[0])}" for o in operator.opdef.outputs}
    found.add(f"{len(operator.opdef.outputs)} outputs")
    for attribute in operator.opdef.attributes:
        found |= {
            f"{attribute.type} attribute",
            "attribute given" if attribute.name in operator.given else "attribute by default",
        }
    for case in range(len(operator.sizes)):
        for array in operator.inputs(case):
            if array is not None:
                found.update(_of_values(array))
    return found


def _of_node(node: Expression) -> Iterator[str]:
    if isinstance(node, Apply):
        yield f"operation {node.op}"
    elif isinstance(node, Cast):
        yield f"cast {dtypes.name(node.dtype)}"
    elif isinstance(node, Index):
        yield "size" if node.size else "index"
    elif isinstance(node, TopK):
        yield "topk indices" if node.indices else "topk values"
        if node.largest is False:
            yield "topk of the smallest"
        if isinstance(node.k, AttributeRef):
            yield "topk by attribute"
    elif isinstance(node, Reduce):
        yield f"reduction {node.op}"
        yield "kept dimensions" if node.keepdims else "dropped dimensions"
        if isinstance(node.axes, AttributeRef):
            yield "reduction by attribute"
        elif node.axes == "all":
            yield "reduction of all axes"
        elif len(node.axes) > 1:
            yield "reduction of several axes"
        else:
            yield "reduction of the last axis" if node.axes == (-1,) else "reduction of another axis"


def _broadcast(dims: tuple[str, ...], whole: tuple[str, ...]) -> str:
    if dims == whole:
        return "whole"
    if set(dims) <= {"1"}:
        return "scalar"
    if dims[-1] == "1":
        return "column"
    return "middle" if "1" in dims[1:] else "row"


def _of_values(array: Array) -> Iterator[str]:
    if array.size <= 1:
        yield "one element" if array.size else "no elements"
    if array.size > 1024:
        yield "more than a tile"
    if array.dtype == np.bool_ or not array.size:
        return
    size = np.abs(array.astype(np.float64))
    for name, there in (
        ("NaN", np.isnan(size)),
        ("infinity", np.isinf(size)),
        ("subnormal", (size > 0) & (size < 1e-38)),
        ("large number", (size > 1e38) & np.isfinite(size)),
        ("negative zero", (size == 0) & np.signbit(array.astype(np.float64))),
    ):
        if np.any(there):
            yield name
