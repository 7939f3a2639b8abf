"""NumPy's broadcasting on dims that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ascend_ep.opdef.dims import Dim, DimExpr, bounds, flattened, max_, min_


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
    return broadcast_free(a, b)


def broadcast_free(a: Dim, b: Dim) -> Dim:
    """The dimension of a result where one operand's is symbolic and neither is 1. Raises DimTooComplex.

    Operands that are such dimensions themselves count as what those were made of: a chain of broadcasts grows
    with the sizes in it, not with its steps.
    """
    if isinstance(a, int) or isinstance(b, int):
        return a if isinstance(a, int) else b
    sizes = sorted(_made_of(a) | _made_of(b), key=str)
    least, largest = reduce(min_, sizes), reduce(max_, sizes)
    # of legal sizes (n or 1 each) the largest is right but for 1 and 0
    return largest if _positive(least) else largest * min_(least, 1)


def _made_of(dim: DimExpr) -> set[Dim]:
    """The sizes whose broadcast is `dim`, as broadcast_free writes it; else itself."""
    atoms = dim.terms[0][0]
    if len(dim.terms) != 1 or dim.terms[0][1] != 1 or sorted(a.op for a in atoms) != ["max", "min"]:
        return {dim}
    least, largest = (
        {d for d in flattened(op, DimExpr((((atom,), 1),))) if d != 1}
        for op in ("min", "max")
        for atom in atoms
        if atom.op == op
    )
    return largest if least <= largest and all(_positive(d) for d in largest - least) else {dim}


def _positive(dim: Dim) -> bool:
    low, _ = bounds(dim)
    return low is not None and low >= 1
