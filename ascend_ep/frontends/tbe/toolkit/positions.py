"""Where tvm.compute reads along a dimension: at an index, a fixed place, in steps, in windows that slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ascend_ep.frontends.tbe.toolkit.elements import Element, IndexVariable, Number
from ascend_ep.frontends.tbe.toolkit.failure import Inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node

#: Equal parts that a dimension is known to be cut in; more are limits from its ends.
MOST_PARTS = 8


@dataclass(frozen=True)
class Position:
    """start + stride*index + dilation*inner; without an index one place, without an inner one no window."""

    start: int = 0
    index: IndexVariable | None = None
    stride: int = 1
    inner: IndexVariable | None = None
    dilation: int = 1

    @property
    def variables(self) -> list[IndexVariable]:
        return [v for v in (self.index, self.inner) if v is not None]

    @property
    def end(self) -> int:
        """Behind the last place that is read."""
        steps = [(self.index, self.stride), (self.inner, self.dilation)]
        return self.start + sum(s * (int(v.extent) - 1) for v, s in steps if v is not None) + 1


def position_of(index: Any) -> Position | None:
    """The position that an index of a read says; None when it isn't a sum of steps along two indices."""
    terms = _linear(index)
    if terms is None:
        return None
    start = sum(step for variable, step in terms if variable is None)
    steps = [(v, sum(s for w, s in terms if w is v)) for v in _distinct(terms)]
    if any(s < 1 for _, s in steps) or len(steps) > 2:
        return None
    steps.sort(key=lambda term: term[0].reduced)
    if not steps:
        return Position(start)
    if len(steps) == 1:
        return Position(start, *steps[0])
    return Position(start, *steps[0], *steps[1])


def _distinct(terms: Sequence[tuple[IndexVariable | None, int]]) -> list[IndexVariable]:
    return list({id(v): v for v, _ in terms if v is not None}.values())


def _linear(index: Any) -> list[tuple[IndexVariable | None, int]] | None:
    """The terms of a sum: an index, or None for 1, and its whole factor."""
    if isinstance(index, IndexVariable):
        return [(index, 1)]
    number = index.number if isinstance(index, Number) else index
    if isinstance(number, int) and not isinstance(number, bool):
        return [(None, int(number))]
    if not isinstance(index, Element) or index.op not in ("add", "sub", "mul", "neg"):
        return None
    parts = [_linear(a) for a in index.args]
    if any(p is None for p in parts):
        return None
    first, *rest = (p for p in parts if p is not None)
    if index.op == "neg":
        return [(v, -s) for v, s in first]
    second = rest[0]
    if index.op == "mul":
        constant = next((p for p in (second, first) if all(v is None for v, _ in p)), None)
        if constant is None:
            return None
        factor = sum(s for _, s in constant)
        return [(v, s * factor) for v, s in (first if constant is second else second)]
    return [*first, *((v, -s if index.op == "sub" else s) for v, s in second)]


def read_along(node: Node, axis: int, length: int, at: Position, name: str) -> Node:
    """What is read of an axis (from the end) of this length: one place stays as a dimension of 1, a window
    becomes a new last dimension. Raises Inexpressible beyond the axis."""
    if at.start < 0 or at.end > length:
        raise Inexpressible(
            f"{name} is read at {at.start} to {at.end - 1} of axis {axis}, which has {length} elements"
        )
    if at.inner is None:
        return _part(node, axis, length, at.start, at.end, at.stride if at.index is not None else 1)
    size = int(at.inner.extent)
    windows = (length - at.dilation * (size - 1) - 1) // at.stride + 1
    if at.start or at.index is None or windows != int(at.index.extent):
        node = _part(node, axis, length, at.start, at.end, 1)
    return Node("windows", (node,), (axis, size, at.stride, at.dilation))


def _part(node: Node, axis: int, length: int, start: int, end: int, step: int) -> Node:
    """The places of an axis from `start` in steps to before `end`, counted so that it holds for other
    lengths: as one of equal parts, or from the axis' ends."""
    count = end - start
    if step == 1 and count == length:
        return node
    parts = length // count if length % count == 0 else 0
    if step == 1 and count > 1 and 1 < parts <= MOST_PARTS and start % count == 0:
        return Node("chunk", (node,), (axis, parts, start // count))
    if start == length - 1:
        return Node("slice", (node,), (axis, -1, None, 1))
    left = length - end
    if count == 1:
        return Node("slice", (node,), (axis, start, start + 1, 1))
    return Node("slice", (node,), (axis, start, -left if left >= step else None, step))
