"""TopK, of ONNX and the custom one, whose result is always sorted; and Hardmax."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.compiler.lower.arguments import (
    axis_of,
    expect_ints,
    is_run_time,
    known_elements,
    needed,
    operand,
)
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import INT64
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import bounds, max_, product
from ascend_ep.plan.kernel_params import ARG_REDUCE, ONE_HOT, PAD, TOPK
from ascend_ep.runtime._rt import lib


def _count(node: NodeView, axis: int) -> Dim:
    """k: the input K, or an attribute (ONNX before opset 10, and the custom TopK). A K that comes with the
    data is the length that the model declares."""
    given = operand(node.inputs, 1)
    if given is None:
        if not node.has_attr("k"):
            raise Unsupported("it has neither the input K nor the attribute k")
        return int(node.attr("k"))
    declared = next((o.dims[axis] for o in node.outputs if o is not None), None)
    if is_run_time(given) and declared is not None:
        return declared
    elements = known_elements(given, "K")
    if len(elements) != 1:
        raise Unsupported(f"its K has {len(elements)} elements")
    return elements[0]


@lowers("topk")
def lower_topk(node: NodeView, b: PlanBuilder) -> None:
    source = needed(node.inputs, 0)
    axis = axis_of(node, source.rank, -1)
    k = _count(node, axis)
    expect_ints(b, operand(node.inputs, 1), [(k,)])
    dims = [*source.dims[:axis], k, *source.dims[axis + 1 :]]
    values, indices = operand(node.outputs, 0), operand(node.outputs, 1)
    outs = [
        b.out(values) if values else b.temp(source.dtype, dims),
        b.out(indices) if indices else b.temp(INT64, dims),
    ]
    ints = TOPK.pack(axis=axis, k=k, largest=int(node.attr("largest", 1)))
    b.emit("topk", [b.ref(source)], outs, ints)


@lowers("hardmax")
def lower_hardmax(node: NodeView, b: PlanBuilder) -> None:
    """1 at the first of the largest elements. Before opset 13 all axes from `axis` on are one."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    x, axis = b.ref(source), axis_of(node, source.rank, -1 if node.version >= 13 else 1)
    if 0 in source.dims:  # nothing is the largest of nothing
        b.emit("copy", [x], [b.out(target)])
        return
    if node.version < 13:
        x, axis = b.view(b.contiguous(x), [product(x.dims[:axis]), product(x.dims[axis:])]), 1
    places = b.temp(dtypes.INT64, [*x.dims[:axis], *x.dims[axis + 1 :]])
    b.emit("argmax", [_not_empty(b, x, axis)], [places], ARG_REDUCE.pack(axis=axis, last=0))
    pair = b.constant(np.array([0, 1], ir.DataType(target.dtype).numpy()), dtype=target.dtype)
    if node.version >= 13:
        b.emit("one_hot", [places, pair], [b.out(target)], ONE_HOT.pack(axis=axis))
        return
    rows = b.temp(target.dtype, x.dims)
    b.emit("one_hot", [places, pair], [rows], ONE_HOT.pack(axis=axis))
    b.bind(target, b.view(rows, target.dims))


def _not_empty(b: PlanBuilder, x: Ref, axis: int) -> Ref:
    """x, with one zero more along an axis that turns out to have no element."""
    size = x.dims[axis]
    if (bounds(size)[0] or 0) > 0:
        return x
    padded = b.temp(x.dtype, [*x.dims[:axis], max_(size, 1), *x.dims[axis + 1 :]])
    after: list[Dim] = [0] * x.rank
    after[axis] = max_(size, 1) - size
    b.emit("pad", [x, None], [padded], PAD.pack([0] * x.rank, after, mode=lib.ASC_PAD_CONSTANT))
    return padded
