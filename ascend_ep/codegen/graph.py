"""The graph that code is generated from: nodes are values, and every axis of every value is an axis of an
iteration space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.opdef.moves import Move
from ascend_ep.opdef.operations import OPERATIONS

#: ONNX element type -> the name generated code has for it.
ELEMENTS = {n: row.short for n, row in ELEMENT_TYPES.items() if row.short}
FOLDS = ("sum", "prod", "max", "min")
#: Rankings: operations that order the elements along an axis.
RANKS = ("topk", "topk_indices", "argmax", "argmin")


def cost_of(op: str) -> int:
    """Rough work of an operation, an addition being 1."""
    operation = OPERATIONS.get(op)
    return operation.cost if operation else int(op not in ("const", "load"))


class NotGenerated(Exception):
    """No code is generated for this program; the text is one sentence that says why."""


@dataclass(frozen=True)
class InputType:
    """An input: its element type (ONNX number) and per dimension "1", which broadcasts, or a name. Dimensions
    of one name are equal at run time; those of two names are never broadcast together."""

    dtype: int
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Derived:
    """A size in C, made of the sizes of other axes, which stand for {0}, {1}, ... in `text`. least: of the
    first axis."""

    text: str
    axes: tuple[Axis, ...]
    least: int = 0


class Axis:
    """An axis of the iteration space, once everything that broadcasts together is joined. known: its size
    where the formula fixes it. like: the axis whose size it has, for another walk along the same elements.
    derived: sizes that the formula makes of other axes' and that must agree."""

    def __init__(
        self,
        name: str,
        known: int | None = None,
        like: Axis | None = None,
        derived: Sequence[Derived] = (),
    ) -> None:
        self.name = name
        self.known = known
        self.like = like
        self.derived = list(derived)
        self._joined: Axis | None = None

    def root(self) -> Axis:
        return self if self._joined is None else self._joined.root()

    def sized(self) -> Axis:
        """The axis that has this one's size."""
        root = self.root()
        return root if root.like is None else root.like.sized()

    def join(self, other: Axis) -> Axis:
        a, b = self.root(), other.root()
        if a.name != b.name:
            raise NotGenerated(
                f"whether the dimensions {a.name} and {b.name} agree is known only at run time"
            )
        if a is not b:
            b._joined = a
            a.known = b.known if a.known is None else a.known
            a.derived += b.derived
        return a


Axes = tuple[Axis | None, ...]  # None: a dimension of 1


@dataclass(frozen=True)
class Memory:
    """Where a tensor of a call is: an input, an output, or a temporary in the workspace. dtype: an ONNX
    number of ELEMENTS."""

    kind: Literal["in", "out", "temp"]
    index: int
    dtype: int


@dataclass(frozen=True)
class Ranking:
    """What a node of RANKS asks for: the k best."""

    k: int
    largest: bool


@dataclass(eq=False)
class Node:
    """op: "const", "load" (of memory), "cast", "index", "size", "number", "same", an operation of OPERATIONS,
    a fold ("fold_sum", ...) or one of RANKS.

    value: a constant, or a cast's type. memory: what a load reads. along: the axes a fold folds, a ranking
    ranks or an index counts. places: per dimension of the operand of a fold, ranking or "same", where it is
    in the result, or None. level: how many folds lie one behind another below it. origin: the node of the
    formula that this one is; several are where its elements are walked in several ways. reads_memory: of a
    fold, that the factors below it are read many times, so they are in memory before. move: what a node of
    op "move" does with its operands.
    """

    op: str
    args: tuple[Node, ...]
    is_bool: bool
    axes: Axes
    value: float | bool | int = 0
    along: Axes = ()
    places: tuple[int | None, ...] = ()
    level: int = 0
    memory: Memory | None = None
    ranking: Ranking | None = None
    origin: Node | None = None
    reads_memory: bool = False
    move: Move | None = None

    def __post_init__(self) -> None:
        self.level = max((a.level for a in self.args), default=0) + self.is_fold

    @property
    def varies(self) -> frozenset[Axis]:
        return frozenset(roots(self.axes))

    @property
    def folded(self) -> frozenset[Axis]:
        return frozenset(roots(self.along))

    @property
    def is_fold(self) -> bool:
        return self.op.startswith("fold_")

    @property
    def is_rank(self) -> bool:
        return self.op in RANKS

    @property
    def is_move(self) -> bool:
        return self.op == "move"

    @property
    def first(self) -> Node:
        """The node of the formula."""
        return self if self.origin is None else self.origin

    @property
    def cost(self) -> int:
        return cost_of(self.op)


@dataclass(frozen=True)
class Graph:
    """inputs: the types of the inputs in the definition's order (None: absent), and their axes. outputs: per
    output its node and element type. wide: arithmetic is in float64."""

    inputs: tuple[InputType | None, ...]
    input_axes: tuple[Axes, ...]
    outputs: tuple[tuple[Node, int], ...]
    wide: bool

    def nodes(self) -> list[Node]:
        return reachable([node for node, _ in self.outputs])


def roots(axes: Iterable[Axis | None]) -> list[Axis]:
    """The axes that aren't dimensions of 1."""
    return [a.root() for a in axes if a is not None]


def reachable(wanted: Iterable[Node], stop: Iterable[Node] = ()) -> list[Node]:
    """Every node the wanted ones need, operands first; those in `stop` and below are left out."""
    seen: set[int] = {id(n) for n in stop}
    found: list[Node] = []
    stack = [(node, False) for node in reversed(list(wanted))]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(a, False) for a in reversed(node.args)]
    return found
