"""What sizes of free dimensions have to do with each other, and sizes that satisfy it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import chain, islice, product

from ascend_ep.opdef.dims import Atom, Dim, DimExpr, evaluate, symbols

#: Sizes that are tried, and how many sets of them, when constraints can't be solved one by one.
TRIED = (2, 1, 3, 4, 8, 16, 32, 64, 5, 6, 7, 14, 28, 56, 112, 224)
MOST_TRIES = 5000
ROUNDS = 8


class OrOne(IntEnum):
    """Which side of a constraint may also be 1 (asc_constraint.or_one)."""

    NONE = 0
    LEFT = 1
    EITHER = 2


@dataclass(frozen=True)
class Constraint:
    """`left` is `right`, or what `or_one` says is 1. `text` says who asks for it."""

    left: Dim
    right: Dim
    or_one: OrOne = OrOne.NONE
    text: str = ""

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether these sizes, which name all of its symbols, satisfy it."""
        left, right = _value(self.left, sizes), _value(self.right, sizes)
        if left is None or left == right:
            return left is not None
        return (left == 1 and self.or_one != OrOne.NONE) or (right == 1 and self.or_one == OrOne.EITHER)


def solved(left: Dim, right: Dim, name: str) -> Dim | None:
    """What the symbol `name` is when `left` and `right` are equal; None when it isn't a sum of others."""
    difference = left - right
    if not isinstance(difference, DimExpr):
        return None
    own = (Atom("symbol", (name,)),)
    coefficient = dict(difference.terms).get(own, 0)
    if coefficient not in (1, -1):
        return None
    rest = difference - DimExpr(((own, coefficient),))
    return None if name in symbols([rest]) else rest * -coefficient


def agreeing_sizes(
    names: Iterable[str],
    fixed: Mapping[str, int],
    constraints: Sequence[Constraint],
    ranges: Mapping[str, tuple[int, int | None]],
    size: int,
) -> dict[str, int]:
    """A size for each name: as `fixed`, or about `size` within its range, so that the constraints hold.

    Where that can't be had, some don't. Sides of which either may be 1 are equal if they can be.
    """
    free = [n for n in names if n not in fixed]
    found = {n: _clamped(size, ranges.get(n, (0, None))) for n in free} | dict(fixed)
    known = [a for a in constraints if symbols([a.left, a.right]) <= found.keys()]
    hoped = [replace(a, or_one=OrOne.NONE) for a in known if a.or_one == OrOne.EITHER]
    needed = [a for a in known if a.or_one != OrOne.EITHER]
    settled = _solve(found, free, needed, ranges)
    wished = _solve(found, free, [*hoped, *needed], ranges)
    for sizes in (wished, settled):
        if all(a.holds(sizes) for a in known):
            return sizes
    equal = [replace(a, or_one=OrOne.NONE) for a in known]
    return _search(found, free, equal, ranges) or _search(found, free, known, ranges) or settled


def _solve(
    sizes: Mapping[str, int],
    free: Collection[str],
    constraints: Sequence[Constraint],
    ranges: Mapping[str, tuple[int, int | None]],
) -> dict[str, int]:
    """`sizes`, changed where one symbol settles a constraint; each symbol once, so that this ends."""
    found, left = dict(sizes), set(free)
    for _ in range(ROUNDS):
        open_ones = [a for a in constraints if not a.holds(found)]
        for constraint in open_ones:
            for name in sorted(
                symbols([constraint.left, constraint.right]) & left, key=_sums_first(constraint)
            ):
                value = _value(solved(constraint.left, constraint.right, name), found)
                if value is not None and _clamped(value, ranges.get(name, (0, None))) == value > 0:
                    found[name] = value
                    left.discard(name)
                    break
        if not open_ones:
            break
    return found


def _sums_first(constraint: Constraint) -> Callable[[str], tuple[bool, str]]:
    """Sorts symbols: those that are a whole side, which is one of the sizes, before parts of a sum."""
    sides = (str(constraint.left), str(constraint.right))
    return lambda name: (name not in sides, name)


def _search(
    sizes: Mapping[str, int],
    free: Collection[str],
    constraints: Sequence[Constraint],
    ranges: Mapping[str, tuple[int, int | None]],
) -> dict[str, int] | None:
    names = sorted(set(free) & symbols([d for a in constraints for d in (a.left, a.right)]))
    tried = chain(((size,) * len(names) for size in TRIED), product(TRIED, repeat=len(names)))
    for values in islice(tried, MOST_TRIES):
        found = dict(sizes) | dict(zip(names, values, strict=True))
        inside = all(_clamped(found[n], ranges.get(n, (0, None))) == found[n] for n in names)
        if inside and all(a.holds(found) for a in constraints):
            return found
    return None


def _clamped(size: int, limits: tuple[int, int | None]) -> int:
    low, high = limits
    return max(low, size if high is None else min(size, high))


def _value(dim: Dim | None, sizes: Mapping[str, int]) -> int | None:
    try:
        return None if dim is None else evaluate(dim, sizes)
    except (KeyError, ZeroDivisionError):
        return None
