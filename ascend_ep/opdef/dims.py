"""Dimensions: integers, or integer expressions over named symbols in one canonical form.

`Dim = int | DimExpr`. A DimExpr is a polynomial with integer coefficients over atoms (polynomial.py); an atom
is a symbol, or one of floordiv, mod, max, min of two Dims. Building an expression simplifies it, so equality
of values is equality of structure wherever polynomial algebra can show it: `2*N - N == N`,
`(N*4)//4 == N`, `(B*S*768)//(B*768) == S`. An expression that is constant *is* an int.

Every symbol stands for an integer in [0, MAX_DIM] (dim_bounds.py); simplifications hold for all of these.
Where the original is undefined (a division by zero) the simplified form may be defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import gcd

from . import polynomial
from .dim_bounds import bounds
from .polynomial import (
    MAX_CONST,
    Atom,
    DimTooComplex,
    Monomial,
    Polynomial,
    Terms,
    terms_of,
)

__all__ = [
    "OPERATIONS",
    "Atom",
    "Dim",
    "DimExpr",
    "DimTooComplex",
    "bounds",
    "common_factors_removed",
    "evaluate",
    "flattened",
    "floordiv",
    "max_",
    "min_",
    "modulo",
    "operands",
    "product",
    "static",
    "substitute",
    "symbol",
    "symbols",
]


class DimExpr(Polynomial):
    """A non-constant integer expression; immutable. See the module's docstring."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of a symbolic dimension ({self}) is unknown")

    def __add__(self, other: Dim) -> Dim:
        return _dim(polynomial.add(self.terms, terms_of(other)))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    def __mul__(self, other: Dim) -> Dim:
        return _dim(polynomial.multiply(self.terms, terms_of(other)))

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return modulo(self, other)

    def __rmod__(self, other: int) -> Dim:
        return modulo(other, self)

    def __repr__(self) -> str:
        return f"DimExpr({self})"

    def symbols(self) -> frozenset[str]:
        """Names of the symbols it depends on."""
        return symbols((self,))


Dim = int | DimExpr


def symbol(name: str) -> DimExpr:
    """The dimension called `name`."""
    return DimExpr((((Atom("symbol", (name,)),), 1),))


def operands(atom: Atom) -> list[Dim]:
    """The two operands of floordiv, mod, max or min."""
    return [a for a in atom.args if isinstance(a, int | DimExpr)]


def static(dim: Dim) -> int | None:
    """The value of a constant dimension, else None."""
    return dim if isinstance(dim, int) else None


def product(dims: Iterable[Dim]) -> Dim:
    """The product of `dims`; 1 when there are none."""
    total: Dim = 1
    for dim in dims:
        total = total * dim
        if isinstance(total, int) and abs(total) > MAX_CONST:
            raise DimTooComplex("a product of dimensions exceeds int64")
    return total


def symbols(dims: Iterable[Dim]) -> frozenset[str]:
    """Names of all symbols in `dims`."""
    names: set[str] = set()
    pending = [d for d in dims if isinstance(d, DimExpr)]
    while pending:
        for monomial, _ in pending.pop().terms:
            for atom in monomial:
                if atom.op == "symbol":
                    names.add(str(atom.args[0]))
                else:
                    pending.extend(a for a in operands(atom) if isinstance(a, DimExpr))
    return frozenset(names)


def substitute(dim: Dim, bindings: Mapping[str, Dim]) -> Dim:
    """`dim` with the symbols named in `bindings` replaced."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, coefficient in dim.terms:
        term: Dim = coefficient
        for atom in monomial:
            term = term * _substitute_atom(atom, bindings)
        total = total + term
    return total


def evaluate(dim: Dim, bindings: Mapping[str, int]) -> int:
    """The value of `dim`; KeyError for a symbol without a binding, ZeroDivisionError as Python's."""
    value = substitute(dim, bindings)
    if isinstance(value, DimExpr):
        raise KeyError(sorted(value.symbols())[0])
    return value


