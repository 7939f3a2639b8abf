"""A specialised program as a graph: equal subexpressions are one node, and broadcasting joins axes.

Axes are found by unification: broadcasting two values makes their aligned axes one, whatever tensors they
come from, so `x / sum(x, axis=-1)` and a bias of one dimension need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    MOVES,
    Apply,
    AttributeRef,
    Cast,
    Concat,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Program,
    Reduce,
    SumTo,
    TopK,
    Transpose,
    Unsqueeze,
    children,
    with_children,
)
from ascend_ep.opdef.formula_shape import resolve_axes
from ascend_ep.opdef.moves import Move
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.reductions import ELEMENTARY, expanded
from ascend_ep.opdef.shape_rule import Inapplicable

from .axis_moves import moved_axes
from .graph import ELEMENTS, FOLDS, Axes, Axis, Graph, InputType, Memory, Node, NotGenerated, Ranking, roots

#: Operations that formula_operations.h has.
GENERATED = frozenset(OPERATIONS) - {"floordiv", "log2", "log10", "isnan", "isinf"}
#: Nodes that read along whole axes; with one of them only float64 makes arithmetic float64.
ALONG_AXES = (Reduce, TopK, SumTo, MatMul)
#: Element types that make elementwise arithmetic float64: as lower/formula.py has it.
WIDE = frozenset({dtypes.FLOAT64, dtypes.INT32, dtypes.INT64, dtypes.UINT32, dtypes.UINT64})


def is_wide(program: Program, types: Sequence[int]) -> bool:
    """Whether arithmetic on inputs of these element types is in float64."""
    folds = any(isinstance(n, ALONG_AXES) for n in program.expressions())
    return bool(set(types) & ({dtypes.FLOAT64} if folds else WIDE))


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
    wide = is_wide(program, [t.dtype for t in inputs if t is not None])
    return Graph(tuple(inputs), tuple(builder.axes[name] for name in names), tuple(outputs), wide)


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
        self._axes_made: dict[object, Axes] = {}

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
        if isinstance(e, TopK):
            return self.topk(e)
        if isinstance(e, Unsqueeze):
            return self.unsqueeze(e)
        if isinstance(e, SumTo):
            return self.sum_to(e)
        if isinstance(e, MatMul):
            return self.product(e)
        if isinstance(e, Transpose):
            return self.transpose(e)
        if isinstance(e, MOVES):
            return self.moved(e)
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
        places: tuple[int | None, ...] = (),
        is_bool: bool = False,
        memory: Memory | None = None,
        ranking: Ranking | None = None,
        move: Move | None = None,
    ) -> Node:
        ids = tuple(map(id, args)), tuple(map(id, along)), tuple(map(id, axes))
        key = (op, type(value), repr(value), places, memory, ranking, *ids)
        if key not in self._made:
            self._made[key] = Node(
                op,
                tuple(args),
                is_bool,
                axes,
                value,
                along,
                places,
                memory=memory,
                ranking=ranking,
                move=move,
            )
        return self._made[key]

    def constant(self, value: float | bool | str) -> Node:
        if isinstance(value, str):
            raise NotGenerated("a text is no tensor")
        return self.make("const", (), (), value, is_bool=isinstance(value, bool))

    def input(self, name: str) -> Node:
        kind = self.inputs.get(name)
        if kind is None:
            raise NotGenerated(f"its input {name} is not given")
        memory = Memory("in", self.positions[name], kind.dtype)
        return self.make("load", (), self.axes[name], is_bool=kind.dtype == dtypes.BOOL, memory=memory)

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
        if e.op in ("argmax", "argmin"):
            return self.position(e)
        if e.op not in ELEMENTARY:
            return self.node(expanded(e))
        arg = self.number(self.node(e.arg))
        return self.fold(e.op, arg, self.axes_of(e, len(arg.axes)), e.keepdims)

    def axes_of(self, e: Reduce, rank: int) -> frozenset[int]:
        if isinstance(e.axes, AttributeRef):
            raise NotGenerated("its axes are no numbers")
        try:
            return frozenset(resolve_axes(e.axes, rank))
        except Inapplicable as error:
            raise NotGenerated(str(error)) from None

    def fold(self, op: str, arg: Node, folded: frozenset[int], keepdims: bool) -> Node:
        kept, places = _without(arg, folded, keepdims)
        along = tuple(arg.axes[i] for i in sorted(folded) if arg.axes[i] is not None)
        if op == "mean":
            total = self.fold("sum", arg, folded, keepdims)
            if not along:
                return total
            count = self.make("size", (), (), 0, along)
            return self.make("div", [total, count], total.axes)
        if op not in FOLDS:
            raise NotGenerated(f"no code is generated for the reduction {op}")
        if not along:
            return self.same(arg, kept, places)
        return self.make(f"fold_{op}", [arg], kept, 0, along, places)

    def same(self, arg: Node, axes: Axes, places: tuple[int | None, ...]) -> Node:
        """The operand with its dimensions elsewhere among others of 1, or repeated along new ones."""
        return self.make("same", [arg], axes, 0, (), places, arg.is_bool)

    def position(self, e: Reduce) -> Node:
        """argmax or argmin."""
        arg = self.number(self.node(e.arg))
        folded = self.axes_of(e, len(arg.axes))
        if len(folded) != 1:
            raise NotGenerated(f"{e.op} is along one axis")
        (at,) = folded
        kept, places = _without(arg, folded, e.keepdims)
        if arg.axes[at] is None:
            return self.same(self.constant(0.0), kept, ())
        ranking = Ranking(1, e.op == "argmax")
        return self.make(e.op, [arg], kept, 0, (arg.axes[at],), places, ranking=ranking)

    def topk(self, e: TopK) -> Node:
        arg = self.number(self.node(e.arg))
        rank = len(arg.axes)
        if not isinstance(e.k, int) or not isinstance(e.axis, int) or not -rank <= e.axis < rank:
            raise NotGenerated(f"it ranks {e.k} elements along axis {e.axis} of a tensor of rank {rank}")
        at = e.axis % rank
        axes = list(arg.axes)
        axes[at] = None if e.k == 1 else Axis(str(e.k), known=e.k)
        key = ("axis", id(arg), e.k, at, bool(e.largest))
        shape = self._axes_made.setdefault(key, tuple(axes))
        places = tuple(None if i == at else i for i in range(rank))
        op = "topk_indices" if e.indices else "topk"
        along = tuple(a for a in (arg.axes[at],) if a is not None)
        ranking = Ranking(e.k, bool(e.largest))
        return self.make(op, [arg], shape, 0, along, places, ranking=ranking)

    def unsqueeze(self, e: Unsqueeze) -> Node:
        arg = self.number(self.node(e.arg))
        rank = len(arg.axes) + len(e.axes if isinstance(e.axes, tuple) else ())
        if not isinstance(e.axes, tuple) or len({a % rank for a in e.axes if -rank <= a < rank}) < len(
            e.axes
        ):
            raise NotGenerated("its new axes don't fit")
        new = {a % rank for a in e.axes}
        places = tuple(i for i in range(rank) if i not in new)
        axes: list[Axis | None] = [None] * rank
        for i, axis in zip(places, arg.axes, strict=True):
            axes[i] = axis
        return self.same(arg, tuple(axes), places)

    def transpose(self, e: Transpose) -> Node:
        """The operand with its dimensions in another order: no elements move, loops walk along others."""
        arg = self.number(self.node(e.arg))
        rank = len(arg.axes)
        if not isinstance(e.first, int) or not isinstance(e.second, int):
            raise NotGenerated("its axes are no numbers")
        if not -rank <= min(e.first, e.second) <= max(e.first, e.second) < rank:
            raise NotGenerated(f"it swaps axes {e.first} and {e.second} of a tensor of rank {rank}")
        places = list(range(rank))
        places[e.first], places[e.second] = places[e.second], places[e.first]
        axes: list[Axis | None] = [None] * rank
        for place, axis in zip(places, arg.axes, strict=True):
            axes[place] = axis
        return self.same(arg, tuple(axes), tuple(places))

    def moved(self, e: Move) -> Node:
        """Elements that are put elsewhere, from memory to memory."""
        operands = [self.node(c) for c in children(e)]
        args = [operands[0], *(self.number(o) for o in operands[1:])]
        if isinstance(e, Concat) or not args[0].is_bool:
            args[0] = self.number(args[0])
        bare = with_children(e, [Constant(0.0)] * len(args))
        key = ("moved", bare, *map(id, args))
        if key not in self._axes_made:
            self._axes_made[key] = moved_axes(e, [a.axes for a in args])
        return self.make("move", args, self._axes_made[key], is_bool=args[0].is_bool, move=e)

    def product(self, e: MatMul) -> Node:
        """A matrix product: the sum over k of a[..., m, k] b[..., k, n], in the order in which both have
        their axes in memory. A vector lacks m or n."""
        a, b = (self.number(self.node(x)) for x in (e.a, e.b))
        if not a.axes or not b.axes:
            raise NotGenerated("a matrix product takes no single numbers")
        rank = max(len(a.axes), len(b.axes), 2) + 1
        m, k, n = self.order(a, b, rank)
        a_places = [*range(rank - 1 - len(a.axes), rank - 3), m, k] if len(a.axes) > 1 else [k]
        b_places = [*range(rank - 1 - len(b.axes), rank - 3), k, n] if len(b.axes) > 1 else [k]
        factors = [self.placed(a, a_places, rank), self.placed(b, b_places, rank)]
        product = self.make("mul", factors, self.broadcast(factors))
        total = self.fold("sum", product, frozenset({k}), False)
        if total.is_fold:
            total.reads_memory = True
        dropped = [] if len(a.axes) > 1 else [rank - 3]
        dropped += [] if len(b.axes) > 1 else [rank - 2]
        return self.without(total, dropped)

    def order(self, a: Node, b: Node, rank: int) -> tuple[int, int, int]:
        """The places of m, k and n."""
        transposed = _is_transposed(a), _is_transposed(b)
        places = {(False, False): (0, 1, 2), (False, True): (0, 2, 1)}.get(transposed, (1, 0, 2))
        m, k, n = (rank - 3 + p for p in places)
        return m, k, n

    def placed(self, arg: Node, places: Sequence[int], rank: int) -> Node:
        axes: list[Axis | None] = [None] * rank
        for place, axis in zip(places, arg.axes, strict=True):
            axes[place] = axis
        return self.same(arg, tuple(axes), tuple(places))

    def without(self, arg: Node, dropped: Sequence[int]) -> Node:
        """The operand without these dimensions of 1."""
        if not dropped:
            return arg
        left = [i for i in range(len(arg.axes)) if i not in dropped]
        places = tuple(left.index(i) if i in left else None for i in range(len(arg.axes)))
        return self.same(arg, tuple(arg.axes[i] for i in left), places)

    def sum_to(self, e: SumTo) -> Node:
        arg, like = self.number(self.node(e.arg)), self.node(e.like)
        extra = len(arg.axes) - len(like.axes)
        wanted = (None,) * extra + like.axes
        folded = frozenset(
            i for i, axis in enumerate(arg.axes) if i < extra or wanted[i - min(extra, 0)] is None
        )
        total = self.fold("sum", arg, folded, True)
        if extra > 0:
            places = (*[None] * extra, *range(len(like.axes)))
            total = self.same(total, total.axes[extra:], places)
        axes = self.broadcast([total, like])
        return self.same(total, axes, tuple(range(len(axes) - len(total.axes), len(axes))))

    def index(self, e: Index) -> Node:
        like = self.node(e.like)
        rank = len(like.axes)
        if not isinstance(e.axis, int) or not -rank <= e.axis < rank:
            raise NotGenerated(f"it counts along axis {e.axis} of a tensor of rank {rank}")
        at = e.axis % rank
        axis = like.axes[at]
        if axis is None:
            return self.constant(1.0) if e.size else self.same(self.constant(0.0), (None,) * rank, ())
        if e.size:
            return self.make("size", (), (), 0, (axis,))
        return self.make("index", (), tuple(axis if i == at else None for i in range(rank)), 0, (axis,))


def unmoved(node: Node) -> Node:
    """The value whose dimensions "same" nodes only put elsewhere."""
    while node.op == "same":
        (node,) = node.args
    return node


def _is_transposed(factor: Node) -> bool:
    """Whether the last two axes of a matrix are in memory the other way round."""
    if len(factor.axes) < 2 or None in factor.axes[-2:]:
        return False
    inner = roots(unmoved(factor).axes)
    first, second = roots(factor.axes[-2:])
    return first in inner and second in inner and inner.index(second) < inner.index(first)


def _without(arg: Node, axes: frozenset[int], keepdims: bool) -> tuple[Axes, tuple[int | None, ...]]:
    """The axes of `arg` after these are folded, and the places of its dimensions among them."""
    left = [i for i in range(len(arg.axes)) if keepdims or i not in axes]
    kept = tuple(None if i in axes else arg.axes[i] for i in left)
    return kept, tuple(None if i in axes else left.index(i) for i in range(len(arg.axes)))
