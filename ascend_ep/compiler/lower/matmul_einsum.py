"""Einsum, two operands at a time: a product over the letters they share.

For a pair, every letter is one of: batch (in both, kept), contracted (in both, not kept), left or right
(in one, kept), or summed before (in one, not kept). With contracted letters the pair is a matmul of
[batch.., left, contracted] and [batch.., contracted, right], where a group of several letters is merged into
one axis; without, it is an elementwise product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.matmul import emit_matmul, require_float
from ascend_ep.compiler.lower.matmul_exact import EXACT, is_exact
from ascend_ep.compiler.lower.reduction import OPS
from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import Dim, NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import product
from ascend_ep.plan.kernel_params import REDUCE

Letters = tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """An operand with a letter for each axis."""

    letters: Letters
    ref: Ref

    def dim(self, letter: str) -> Dim:
        return self.ref.dims[self.letters.index(letter)]


@lowers("einsum")
def lower_einsum(node: NodeView, b: PlanBuilder) -> None:
    sources = [needed(node.inputs, i) for i in range(len(node.inputs))]
    if not is_exact(*sources):
        require_float(*sources)
    subscripts, result = parse_equation(str(node.attr("equation", "")), [s.rank for s in sources])
    terms = _without_broadcast(
        b, [_diagonal(b, s, b.ref(o)) for s, o in zip(subscripts, sources, strict=True)]
    )
    out = needed(node.outputs, 0)
    while len(terms) > 1:
        first, second, *rest = terms
        kept = frozenset(result).union(*(t.letters for t in rest))
        terms = [_pair(b, first, second, kept, () if rest else result), *rest]
    last = _summed(b, terms[0], frozenset(result))
    missing = [letter for letter in result if letter not in last.letters]
    if missing:  # an ellipsis whose every dim is 1
        last = Term(
            (*missing, *last.letters), b.view(b.contiguous(last.ref), (*[1] * len(missing), *last.ref.dims))
        )
    b.bind(out, permuted(b, last.ref, [last.letters.index(letter) for letter in result]))


def parse_equation(equation: str, ranks: Sequence[int]) -> tuple[list[Letters], Letters]:
    """The letters of each operand and of the result. The axes of an ellipsis are called "0", "1", ... from
    the last one backwards."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise Unsupported(f"its equation {equation!r} doesn't have {len(ranks)} operands")
    subscripts = [_letters(part, rank, equation) for part, rank in zip(parts, ranks, strict=True)]
    dots = sorted({s for letters in subscripts for s in letters if s.isdecimal()}, key=int, reverse=True)
    if arrow:
        before, ellipsis, after = right.partition("...")
        result = (*before, *(dots if ellipsis else ()), *after)
    else:
        every = [s for letters in subscripts for s in letters]
        result = (*dots, *sorted(s for s in set(every) if every.count(s) == 1 and not s.isdecimal()))
    known = {s for letters in subscripts for s in letters}
    if len(set(result)) != len(result) or not known.issuperset(result):
        raise Unsupported(f"the result of its equation {equation!r} repeats a letter or names a new one")
    return subscripts, tuple(result)


def _letters(part: str, rank: int, equation: str) -> Letters:
    before, ellipsis, after = part.partition("...")
    named = before + after
    dots = rank - len(named)
    if (named and not (named.isascii() and named.isalpha())) or dots < 0 or (dots and not ellipsis):
        raise Unsupported(f"the term {part!r} of its equation {equation!r} doesn't fit rank {rank}")
    return (*before, *(str(i) for i in reversed(range(dots))), *after)


def _diagonal(b: PlanBuilder, letters: Letters, ref: Ref) -> Term:
    """A letter that occurs twice walks both axes at once."""
    distinct = tuple(dict.fromkeys(letters))
    if len(distinct) == len(letters):
        return Term(letters, ref)
    strides = b.strides(ref)
    dims: list[Dim] = []
    steps: list[Dim] = []
    for letter in distinct:
        axes = [i for i, s in enumerate(letters) if s == letter]
        if any(ref.dims[a] != ref.dims[axes[0]] for a in axes):
            raise Unsupported(f"the axes called {letter} have different dims")
        dims.append(ref.dims[axes[0]])
        steps.append(sum((strides[a] for a in axes[1:]), strides[axes[0]]))
    return Term(distinct, b.view(ref, dims, 0, steps))


