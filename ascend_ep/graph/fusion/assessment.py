"""What a fusion is worth and whether it is made: the one cost function of every fuser.

Traffic is counted in bytes to and from main memory: each operator alone reads its operands and writes its
results; fused, only what enters and leaves is moved, weights of a second product as often as the chip holds
new rows of the first's. A fusion is made when this saves bytes, its values share the loops of the result, the
least tile fits on the chip, no branch depends on data, and what it saves is worth its complexity.

By what it saves and how complex it is, a fusion is of one of four classes: "must" (much, simple), "optimise"
(little, simple), "challenge" (much, complex) and "not worth it" (little, complex). Complex are branches on
data, more than SIMPLE operators, and a product of what another product made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import onnx_ir as ir

from ascend_ep.opdef.dims import Dim, evaluate, symbols

#: What a free dimension counts as.
NOMINAL = 64
#: The part of the on-chip buffer that a kernel may plan with; the rest is for pipelining and spills.
USABLE = 0.8
#: The share of the traffic from which on a saving is large.
NOTICEABLE = 0.3
#: Operators of a fusion that isn't complex, and of any.
SIMPLE, MOST = 32, 128
#: Bytes of one repetition of a vector instruction, and rows and columns of a product's least tile.
VECTOR, FRACTAL = 256, 16


class Kind(StrEnum):
    """How an operator walks its elements, from which follows how many of the last axes one tile spans."""

    VIEW = "view"
    MOVE = "move"
    PARTS = "parts"  # of the last axis: cut or joined
    ELEMENTWISE = "elementwise"
    ROWS = "rows"
    PRODUCT = "product"
    BRANCH = "branch"


SPANNED = {Kind.ELEMENTWISE: 0, Kind.ROWS: 1, Kind.PRODUCT: 2}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value in memory; dims None when its rank isn't known. eq is identity: one object a value."""

    dims: tuple[Dim, ...] | None
    dtype: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The dims as numbers, free ones as NOMINAL."""
        dims = self.dims or ()
        free = dict.fromkeys(symbols([d for d in dims if not isinstance(d, int)]), NOMINAL)
        return tuple(max(0, d if isinstance(d, int) else evaluate(d, free)) for d in dims)

    @property
    def item(self) -> float:
        known = self.dtype and self.dtype != ir.DataType.STRING
        return float(ir.DataType(self.dtype).itemsize) if known else 4.0

    @cached_property
    def bytes(self) -> int:
        count = 1
        for size in self.sizes:
            count *= size
        return int(count * self.item)

    @property
    def row(self) -> int:
        """Bytes along the last axis."""
        return int((self.sizes[-1] if self.sizes else 1) * self.item)


@dataclass(frozen=True)
class Step:
    """One operator on its own."""

    operator: str
    kind: Kind
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]


@dataclass(frozen=True)
class Candidate:
    """Operators, in order, that may become one; what the fused operator reads and writes. `place`: its last
    node."""

    place: str
    steps: tuple[Step, ...]
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]

    @property
    def kind(self) -> Kind:
        """The kernel that the light operators join: a product's, a row's or an elementwise one."""
        kinds = {step.kind for step in self.steps}
        if Kind.PRODUCT in kinds:
            return Kind.PRODUCT
        return Kind.ROWS if kinds & {Kind.ROWS, Kind.PARTS} else Kind.ELEMENTWISE


@dataclass(frozen=True)
class Assessment:
    """Bytes of traffic apart and fused, bytes of the least tile, the chip's buffer (None: no chip is named),
    the count of operators and of different ones; `against`: why it isn't made, "" when it is."""

    isolated: int
    fused: int
    on_chip: int
    budget: int | None
    compatible: bool
    nodes: int
    operators: int
    quadrant: str
    against: str

    @property
    def saved(self) -> int:
        return self.isolated - self.fused


def assess(candidate: Candidate, budget: int | None = None) -> Assessment:
    """Weighs a candidate against the on-chip buffer of `budget` bytes per core."""
    isolated = sum(_bytes((*s.reads, *s.writes)) for s in candidate.steps if s.kind is not Kind.VIEW)
    on_chip, again = _least_tile(candidate, budget)
    fused = _bytes((*candidate.reads, *candidate.writes)) + again
    compatible = _share_loops(candidate)
    steps = candidate.steps
    complexity = len(steps) + (MOST if any(s.kind is Kind.BRANCH for s in steps) else 0)
    complexity += SIMPLE if _chained(candidate) is not None else 0
    large = isolated - fused >= NOTICEABLE * isolated
    made = Assessment(
        isolated,
        fused,
        on_chip,
        budget,
        compatible,
        len(steps),
        len({s.operator for s in steps}),
        _quadrant(large, complexity > SIMPLE),
        "",
    )
    against = _against(made, complexity, large)
    return made if not against else Assessment(**{**vars(made), "against": against})


