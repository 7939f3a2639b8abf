"""Values whose axes are all different.

Joining axes can give a value one axis twice: `unsqueeze(x, -1) - unsqueeze(x, -2)` walks x along both of its
dimensions. Here such a value gets a second axis of the same size, and its operands are walked along that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .graph import Axes, Axis, Graph, Node, NotGenerated, roots

MAX_NODES = 20_000


def with_distinct_axes(graph: Graph) -> Graph:
    """The graph over joined axes, no node with one axis twice. Raises NotGenerated for a huge one."""
    walks = _Walks()
    outputs = tuple((walks.node(node, _spread(node.axes, ())), dtype) for node, dtype in graph.outputs)
    inputs = tuple(tuple(None if a is None else a.root() for a in axes) for axes in graph.input_axes)
    return replace(graph, outputs=outputs, input_axes=inputs)


def _spread(axes: Axes, taken: Sequence[Axis]) -> Axes:
    """The axes themselves, or where one is taken another of its size."""
    seen = set(taken)
    found: list[Axis | None] = []
    for axis in axes:
        if axis is not None:
            axis = axis.root()
            if axis in seen:
                axis = Axis(axis.name, axis.known, like=axis)
            seen.add(axis)
        found.append(axis)
    return tuple(found)


class _Walks:
    def __init__(self) -> None:
        self._made: dict[tuple[Node, Axes], Node] = {}
        self._along: dict[tuple[Node, Axes], Axes] = {}

    def node(self, node: Node, axes: Axes) -> Node:
        """The node with its dimensions along these axes."""
        stack = [(node, axes)]
        while stack:
            wanted = stack[-1]
            operands = self._operands(*wanted)
            missing = [o for o in operands if o not in self._made]
            if wanted in self._made or not missing:
                stack.pop()
                self._made.setdefault(wanted, self._again(*wanted, [self._made[o] for o in operands]))
            stack += [] if wanted in self._made else missing
            if len(self._made) + len(stack) > MAX_NODES:
                raise NotGenerated(f"it has more than {MAX_NODES} steps")
        return self._made[node, axes]

    def _operands(self, node: Node, axes: Axes) -> list[tuple[Node, Axes]]:
        if node.is_move:
            return [(a, _spread(a.axes, ())) for a in node.args]
        if not (node.is_fold or node.is_rank or node.op == "same"):
            return [(a, _where(a, axes[len(axes) - len(a.axes) :])) for a in node.args]
        (arg,) = node.args
        along = iter(self._fresh_along(node, axes))
        folded = node.is_fold or node.is_rank
        found: list[Axis | None] = []
        for mine, place in zip(arg.axes, node.places, strict=True):
            if mine is None:
                found.append(None)
            elif place is not None:
                found.append(axes[place])
            else:
                assert folded, "only dimensions of 1 vanish otherwise"
                found.append(next(along))
        return [(arg, tuple(found))]

    def _fresh_along(self, node: Node, axes: Axes) -> Axes:
        if (node, axes) not in self._along:
            taken = [] if node.op in ("index", "size") else roots(axes)
            self._along[node, axes] = _spread(node.along, taken)
        return self._along[node, axes]

    def _again(self, node: Node, axes: Axes, args: list[Node]) -> Node:
        along = tuple(roots(axes)) if node.op == "index" else self._fresh_along(node, axes)
        return replace(node, args=tuple(args), axes=axes, along=along, origin=node.first)


def _where(node: Node, axes: Axes) -> Axes:
    return tuple(None if mine is None else axis for mine, axis in zip(node.axes, axes, strict=True))
