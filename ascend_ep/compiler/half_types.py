"""Operators on float16 and bfloat16 that have kernels for float32 only: the values between operators are
stored in the model's type, each is widened where it is read, computed with in float32, and rounded once where
it is written. Whatever has kernels for the type itself never comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.graph.mapped import release_pages
from ascend_ep.graph.widened import WidenedTensor
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, FLOAT32
from ascend_ep.plan.node_view import NodeView, Operand
from ascend_ep.plan.plan import TensorSource, elements
from ascend_ep.plan.plan_builder import PlanBuilder

HALF_TYPES = frozenset({FLOAT16, BFLOAT16})
#: End the names of a tensor's other forms: float32, before it is rounded and after.
BEFORE_ROUNDING, WIDENED = "/before_rounding", "/float32"


@dataclass(frozen=True, eq=False)
class Widened:
    """The elements of a half constant of this type as float32, made when they are asked for."""

    source: NDArray[Any] | TensorSource
    dtype: int

    def numpy(self) -> NDArray[Any]:
        array = elements(self.source)
        wide: NDArray[Any] = array.astype(np.float32)
        release_pages(array)
        return wide


def has_half_types(node: NodeView) -> bool:
    """Whether any operand is float16 or bfloat16."""
    return any(o is not None and o.dtype in HALF_TYPES for o in (*node.inputs, *node.outputs))


def narrow_source(source: NDArray[Any] | TensorSource) -> tuple[NDArray[Any] | TensorSource, int]:
    """The half constant whose elements as float32 these are, and its type; else themselves."""
    if isinstance(source, Widened):
        return source.source, source.dtype
    return (source.narrow, FLOAT16) if isinstance(source, WidenedTensor) else (source, FLOAT32)


def lower_in_float32(
    function: Callable[[NodeView, PlanBuilder], None], node: NodeView, b: PlanBuilder
) -> None:
    """Lowers a node with every half operand widened; its half outputs are rounded from float32."""
    inputs = [None if o is None else _wide_input(o, b) for o in node.inputs]
    outputs = [o if o is None or o.dtype not in HALF_TYPES else _wide_output(o) for o in node.outputs]
    function(replace(node, inputs=inputs, outputs=outputs), b)
    for wide, half in zip(outputs, node.outputs, strict=True):
        if wide is not None and half is not None and wide is not half:
            b.convert(b.ref(wide), b.out(half))


def _wide_input(operand: Operand, b: PlanBuilder) -> Operand:
    if operand.dtype not in HALF_TYPES:
        return operand

    def make() -> Operand:
        constant = None if operand.constant is None else Widened(operand.constant, operand.dtype)
        wide = replace(operand, name=operand.name + WIDENED, dtype=FLOAT32, constant=constant)
        if constant is None:
            made = b.temp(FLOAT32, operand.dims)
            made.name = wide.name
            b.convert(b.ref(operand), made)
            b.bind(wide, made)
        return wide

    return b.widened(operand, make)


def _wide_output(operand: Operand) -> Operand:
    return replace(operand, name=operand.name + BEFORE_ROUNDING, dtype=FLOAT32)
