"""What is known of a dimension's value when only the range of its symbols is: least and largest.

Every symbol stands for an integer in [0, MAX_DIM].
"""

from __future__ import annotations

from .polynomial import Atom, Monomial, Polynomial

#: The largest value of a symbol: that of an INT32_MAX "to the end" in exported Slice nodes, less one.
MAX_DIM = 2**31 - 2

Bounds = tuple[int | None, int | None]


def bounds(dim: int | Polynomial) -> Bounds:
    """Inclusive bounds that hold for all values of the symbols; None is unbounded."""
    if isinstance(dim, int):
        return dim, dim
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in dim.terms:
        least, most = _monomial_bounds(monomial)
        ends = (least, most) if coefficient > 0 else (most, least)
        low = None if low is None or ends[0] is None else low + coefficient * ends[0]
        high = None if high is None or ends[1] is None else high + coefficient * ends[1]
    return low, high


def _monomial_bounds(monomial: Monomial) -> Bounds:
    low: int | None = 1
    high: int | None = 1
    for atom in monomial:
        least, most = _atom_bounds(atom)
        if least is None or least < 0 or low is None:
            return (least, most) if len(monomial) == 1 else (None, None)
        low *= least
        high = None if high is None or most is None else high * most
    return low, high


def _atom_bounds(atom: Atom) -> Bounds:
    if atom.op == "symbol":
        return 0, MAX_DIM
    a, b = (bounds(x) for x in atom.args if not isinstance(x, str))
    if atom.op == "floordiv":
        return _floordiv_bounds(a, b)
    if atom.op == "mod":
        low, high = b
        if low is None or low < 0:
            return None, None
        return 0, None if high is None else max(high - 1, 0)
    lows = [x for x in (a[0], b[0]) if x is not None]
    highs = [x for x in (a[1], b[1]) if x is not None]
    if atom.op == "max":
        return max(lows, default=None), max(highs) if len(highs) == 2 else None
    return min(lows) if len(lows) == 2 else None, min(highs, default=None)


def _floordiv_bounds(a: Bounds, b: Bounds) -> Bounds:
    (low_a, high_a), (low_b, high_b) = a, b
    if low_b is None or low_b < 0:
        return None, None
    divisor = max(low_b, 1)
    high = None if high_a is None else high_a // divisor if high_a >= 0 else -1
    if low_a is not None and low_a >= 0:
        return (low_a // high_b if high_b else 0), high
    return (None if low_a is None else low_a // divisor), high
