"""Nodes of a formula while it is read: their kinds and conversions, the functions, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ascend_ep.errors import did_you_mean
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    REDUCTIONS,
    All,
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Kind,
    Local,
    MatMul,
    Reduce,
    SumTo,
    TopK,
    Transpose,
    Unsqueeze,
)
from ascend_ep.opdef.formula_moves import FORMS, MOVING, moved
from ascend_ep.opdef.formula_text import Token, TokenReader
from ascend_ep.opdef.operations import OPERATIONS

MAX_NODES = 5_000
MAX_HEIGHT = 200
MAX_K = 1_000_000

Axes = tuple[int, ...] | AttributeRef | AxisRange | All


@dataclass(frozen=True)
class Names:
    """What a formula may refer to: inputs with the kind of their elements, attributes with their types."""

    inputs: Mapping[str, Kind]
    attributes: Mapping[str, str]
    outputs: tuple[str, ...]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Value:
    """A part that was read: its tree, its kind, where its text starts, and the height of the tree."""

    node: Expression
    kind: Kind
    at: int
    height: int = 1


@dataclass
class Options:
    """What was given by name in a call."""

    axes: Axes | None = None
    swapped: tuple[int | AttributeRef, int | AttributeRef] | None = None
    keepdims: bool | None = None
    k: int | AttributeRef | None = None
    largest: bool | AttributeRef | None = None

    def __bool__(self) -> bool:
        return self != Options()


class NodeBuilder(TokenReader):
    """Builds nodes, with errors at the tokens they come from."""

    def __init__(self, text: str, names: Names, where: str) -> None:
        super().__init__(text, where)
        self.names = names
        self.locals: dict[str, Kind] = {}
        self.lets: list[tuple[str, Expression]] = []
        self.nodes = 0

    def build(self, node: Expression, kind: Kind, at: int, operands: Sequence[Value] = ()) -> Value:
        """A new node over operands, within the limits."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fail("E42004", "formula", f"it has more than {MAX_NODES} operations", at=at)
        height = 1 + max((o.height for o in operands), default=0)
        if height > MAX_HEIGHT:
            self.fail("E42004", "formula", f"an expression has more than {MAX_HEIGHT} levels", at=at)
        return Value(node, kind, at, height)

    def constant(self, value: float, at: int) -> Value:
        return self.build(Constant(value), "number", at)

    def apply(self, op: str, arguments: Sequence[Value], at: int) -> Value:
        """An elementwise operation on operands converted to the kinds it takes."""
        convert: dict[Kind, Callable[[Value], Value]] = {"number": self.numeric, "bool": self.truth}
        operands = [convert[k](a) for k, a in zip(OPERATIONS[op].takes, arguments, strict=True)]
        return self.build(Apply(op, tuple(o.node for o in operands)), OPERATIONS[op].gives, at, operands)

    def numeric(self, value: Value) -> Value:
        """A truth value in arithmetic counts as 1 or 0."""
        if value.kind == "text":
            self.fail("E42003", "a text can only be compared", at=value.at)
        if value.kind == "number":
            return value
        node = Apply("select", (value.node, Constant(1.0), Constant(0.0)))
        return self.build(node, "number", value.at, [value])

    def truth(self, value: Value) -> Value:
        """A number as a condition means: not zero."""
        if value.kind == "text":
            self.fail("E42003", "a text is no condition", at=value.at)
        if value.kind == "bool":
            return value
        return self.build(Apply("ne", (value.node, Constant(0.0))), "bool", value.at, [value])

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, else b."""
        if not a.kind == b.kind == "bool":
            return self.apply("select", [condition, a, b], condition.at)
        condition = self.shared(self.truth(condition))
        chosen = self.apply("and", [condition, a], a.at)
        other = self.apply("and", [self.apply("not", [condition], b.at), b], b.at)
        return self.apply("or", [chosen, other], a.at)

    def compare_texts(self, op: str, left: Value, right: Value, at: int) -> Value:
        if left.kind != right.kind or op not in ("eq", "ne"):
            self.fail("E42003", "a text can only be compared with a text, by == or !=", at=at)
        return self.build(Apply(op, (left.node, right.node)), "bool", at, [left, right])

    def shared(self, value: Value, wanted: str = "") -> Value:
        """The value under a name (`wanted` if it is free) unless it is a leaf: used twice, computed once."""
        leaf = value.node.args[0] if isinstance(value.node, Apply) and value.node.op == "neg" else value.node
        if isinstance(leaf, Constant | Input | Local | AttributeRef):
            return value
        free = wanted and wanted not in FUNCTIONS and not self.is_named(wanted)
        name = wanted if free else f"{wanted + '_' if wanted else 't'}{len(self.lets)}"
        while name in FUNCTIONS or self.is_named(name) or (not wanted and self.used_later(name)):
            name += "_"
        self.lets.append((name, value.node))
        self.locals[name] = value.kind
        return self.build(Local(name), value.kind, value.at)

    def is_named(self, name: str) -> bool:
        return (
            name in self.locals
            or name in self.names.inputs
            or name in self.names.attributes
            or name in self.names.outputs
        )

    # -- functions --

    def function(self, name: str, arguments: list[Value], options: Options, token: Token) -> Value:
        """The call of a function; `token` is its name in the text."""
        if name in ("topk", "topk_indices"):
            return self.topk(arguments, options, name == "topk_indices", token)
        if options.swapped is not None:
            if name != "transpose":
                reason = "of the axes in a list, only those of transpose may be attributes"
                self.fail("E42003", reason, at=token.at)
            self.check_count(name, arguments, 1, token)
            return self.transpose(self.numeric(arguments[0]), options.swapped, token.at)
        if options.k is not None or options.largest is not None:
            self.fail("E42003", f"{name} takes no k= or largest=", at=token.at)
        if name in REDUCTIONS and (len(arguments) == 1 or name not in OPERATIONS):
            self.check_count(name, arguments, 1, token)
            keepdims = True if options.keepdims is None else options.keepdims
            return self.reduction(name, arguments[0], options.axes or (-1,), token.at, keepdims)
        if name in MOVING:
            if options.keepdims is not None:
                self.fail("E42003", f"{name} takes no keepdims=", at=token.at)
            axis = self.single_axis(name, options, token) if options.axes else MOVING[name]
            return self.move(name, arguments, axis, token.at)
        if name in _ALONG_AXES:
            return self.along_axes(name, arguments, options, token)
        if options:
            self.fail("E42003", f"{name} takes no axis= or keepdims=", at=token.at)
        if name == "sum_to":
            self.check_count(name, arguments, 2, token)
            value, like = map(self.numeric, arguments)
            return self.build(SumTo(value.node, like.node), "number", token.at, [value, like])
        if name == "matmul":
            self.check_count(name, arguments, 2, token)
            return self.matmul(arguments[0], arguments[1], token.at)
        if name in _COMPOSED:
            count, compose = _COMPOSED[name]
            self.check_count(name, arguments, count, token)
            return compose(self, [self.numeric(a) for a in arguments], token.at)
        if name == "where":
            self.check_count(name, arguments, 3, token)
            return self.select(self.truth(arguments[0]), arguments[1], arguments[2])
        if name in dtypes.NUMBERS:
            self.check_count(name, arguments, 1, token)
            value = self.numeric(arguments[0])
            return self.build(Cast(dtypes.NUMBERS[name], value.node), "number", token.at, [value])
        if name in ("min", "max") and len(arguments) > 2:
            first = self.apply(name, arguments[:2], token.at)
            return self.function(name, [first, *arguments[2:]], options, token)
        if name not in FUNCTIONS:
            self.fail("E42002", f"{token.text[:80]}()", did_you_mean(name, FUNCTIONS), at=token.at)
        self.check_count(name, arguments, len(OPERATIONS[name].takes), token)
        return self.apply(name, arguments, token.at)

    def matmul(self, a: Value, b: Value, at: int) -> Value:
        operands = [self.numeric(a), self.numeric(b)]
        return self.build(MatMul(operands[0].node, operands[1].node), "number", at, operands)

    def transpose(self, value: Value, axes: Axes | tuple[int | AttributeRef, ...], at: int) -> Value:
        if not isinstance(axes, tuple) or len(axes) != 2:
            self.fail("E42003", "transpose swaps two axes: axis=[-2, -1]", at=at)
        return self.build(Transpose(value.node, axes[0], axes[1]), "number", at, [value])

    def check_count(self, name: str, arguments: list[Value], count: int, token: Token) -> None:
        if len(arguments) != count:
            self.fail("E42003", f"{name} takes {count} arguments, not {len(arguments)}", at=token.at)

    def reduction(self, op: str, value: Value, axes: Axes, at: int, keepdims: bool = True) -> Value:
        if op in ("argmax", "argmin") and not _is_single(axes):
            self.fail("E42003", f"{op} takes one axis=", at=at)
        kind = REDUCTIONS[op].gives
        value = self.truth(value) if kind == "bool" else self.numeric(value)
        return self.build(Reduce(op, value.node, axes, keepdims), kind, at, [value])

    def topk(self, arguments: list[Value], options: Options, indices: bool, token: Token) -> Value:
        """topk(x, k) or topk(x, k=...): k is a whole number or an attribute."""
        k = options.k
        if len(arguments) == 2 and k is None:
            given = arguments.pop()
            if isinstance(given.node, AttributeRef) and self.names.attributes[given.node.name] == "int":
                k = given.node
            elif isinstance(given.node, Constant) and float(given.node.value) in range(MAX_K):
                k = int(given.node.value)
        self.check_count("topk", arguments, 1, token)
        if k is None or options.keepdims is not None:
            reason = (
                f"topk takes a tensor, k (a whole number below {MAX_K} or an attribute), axis= and largest="
            )
            self.fail("E42003", reason, at=token.at)
        largest = True if options.largest is None else options.largest
        value = self.numeric(arguments[0])
        node = TopK(value.node, k, self.single_axis("topk", options, token), largest, indices)
        return self.build(node, "number", token.at, [value])

    def single_axis(self, name: str, options: Options, token: Token) -> int | AttributeRef:
        axes = options.axes or (-1,)
        if isinstance(axes, AttributeRef):
            return axes
        if isinstance(axes, tuple) and len(axes) == 1:
            return axes[0]
        return self.fail("E42003", f"{name} takes one axis=", at=token.at)

    def move(self, name: str, arguments: list[Value], axis: int | AttributeRef, at: int) -> Value:
        """A function that puts elements elsewhere."""
        operands = [self.numeric(a) for a in arguments]
        node = moved(name, [v.node for v in operands], axis)
        if node is None:
            self.fail("E42003", f"it is {FORMS[name]}", at=at)
        count = {"concat": len(operands), "take": 2, "add_at": 3}.get(name, 1)
        return self.build(node, "number", at, operands[:count])

    def along_axes(self, name: str, arguments: list[Value], options: Options, token: Token) -> Value:
        """Functions with axis= that keep the dimensions of their operand, or add some."""
        most, epsilon = _ALONG_AXES[name]
        if options.keepdims is not None:
            self.fail("E42003", f"{name} takes no keepdims=", at=token.at)
        if epsilon and len(arguments) == 1:
            arguments = [*arguments, self.constant(epsilon, token.at)]
        self.check_count(name, arguments, most, token)
        value, *more = map(self.numeric, arguments)
        axes = options.axes or (-1,)
        if name == "softmax":
            return self.softmax(value, axes, token.at)
        if name == "log_softmax":
            return self.log_softmax(value, axes, token.at)
        if name in ("layer_norm", "rms_norm"):
            return self.standardized(value, more[0], axes, token.at, centred=name == "layer_norm")
        if name == "transpose":
            return self.transpose(value, options.axes or (-2, -1), token.at)
        if name == "unsqueeze":
            if axes == "all" or isinstance(axes, AxisRange):
                self.fail("E42003", "unsqueeze takes the new axes", at=token.at)
            return self.build(Unsqueeze(value.node, axes), "number", token.at, [value])
        axis = self.single_axis(name, options, token)
        return self.build(Index(value.node, axis, name == "size"), "number", token.at, [value])

    def standardized(self, value: Value, epsilon: Value, axes: Axes, at: int, centred: bool) -> Value:
        """x / sqrt(mean(x^2) + epsilon), of x or its distance from the mean."""
        x = self.shared(value)
        if centred:
            x = self.shared(self.apply("sub", [x, self.reduction("mean", x, axes, at)], at))
        spread = self.reduction("mean", self.apply("mul", [x, x], at), axes, at)
        return self.apply("div", [x, self.apply("sqrt", [self.apply("add", [spread, epsilon], at)], at)], at)

    def log_softmax(self, value: Value, axes: Axes, at: int) -> Value:
        x = self.shared(value)
        below = self.shared(self.apply("sub", [x, self.reduction("max", x, axes, at)], at))
        total = self.reduction("sum", self.apply("exp", [below], at), axes, at)
        return self.apply("sub", [below, self.apply("log", [total], at)], at)

    def softmax(self, value: Value, axes: Axes, at: int) -> Value:
        x = self.shared(value)
        powers = self.apply("exp", [self.apply("sub", [x, self.reduction("max", x, axes, at)], at)], at)
        powers = self.shared(powers)
        return self.apply("div", [powers, self.reduction("sum", powers, axes, at)], at)


def _is_single(axes: Axes) -> bool:
    return isinstance(axes, AttributeRef) or (isinstance(axes, tuple) and len(axes) == 1)


def _silu(b: NodeBuilder, arguments: Sequence[Value], at: int) -> Value:
    x = b.shared(arguments[0])
    return b.apply("mul", [x, b.apply("sigmoid", [x], at)], at)


def _gelu(b: NodeBuilder, arguments: Sequence[Value], at: int) -> Value:
    x = b.shared(arguments[0])
    scaled = b.apply("div", [x, b.apply("sqrt", [b.constant(2.0, at)], at)], at)
    factor = b.apply("add", [b.constant(1.0, at), b.apply("erf", [scaled], at)], at)
    return b.apply("mul", [b.apply("mul", [b.constant(0.5, at), x], at), factor], at)


def _clip(b: NodeBuilder, arguments: Sequence[Value], at: int) -> Value:
    x, low, high = arguments
    return b.apply("min", [b.apply("max", [x, low], at), high], at)


#: Functions made of operations: number of arguments, and what they become.
_COMPOSED: dict[str, tuple[int, Callable[[NodeBuilder, Sequence[Value], int], Value]]] = {
    "relu": (1, lambda b, a, at: b.apply("max", [a[0], b.constant(0.0, at)], at)),
    "square": (1, lambda b, a, at: b.apply("pow", [a[0], b.constant(2.0, at)], at)),
    "reciprocal": (1, lambda b, a, at: b.apply("div", [b.constant(1.0, at), a[0]], at)),
    "clip": (3, _clip),
    "silu": (1, _silu),
    "gelu": (1, _gelu),
}

#: Functions with axis= besides the reductions: number of arguments, and the last one's default.
_ALONG_AXES: dict[str, tuple[int, float | None]] = {
    "index": (1, None),
    "size": (1, None),
    "softmax": (1, None),
    "log_softmax": (1, None),
    "layer_norm": (2, 1e-5),
    "rms_norm": (2, 1e-6),
    "unsqueeze": (1, None),
    "transpose": (1, None),
}

#: The names of all functions.
FUNCTIONS = (
    *(name for name in OPERATIONS if name not in ("and", "or", "not", "select")),
    *REDUCTIONS,
    *_COMPOSED,
    *_ALONG_AXES,
    *MOVING,
    *("where", "given", "topk", "topk_indices", "sum_to", "matmul"),
)
