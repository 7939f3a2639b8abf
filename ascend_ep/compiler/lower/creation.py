"""Operators that make tensors of sizes: Shape, Size, Range, ConstantOfShape, EyeLike."""

from __future__ import annotations

import numpy as np

from ascend_ep.compiler.lower.arguments import (
    expect_ints,
    is_run_time,
    needed,
    operand,
)
from ascend_ep.compiler.lower.elementwise import COMPUTABLE, Program, emit_program, input_value
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static, symbols
from ascend_ep.plan.kernel_params import EXPECT_INTS


@lowers("eye_like")
def lower_eye_like(node: NodeView, b: PlanBuilder) -> None:
    """1 where column - row is k."""
    target = needed(node.outputs, 0)
    if target.rank != 2 or target.dtype not in COMPUTABLE:
        raise Unsupported("it is no matrix of numbers")
    program = Program()
    place, columns = program.position(), program.const(target.dims[1], dtypes.INT64)
    row = place / columns
    on = program.call("eq", place - row * columns - row, int(node.attr("k", 0)))
    program.output(program.cast(on, target.dtype), target.dtype)
    emit_program(b, program, [b.out(target)])


@lowers("constant_of_shape")
def lower_constant_of_shape(node: NodeView, b: PlanBuilder) -> None:
    target = needed(node.outputs, 0)
    expect_ints(b, operand(node.inputs, 0), [(d,) for d in target.dims])
    value = np.asarray(node.attr("value", np.zeros(1, np.float32))).reshape(())
    element = b.constant(value, dtype=target.dtype)
    b.emit("copy", [b.view(element, target.dims, 0, [0] * target.rank)], [b.out(target)])


@lowers("range")
def lower_range(node: NodeView, b: PlanBuilder) -> None:
    """Range: start + position * delta, in the output's type."""
    target = needed(node.outputs, 0)
    program = Program()
    start, delta = (input_value(program, b, needed(node.inputs, i)) for i in (0, 2))
    program.output(start + program.cast(program.position(), start.dtype) * delta, target.dtype)
    if any(map(is_run_time, node.inputs)) and not symbols(target.dims):
        _expect_length(node, b, target.dims[0])
    emit_program(b, program, [b.out(target)])


def _expect_length(node: NodeView, b: PlanBuilder, length: Dim) -> None:
    """Has the run fail when a range whose ends come with the data has another length than the declared."""
    program, made = Program(), b.temp(dtypes.INT64, (1,))
    start, limit, delta = (input_value(program, b, needed(node.inputs, i)) for i in range(3))
    steps = program.cast(limit - start, dtypes.FLOAT64) / program.cast(delta, dtypes.FLOAT64)
    program.output(program.call("max", program.call("ceil", steps), 0.0), dtypes.INT64)
    emit_program(b, program, [made])
    b.emit("expect_ints", [made], [b.temp(dtypes.BOOL, ())], EXPECT_INTS.pack([length], choices=1))


@lowers("shape")
def lower_shape(node: NodeView, b: PlanBuilder) -> None:
    """Shape, Size: the elements that shape inference found, as a constant where they are numbers."""
    target = needed(node.outputs, 0)
    if target.shape_value is None:
        raise Unsupported("its input's shape depends on the data")
    known = [static(e) for e in target.shape_value]
    if all(k is not None for k in known):
        shape = [static(d) or 0 for d in target.dims]
        b.bind(target, b.constant(np.array(known, np.int64).reshape(shape)))
    else:
        b.emit("ints", [], [b.out(target)], target.shape_value)
