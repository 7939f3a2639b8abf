"""A specialised program as a graph: equal subexpressions are one node, and every axis of every value is an
axis of one iteration space.

Axes are found by unification: broadcasting two values makes their aligned axes one, whatever tensors they
come from, so `x / sum(x, axis=-1)` and a bias of one dimension need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    OPERATIONS,
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Program,
    Reduce,
    SumTo,
    Unsqueeze,
)
from ascend_ep.opdef.reductions import ELEMENTARY, expanded

#: Element types that make arithmetic float64; with folds only float64 does: as lower/formula.py has it.
WIDE = frozenset({dtypes.FLOAT64, dtypes.INT32, dtypes.INT64, dtypes.UINT32, dtypes.UINT64})
FOLDS = ("sum", "prod", "max", "min")
#: Rough work of an operation, an addition being 1.
COSTS = {
    "div": 3, "sqrt": 3, "rsqrt": 5, "exp": 8, "expm1": 10, "log": 12, "log1p": 16, "tanh": 10, "erf": 12,
    "sigmoid": 10, "softplus": 24, "pow": 60, "mod": 100, "atan2": 60,
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"), 40),
    **dict.fromkeys(("asinh", "acosh", "atanh"), 40),
}  # fmt: skip


class NotGenerated(Exception):
    """No code is generated for this program; the text is one sentence that says why."""


@dataclass(frozen=True)
class InputType:
    """An input: its element type (ONNX number) and per dimension "1", which broadcasts, or a name. Dimensions
    of one name are equal at run time; those of two names are never broadcast together."""

    dtype: int
    dims: tuple[str, ...]


class Axis:
    """An axis of the iteration space, once everything that broadcasts together is joined."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._joined: Axis | None = None

    def root(self) -> Axis:
        return self if self._joined is None else self._joined.root()

    def join(self, other: Axis) -> Axis:
        a, b = self.root(), other.root()
        if a.name != b.name:
            raise NotGenerated(
                f"whether the dimensions {a.name} and {b.name} agree is known only at run time"
            )
        if a is not b:
            b._joined = a
        return a


Axes = tuple[Axis | None, ...]  # None: a dimension of 1


@dataclass(eq=False)
class Node:
    """op: "const", "input", "cast", "index", "size", an operation of OPERATIONS, or a fold ("fold_sum", ...).

    value: a constant, an input's position, a cast's type. along: the axes a fold folds, or the axis counted.
    level: how many folds lie one behind another below it.
    """

    op: str
    args: tuple[Node, ...]
    is_bool: bool
    axes: Axes
    value: float | bool | int = 0
    along: Axes = ()
    level: int = 0

    @property
    def varies(self) -> frozenset[Axis]:
        return frozenset(a.root() for a in self.axes if a is not None)

    @property
    def folded(self) -> frozenset[Axis]:
        return frozenset(a.root() for a in self.along if a is not None)

    @property
    def is_fold(self) -> bool:
        return self.op.startswith("fold_")

    @property
    def cost(self) -> int:
        return COSTS.get(self.op, 0 if self.op in ("const", "input") else 1)


@dataclass(frozen=True)
class Graph:
    """inputs: the types of the inputs in the definition's order (None: absent), and their axes. outputs: per
    output its node and element type."""

    inputs: tuple[InputType | None, ...]
    input_axes: tuple[Axes, ...]
    outputs: tuple[tuple[Node, int], ...]

    @property
    def wide(self) -> bool:
        """Whether arithmetic is in float64."""
        wide = {dtypes.FLOAT64} if any(n.is_fold for n in self.nodes()) else WIDE
        return any(t is not None and t.dtype in wide for t in self.inputs)

    def nodes(self) -> list[Node]:
        return reachable([node for node, _ in self.outputs])


def reachable(roots: Iterable[Node], stop: Iterable[Node] = ()) -> list[Node]:
    """Every node the roots need, operands first; those in `stop` and below are left out."""
    seen: set[int] = {id(n) for n in stop}
    found: list[Node] = []
    stack = [(node, False) for node in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(a, False) for a in reversed(node.args)]
    return found


