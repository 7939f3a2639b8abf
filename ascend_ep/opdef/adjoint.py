"""Reverse-mode differentiation over a graph of values.

The adjoint of a value may have dimensions that broadcasting added to it later; they are summed where the
shape matters: before a reduction, where several adjoints meet, and at the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    MOVES,
    AddAt,
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Chunk,
    Concat,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Reduce,
    Slice,
    SumTo,
    Take,
    TopK,
    Transpose,
    Unsqueeze,
    Windows,
    children,
)
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.simplify import Values
from ascend_ep.opdef.value_shapes import ValueShapes

Leaf = Expression


class Adjoints:
    """Adjoints of the values of a graph, by the inputs `wanted`."""

    def __init__(self, values: Values, shapes: ValueShapes, wanted: Sequence[str]) -> None:
        self.values = values
        self.shapes = shapes
        self.wanted = wanted
        self.found: dict[Leaf, list[Leaf]] = {}
        self.active: set[Leaf] = {Input(name) for name in wanted}

    def gradients(self, seeds: Sequence[tuple[Leaf, Leaf]]) -> dict[str, Leaf | None]:
        """The gradient of each wanted input. `seeds`: values, each with the gradient by it."""
        forward = list(self.values.definitions.items())
        for name, node in forward:
            if not isinstance(node, Index) and any(c in self.active for c in children(node)):
                self.active.add(Local(name))
        for leaf, seed in seeds:
            self.give(leaf, seed)
        for name, node in reversed(forward):
            if Local(name) in self.found:
                self.backward(Local(name), node, self.total(Local(name)))
        return {
            n: self.fit(self.total(Input(n)), Input(n)) if Input(n) in self.found else None
            for n in self.wanted
        }

    def give(self, leaf: Leaf, adjoint: Leaf) -> None:
        """A part of the adjoint of `leaf`, at least of its shape."""
        if leaf in self.active:
            self.found.setdefault(leaf, []).append(adjoint)

    def total(self, leaf: Leaf) -> Leaf:
        parts = self.found[leaf]
        if len(parts) == 1:
            return parts[0]
        return reduce(lambda a, b: self.do("add", a, b), [self.fit(p, leaf) for p in parts])

    def fit(self, adjoint: Leaf, leaf: Leaf) -> Leaf:
        """The adjoint in exactly the shape of `leaf`."""
        same = self.shapes.of(adjoint) == self.shapes.of(leaf)
        return adjoint if same else self.values.add(SumTo(adjoint, leaf))

    def do(self, op: str, *args: Leaf | float) -> Leaf:
        return self.values.apply(op, *args)

    def add(self, node: Expression) -> Leaf:
        return self.values.add(node)

    # ---- each kind of node ---------------------------------------------------------------------

    def backward(self, leaf: Leaf, node: Expression, g: Leaf) -> None:
        """Hands the adjoint g of `leaf`, which stands for `node`, to the operands."""
        if isinstance(node, Apply):
            if not self.softmax(leaf, node, g):
                self.apply(leaf, node, g)
        elif isinstance(node, Cast):
            if node.dtype in dtypes.FLOATS:
                self.give(node.arg, g)
        elif isinstance(node, Reduce):
            self.reduction(node, self.fit(g, leaf))
        elif isinstance(node, Unsqueeze):
            self.give(node.arg, self.add(Reduce("sum", self.fit(g, leaf), node.axes, False)))
        elif isinstance(node, SumTo):
            self.give(node.arg, self.add(SumTo(self.fit(g, leaf), node.arg)))
        elif isinstance(node, MatMul):
            self.matrices(node, self.fit(g, leaf))
        elif isinstance(node, Transpose):
            self.give(node.arg, self.add(Transpose(self.fit(g, leaf), node.first, node.second)))
        elif isinstance(node, Slice | Chunk | Windows | Concat):
            self.moved(node, self.fit(g, leaf))
        elif isinstance(node, Take):
            self.give(node.arg, self.add(AddAt(self.fit(g, leaf), node.indices, node.arg, node.axis)))
        elif isinstance(node, AddAt):
            self.give(node.arg, self.add(Take(self.fit(g, leaf), node.indices, node.axis)))
        elif isinstance(node, MOVES):
            raise NotImplementedError(f"{type(node).__name__.lower()} has no gradient here")
        elif isinstance(node, TopK) and not node.indices:
            self.give(node.arg, self.chosen(node, self.fit(g, leaf)))

    def matrices(self, node: MatMul, g: Leaf) -> None:
        """Of a b: g b' and a' g, summed over dimensions that broadcast."""
        if node.a in self.active:
            self.give(node.a, self.add(SumTo(self.add(MatMul(g, self.add(Transpose(node.b)))), node.a)))
        if node.b in self.active:
            self.give(node.b, self.add(SumTo(self.add(MatMul(self.add(Transpose(node.a)), g)), node.b)))

    def moved(self, node: Slice | Chunk | Windows | Concat, g: Leaf) -> None:
        if isinstance(node, Chunk):
            others = [Chunk(node.arg, node.count, i, node.axis) for i in range(node.count)]
            parts = [g if i == node.index else self.zeros(o) for i, o in enumerate(others)]
            self.give(node.arg, self.joined(parts, node.axis))
        elif isinstance(node, Slice):
            self.give(node.arg, self.sliced(node, g))
        elif isinstance(node, Windows):
            self.give(node.arg, self.windowed(node, g))
        else:
            before: Leaf = Constant(0.0)
            for arg in node.args:
                if arg in self.active:
                    self.give(arg, self.spread(g, node.axis, arg, partial(self.shifted_by, before)))
                before = self.do("add", before, self.add(Index(arg, node.axis, True)))

    def shifted_by(self, before: Leaf, at: Leaf) -> Leaf:
        return self.do("sub", at, before)

    def spread(self, g: Leaf, axis: int | AttributeRef, like: Leaf, place: Callable[[Leaf], Leaf]) -> Leaf:
        """A tensor with the axis of `like`: what g has at w of its own is at place(w), and 0 elsewhere."""
        last = axis == -1
        rows, to = (n if last else self.add(Transpose(n, axis, -1)) for n in (g, self.add(Index(like, axis))))
        at = self.add(Unsqueeze(self.add(Index(rows, -1)), (-2,)))
        here = self.do("eq", self.add(Unsqueeze(to, (-1,))), place(at))
        chosen = self.do("select", here, self.add(Unsqueeze(rows, (-2,))), 0.0)
        found = self.add(Reduce("sum", chosen, (-1,), False))
        return found if last else self.add(Transpose(found, axis, -1))

    def chosen(self, node: TopK, g: Leaf) -> Leaf:
        """What each of the largest gets, where it was."""
        last = node.axis == -1
        places = self.add(replace(node, indices=True))
        if not last:
            places = self.add(Transpose(places, node.axis, -1))
        return self.spread(g, node.axis, node.arg, lambda _: self.add(Unsqueeze(places, (-2,))))

    def zeros(self, like: Expression) -> Leaf:
        return self.add(SumTo(Constant(0.0), self.add(like)))

    def joined(self, parts: Sequence[Leaf], axis: int | AttributeRef) -> Leaf:
        return parts[0] if len(parts) == 1 else self.add(Concat(tuple(parts), axis))

    def sliced(self, node: Slice, g: Leaf) -> Leaf:
        """Zeros before and after the part, and between its elements."""
        if node.step != 1:
            first: Leaf = Constant(float(node.start))
            if node.start < 0:
                first = self.do("max", self.do("add", self.add(Index(node.arg, node.axis, True)), first), 0.0)
            return self.spread(
                g, node.axis, node.arg, lambda at: self.do("add", self.do("mul", at, float(node.step)), first)
            )
        before = [Slice(node.arg, node.axis, 0, node.start)] if node.start != 0 else []
        after = [Slice(node.arg, node.axis, node.stop)] if node.stop is not None else []
        return self.joined([*map(self.zeros, before), g, *map(self.zeros, after)], node.axis)

    def windowed(self, node: Windows, g: Leaf) -> Leaf:
        """What windows of the gradient's windows have on their diagonals, one step on by each place."""
        reach = (node.size - 1) * node.dilation
        if max(node.before, node.after) > reach or isinstance(node.axis, AttributeRef):
            raise NotImplementedError("windows of the padding alone have no gradient here")
        axis = node.axis - 1 if node.axis < 0 else node.axis
        if node.stride != 1:
            every = self.add(replace(node, stride=1))
            g = self.spread(g, axis, every, lambda at: self.do("mul", at, float(node.stride)))
        before, after = reach - node.before, reach - node.after
        again = self.add(Windows(g, node.size, 1, node.dilation, before, after, 0.0, axis))
        places = [self.add(Index(again, a)) for a in (-2, -1)]
        on = self.do("eq", self.do("add", *places), float(node.size - 1))
        return self.add(Reduce("sum", self.do("select", on, again, 0.0), (-2, -1), False))

    def apply(self, y: Leaf, node: Apply, g: Leaf) -> None:
        operation = OPERATIONS[node.op]
        if len(node.args) == 1:
            (x,) = node.args
            if x in self.active and operation.slope is not None:
                self.give(x, self.do("mul", g, operation.slope(self.do, x, y)))
        elif operation.partials is not None:
            a, b = node.args
            for x, derivative in zip((a, b), operation.partials, strict=True):
                if x in self.active:
                    self.give(x, derivative(self.do, g, a, b, y))
        elif node.op == "select":
            condition, a, b = node.args
            if a in self.active:
                self.give(a, self.do("select", condition, g, 0.0))
            if b in self.active:
                self.give(b, self.do("select", condition, 0.0, g))

    def reduction(self, node: Reduce, g: Leaf) -> None:
        x, axes = node.arg, node.axes
        if x not in self.active or node.op in ("any", "all", "argmax", "argmin"):
            return
        if not node.keepdims and axes != "all":
            if isinstance(axes, AxisRange):
                raise NotImplementedError("a reduction that drops a range of axes has no gradient here")
            g = self.add(Unsqueeze(g, axes))
        if node.op == "sum":
            self.give(x, self.fit(g, x))
        elif node.op == "mean":
            self.give(x, self.fit(self.do("div", g, self.count(node)), x))
        elif node.op in ("max", "min"):
            at = self.do("eq", x, self.add(Reduce(node.op, x, axes)))
            ties = self.add(Reduce("sum", self.do("select", at, 1.0, 0.0), axes))
            self.give(x, self.do("select", at, self.do("div", g, ties), 0.0))
        elif node.op == "var":
            off = self.do("sub", x, self.add(Reduce("mean", x, axes)))
            self.give(x, self.do("mul", self.do("div", self.do("mul", g, 2.0), self.count(node)), off))
        elif node.op == "logsumexp":
            share = self.do("exp", self.do("sub", x, self.add(Reduce("logsumexp", x, axes))))
            self.give(x, self.do("mul", g, share))
        else:
            self.product(x, node, g)

    def product(self, x: Leaf, node: Reduce, g: Leaf) -> None:
        """The product of the others: of the nonzero ones where x is the only zero."""
        at = self.do("eq", x, 0.0)
        zeros = self.add(Reduce("sum", self.do("select", at, 1.0, 0.0), node.axes))
        others = self.add(Reduce("prod", self.do("select", at, 1.0, x), node.axes))
        without = self.do("select", self.do("eq", zeros, 1.0), others, 0.0)
        rest = self.do("div", self.add(Reduce("prod", x, node.axes)), x)
        self.give(x, self.do("mul", g, self.do("select", at, without, rest)))

    def count(self, node: Reduce) -> Leaf:
        """How many elements are reduced to one."""
        if isinstance(node.axes, tuple):
            sizes = [self.add(Index(node.arg, axis, True)) for axis in node.axes]
            return reduce(lambda a, b: self.do("mul", a, b), sizes)
        return self.add(Reduce("sum", self.add(SumTo(Constant(1.0), node.arg)), node.axes))

    # ---- softmax -------------------------------------------------------------------------------

    def softmax(self, y: Leaf, node: Apply, g: Leaf) -> bool:
        """softmax and log_softmax: what is subtracted for range has no gradient."""
        a, b = node.args if len(node.args) == 2 else (node.args[0], node.args[0])
        if node.op == "div" and (total := self.sum_of(b)) and total.arg == a:
            distance = self.argument("exp", a)
        elif node.op == "sub" and (inner := self.argument("log", b)) and (total := self.sum_of(inner)):
            distance = a if self.argument("exp", total.arg) == a else None
        else:
            return False
        x = None if distance is None else self.shifted(distance, total)
        if x is None or self.shapes.of(x) != self.shapes.of(y):
            return False
        g = self.fit(g, y)
        if node.op == "div":
            whole = self.add(Reduce("sum", self.do("mul", g, y), total.axes))
            self.give(x, self.do("mul", y, self.do("sub", g, whole)))
        else:
            whole = self.add(Reduce("sum", g, total.axes))
            self.give(x, self.do("sub", g, self.do("mul", self.do("exp", y), whole)))
        return True

    def sum_of(self, leaf: Leaf) -> Reduce | None:
        node = self.values.meaning(leaf)
        return node if isinstance(node, Reduce) and node.op == "sum" and node.keepdims else None

    def argument(self, op: str, leaf: Leaf) -> Leaf | None:
        node = self.values.meaning(leaf)
        return node.args[0] if isinstance(node, Apply) and node.op == op else None

    def shifted(self, distance: Leaf, total: Reduce) -> Leaf | None:
        """x, when the leaf is x - max(x) over the axes of `total`."""
        node = self.values.meaning(distance)
        if not isinstance(node, Apply) or node.op != "sub":
            return None
        x, largest = node.args
        return x if self.values.meaning(largest) == Reduce("max", x, total.axes) else None
