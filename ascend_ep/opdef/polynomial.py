"""Polynomials with integer coefficients over atoms, in one canonical form: what dimensions are built from.

An atom is a symbol, or one of floordiv, mod, max, min of two operands. `Terms` are a polynomial: monomials
with their coefficients, none of them 0, by falling degree, then by text. Equal polynomials have equal terms,
so equality is a comparison of tuples. The functions here take terms and return terms; what an operation
means for dimensions is the matter of dims.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

MAX_TERMS = 256
MAX_DEGREE = 32
MAX_CONST = 2**63 - 1
#: Atoms and terms of an expression, counted with those inside; what reads one takes time by their number.
MAX_SIZE = 2048
#: Atoms inside each other; what reads an expression recurses that deep, a few frames for each.
MAX_NESTING = 48


class DimTooComplex(ValueError):
    """The expression has too many terms, too high a degree, too deep a nesting, or constants beyond int64."""


class Atom:
    """An indivisible factor: `symbol` (args = (name,)), or floordiv, mod, max, min (args = two operands)."""

    __slots__ = ("_hash", "_text", "args", "nesting", "op", "size")

    def __init__(self, op: str, args: tuple[str] | tuple[int | Polynomial, int | Polynomial]) -> None:
        self.op = op
        self.args = args
        inside = [a for a in args if isinstance(a, Polynomial)]
        self.size = 1 + sum(a.size for a in inside)
        self.nesting: int = 1 + max((a.nesting for a in inside), default=0)
        if self.size > MAX_SIZE or self.nesting > MAX_NESTING:
            raise DimTooComplex("a dimension expression is nested too deep")
        self._hash = hash((op, args))
        self._text = _atom_text(op, args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.op == other.op and self.args == other.args

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self._text


Monomial = tuple[Atom, ...]  # sorted, with repetition; () is the constant term
Terms = tuple[tuple[Monomial, int], ...]


class Polynomial:
    """A polynomial that is no constant; immutable. `size`, `nesting`: as MAX_SIZE and MAX_NESTING count."""

    __slots__ = ("_hash", "_text", "nesting", "size", "terms")

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.size = _size(terms)
        self.nesting: int = max(a.nesting for m, _ in terms for a in m)
        self._hash = hash(terms)
        self._text: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            self._text = _terms_text(self.terms)
        return self._text


def terms_of(value: int | Polynomial) -> Terms:
    """The terms of an integer (of 0 too: one constant term) or a polynomial."""
    return value.terms if isinstance(value, Polynomial) else (((), value),)


def canonical(coefficients: Mapping[Monomial, int]) -> Terms:
    """The terms with these coefficients; DimTooComplex beyond the limits."""
    kept = sorted(((m, c) for m, c in coefficients.items() if c), key=lambda t: _order(t[0]))
    if any(abs(c) > MAX_CONST for _, c in kept):
        raise DimTooComplex("a constant of a dimension exceeds int64")
    if len(kept) > MAX_TERMS or (kept and len(kept[0][0]) > MAX_DEGREE) or _size(kept) > MAX_SIZE:
        raise DimTooComplex("a dimension expression has too many terms")
    return tuple(kept)


def _size(terms: Sequence[tuple[Monomial, int]]) -> int:
    return sum(1 + sum(a.size for a in m) for m, _ in terms)


def add(a: Terms, b: Terms) -> Terms:
    """a + b."""
    total = dict(a)
    for monomial, coefficient in b:
        total[monomial] = total.get(monomial, 0) + coefficient
    return canonical(total)


def multiply(a: Terms, b: Terms) -> Terms:
    """a * b."""
    if len(a) * len(b) > MAX_TERMS:
        raise DimTooComplex("a dimension expression has too many terms")
    total: dict[Monomial, int] = {}
    for m1, c1 in a:
        for m2, c2 in b:
            monomial = tuple(sorted(m1 + m2, key=str)) if m1 and m2 else m1 or m2
            total[monomial] = total.get(monomial, 0) + c1 * c2
    return canonical(total)


def exact_quotient(a: Terms, b: Terms) -> Terms | None:
    """q with q*b == a, or None: division by the leading term of b."""
    lead, lead_coefficient = b[0]
    quotient: Terms = ()
    rest = a
    for _ in range(MAX_TERMS):
        if not rest:
            return quotient
        monomial, coefficient = rest[0]
        part = _divide_monomial(monomial, lead)
        if part is None or coefficient % lead_coefficient:
            return None
        step = canonical({part: coefficient // lead_coefficient})
        quotient = add(quotient, step)
        rest = add(rest, tuple((m, -c) for m, c in multiply(b, step)))
    return None


def cancel_common(a: Terms, b: Terms) -> tuple[Terms, Terms]:
    """a and b without the monomial, and the integer, that divide every term of both."""
    every = [*a, *b]
    rests = [list(m) for m, _ in every]
    for atom in every[0][0]:
        if all(atom in rest for rest in rests):
            for rest in rests:
                rest.remove(atom)
    content = gcd(*(c for _, c in every))
    reduced = [(tuple(rest), c // content) for rest, (_, c) in zip(rests, every, strict=True)]
    return canonical(dict(reduced[: len(a)])), canonical(dict(reduced[len(a) :]))


def _divide_monomial(a: Monomial, b: Monomial) -> Monomial | None:
    rest = list(a)
    for atom in b:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    return -len(monomial), tuple(map(str, monomial))


# --- text -------------------------------------------------------------------------------------------


def _atom_text(op: str, args: tuple[str] | tuple[int | Polynomial, int | Polynomial]) -> str:
    if op == "symbol":
        return str(args[0])
    a, b = args  # type: ignore[misc]
    if op in ("max", "min"):
        return f"{op}({a}, {b})"
    return f"({_factor_text(a)}{'//' if op == 'floordiv' else '%'}{_factor_text(b)})"


def _factor_text(value: int | Polynomial | str) -> str:
    text = str(value)
    simple = (
        isinstance(value, Polynomial)
        and len(value.terms) == 1
        and value.terms[0][1] == 1
        and len(value.terms[0][0]) == 1
    )
    return text if simple or (isinstance(value, int) and value >= 0) else f"({text})"


def _terms_text(terms: Terms) -> str:
    text = ""
    for monomial, coefficient in terms:
        factors = [str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []
        sign = "-" if coefficient < 0 else "+" if text else ""
        text += sign + "*".join(factors + [str(a) for a in monomial])
    return text
