"""Dimensions: integers, or integer expressions over named symbols in one canonical form.

`Dim = int | DimExpr`. A DimExpr is a polynomial with integer coefficients over atoms; an atom is a
symbol, or one of floordiv, mod, max, min of two Dims. Building an expression simplifies it, so equality
of values is equality of structure wherever polynomial algebra can show it: `2*N - N == N`,
`(N*4)//4 == N`, `(B*S*768)//(B*768) == S`. An expression that is constant *is* an int.

Every symbol stands for an integer in [0, MAX_DIM]; simplifications hold for all of these. Where the
original is undefined (a division by zero) the simplified form may be defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import gcd

#: The largest value of a symbol: that of an INT32_MAX "to the end" in exported Slice nodes, less one.
MAX_DIM = 2**31 - 2

MAX_TERMS = 256
MAX_DEGREE = 32
MAX_CONST = 2**63 - 1


class DimTooComplex(ValueError):
    """The expression has too many terms, too high a degree, or constants beyond int64."""


class Atom:
    """An indivisible factor: `symbol` (args = (name,)), or floordiv, mod, max, min (args = two Dims)."""

    __slots__ = ("_hash", "_text", "args", "op")

    def __init__(self, op: str, args: tuple[str] | tuple[Dim, Dim]) -> None:
        self.op = op
        self.args = args
        self._hash = hash((op, args))
        self._text = _atom_text(op, args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.op == other.op and self.args == other.args

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self._text


Monomial = tuple[Atom, ...]  # sorted, with repetition; () is the constant term
Terms = dict[Monomial, int]


class DimExpr:
    """A non-constant integer expression; immutable. See the module's docstring."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)
        self._text: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimExpr) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of a symbolic dimension ({self}) is unknown")

    def __add__(self, other: Dim) -> Dim:
        total = dict(self.terms)
        for monomial, coefficient in _terms(other):
            total[monomial] = total.get(monomial, 0) + coefficient
        return _build(total)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    def __mul__(self, other: Dim) -> Dim:
        return _multiply(self.terms, _terms(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return modulo(self, other)

    def __rmod__(self, other: int) -> Dim:
        return modulo(other, self)

    def __str__(self) -> str:
        if self._text is None:
            self._text = _terms_text(self.terms)
        return self._text

    def __repr__(self) -> str:
        return f"DimExpr({self})"

    def symbols(self) -> frozenset[str]:
        """Names of the symbols it depends on."""
        return symbols((self,))


Dim = int | DimExpr


def symbol(name: str) -> DimExpr:
    """The dimension called `name`."""
    return DimExpr((((Atom("symbol", (name,)),), 1),))


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
                    pending.extend(a for a in atom.args if isinstance(a, DimExpr))
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
    quotient = _exact_quotient(a, b)
    if quotient is not None:
        return quotient
    a, b = _cancel_common(a, b)
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
        reduced = _build({m: c % b for m, c in _terms(a)})
        if isinstance(reduced, int):
            return reduced
        common = gcd(b, *(c for _, c in reduced.terms))
        if common > 1:
            return modulo(floordiv(reduced, common), b // common) * common
        low, high = bounds(reduced)
        if low is not None and high is not None and low >= 0 and high < b:
            return reduced
        return _atom_dim("mod", reduced, b)
    if _exact_quotient(a, b) is not None:
        return 0
    return _atom_dim("mod", a, b)


def max_(a: Dim, b: Dim) -> Dim:
    """The larger of two."""
    return _extremum("max", a, b)


def min_(a: Dim, b: Dim) -> Dim:
    """The smaller of two."""
    return _extremum("min", a, b)


def bounds(dim: Dim) -> tuple[int | None, int | None]:
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


# --- the polynomial ---------------------------------------------------------------------------------


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    return dim.terms if isinstance(dim, DimExpr) else (((), dim),)


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    return -len(monomial), tuple(map(str, monomial))


def _build(terms: Terms) -> Dim:
    kept = sorted(((m, c) for m, c in terms.items() if c), key=lambda t: _order(t[0]))
    if any(abs(c) > MAX_CONST for _, c in kept):
        raise DimTooComplex("a constant of a dimension exceeds int64")
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    if len(kept) > MAX_TERMS or len(kept[0][0]) > MAX_DEGREE:
        raise DimTooComplex("a dimension expression has too many terms")
    return DimExpr(tuple(kept))


def _multiply(a: tuple[tuple[Monomial, int], ...], b: tuple[tuple[Monomial, int], ...]) -> Dim:
    if len(a) * len(b) > MAX_TERMS:
        raise DimTooComplex("a dimension expression has too many terms")
    total: Terms = {}
    for m1, c1 in a:
        for m2, c2 in b:
            monomial = tuple(sorted(m1 + m2, key=str)) if m1 and m2 else m1 or m2
            total[monomial] = total.get(monomial, 0) + c1 * c2
    return _build(total)


def _divide_monomial(a: Monomial, b: Monomial) -> Monomial | None:
    rest = list(a)
    for atom in b:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _exact_quotient(a: Dim, b: DimExpr) -> Dim | None:
    """q with q*b == a as polynomials, or None: division by the leading term of b."""
    lead, lead_coefficient = b.terms[0]
    quotient: Dim = 0
    rest = a
    for _ in range(MAX_TERMS):
        if rest == 0:
            return quotient
        monomial, coefficient = _terms(rest)[0]
        part = _divide_monomial(monomial, lead)
        if part is None or coefficient % lead_coefficient:
            return None
        step = _build({part: coefficient // lead_coefficient})
        quotient = quotient + step
        rest = rest - b * step
    return None


def _cancel_common(a: Dim, b: DimExpr) -> tuple[Dim, Dim]:
    """a and b without the monomial that divides every term of both."""
    every = [*_terms(a), *b.terms]
    shared: list[Atom] = []
    rests = [list(m) for m, _ in every]
    for atom in every[0][0]:
        if all(atom in rest for rest in rests):
            for rest in rests:
                rest.remove(atom)
            shared.append(atom)
    content = gcd(*(c for _, c in every))
    reduced = [(tuple(rest), c // content) for rest, (_, c) in zip(rests, every, strict=True)]
    split = len(_terms(a))
    return _build(dict(reduced[:split])), _build(dict(reduced[split:]))


def _floordiv_const(a: Dim, b: int) -> Dim:
    if b == 0:
        raise ZeroDivisionError(f"{a} // 0")
    if b == 1 or isinstance(a, int):
        return a // b if isinstance(a, int) else a
    whole: Terms = {}
    rest: Terms = {}
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
    terms = [t for t in _terms(dim) if t[0]]
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return None
    atom = terms[0][0][0]
    if atom.op != "floordiv" or not isinstance(atom.args[-1], int) or atom.args[-1] <= 0:
        return None
    numerator = atom.args[0]
    assert not isinstance(numerator, str)
    return numerator, atom.args[-1], sum(c for m, c in _terms(dim) if not m)


# --- atoms ------------------------------------------------------------------------------------------


def _atom_dim(op: str, a: Dim, b: Dim) -> DimExpr:
    return DimExpr((((Atom(op, (a, b)),), 1),))


def _operands(op: str, dim: Dim) -> list[Dim]:
    if isinstance(dim, DimExpr) and len(dim.terms) == 1:
        monomial, coefficient = dim.terms[0]
        if coefficient == 1 and len(monomial) == 1 and monomial[0].op == op:
            a, b = monomial[0].args  # type: ignore[misc]
            return _operands(op, a) + _operands(op, b)
    return [dim]


def _extremum(op: str, a: Dim, b: Dim) -> Dim:
    kept: list[Dim] = []
    for new in sorted(set(_operands(op, a) + _operands(op, b)), key=_dim_order):
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


def _monomial_bounds(monomial: Monomial) -> tuple[int | None, int | None]:
    low: int | None = 1
    high: int | None = 1
    for atom in monomial:
        least, most = _atom_bounds(atom)
        if least is None or least < 0 or low is None:
            return (least, most) if len(monomial) == 1 else (None, None)
        low *= least
        high = None if high is None or most is None else high * most
    return low, high


def _atom_bounds(atom: Atom) -> tuple[int | None, int | None]:
    if atom.op == "symbol":
        return 0, MAX_DIM
    (low_a, high_a), (low_b, high_b) = (bounds(a) for a in atom.args if not isinstance(a, str))
    if atom.op == "floordiv":
        if low_b is None or low_b < 0:
            return None, None
        divisor = max(low_b, 1)
        high = None if high_a is None else high_a // divisor if high_a >= 0 else -1
        if low_a is not None and low_a >= 0:
            return (low_a // high_b if high_b else 0), high
        return (None if low_a is None else low_a // divisor), high
    if atom.op == "mod":
        return (
            (0, None if high_b is None else max(high_b - 1, 0))
            if low_b is not None and low_b >= 0
            else (None, None)
        )
    pick: Callable[[int, int], int] = max if atom.op == "max" else min
    known = [x for x in (low_a, low_b) if x is not None], [x for x in (high_a, high_b) if x is not None]
    if atom.op == "max":
        return max(known[0], default=None), pick(*known[1]) if len(known[1]) == 2 else None
    return pick(*known[0]) if len(known[0]) == 2 else None, min(known[1], default=None)


def _substitute_atom(atom: Atom, bindings: Mapping[str, Dim]) -> Dim:
    if atom.op == "symbol":
        name = str(atom.args[0])
        return bindings[name] if name in bindings else DimExpr((((atom,), 1),))
    a, b = (substitute(x, bindings) for x in atom.args if not isinstance(x, str))
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


# --- text -------------------------------------------------------------------------------------------


def _atom_text(op: str, args: tuple[str] | tuple[Dim, Dim]) -> str:
    if op == "symbol":
        return str(args[0])
    a, b = args  # type: ignore[misc]
    if op in ("max", "min"):
        return f"{op}({a}, {b})"
    return f"({_factor_text(a)}{'//' if op == 'floordiv' else '%'}{_factor_text(b)})"


def _factor_text(dim: Dim | str) -> str:
    text = str(dim)
    simple = (
        isinstance(dim, DimExpr)
        and len(dim.terms) == 1
        and dim.terms[0][1] == 1
        and len(dim.terms[0][0]) == 1
    )
    return text if simple or (isinstance(dim, int) and dim >= 0) else f"({text})"


def _terms_text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    text = ""
    for monomial, coefficient in terms:
        factors = [str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []
        sign = "-" if coefficient < 0 else "+" if text else ""
        text += sign + "*".join(factors + [str(a) for a in monomial])
    return text