def _against(made: Assessment, complexity: int, large: bool) -> str:
    usable = None if made.budget is None else int(made.budget * USABLE)
    if not made.compatible:
        return "its values have other loops than its result"
    if complexity > MOST:
        return "it branches on data" if made.nodes <= MOST else f"it has {made.nodes} operators"
    if usable is not None and made.on_chip > usable:
        return f"its least tile of {made.on_chip} bytes is more than {usable} of the on-chip buffer"
    if made.isolated and made.saved <= 0:
        return f"it saves no traffic: {made.isolated} bytes apart, {made.fused} fused"
    if complexity > SIMPLE and not large:
        return f"it is complex and saves less than {NOTICEABLE:.0%} of the traffic"
    return ""


def _quadrant(large: bool, is_complex: bool) -> str:
    if is_complex:
        return "challenge" if large else "not worth it"
    return "must" if large else "optimise"


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(t.bytes for t in dict.fromkeys(tensors))


def _largest(tensors: Iterable[Tensor]) -> int:
    return max((t.bytes for t in tensors), default=0)


def _least_tile(candidate: Candidate, budget: int | None) -> tuple[int, int]:
    """(bytes on the chip at the smallest tile, bytes that are read again).

    A row that is reduced stays on the chip when it fits; otherwise it is read once more for its statistics.
    Of a product of a product, as many rows as fit lie on the chip, and every other rows read all weights.
    """
    tensors = (*candidate.reads, *candidate.writes)
    inner = {w for s in candidate.steps for w in s.writes if s.kind is not Kind.VIEW} - set(candidate.writes)
    vectors = (len(tensors) + len(inner)) * VECTOR
    if candidate.kind is Kind.PRODUCT:
        tile = sum(s.kind is Kind.PRODUCT for s in candidate.steps) * 3 * FRACTAL * FRACTAL * 4
        rows = _chained(candidate)
        if rows is not None:
            row = sum(t.row for t in (*tensors, *inner))
            fits = rows if budget is None else max(FRACTAL, int(budget * USABLE - vectors) // max(row, 1))
            weights = _bytes(candidate.reads) - candidate.steps[0].reads[0].bytes
            return vectors + row * FRACTAL, weights * (-(-rows // max(fits, 1)) - 1)
        apart = not _has_product_of_product(candidate, through_rows=True)
        return vectors + (tile if apart else sum(t.row for t in tensors) * FRACTAL), 0
    if candidate.kind is Kind.ROWS:
        row = max((t.row for t in tensors), default=0)
        if budget is None or vectors + row <= budget * USABLE:
            return vectors + row, 0
        return vectors, _largest(candidate.reads)
    return vectors, 0


def _chained(candidate: Candidate) -> int | None:
    """The rows of a product that another product reads with nothing between that shares them out anew, as a
    softmax does in attention; None when there is no such pair."""
    if not _has_product_of_product(candidate, through_rows=False):
        return None
    return math.prod(candidate.steps[0].writes[0].sizes[:-1])


def _has_product_of_product(candidate: Candidate, through_rows: bool) -> bool:
    """Whether a product reads, by whatever is between, what another made: then whole rows lie on the chip.
    `through_rows`: also by an operator along rows."""
    made: set[Tensor] = set()
    for step in candidate.steps:
        follows = not made.isdisjoint(step.reads)
        if step.kind is Kind.PRODUCT and not made.isdisjoint(step.reads[:2]):  # its factors, no addend
            return True
        if (follows and (through_rows or step.kind is not Kind.ROWS)) or step.kind is Kind.PRODUCT:
            made.update(step.writes)
    return False


def _share_loops(candidate: Candidate) -> bool:
    """Whether every value broadcasts to the result along the axes that a tile doesn't span."""
    steps = [s for s in candidate.steps if s.kind not in (Kind.VIEW, Kind.MOVE, Kind.PARTS)]
    if not steps:
        return True
    result, spanned = steps[-1].writes[0].dims, SPANNED[candidate.kind]
    values = [w.dims for s in steps[:-1] for w in s.writes]
    return result is None or all(_broadcasts(v, result, spanned) for v in values if v is not None)


def _broadcasts(dims: tuple[Dim, ...], to: tuple[Dim, ...], spanned: int) -> bool:
    aligned = list(zip(reversed(dims), reversed(to), strict=False))[spanned:]
    return len(dims) <= len(to) and all(d == 1 or d == t for d, t in aligned)
