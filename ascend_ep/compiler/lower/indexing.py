"""Operators whose indices come with the data: Gather and Scatter of all forms, OneHot, sequences."""

from __future__ import annotations

from ascend_ep.compiler.half_types import has_half_types
from ascend_ep.compiler.lower.arguments import REDUCTIONS, axis_of, enum_of, expect_ints, needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import INT64
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import (
    GATHER,
    GATHER_ND,
    ONE_HOT,
    REVERSE_SEQUENCE,
    SCATTER_ELEMENTS,
    SCATTER_ND,
    TENSOR_SCATTER,
)


def _as_view(node: NodeView, b: PlanBuilder, axis: int) -> bool:
    """Gather with one known index: a view, when memory stays in order."""
    source, indices, target = needed(node.inputs, 0), needed(node.inputs, 1), needed(node.outputs, 0)
    length = static(source.dims[axis])
    if indices.const is None or indices.const.size != 1 or length is None:
        return False
    index = int(indices.const.reshape(()))
    if not -length <= index < length:
        return False  # left to the kernel, whose error names the index
    index %= length
    x = b.ref(source)
    strides = b.strides(x)
    if axis == x.rank - 1 and x.rank > 1:
        return False
    dims = [*x.dims[:axis], *([1] * indices.rank), *x.dims[axis + 1 :]]
    steps = [*strides[:axis], *([1] * indices.rank), *strides[axis + 1 :]]
    b.bind(target, b.view(x, dims, index * strides[axis], steps))
    return True


@lowers("gather")
def lower_gather(node: NodeView, b: PlanBuilder) -> None:
    source, indices, target = needed(node.inputs, 0), needed(node.inputs, 1), needed(node.outputs, 0)
    axis = axis_of(node, source.rank, 0)
    if not _as_view(node, b, axis):
        b.emit("gather", [b.ref(source), b.ref(indices)], [b.out(target)], GATHER.pack(axis=axis))


@lowers("gather_elements")
def lower_gather_elements(node: NodeView, b: PlanBuilder) -> None:
    source, indices, target = needed(node.inputs, 0), needed(node.inputs, 1), needed(node.outputs, 0)
    ints = GATHER.pack(axis=axis_of(node, source.rank, 0))
    b.emit("gather_elements", [b.ref(source), b.ref(indices)], [b.out(target)], ints)


@lowers("gather_nd")
def lower_gather_nd(node: NodeView, b: PlanBuilder) -> None:
    ins = [b.ref(needed(node.inputs, i)) for i in range(2)]
    ints = GATHER_ND.pack(batch_axes=int(node.attr("batch_dims", 0)))
    b.emit("gather_nd", ins, [b.out(needed(node.outputs, 0))], ints)


def _reduction(node: NodeView) -> int:
    """The number of the reduction. Half numbers are combined in float32, which has kernels."""
    reduction = enum_of(node, "reduction", REDUCTIONS, "none")
    if reduction and has_half_types(node):
        raise Unsupported("halves are combined in float32")
    return reduction


@lowers("scatter_elements")
def lower_scatter_elements(node: NodeView, b: PlanBuilder) -> None:
    """ScatterElements, and Scatter, its name before opset 11."""
    axis = axis_of(node, needed(node.inputs, 0).rank, 0)
    ints = SCATTER_ELEMENTS.pack(axis=axis, reduction=_reduction(node))
    ins = [b.ref(needed(node.inputs, i)) for i in range(3)]
    b.emit("scatter_elements", ins, [b.out(needed(node.outputs, 0))], ints)


@lowers("scatter_nd")
def lower_scatter_nd(node: NodeView, b: PlanBuilder) -> None:
    ins = [b.ref(needed(node.inputs, i)) for i in range(3)]
    b.emit("scatter_nd", ins, [b.out(needed(node.outputs, 0))], SCATTER_ND.pack(reduction=_reduction(node)))


@lowers("one_hot")
def lower_one_hot(node: NodeView, b: PlanBuilder) -> None:
    """OneHot(indices, depth, values): the depth is the length shape inference gave the new axis."""
    target = needed(node.outputs, 0)
    axis = axis_of(node, target.rank, -1)
    expect_ints(b, needed(node.inputs, 1), [(target.dims[axis],)])
    ins = [b.ref(needed(node.inputs, i)) for i in (0, 2)]
    b.emit("one_hot", ins, [b.out(target)], ONE_HOT.pack(axis=axis))


@lowers("reverse_sequence")
def lower_reverse_sequence(node: NodeView, b: PlanBuilder) -> None:
    ins = [b.ref(needed(node.inputs, i)) for i in range(2)]
    batch, time = int(node.attr("batch_axis", 1)), int(node.attr("time_axis", 0))
    ints = REVERSE_SEQUENCE.pack(batch_axis=batch, time_axis=time)
    b.emit("reverse_sequence", ins, [b.out(needed(node.outputs, 0))], ints)


@lowers("tensor_scatter")
def lower_tensor_scatter(node: NodeView, b: PlanBuilder) -> None:
    past, update, places = needed(node.inputs, 0), needed(node.inputs, 1), operand(node.inputs, 2)
    ins = [b.ref(past), b.ref(update), b.ref(places) if places else None]
    circular = enum_of(node, "mode", ("linear", "circular"), "linear")
    ints = TENSOR_SCATTER.pack(axis=axis_of(node, past.rank, -2), circular=circular)
    b.emit("tensor_scatter", ins, [b.out(needed(node.outputs, 0))], ints)


def not_from_the_end(b: PlanBuilder, indices: Ref, count: Dim) -> Ref:
    """The indices, but negative ones, which a gather counts from the end, beyond any axis."""
    program = Program()
    index = program.input(indices, INT64)
    beyond = program.const(1 << 48, INT64)
    program.output(program.select(program.call("lt", index, program.const(0, INT64)), beyond, index), INT64)
    made = b.temp(INT64, [count])
    emit_program(b, program, [made])
    return made