def build_graph(
    program: Program,
    names: Sequence[str],
    inputs: Sequence[InputType | None],
    output_types: Sequence[int],
) -> Graph:
    """The graph of a specialised program. names: of the inputs, in order. Raises NotGenerated."""
    for given in inputs:
        if given is not None and given.dtype not in ELEMENTS:
            raise NotGenerated(f"there is no native arithmetic on {dtypes.name(given.dtype)}")
    builder = _Builder(dict(zip(names, inputs, strict=True)))
    for name, value in program.lets:
        builder.locals[name] = builder.node(value)
    if len(output_types) != len(program.outputs):
        raise NotGenerated("not all its outputs are wanted")
    outputs = []
    for (_, value), dtype in zip(program.outputs, output_types, strict=True):
        if dtype not in ELEMENTS:
            raise NotGenerated(f"there is no native arithmetic on {dtypes.name(dtype)}")
        outputs.append((builder.node(value), dtype))
    return Graph(tuple(inputs), tuple(builder.axes[name] for name in names), tuple(outputs))


class _Builder:
    def __init__(self, inputs: Mapping[str, InputType | None]) -> None:
        self.inputs = inputs
        self.positions = {name: i for i, name in enumerate(inputs)}
        self.axes: dict[str, Axes] = {
            name: () if t is None else tuple(None if d == "1" else Axis(d) for d in t.dims)
            for name, t in inputs.items()
        }
        self.locals: dict[str, Node] = {}
        self._made: dict[object, Node] = {}

    def node(self, e: Expression) -> Node:
        if isinstance(e, Constant):
            return self.constant(e.value)
        if isinstance(e, Local):
            return self.locals[e.name]
        if isinstance(e, Input):
            return self.input(e.name)
        if isinstance(e, Cast):
            return self.cast(self.number(self.node(e.arg)), e.dtype)
        if isinstance(e, Reduce):
            return self.reduce(e)
        if isinstance(e, Index):
            return self.index(e)
        if isinstance(e, Unsqueeze):
            return self.unsqueeze(e)
        if isinstance(e, SumTo):
            return self.sum_to(e)
        if isinstance(e, Apply):
            return self.apply(e.op, [self.node(a) for a in e.args])
        raise NotGenerated(f"no code is generated for {type(e).__name__}")

    def make(
        self,
        op: str,
        args: Sequence[Node],
        axes: Axes,
        value: float | bool | int = 0,
        along: Axes = (),
        is_bool: bool = False,
    ) -> Node:
        key = (op, tuple(map(id, args)), type(value), repr(value), tuple(map(id, along)), len(axes))
        if key not in self._made:
            level = max((a.level for a in args), default=0) + op.startswith("fold_")
            self._made[key] = Node(op, tuple(args), is_bool, axes, value, along, level)
        return self._made[key]

    def constant(self, value: float | bool | str) -> Node:
        if isinstance(value, str):
            raise NotGenerated("a text is no tensor")
        return self.make("const", (), (), value, is_bool=isinstance(value, bool))

    def input(self, name: str) -> Node:
        kind = self.inputs.get(name)
        if kind is None:
            raise NotGenerated(f"its input {name} is not given")
        return self.make(
            "input", (), self.axes[name], self.positions[name], is_bool=kind.dtype == dtypes.BOOL
        )

    def number(self, node: Node) -> Node:
        """The value as a number: 1 for true."""
        return self.make("number", [node], node.axes) if node.is_bool else node

    def cast(self, arg: Node, dtype: int) -> Node:
        if dtype not in ELEMENTS:
            raise NotGenerated(f"there is no native arithmetic on {dtypes.name(dtype)}")
        if dtype == dtypes.BOOL:
            return self.number(self.apply("ne", [arg, self.constant(0.0)]))
        return self.make("cast", [arg], arg.axes, dtype)

    def broadcast(self, args: Sequence[Node]) -> Axes:
        rank = max(len(a.axes) for a in args)
        found: list[Axis | None] = [None] * rank
        for arg in args:
            for i, axis in enumerate(arg.axes, rank - len(arg.axes)):
                mine = found[i]
                if axis is not None:
                    found[i] = axis if mine is None else mine.join(axis)
        return tuple(found)

    def apply(self, op: str, args: Sequence[Node]) -> Node:
        """An operation as lower/formula.py executes it: the same steps, so the same roundings."""
        second = args[1] if len(args) > 1 else args[0]
        if op == "div" and second.op == "const" and second.value:
            return self.apply("mul", [args[0], self.constant(1.0 / second.value)])
        if op == "floordiv":
            quotient = self.make("div", args, self.broadcast(args))
            return self.make("floor", [quotient], quotient.axes)
        if op in ("log2", "log10"):
            scale = self.constant(1.4426950408889634 if op == "log2" else 0.4342944819032518)
            return self.apply("mul", [self.apply("log", args), scale])
        if op == "pow" and second.op == "const" and second.value in (2, 3):
            square = self.apply("mul", [args[0], args[0]])
            return square if second.value == 2 else self.apply("mul", [square, args[0]])
        if op == "isnan":
            return self.apply("ne", [args[0], args[0]])
        if op == "isinf":
            return self.apply("eq", [self.apply("abs", args), self.constant(float("inf"))])
        operation = OPERATIONS[op]
        if any(a.is_bool != (kind == "bool") for a, kind in zip(args, operation.takes, strict=True)):
            raise NotGenerated(f"{op} mixes numbers and truth values")
        if op not in GENERATED:
            raise NotGenerated(f"no code is generated for {op}")
        return self.make(op, args, self.broadcast(args), is_bool=operation.gives == "bool")

    def reduce(self, e: Reduce) -> Node:
        if e.op not in ELEMENTARY:
            return self.node(expanded(e))
        arg = self.number(self.node(e.arg))
        rank = len(arg.axes)
        given = tuple(range(rank)) if e.axes == "all" else e.axes
        if not isinstance(given, tuple):
            raise NotGenerated("its axes are no numbers")
        if not all(-rank <= a < rank for a in given):
            raise NotGenerated(f"it reduces axes {list(given)} of a tensor of rank {rank}")
        axes = frozenset(a % rank for a in given)
        return self.fold(e.op, arg, axes, e.keepdims)

    def fold(self, op: str, arg: Node, axes: frozenset[int], keepdims: bool) -> Node:
        kept = tuple(None if i in axes else a for i, a in enumerate(arg.axes) if keepdims or i not in axes)
        along = tuple(arg.axes[i] for i in sorted(axes) if arg.axes[i] is not None)
        if op == "mean":
            total = self.fold("sum", arg, axes, keepdims)
            if not along:
                return total
            count = self.make("size", (), (), 0, along)
            return self.make("div", [total, count], total.axes)
        if op not in FOLDS:
            raise NotGenerated(f"no code is generated for the reduction {op}")
        if not along:
            return self.make("same", [arg], kept)
        return self.make(f"fold_{op}", [arg], kept, 0, along)

    def unsqueeze(self, e: Unsqueeze) -> Node:
        arg = self.number(self.node(e.arg))
        rank = len(arg.axes) + len(e.axes if isinstance(e.axes, tuple) else ())
        if not isinstance(e.axes, tuple) or len({a % rank for a in e.axes if -rank <= a < rank}) < len(
            e.axes
        ):
            raise NotGenerated("its new axes don't fit")
        new = {a % rank for a in e.axes}
        kept = iter(arg.axes)
        return self.make("same", [arg], tuple(None if i in new else next(kept) for i in range(rank)))

    def sum_to(self, e: SumTo) -> Node:
        arg, like = self.number(self.node(e.arg)), self.node(e.like)
        extra = len(arg.axes) - len(like.axes)
        wanted = (None,) * extra + like.axes
        folded = frozenset(
            i for i, axis in enumerate(arg.axes) if i < extra or wanted[i - min(extra, 0)] is None
        )
        total = self.fold("sum", arg, folded, True)
        kept = self.make("same", [total], total.axes[max(extra, 0) :]) if extra > 0 else total
        axes = self.broadcast([kept, like])
        return self.make("same", [kept], axes)

    def index(self, e: Index) -> Node:
        like = self.node(e.like)
        rank = len(like.axes)
        if not isinstance(e.axis, int) or not -rank <= e.axis < rank:
            raise NotGenerated(f"it counts along axis {e.axis} of a tensor of rank {rank}")
        at = e.axis % rank
        axis = like.axes[at]
        if axis is None:
            return self.constant(1.0 if e.size else 0.0)
        if e.size:
            return self.make("size", (), (), 0, (axis,))
        return self.make("index", (), tuple(axis if i == at else None for i in range(rank)), 0, (axis,))


#: ONNX element type -> the name generated code has for it.
ELEMENTS = {
    dtypes.FLOAT32: "f32",
    dtypes.FLOAT64: "f64",
    dtypes.FLOAT16: "f16",
    dtypes.BFLOAT16: "bf16",
    dtypes.INT8: "i8",
    dtypes.UINT8: "u8",
    dtypes.INT16: "i16",
    dtypes.UINT16: "u16",
    dtypes.INT32: "i32",
    dtypes.UINT32: "u32",
    dtypes.INT64: "i64",
    dtypes.UINT64: "u64",
    dtypes.BOOL: "b8",
}
#: Operations that formula_code.h has.
GENERATED = frozenset(OPERATIONS) - {"floordiv", "log2", "log10", "isnan", "isinf"}