def floordiv(a: Dim, b: Dim) -> Dim:
    """a // b, rounded toward minus infinity."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if a == 0:
        return 0
    if isinstance(b, int):
        if b < 0:
            a, b = a * -1, -b
        return _floordiv_const(a, b)
    quotient = polynomial.exact_quotient(terms_of(a), b.terms)
    if quotient is not None:
        return _dim(quotient)
    a, b = common_factors_removed(a, b)
    return floordiv(a, b) if isinstance(b, int) else _atom_dim("floordiv", a, b)


def modulo(a: Dim, b: Dim) -> Dim:
    """a % b with the sign of b, as Python's."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if a == 0:
        return 0
    if isinstance(b, int):
        if b <= 0:
            if b == 0:
                raise ZeroDivisionError(f"{a} % 0")
            return modulo(a * -1, -b) * -1
        reduced = _build({m: c % b for m, c in terms_of(a)})
        if isinstance(reduced, int):
            return reduced
        common = gcd(b, *(c for _, c in reduced.terms))
        if common > 1:
            return modulo(floordiv(reduced, common), b // common) * common
        low, high = bounds(reduced)
        if low is not None and high is not None and low >= 0 and high < b:
            return reduced
        return _atom_dim("mod", reduced, b)
    if polynomial.exact_quotient(terms_of(a), b.terms) is not None:
        return 0
    return _atom_dim("mod", a, b)


def common_factors_removed(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Both without the integer and the atoms that divide every term of both."""
    if a == 0 or b == 0:
        return a, b
    x, y = polynomial.cancel_common(terms_of(a), terms_of(b))
    return _dim(x), _dim(y)


def max_(a: Dim, b: Dim) -> Dim:
    """The larger of two."""
    return _extremum("max", a, b)


def min_(a: Dim, b: Dim) -> Dim:
    """The smaller of two."""
    return _extremum("min", a, b)


def _dim(terms: Terms) -> Dim:
    if not terms:
        return 0
    return terms[0][1] if len(terms) == 1 and not terms[0][0] else DimExpr(terms)


def _build(coefficients: Mapping[Monomial, int]) -> Dim:
    return _dim(polynomial.canonical(coefficients))


# --- division by a constant --------------------------------------------------------------------------


def _floordiv_const(a: Dim, b: int) -> Dim:
    if b == 0:
        raise ZeroDivisionError(f"{a} // 0")
    if b == 1 or isinstance(a, int):
        return a // b if isinstance(a, int) else a
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, c in a.terms:
        q = c // b if not monomial or c > 0 else -(-c // b)  # a coefficient keeps its sign
        whole[monomial], rest[monomial] = q, c - q * b
    quotient, remainder = _build(whole), _build(rest)
    if isinstance(remainder, int):
        return quotient + remainder // b
    common = gcd(b, *(c for m, c in remainder.terms if m))
    if common > 1:
        remainder = _build({m: c // common for m, c in remainder.terms})
        return quotient + floordiv(remainder, b // common)
    inner = _floordiv_inside(remainder)
    if inner is not None:
        numerator, denominator, offset = inner
        return quotient + floordiv(numerator + denominator * offset, denominator * b)
    low, high = bounds(remainder)
    if low is not None and high is not None and low // b == high // b:
        return quotient + low // b
    return quotient + _atom_dim("floordiv", remainder, b)


def _floordiv_inside(dim: Dim) -> tuple[Dim, int, int] | None:
    """(x, d, c) when dim is x//d + c with a positive constant d."""
    terms = [t for t in terms_of(dim) if t[0]]
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return None
    atom = terms[0][0][0]
    if atom.op != "floordiv" or not isinstance(atom.args[-1], int) or atom.args[-1] <= 0:
        return None
    numerator, _ = operands(atom)
    return numerator, atom.args[-1], sum(c for m, c in terms_of(dim) if not m)


# --- atoms ------------------------------------------------------------------------------------------


def _atom_dim(op: str, a: Dim, b: Dim) -> DimExpr:
    return DimExpr((((Atom(op, (a, b)),), 1),))


def flattened(op: str, dim: Dim) -> list[Dim]:
    """The dimensions that a max or a min, by `op`, is of; of anything else itself."""
    if isinstance(dim, DimExpr) and len(dim.terms) == 1:
        monomial, coefficient = dim.terms[0]
        if coefficient == 1 and len(monomial) == 1 and monomial[0].op == op:
            a, b = operands(monomial[0])
            return flattened(op, a) + flattened(op, b)
    return [dim]


def _extremum(op: str, a: Dim, b: Dim) -> Dim:
    kept: list[Dim] = []
    for new in sorted(set(flattened(op, a) + flattened(op, b)), key=_dim_order):
        if any(_dominates(op, old, new) for old in kept):
            continue
        kept = [old for old in kept if not _dominates(op, new, old)] + [new]
    if len(kept) > 16:
        raise DimTooComplex(f"a {op} of too many dimensions")
    return reduce(lambda x, y: _atom_dim(op, x, y), kept)


def _dim_order(dim: Dim) -> tuple[bool, str]:
    return isinstance(dim, int), str(dim)


def _dominates(op: str, a: Dim, b: Dim) -> bool:
    """Whether op(a, b) is always a."""
    low, high = bounds(a - b)
    return low is not None and low >= 0 if op == "max" else high is not None and high <= 0


def _substitute_atom(atom: Atom, bindings: Mapping[str, Dim]) -> Dim:
    if atom.op == "symbol":
        name = str(atom.args[0])
        return bindings[name] if name in bindings else DimExpr((((atom,), 1),))
    a, b = (substitute(x, bindings) for x in operands(atom))
    return OPERATIONS[atom.op](a, b)


#: The operations of atoms and trees, by name.
OPERATIONS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": floordiv,
    "mod": modulo,
    "max": max_,
    "min": min_,
}
