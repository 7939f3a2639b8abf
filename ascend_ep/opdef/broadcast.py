"""NumPy's broadcasting on dims that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.opdef.dims import Dim, bounds, max_, min_


def broadcast(*shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape of an elementwise result. Raises ValueError when numbers conflict.

    A symbol beside a number other than 1 is taken to be that number or 1: what runs is checked at run time.
    """
    result: tuple[Dim, ...] = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + tuple(shape)
        result = tuple(broadcast_dim(a, b) for a, b in zip(left, right, strict=True))
    return result


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    """One dimension of an elementwise result."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise ValueError(f"dimensions {a} and {b} don't broadcast")
    if isinstance(a, int) or isinstance(b, int):
        return a if isinstance(a, int) else b
    least = min_(a, b)
    low, _ = bounds(least)
    # of legal pairs (n,n), (1,n), (n,1) the maximum is right but for (1,0) and (0,1)
    return max_(a, b) if low is not None and low >= 1 else max_(a, b) * min_(least, 1)
