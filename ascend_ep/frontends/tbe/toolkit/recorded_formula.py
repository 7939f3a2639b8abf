"""What a run computed, as formula text: once over the inputs' own shapes with sizes by name, and once over
the placeholders' shapes with sizes as numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import Inexpressible
from ascend_ep.frontends.tbe.toolkit.merging import Merging, own_axes, widths_of
from ascend_ep.frontends.tbe.toolkit.nodes import Node
from ascend_ep.frontends.tbe.toolkit.tensors import Tensor
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Cast,
    Chunk,
    Concat,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Program,
    Reduce,
    Slice,
    SumTo,
    Transpose,
    Unsqueeze,
    Windows,
)
from ascend_ep.opdef.expression_text import program_text

MAX_HEIGHT = 10
_LEAVES = ("const", "placeholder", "attribute", "size", "extent")
_FOLDED: dict[str, Callable[..., float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "pow": operator.pow, "neg": operator.neg, "floordiv": operator.floordiv, "sqrt": math.sqrt,
}  # fmt: skip

_MOVES: dict[str, Callable[[tuple[Expression, ...], Any], Expression]] = {
    "transpose": lambda args, data: Transpose(args[0], *data),
    "slice": lambda args, data: Slice(args[0], *data),
    "chunk": lambda args, data: Chunk(args[0], data[1], data[2], data[0]),
    "windows": lambda args, data: Windows(args[0], data[1], data[2], data[3], axis=data[0]),
    "concat": lambda args, data: Concat(args, data),
    "matmul": lambda args, data: MatMul(args[0], args[1]),
}


@dataclass(frozen=True)
class Bound:
    """An input: its name, its own shape, and its placeholder's shape and position among placeholders."""

    name: str
    shape: tuple[int, ...]
    placed: tuple[int, ...]
    position: int


def formula_text(
    outputs: Sequence[tuple[str, Tensor]], inputs: Sequence[Bound], taken: Sequence[str], symbolic: bool
) -> str:
    """The formula of the outputs. `inputs` in the order of the operator's; `taken`: names of attributes."""
    writer = _Writer(inputs, {*taken, *(name for name, _ in outputs)}, symbolic)
    return writer.text(outputs)


