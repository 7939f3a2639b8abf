"""A program for one node: attributes and the presence of optional inputs become constants, which fold.

What remains has no AttributeRef and Given nodes, only numeric axes, and no branch that can't be taken: the
form that lowering and code generators read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import AttributeValue
from ascend_ep.opdef.elementwise import round_to
from ascend_ep.opdef.expression import (
    AddAt,
    All,
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Chunk,
    Concat,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Local,
    MatMul,
    Program,
    Reduce,
    Slice,
    SumTo,
    Take,
    TopK,
    Transpose,
    Unsqueeze,
    Windows,
    children,
    walk,
    with_children,
)
from ascend_ep.opdef.operations import OPERATIONS


def specialize(
    program: Program,
    attributes: Mapping[str, AttributeValue],
    given: Collection[str],
    kept: Collection[str] = (),
) -> Program:
    """`program` for the attributes of attributes.bind_attributes and the names of the inputs that are given.
    What depends on `kept`, names of attributes and of optional inputs, stays as it is.

    Raises E42005 when the program needs an attribute that has no value.
    """
    folder = _Folder(attributes, given, frozenset(kept))
    lets: list[tuple[str, Expression]] = []
    for name, value in program.lets:
        folded = folder.fold(value)
        if isinstance(folded, Constant | Input | Local):
            folder.replacements[name] = folded
        else:
            lets.append((name, folded))
    outputs = [(name, folder.fold(value)) for name, value in program.outputs]
    return Program(used_lets(lets, outputs), tuple(outputs))


def used_lets(
    lets: list[tuple[str, Expression]], outputs: list[tuple[str, Expression]]
) -> tuple[tuple[str, Expression], ...]:
    """The assignments that an output needs."""
    needed = {n.name for _, value in outputs for n in walk(value) if isinstance(n, Local)}
    kept = []
    for name, value in reversed(lets):
        if name in needed:
            kept.append((name, value))
            needed |= {n.name for n in walk(value) if isinstance(n, Local)}
    return tuple(reversed(kept))


class _Folder:
    def __init__(
        self, attributes: Mapping[str, AttributeValue], given: Collection[str], kept: frozenset[str]
    ) -> None:
        self.attributes = attributes
        self.given = given
        self.kept = kept
        self.replacements: dict[str, Expression] = {}

    def fold(self, node: Expression) -> Expression:
        if isinstance(node, AttributeRef | Given) and node.name in self.kept:
            return node
        if isinstance(node, AttributeRef):
            return _constant(self.attribute(node.name))
        if isinstance(node, Given):
            return Constant(node.name in self.given)
        if isinstance(node, Local):
            return self.replacements.get(node.name, node)
        if isinstance(node, Cast):
            inner = self.fold(node.arg)
            if isinstance(inner, Constant):
                return Constant(float(round_to(inner.value, node.dtype)))
            return replace(node, arg=inner)
        if isinstance(node, Reduce):
            return replace(node, arg=self.fold(node.arg), axes=self.reduced(node.axes))
        if isinstance(node, Unsqueeze):
            return replace(node, arg=self.fold(node.arg), axes=self.axes(node.axes))
        if isinstance(node, Index):
            return replace(node, like=self.fold(node.like), axis=self.axis(node.axis))
        if isinstance(node, TopK):
            return self.topk(node)
        if isinstance(node, Transpose):
            return Transpose(self.fold(node.arg), self.axis(node.first), self.axis(node.second))
        if isinstance(node, Slice | Chunk | Windows | Concat | Take | AddAt):
            node = replace(node, axis=self.axis(node.axis))
        if isinstance(node, SumTo | MatMul | Slice | Chunk | Windows | Concat | Take | AddAt):
            return with_children(node, [self.fold(c) for c in children(node)])
        return self.apply(node) if isinstance(node, Apply) else node

    def attribute(self, name: str) -> AttributeValue:
        if name not in self.attributes:
            raise AscendError("E42005", f"attribute [{name}] is not given")
        return self.attributes[name]

    def reduced(
        self, axes: tuple[int, ...] | AttributeRef | AxisRange | All
    ) -> tuple[int, ...] | AttributeRef | AxisRange | All:
        if not isinstance(axes, AxisRange):
            return "all" if axes == "all" else self.axes(axes)
        first = self.axis(axes.first)
        if type(first) is int and first < 0 and axes.stop is None:  # a subclass is known at run time only
            return tuple(range(first, 0))
        return AxisRange(first, axes.stop)

    def axes(self, axes: tuple[int, ...] | AttributeRef) -> tuple[int, ...] | AttributeRef:
        if isinstance(axes, tuple) or axes.name in self.kept:
            return axes
        value = self.attribute(axes.name)
        return tuple(int(v) for v in value) if isinstance(value, tuple) else (int(value),)

    def axis(self, axis: int | AttributeRef) -> int | AttributeRef:
        if isinstance(axis, int):
            return axis
        found = self.axes(axis)
        return found[0] if isinstance(found, tuple) else found

    def topk(self, node: TopK) -> Expression:
        k, largest = (
            self.attribute(v.name) if isinstance(v, AttributeRef) and v.name not in self.kept else v
            for v in (node.k, node.largest)
        )
        assert isinstance(k, int | AttributeRef), "the parser takes k of this type only"
        chosen = largest if isinstance(largest, AttributeRef) else bool(largest)
        return TopK(self.fold(node.arg), k, self.axis(node.axis), chosen, node.indices)

    def apply(self, node: Apply) -> Expression:
        first = self.fold(node.args[0])
        if node.op == "select" and isinstance(first, Constant):
            return self.fold(node.args[1] if first.value else node.args[2])
        operands = (first, *map(self.fold, node.args[1:]))
        if all(isinstance(o, Constant) for o in operands):
            return folded(node.op, [o.value for o in operands if isinstance(o, Constant)])
        return _simplified(Apply(node.op, operands))


def _constant(value: AttributeValue) -> Constant:
    assert not isinstance(value, tuple), "the parser lets lists stand after axis= only"
    return Constant(value if isinstance(value, bool | str) else float(value))


def folded(op: str, values: Sequence[float | bool | str]) -> Constant:
    """An elementwise operation on known values."""
    if isinstance(values[0], str):
        return Constant((values[0] == values[1]) == (op == "eq"))
    with np.errstate(all="ignore"):
        result = OPERATIONS[op].numpy(*(v if isinstance(v, bool) else np.float64(v) for v in values))
    return Constant(bool(result)) if np.asarray(result).dtype == np.bool_ else Constant(float(result))


def _simplified(node: Apply) -> Expression:
    """Multiplication by 1 and truth of a known half; exact for every operand, NaN included."""
    if node.op in ("mul", "and", "or"):
        for i, operand in enumerate(node.args):
            if not isinstance(operand, Constant):
                continue
            other = node.args[1 - i]
            if node.op == "mul" and operand.value == 1 and not isinstance(operand.value, bool):
                return other
            if node.op != "mul":
                return other if operand.value is (node.op == "and") else operand
    if node.op == "div" and node.args[1] == Constant(1.0):
        return node.args[0]
    return node
