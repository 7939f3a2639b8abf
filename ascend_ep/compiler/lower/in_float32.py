"""Operators whose kernels take float32 alone, on float16 and bfloat16: converted, computed, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref
from ascend_ep.opdef import dtypes

NARROW = (dtypes.FLOAT16, dtypes.BFLOAT16)

Lowering = Callable[[NodeView, PlanBuilder], None]


def in_float32(function: Lowering) -> Lowering:
    """`function` for nodes of float32, as a lowering that takes float16 and bfloat16 too."""

    def lower(node: NodeView, b: PlanBuilder) -> None:
        operands = [o for o in (*node.inputs, *node.outputs) if o is not None]
        if not any(o.dtype in NARROW for o in operands):
            function(node, b)
            return
        inputs = [_widened(o, b) if o is not None else None for o in node.inputs]
        outputs = [_like(o) if o is not None else None for o in node.outputs]
        function(replace(node, inputs=inputs, outputs=outputs), b)
        for given, wide in zip(node.outputs, outputs, strict=True):
            if given is not None and wide is not None and given is not wide:
                convert(b, b.ref(wide), b.out(given))

    lower.__doc__ = function.__doc__
    return lower


def convert(b: PlanBuilder, x: Ref, y: Ref) -> None:
    """Writes x to y in y's type."""
    program = Program()
    program.output(program.cast(program.input(x, x.dtype), y.dtype), y.dtype)
    emit_program(b, program, [y])


def _like(o: Operand) -> Operand:
    return replace(o, name=f"{o.name}/float32", dtype=dtypes.FLOAT32) if o.dtype in NARROW else o


def _widened(o: Operand, b: PlanBuilder) -> Operand:
    wide = _like(o)
    if wide is o:
        return o
    if o.const is not None:
        return replace(wide, constant=o.const.astype(np.float32))
    y = b.temp(wide.dtype, wide.dims)
    convert(b, b.ref(o), y)
    b.bind(wide, y)
    return wide
