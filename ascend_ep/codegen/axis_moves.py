"""The axes of what moves give, with their sizes in C, and where each element comes from."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.opdef.expression import AddAt, Chunk, Concat, Slice, Take, Windows
from ascend_ep.opdef.moves import Move, moved_shape
from ascend_ep.opdef.shape_rule import Inapplicable

from .graph import Axes, Axis, Derived, NotGenerated


def moved_axes(move: Move, operands: Sequence[Axes]) -> Axes:
    """The axes of the result. Raises NotGenerated where they don't fit."""
    if isinstance(move, AddAt):
        raise NotGenerated("no code is generated for what adds slices at indices")
    first = operands[0]
    rank = len(first)
    axis = getattr(move, "axis", -1)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise NotGenerated(f"it moves elements along axis {axis} of a tensor of rank {rank}")
    axis %= rank
    if isinstance(move, Take):
        return (*first[:axis], *operands[1], *first[axis + 1 :])
    if isinstance(move, Concat):
        return _joined(operands, axis)
    own = first[axis]
    last = (_fixed(move.size),) if isinstance(move, Windows) else ()
    if own is None or own.root().known is not None:
        known = 1 if own is None else own.root().known
        return (*first[:axis], _fixed(_size(move, int(known or 0))), *first[axis + 1 :], *last)
    text, least = _size_text(move)
    name = (
        str(_size(move, int(own.name)))
        if own.name.isdecimal()
        else f"{type(move).__name__}({own.name}, {text})"
    )
    made = Axis(name, derived=[Derived(text, (own,), least)])
    return (*first[:axis], made, *first[axis + 1 :], *last)


def _fixed(size: int) -> Axis | None:
    return None if size == 1 else Axis(str(size), known=size)


def _size(move: Move, length: int) -> int:
    """Of one axis of this length."""
    bare = type(move)(**{**vars(move), "axis": 0})
    try:
        (found, *_) = moved_shape(bare, [(length,)])
    except Inapplicable as error:
        raise NotGenerated(str(error)) from None
    assert isinstance(found, int), "the length is known"
    return found


def _size_text(move: Move) -> tuple[str, int]:
    """The size in C, and the least length of the axis."""
    if isinstance(move, Windows):
        span = move.dilation * (move.size - 1) + 1 - move.before - move.after
        return f"(({{0}} - {span}) / {move.stride} + 1)".replace("- -", "+ "), max(span, 0)
    start, stop = (limit_text(move, which, "{0}") for which in (0, 1))
    step = move.step if isinstance(move, Slice) else 1
    return f"larger(ceil_div({stop} - {start}, {step}), 0)", 0


def limit_text(move: Move, which: int, length: str) -> str:
    """In C, the first element (0) of a part of an axis, or the one behind its last (1)."""
    if isinstance(move, Chunk):
        return f"smaller(ceil_div({length}, {move.count}) * {move.index + which}, {length})"
    assert isinstance(move, Slice)
    place = move.stop if which else move.start
    if place is None:
        return length
    return f"smaller({place}, {length})" if place >= 0 else f"larger({length} - {-place}, 0)"


def _joined(operands: Sequence[Axes], axis: int) -> Axes:
    """Of operands one behind the other; their other axes are the same ones."""
    if len({len(o) for o in operands}) > 1:
        raise NotGenerated("it joins tensors of different ranks")
    result = list(operands[0])
    for axes in operands[1:]:
        for i, mine in enumerate(axes):
            other = result[i]
            if i != axis and (mine is None) != (other is None):
                raise NotGenerated("it joins tensors of different dimensions")
            if i != axis and mine is not None and other is not None:
                result[i] = other.join(mine)
    parts = [axes[axis] for axes in operands]
    open_ = [p for p in parts if p is not None and p.root().known is None]
    fixed = sum(1 if p is None else int(p.root().known or 0) for p in parts if p not in open_)
    if not open_:
        result[axis] = _fixed(fixed)
        return tuple(result)
    text = " + ".join([*(f"{{{i}}}" for i in range(len(open_))), *([str(fixed)] if fixed else [])])
    decimal = all(p.name.isdecimal() for p in open_)
    name = (
        str(sum(int(p.name) for p in open_) + fixed)
        if decimal
        else "+".join([*(p.name for p in open_), str(fixed)])
    )
    result[axis] = Axis(name, derived=[Derived(f"({text})", tuple(open_))])
    return tuple(result)
