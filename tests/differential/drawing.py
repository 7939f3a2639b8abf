"""A program while it is drawn: the values so far with their shapes, and nodes over them that always fit.

Dimensions are letters, which every case gives a size, or numbers. Two letters never broadcast together, and
"1" broadcasts with all, so whatever is built here is valid for any sizes that respect `least`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Constant,
    Expression,
    Input,
    Kind,
    Local,
    Program,
    Reduce,
    children,
    walk,
    with_children,
)
from ascend_ep.opdef.operations import OPERATIONS

Shape = tuple[str, ...]
#: Values that no operation has read yet are drawn this many times as often as others.
PREFERENCE = 4
MAX_RANK = 4


@dataclass(frozen=True)
class Typed:
    """A leaf that stands for a value, its kind and its dimensions."""

    node: Expression
    kind: Kind
    shape: Shape


def joined(*shapes: Shape) -> Shape | None:
    """The shape that these broadcast to, or None."""
    rank = max(map(len, shapes), default=0)
    found = ["1"] * rank
    for shape in shapes:
        for i, dim in enumerate(shape, rank - len(shape)):
            if dim != "1" and found[i] not in ("1", dim):
                return None
            found[i] = dim if dim != "1" else found[i]
    return tuple(found)


class Drawing:
    """steps: the operations so far, each over leaves. pool: the values they may read."""

    def __init__(self, random: Random, most: int) -> None:
        self.random = random
        self.most = most
        self.steps: list[tuple[str, Expression]] = []
        self.pool: list[Typed] = []
        self.unread: list[Typed] = []
        self.attributes: dict[str, tuple[str, Any, Any]] = {}  # type, default, given
        self.least: dict[str, int] = {}
        self.tags: set[str] = set()

    # ---- drawing ---------------------------------------------------------------------------

    def choose(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)

    def often(self, times_of_four: int = 3) -> bool:
        return self.random.randrange(4) < times_of_four

    def pick(self, kind: Kind = "number", fits: Callable[[Shape], bool] = lambda _: True) -> Typed | None:
        """A value of the pool whose shape fits."""
        able = [v for v in self.pool if v.kind == kind and fits(v.shape)]
        able += [v for v in able if v in self.unread] * (PREFERENCE - 1)
        return self.choose(able) if able else None

    # ---- building --------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Operations that may still be added."""
        return self.most - len(self.steps)

    def add(self, node: Expression, kind: Kind, shape: Shape) -> Typed:
        """A new step; what it reads is read."""
        read = children(node)
        self.unread = [v for v in self.unread if v.node not in read]
        value = Typed(Local(f"v{len(self.steps)}"), kind, shape)
        self.steps.append((f"v{len(self.steps)}", node))
        self.pool.append(value)
        self.unread.append(value)
        return value

    def apply(self, op: str, *args: Typed | float) -> Typed | None:
        """An elementwise operation; None when the shapes don't broadcast."""
        operands = [a if isinstance(a, Typed) else Typed(Constant(float(a)), "number", ()) for a in args]
        shape = joined(*(a.shape for a in operands))
        if shape is None:
            return None
        return self.add(Apply(op, tuple(a.node for a in operands)), OPERATIONS[op].gives, shape)

    def reduced(self, op: str, value: Typed, axes: Any, keepdims: bool, written: Any = None) -> Typed:
        """A reduction over axes from the front; `written` is how the node says it."""
        kept = [
            "1" if i in axes else d for i, d in enumerate(value.shape) if keepdims or i not in axes
        ]  # fmt: skip
        if op in ("max", "min", "argmax", "argmin", "logsumexp"):
            for i in axes:
                self.require(value.shape[i], 1)
        node = Reduce(op, value.node, tuple(axes) if written is None else written, keepdims)
        kind: Kind = "bool" if op in ("any", "all") else "number"
        return self.add(node, kind, tuple(kept))

    def require(self, dim: str, size: int) -> None:
        """Every case gives this dimension at least so many elements."""
        if not dim.isdigit():
            self.least[dim] = max(self.least.get(dim, 0), size)

    def attribute(self, name: str, kind: str, default: Any, given: Any = None) -> AttributeRef:
        """A reference to an attribute, which is declared when it is new; `given` None: the default counts."""
        self.attributes.setdefault(name, (kind, default, given))
        return AttributeRef(name)

    def value_of(self, name: str) -> Any:
        _, default, given = self.attributes[name]
        return default if given is None else given

    # ---- the end ---------------------------------------------------------------------------

    def program(self, results: Sequence[Typed]) -> Program:
        """The steps that the results need: those read several times are named, the others inlined."""
        made = dict(self.steps)
        needed: list[str] = []
        stack = [r.node for r in results]
        uses: dict[str, int] = {}
        while stack:
            node = stack.pop()
            for leaf in walk(node):
                if isinstance(leaf, Local):
                    uses[leaf.name] = uses.get(leaf.name, 0) + 1
                    if uses[leaf.name] == 1:
                        needed.append(leaf.name)
                        stack.append(made[leaf.name])
        named = {n for n in needed if uses[n] > 1}

        def whole(node: Expression) -> Expression:
            if isinstance(node, Local):
                return node if node.name in named else whole(made[node.name])
            return with_children(node, [whole(c) for c in children(node)])

        lets = tuple((name, whole(value)) for name, value in self.steps if name in named)
        return Program(lets, tuple((f"y{i}", whole(r.node)) for i, r in enumerate(results)))


def nodes_of(program: Program) -> int:
    """Operations of a program: what is no leaf."""
    return sum(1 for n in program.expressions() if children(n))


__all__ = ["MAX_RANK", "Drawing", "Input", "Local", "Shape", "Typed", "joined", "nodes_of"]
