"""Functions of formulas that put elements elsewhere: slice, chunk, windows, concat, take, add_at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ascend_ep.opdef.expression import (
    AddAt,
    Apply,
    AttributeRef,
    Chunk,
    Concat,
    Constant,
    Expression,
    Slice,
    Take,
    Windows,
)

#: Larger windows, strides and counts than these are mistakes.
MOST = 1 << 20
Axis = int | AttributeRef
#: The functions, with the axis they are along unless axis= says another.
MOVING = {"slice": -1, "chunk": -1, "windows": -1, "concat": -1, "take": 0, "add_at": 0}
#: How each is called.
FORMS = {
    "slice": "slice(x, start, stop, step, axis=), from the end when negative, stop inf the end itself",
    "chunk": "chunk(x, count, index, axis=), index below count",
    "windows": "windows(x, size, stride, dilation, before, after, fill, axis=)",
    "concat": "concat(a, b, ..., axis=)",
    "take": "take(x, indices, axis=)",
    "add_at": "add_at(slices, indices, like, axis=)",
}


def moved(name: str, operands: Sequence[Expression], axis: Axis) -> Expression | None:
    """The node of a call of one of MOVING; None where it isn't written as FORMS says."""
    return _MAKE[name](operands, axis)


def number(node: Expression) -> float | None:
    """The number that an argument is written as."""
    sign = 1.0
    while isinstance(node, Apply) and node.op == "neg":
        sign, node = -sign, node.args[0]
    if not isinstance(node, Constant) or isinstance(node.value, str | bool):
        return None
    return sign * float(node.value)


def _whole(values: Sequence[Expression]) -> list[int] | None:
    found = [number(v) for v in values]
    if any(n is None or not math.isfinite(n) or not n.is_integer() or abs(n) > MOST for n in found):
        return None
    return [int(n) for n in found if n is not None]


def _slice(values: Sequence[Expression], axis: Axis) -> Expression | None:
    if not 2 <= len(values) <= 4:
        return None
    to_end = len(values) < 3 or number(values[2]) == math.inf
    given = _whole([v for i, v in enumerate(values[1:], 1) if i != 2 or not to_end])
    if given is None:
        return None
    start, *more = given
    stop = None if to_end else more.pop(0)
    step = more[0] if more else 1
    return Slice(values[0], axis, start, stop, step) if step > 0 else None


def _chunk(values: Sequence[Expression], axis: Axis) -> Expression | None:
    given = _whole(values[1:]) if len(values) == 3 else None
    if given is None or not 0 <= given[1] < given[0]:
        return None
    return Chunk(values[0], given[0], given[1], axis)


def _windows(values: Sequence[Expression], axis: Axis) -> Expression | None:
    if not 2 <= len(values) <= 7:
        return None
    fill = number(values[6]) if len(values) == 7 else 0.0
    given = _whole(values[1:6])
    if given is None or fill is None:
        return None
    size, stride, dilation, before, after = [*given, *(1, 1, 1, 0, 0)[len(given) :]]
    if min(size, stride, dilation) < 1 or min(before, after) < 0:
        return None
    return Windows(values[0], size, stride, dilation, before, after, fill, axis)


def _concat(values: Sequence[Expression], axis: Axis) -> Expression | None:
    return Concat(tuple(values), axis) if values else None


def _take(values: Sequence[Expression], axis: Axis) -> Expression | None:
    return Take(values[0], values[1], axis) if len(values) == 2 else None


def _add_at(values: Sequence[Expression], axis: Axis) -> Expression | None:
    return AddAt(values[0], values[1], values[2], axis) if len(values) == 3 else None


_MAKE: dict[str, Callable[[Sequence[Expression], Axis], Expression | None]] = {
    "slice": _slice,
    "chunk": _chunk,
    "windows": _windows,
    "concat": _concat,
    "take": _take,
    "add_at": _add_at,
}
