"""Which values of a graph surely have the same shape, without knowing any: a shape is the set of the tensors
that broadcast to it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ascend_ep.opdef.expression import (
    MOVES,
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Reduce,
    SumTo,
    TopK,
    Transpose,
    Unsqueeze,
    children,
    with_children,
)

#: An input's name, or (kind, shape of the operand, axes) of what an operation makes of it.
Atom = Hashable
Shape = frozenset[Atom]


class ValueShapes:
    """Shapes of the leaves of a graph. `same_as`: an input whose shape is that of everything in the set."""

    def __init__(self, definitions: Mapping[str, Expression]) -> None:
        self.definitions = definitions
        self.same_as: dict[str, Shape] = {}
        self._known: dict[str, Shape] = {}

    def of(self, leaf: Expression) -> Shape:
        if isinstance(leaf, Input):
            return self.united(self.same_as.get(f"of {leaf.name}", frozenset({leaf.name})))
        if not isinstance(leaf, Local):
            return frozenset()
        if leaf.name not in self._known:
            self._known[leaf.name] = self.united(self._of_node(self.definitions[leaf.name]))
        return self._known[leaf.name]

    def declare(self, name: str, shape: Shape) -> None:
        """Input `name` has this shape."""
        self.same_as[f"of {name}"] = shape

    def covers(self, name: str, shape: Shape) -> None:
        """Everything in `shape` broadcasts to the input `name`."""
        self.same_as[name] = shape
        self._known.clear()

    def united(self, shape: Shape) -> Shape:
        """Without what the rest of the set implies."""
        for name, implied in self.same_as.items():
            if name in shape:
                shape = (shape - implied) | {name}
        kept = (a for a in shape if not (isinstance(a, tuple) and a[0] == "kept" and a[1] <= shape))
        return frozenset(kept)

    def _transposed(self, node: Transpose) -> Shape:
        """Two axes swapped; swapped twice they are as they were."""
        shape = self.of(node.arg)
        (only, *more) = shape or (None,)
        if (
            not more
            and isinstance(only, tuple)
            and only[0] == "transposed"
            and only[2:] == (node.first, node.second)
        ):
            return frozenset(only[1])
        return frozenset({("transposed", shape, node.first, node.second)})

    def _of_node(self, node: Expression) -> Shape:
        if isinstance(node, Apply):
            return frozenset().union(*map(self.of, node.args))
        if isinstance(node, SumTo):
            return self.of(node.like)
        if isinstance(node, Cast):
            return self.of(node.arg)
        if isinstance(node, Index):
            shape = self.of(node.like)
            return frozenset() if node.size or not shape else frozenset({("kept", shape, node.axis)})
        if isinstance(node, MatMul):
            return frozenset({("product", self.of(node.a), self.of(node.b))})
        if isinstance(node, Transpose):
            return self._transposed(node)
        if isinstance(node, MOVES):
            parts = tuple(map(self.of, children(node)))
            without = with_children(node, [Constant(0.0) for _ in children(node)])
            return frozenset({("moved", parts, without)})
        assert isinstance(node, Reduce | TopK | Unsqueeze), "leaves have no definition"
        shape = self.of(node.arg)
        if isinstance(node, TopK):
            return frozenset({("top", shape, node.k, node.axis)})
        if isinstance(node, Reduce):
            if node.axes == "all" and not node.keepdims:
                return frozenset()
            return frozenset({("kept" if node.keepdims else "dropped", shape, node.axes)})
        (only, *more) = shape or (None,)
        if not more and isinstance(only, tuple) and only[0] == "dropped" and only[2] == node.axes:
            return frozenset({("kept", only[1], node.axes)})
        return frozenset({("new", shape, node.axes)})