def _without_broadcast(b: PlanBuilder, terms: Sequence[Term]) -> list[Term]:
    """A dim of 1 where another operand has more is no axis at all; what remains agrees everywhere."""
    sizes: dict[str, Dim] = {}
    for term in terms:
        for letter, dim in zip(term.letters, term.ref.dims, strict=True):
            known = sizes.setdefault(letter, dim)
            if known == 1:
                sizes[letter] = dim
            elif dim not in (1, known):
                raise Unsupported(f"whether the axes called {letter} fit is known only at run time")
    return [_keep(b, t, [s for s in t.letters if t.dim(s) == sizes[s]]) for t in terms]


def _keep(b: PlanBuilder, term: Term, letters: Sequence[str]) -> Term:
    if len(letters) == len(term.letters):
        return term
    axes = [term.letters.index(s) for s in letters]
    strides = b.strides(term.ref)
    return Term(
        tuple(letters), b.view(term.ref, [term.ref.dims[a] for a in axes], 0, [strides[a] for a in axes])
    )


def _summed(b: PlanBuilder, term: Term, kept: frozenset[str]) -> Term:
    """The term without the letters that nothing else wants."""
    axes = [i for i, letter in enumerate(term.letters) if letter not in kept]
    if not axes:
        return term
    letters = tuple(s for s in term.letters if s in kept)
    out = b.temp(term.ref.dtype, [term.dim(s) for s in letters])
    b.emit("reduce", [term.ref], [out], REDUCE.pack(axes, op=OPS["ReduceSum"]))
    return Term(letters, out)


def _pair(b: PlanBuilder, first: Term, second: Term, kept: frozenset[str], result: Letters) -> Term:
    """The product of two terms; `result` is the order of letters that would need no transposition, if any."""
    left = _summed(b, first, kept | set(second.letters))
    right = _summed(b, second, kept | set(first.letters))
    if result and result[-1] in left.letters and result[-1] not in right.letters:
        left, right = right, left
    shared = [s for s in left.letters if s in right.letters]
    batch = [s for s in result or shared if s in shared and s in kept]
    contracted = [s for s in shared if s not in kept]
    rows = [s for s in result or left.letters if s in left.letters and s not in shared]
    columns = [s for s in result or right.letters if s in right.letters and s not in shared]
    letters = (*batch, *rows, *columns)
    dims = [*(left.dim(s) for s in (*batch, *rows)), *(right.dim(s) for s in columns)]
    if not contracted:
        return Term(letters, _multiplied(b, left, right, letters, dims))
    a = _grouped(b, left, [*([s] for s in batch), rows, contracted])
    c = _grouped(b, right, [*([s] for s in batch), contracted, columns])
    out = b.temp(a.dtype, [*a.dims[:-1], c.dims[-1]])
    if a.dtype in EXACT:
        b.emit("matmul_exact", [a, c], [out])
    else:
        emit_matmul(b, (a, c), out)
    return Term(letters, b.view(out, dims))


def _multiplied(b: PlanBuilder, left: Term, right: Term, letters: Letters, dims: Sequence[Dim]) -> Ref:
    program, dtype = Program(), left.ref.dtype
    out = b.temp(dtype, dims)
    x, y = (program.input(_spread(b, term, letters), dtype) for term in (left, right))
    program.output(x * y, dtype)
    emit_program(b, program, [out])
    return out


def _spread(b: PlanBuilder, term: Term, letters: Letters) -> Ref:
    """The term with an axis for every letter, of 1 where it has none."""
    strides = b.strides(term.ref)
    at = [term.letters.index(s) if s in term.letters else None for s in letters]
    dims = [1 if a is None else term.ref.dims[a] for a in at]
    return b.view(term.ref, dims, 0, [0 if a is None else strides[a] for a in at])


def _grouped(b: PlanBuilder, term: Term, groups: Sequence[Sequence[str]]) -> Ref:
    """One axis for each group of letters; copied when a group's axes don't follow each other in memory."""
    order = [term.letters.index(s) for group in groups for s in group]
    moved = permuted(b, term.ref, order)
    own = b.strides(term.ref)
    dims: list[Dim] = []
    strides: list[Dim] = []
    for group in groups:
        axes = [term.letters.index(s) for s in group]
        for outer, inner in pairwise(axes):
            if own[outer] != own[inner] * term.ref.dims[inner]:
                merged = [product(term.dim(s) for s in g) for g in groups]
                return b.view(b.contiguous(moved), merged)
        dims.append(product(term.ref.dims[a] for a in axes))
        strides.append(own[axes[-1]] if axes else 0)
    return b.view(term.ref, dims, 0, strides)