class _Writer:
    def __init__(self, inputs: Sequence[Bound], taken: set[str], symbolic: bool) -> None:
        self.inputs = inputs
        self.by_position = {b.position: b for b in inputs}
        self.taken = taken | {b.name for b in inputs}
        self.symbolic = symbolic
        self.lets: list[tuple[str, Expression]] = []
        self.made: dict[int, Expression] = {}
        self.height: dict[int, int] = {}
        merging = Merging({b.position: (b.shape, b.placed) for b in inputs})
        #: How dimensions are merged, and the widths of each value's; None: they aren't, or in no way to undo.
        self.merging = merging if symbolic and merging.merges else None
        self.widths: dict[int, tuple[int, ...] | None] = {}

    def text(self, outputs: Sequence[tuple[str, Tensor]]) -> str:
        roots = [tensor.node for _, tensor in outputs]
        order = list(_postorder(roots))
        uses: dict[int, int] = {}
        for node in order:
            for a in node.args:
                uses[id(a)] = uses.get(id(a), 0) + 1
        if self.merging is not None:
            for node in order:
                self.widths[id(node)] = widths_of(node, [self.widths[id(a)] for a in node.args], self.merging)
            if any(w is None for w in self.widths.values()):
                self.merging = None
        for node in order:
            value = self.expression(node)
            height = 1 + max((self.height[id(a)] for a in node.args), default=0)
            shared = uses.get(id(node), 0) > 1 or height > MAX_HEIGHT
            if shared and not isinstance(value, Constant | Input | Local | AttributeRef):
                name = self.new_name()
                self.lets.append((name, value))
                value, height = Local(name), 0
            self.made[id(node)] = value
            self.height[id(node)] = height
        results = [(name, self.made[id(tensor.node)]) for name, tensor in outputs]
        return program_text(Program(tuple(self.lets), tuple(results)))

    def new_name(self) -> str:
        name = f"t{len(self.lets)}"
        while name in self.taken:
            name += "_"
        return name

    def expression(self, node: Node) -> Expression:
        args = tuple(self.made[id(a)] for a in node.args)
        if node.op in _LEAVES:
            return self.leaf(node)
        if node.op == "number":
            return Apply("select", (args[0], Constant(1.0), Constant(0.0)))
        if node.op == "cast":
            return Cast(dtypes.NUMBERS[node.data], args[0])
        if node.op == "reduce":
            op, axes, keep = node.data
            if isinstance(axes, Node):
                return Reduce(op, args[0], AttributeRef(axes.data), keep)
            every = axes == "all" or self.is_every(axes, node.args[0])
            return Reduce(op, args[0], "all" if every else self.axes(axes, node.args[0]), keep)
        if node.op == "unsqueeze":
            return Unsqueeze(args[0], self.axes(node.data, node))
        if node.op == "sum_to":
            return SumTo(args[0], args[1])
        if node.op in _MOVES:
            return _MOVES[node.op](args, node.data)
        if node.op == "index":
            return Index(args[0], self.axes((node.data,), node.args[0])[0])
        if node.op in _FOLDED and all(
            isinstance(a, Constant) and not isinstance(a.value, bool) for a in args
        ):
            try:
                value = _FOLDED[node.op](*(a.value for a in args if isinstance(a, Constant)))
            except (ArithmeticError, ValueError, TypeError):
                value = math.nan
            if isinstance(value, int | float) and math.isfinite(value):
                return Constant(float(value))
        return Apply(node.op, args)

    def axes(self, axes: Sequence[int], node: Node) -> tuple[int, ...]:
        """Axes of a value of the file as those of the value over the inputs' own dimensions."""
        if self.merging is None:
            return tuple(axes)
        widths = self.widths[id(node)]
        assert widths is not None, "merging is given up when some widths aren't known"
        return own_axes(axes, widths)

    def is_every(self, axes: Sequence[int], node: Node) -> bool:
        """Whether a reduction is over all dimensions, of which some are merged."""
        return self.merging is not None and len(axes) == len(self.widths[id(node)] or ())

    def leaf(self, node: Node) -> Expression:
        if node.op == "const":
            if isinstance(node.data, bool):
                return Constant(node.data)
            try:
                return Constant(float(node.data))
            except OverflowError:
                raise Inexpressible(f"the constant {str(node.data)[:40]} is no float") from None
        if node.op == "attribute":
            return AttributeRef(node.data)
        if node.op == "placeholder":
            return self.input(self.bound(node.data))
        if node.op == "extent":
            bound, axis = self.bound(node.data[0]), node.data[1]
            if not self.symbolic or bound.shape != bound.placed:
                return Constant(float(bound.placed[axis]))
            return Index(Input(bound.name), axis - len(bound.placed), size=True)
        index, axis = node.data
        if not self.symbolic:
            return Constant(float(self.inputs[index].shape[axis]))
        return Index(Input(self.inputs[index].name), axis, size=True)

    def bound(self, position: int) -> Bound:
        if position not in self.by_position:
            raise Inexpressible("a placeholder is computed with that isn't in the build's tensor_list")
        return self.by_position[position]

    def input(self, bound: Bound) -> Expression:
        """The input as the placeholder sees it: with the dimensions of 1 that it has more."""
        if self.merging is not None:
            added = self.merging.added(bound.position)
        else:
            added = _added_ones(bound.shape, bound.placed) if self.symbolic else ()
        return Unsqueeze(Input(bound.name), added) if added else Input(bound.name)


def _added_ones(shape: Sequence[int], placed: Sequence[int]) -> tuple[int, ...]:
    """The axes of `placed`, from the end, that `shape` lacks and that are 1; not the leading ones, which
    broadcasting adds. () when the shapes don't correspond so."""
    if len(placed) <= len(shape):
        return ()
    added: list[int] = []
    left = list(shape)
    for axis in range(-1, -len(placed) - 1, -1):
        if left and left[-1] == placed[axis]:
            left.pop()
        elif placed[axis] == 1:
            added.append(axis)
        else:
            return ()
    if left:
        return ()
    kept = [a for a in range(-len(placed), 0) if a not in added]
    first = kept[0] if kept else 0
    return tuple(sorted(a for a in added if a > first))


def _postorder(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node once, operands before what uses them, without recursion."""
    done: set[int] = set()
    stack: list[tuple[Node, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack += [(a, False) for a in reversed(node.args) if id(a) not in done]


def bound_inputs(
    names: Sequence[str], shapes: Sequence[Sequence[int]], placeholders: Sequence[Any]
) -> list[Bound]:
    """The inputs with the placeholders that stand for them."""
    return [
        Bound(name, tuple(map(int, shape)), tuple(p.actual), p.node.data)
        for name, shape, p in zip(names, shapes, placeholders, strict=True)
    ]
