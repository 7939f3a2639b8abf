"""Nodes of a formula while it is read: their kinds and conversions, the functions, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ascend_ep.errors import did_you_mean
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    OPERATIONS,
    REDUCTIONS,
    Apply,
    AttributeRef,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Kind,
    Local,
    Reduce,
)
from ascend_ep.opdef.formula_text import Token, TokenReader

MAX_NODES = 5_000
MAX_HEIGHT = 200

Axes = tuple[int, ...] | AttributeRef


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
    keepdims: bool | None = None

    def __bool__(self) -> bool:
        return self.axes is not None or self.keepdims is not None


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
        if name in REDUCTIONS and (len(arguments) == 1 or name not in OPERATIONS):
            self.check_count(name, arguments, 1, token)
            keepdims = True if options.keepdims is None else options.keepdims
            return self.reduction(name, self.numeric(arguments[0]), options.axes or (-1,), token.at, keepdims)
        if name in ("index", "size", "softmax"):
            return self.along_axis(name, arguments, options, token)
        if options:
            self.fail("E42003", f"{name} takes no axis= or keepdims=", at=token.at)
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

    def check_count(self, name: str, arguments: list[Value], count: int, token: Token) -> None:
        if len(arguments) != count:
            self.fail("E42003", f"{name} takes {count} arguments, not {len(arguments)}", at=token.at)

    def reduction(self, op: str, value: Value, axes: Axes, at: int, keepdims: bool = True) -> Value:
        return self.build(Reduce(op, value.node, axes, keepdims), "number", at, [value])

    def along_axis(self, name: str, arguments: list[Value], options: Options, token: Token) -> Value:
        self.check_count(name, arguments, 1, token)
        axes = options.axes or (-1,)
        if options.keepdims is not None or (isinstance(axes, tuple) and len(axes) != 1):
            self.fail("E42003", f"{name} takes one axis= and nothing else", at=token.at)
        value = self.numeric(arguments[0])
        if name == "softmax":
            return self.softmax(value, axes, token.at)
        axis = axes[0] if isinstance(axes, tuple) else axes
        return self.build(Index(value.node, axis, name == "size"), "number", token.at, [value])

    def softmax(self, value: Value, axes: Axes, at: int) -> Value:
        x = self.shared(value)
        powers = self.apply("exp", [self.apply("sub", [x, self.reduction("max", x, axes, at)], at)], at)
        powers = self.shared(powers)
        return self.apply("div", [powers, self.reduction("sum", powers, axes, at)], at)


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

#: The names of all functions.
FUNCTIONS = (
    *(name for name in OPERATIONS if name not in ("and", "or", "not", "select")),
    *REDUCTIONS,
    *_COMPOSED,
    *("where", "index", "size", "softmax", "given"),
)
