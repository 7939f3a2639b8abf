"""Dimensions that a file merges for its placeholders, as [2, 3, 4] into [6, 4] or [24]: what it does to
merged ones is done to the input's own, so that the operator keeps the input's shape."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.frontends.tbe.toolkit.nodes import Node

Shape = Sequence[int]


def counts_of(shape: Shape, placed: Shape) -> list[int] | None:
    """How many dimensions of `shape` each one of `placed` is merged from, 0 for an added 1; None when it is
    no merging."""
    left, counts = list(shape), []
    for size in reversed(placed):
        count, product = 0, 1
        while (left and product < size) or (count == 0 and left and left[-1] == 1):
            product *= left.pop()
            count += 1
        if product != size:
            return None
        counts.append(count)
    while left and left[-1] == 1 and counts:
        left.pop()
        counts[-1] += 1
    return None if left else counts[::-1]


class Merging:
    """The merging of a build: `inputs` are the shapes of each input and of its placeholder, by position."""

    def __init__(self, inputs: dict[int, tuple[Shape, Shape]]) -> None:
        self.widths: list[int] = []  # of the dimensions from the end: how many own ones they stand for
        self.own = {p: counts_of(shape, placed) for p, (shape, placed) in inputs.items()}
        self.placed = {p: placed for p, (_, placed) in inputs.items()}
        for counts in self.own.values():
            for i, count in enumerate(reversed(counts or [])):
                self.widths[i:] = [max(count, 1, *self.widths[i : i + 1]), *self.widths[i + 1 :]]

    @property
    def merges(self) -> bool:
        """Whether dimensions are merged, in a way that can be undone for all inputs at once."""
        if not any(w > 1 for w in self.widths) or any(c is None for c in self.own.values()):
            return False
        return all(
            count == width or size == 1
            for p, counts in self.own.items()
            for count, width, size in zip(
                reversed(counts or []), self.widths, reversed(self.placed[p]), strict=False
            )
        )

    def added(self, position: int) -> tuple[int, ...]:
        """The axes from the end at which an input takes dimensions of 1; leading ones come of themselves."""
        axes, at, last = [], 0, 0
        for count, width in zip(reversed(self.own[position] or []), self.widths, strict=False):
            at -= count
            last = at if count else last
            axes += [at - i - 1 for i in range(width - count)]
            at -= width - count
        return tuple(sorted(a for a in axes if a > last))

    def placeholder(self, position: int) -> tuple[int, ...]:
        """The widths of a placeholder's dimensions."""
        return tuple(reversed(self.widths[: len(self.placed[position])]))


def widths_of(node: Node, args: Sequence[tuple[int, ...] | None], merging: Merging) -> tuple[int, ...] | None:
    """The widths of a value's dimensions from its operands'; None when they don't agree."""
    if node.op == "placeholder":
        return merging.placeholder(node.data)
    if any(a is None for a in args):
        return None
    known = [a for a in args if a is not None]
    if node.op == "reduce":
        axes, keep = node.data[1:]
        if isinstance(axes, Node):
            return known[0] if all(w == 1 for w in known[0]) else None
        rank = len(known[0])
        gone = range(-rank, 0) if axes == "all" else axes
        return known[0] if keep else tuple(w for i, w in enumerate(known[0]) if i - rank not in gone)
    if node.op == "unsqueeze":
        rest, rank = iter(known[0]), len(known[0]) + len(node.data)
        return tuple(1 if i - rank in node.data else next(rest) for i in range(rank))
    if node.op == "sum_to":
        return known[1]
    if node.op in ("transpose", "slice", "chunk", "windows", "concat", "matmul"):
        return known[0] if node.op in ("slice", "chunk") and all(w == 1 for w in known[0]) else None
    if node.op == "index":
        return known[0] if known[0][node.data] == 1 else None
    longest = max(known, key=len, default=())
    agree = all(a == longest[len(longest) - len(a) :] for a in known)
    return longest if agree else None


def own_axes(axes: Sequence[int], widths: tuple[int, ...]) -> tuple[int, ...]:
    """Axes from the end of a value with these widths, as those of the inputs' own dimensions."""
    found = []
    for axis in axes:
        behind = sum(widths[axis + 1 :]) if axis + 1 < 0 else 0
        found += [-behind - 1 - i for i in range(widths[axis])]
    return tuple(sorted(found))
