"""Formula text to a Program: `x * sigmoid(alpha * x)`, or lines of `name = expression`.

Names are the definition's inputs, attributes, earlier assignments and the constants pi, e, inf, nan. With one
output the last line may be a bare expression; otherwise every output is assigned. Operators, loosest first:
`a if c else b` and `c ? a : b`; or; and; not; comparisons; + -; * / // %; unary -; ^ and ** (right to left).
Functions: those of expression.OPERATIONS; where(c, a, b); clip, relu, square, silu, gelu, softmax; casts by
type name; sum, mean, prod, max, min, var of one tensor over `axis=` (default -1; a number, a list, or an
attribute) with `keepdims=` (default true); index(x, axis=) and size(x, axis=); given(x) for optional inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula, OpDef
from ascend_ep.opdef.expression import (
    OPERATIONS,
    REDUCTIONS,
    Apply,
    AttributeRef,
    Cast,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Kind,
    Local,
    Program,
    Reduce,
)

MAX_TEXT = 20_000
MAX_DEPTH = 50
MAX_NODES = 5_000
MAX_HEIGHT = 200

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
#: Other spellings of functions, constants and signs.
_SYNONYMS = {"σ": "sigmoid", "π": "pi", "ln": "log", "select": "where", "clamp": "clip", "fabs": "abs"}
_SIGNS = str.maketrans("\u00d7\u00b7\u2212\uff08\uff09\uff0c", "**-(),")  # typographic and full-width signs
#: Functions written in the language itself: parameters and body.
_MACROS = {
    "relu": (("x",), "max(x, 0)"),
    "square": (("x",), "x^2"),
    "clip": (("x", "low", "high"), "min(max(x, low), high)"),
    "silu": (("x",), "x*sigmoid(x)"),
    "gelu": (("x",), "0.5*x*(1 + erf(x/sqrt(2)))"),
    "reciprocal": (("x",), "1/x"),
}

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<text>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<sign>\*\*|//|==|!=|<=|>=|&&|\|\||[-+*/%^<>=!?:,()\[\]])"
    r"|(?P<end>[\n;]+)|(?P<space>[ \t\r]+|\#[^\n]*)"
)
_NOT, _COMPARISON, _SIGN = 3, 4, 7
#: infix sign -> operation, binding strength
_BINARY = {
    "or": ("or", 1),
    "||": ("or", 1),
    "and": ("and", 2),
    "&&": ("and", 2),
    "==": ("eq", _COMPARISON),
    "!=": ("ne", _COMPARISON),
    "<": ("lt", _COMPARISON),
    "<=": ("le", _COMPARISON),
    ">": ("gt", _COMPARISON),
    ">=": ("ge", _COMPARISON),
    "+": ("add", 5),
    "-": ("sub", 5),
    "*": ("mul", 6),
    "/": ("div", 6),
    "//": ("floordiv", 6),
    "%": ("mod", 6),
    "^": ("pow", 8),
    "**": ("pow", 8),
}


@dataclass(frozen=True)
class Names:
    """What a formula may refer to. `inputs` and `attributes` map a name to the kind of its value."""

    inputs: Mapping[str, Kind]
    attributes: Mapping[str, str]
    outputs: tuple[str, ...]
    optional: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def formula_program(opdef: OpDef) -> Program:
    """The program of a definition whose semantics are a Formula. Raises E42001 to E42004."""
    if not isinstance(opdef.semantics, Formula):
        raise TypeError(f"{opdef.full_name} has no formula")
    names = Names(
        inputs={t.name: "bool" if t.types == (dtypes.BOOL,) else "number" for t in opdef.inputs},
        attributes={a.name: a.type for a in opdef.attributes},
        outputs=tuple(t.name for t in opdef.outputs),
        optional=frozenset(t.name for t in opdef.inputs if t.occurrence == "optional"),
    )
    return parse_formula(opdef.semantics.text, names, opdef.origin)


def parse_formula(text: str, names: Names, where: str = "") -> Program:
    """Parses a formula. Errors show the line with a caret and carry `where`."""
    if len(text) > MAX_TEXT:
        raise AscendError("E42004", "formula", f"it has more than {MAX_TEXT} characters", where=where)
    return _Parser(text, names, where).program()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class _Value:
    """A parsed operand: its tree, its kind, and where its text starts."""

    node: Expression
    kind: Kind
    at: int
    height: int = 1


class _Parser:
    def __init__(self, text: str, names: Names, where: str) -> None:
        self.text = text.translate(_SIGNS)
        self.names = names
        self.where = where
        self.locals: dict[str, Kind] = {}
        self.lets: list[tuple[str, Expression]] = []
        self.outputs: dict[str, Expression] = {}
        self.depth = 0
        self.nodes = 0
        self.tokens = self.tokenize()
        self.at = 0

    # -- errors and tokens --

    def fail(self, code: str, *arguments: object, at: int) -> NoReturn:
        start = self.text.rfind("\n", 0, at) + 1
        line = self.text[start:].split("\n")[0]
        left = max(0, at - start - 60)
        shown = line[left : left + 100]
        details = [shown, " " * (at - start - left) + "^"]
        raise AscendError(code, *arguments, where=self.where, details=details)

    def tokenize(self) -> list[_Token]:
        tokens = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self.fail("E42001", "formula", f"there is no sign {self.text[at]!r}", at=at)
            kind = str(match.lastgroup)
            if kind != "space":
                tokens.append(_Token(kind, match[0], at))
            at = match.end()
        return [*tokens, _Token("end", "", len(self.text))]

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def next(self) -> _Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, *texts: str) -> _Token | None:
        if self.token.kind in ("sign", "name") and self.token.text in texts:
            return self.next()
        return None

    def expect(self, text: str) -> _Token:
        token = self.take(text)
        if token is None:
            found = self.token.text.strip() or "the end"
            self.fail("E42001", "formula", f"expected {text} instead of {found[:40]}", at=self.token.at)
        return token

    def build(self, node: Expression, kind: Kind, at: int, operands: Sequence[_Value] = ()) -> _Value:
        """A new node over operands, within the limits."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fail("E42004", "formula", f"it has more than {MAX_NODES} operations", at=at)
        height = 1 + max((o.height for o in operands), default=0)
        if height > MAX_HEIGHT:
            self.fail("E42004", "formula", f"an expression has more than {MAX_HEIGHT} levels", at=at)
        return _Value(node, kind, at, height)

    # -- statements --

    def program(self) -> Program:
        while True:
            while self.token.kind == "end" and self.token.text:
                self.next()
            if self.token.kind == "end":
                break
            self.statement()
        missing = [o for o in self.names.outputs if o not in self.outputs]
        if missing:
            self.fail("E42003", f"output {missing[0]} is not assigned", at=len(self.text))
        return Program(tuple(self.lets), tuple((o, self.outputs[o]) for o in self.names.outputs))

    def statement(self) -> None:
        start = self.token
        assigned = start.kind == "name" and self.tokens[self.at + 1].text == "="
        if assigned:
            self.next()
            self.next()
            self.check_new_name(start)
        value = self.expression()
        if self.token.kind != "end":
            self.fail("E42001", "formula", f"unexpected {self.token.text[:40]}", at=self.token.at)
        if value.kind == "text":
            self.fail("E42003", "a text is no tensor", at=value.at)
        if assigned:
            self.assign(start.text, value)
        elif len(self.names.outputs) != 1 or self.names.outputs[0] in self.outputs:
            self.fail(
                "E42003",
                f"the value of this line needs a name: {', '.join(self.names.outputs)} = ...",
                at=start.at,
            )
        else:
            self.assign(self.names.outputs[0], value)

    def check_new_name(self, token: _Token) -> None:
        name = token.text
        taken = {
            "an input": self.names.inputs,
            "an attribute": self.names.attributes,
            "assigned already": {**self.locals, **self.outputs},
            "a constant": CONSTANTS,
            "a function": {**OPERATIONS, **_MACROS},
        }
        for what, known in taken.items():
            if name in known:
                self.fail("E42003", f"{name} is {what}", at=token.at)

    def assign(self, name: str, value: _Value) -> None:
        if name in self.names.outputs:
            if self.used_later(name):
                self.lets.append((name, value.node))
                self.locals[name] = value.kind
                self.outputs[name] = Local(name)
            else:
                self.outputs[name] = value.node
        else:
            self.lets.append((name, value.node))
            self.locals[name] = value.kind

    def used_later(self, name: str) -> bool:
        return any(t.kind == "name" and t.text == name for t in self.tokens[self.at :])

    # -- expressions: precedence climbing --

    def expression(self) -> _Value:
        value = self.binary(1)
        if token := self.take("if"):
            condition = self.truth(self.binary(1))
            self.expect("else")
            return self.select(condition, value, self.nested(self.expression, token))
        if token := self.take("?"):
            chosen = self.nested(self.expression, token)
            self.expect(":")
            return self.select(self.truth(value), chosen, self.nested(self.expression, token))
        return value

    def nested(self, parse: Callable[[], _Value], token: _Token) -> _Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("E42004", "formula", f"it is nested deeper than {MAX_DEPTH}", at=token.at)
        value = parse()
        self.depth -= 1
        return value

    def binary(self, weakest: int) -> _Value:
        """Operators at least as strong as `weakest`, left to right; a power takes what follows it first."""
        value = self.prefixed()
        compared = False
        while self.token.kind in ("sign", "name") and self.token.text in _BINARY:
            op, strength = _BINARY[self.token.text]
            if strength < weakest:
                break
            token = self.next()
            if strength == _COMPARISON and compared:
                reason = "comparisons can't be chained; join them with `and`"
                self.fail("E42001", "formula", reason, at=token.at)
            compared = strength == _COMPARISON
            right_strength = _SIGN if op == "pow" else strength + 1
            right = self.nested(lambda: self.binary(right_strength), token)  # noqa: B023  (called at once)
            if "text" in (value.kind, right.kind):
                value = self.text_comparison(op, value, right, token.at)
            else:
                value = self.apply(op, [value, right], token.at)
        return value

    def prefixed(self) -> _Value:
        token = self.take("-", "+", "not", "!")
        if token is None:
            return self.atom()
        strength = _NOT if token.text in ("not", "!") else _SIGN
        value = self.nested(lambda: self.binary(strength), token)
        if token.text == "+":
            return self.numeric(value)
        return self.apply("neg" if token.text == "-" else "not", [value], token.at)

    def select(self, condition: _Value, a: _Value, b: _Value) -> _Value:
        if a.kind == b.kind == "bool":
            chosen = self.apply("and", [condition, a], a.at)
            other = self.apply("and", [self.apply("not", [condition], b.at), b], b.at)
            return self.apply("or", [chosen, other], a.at)
        return self.apply("select", [condition, a, b], condition.at)

    def text_comparison(self, op: str, left: _Value, right: _Value, at: int) -> _Value:
        if left.kind != right.kind or op not in ("eq", "ne"):
            self.fail("E42003", "a text can only be compared with a text, by == or !=", at=at)
        return self.build(Apply(op, (left.node, right.node)), "bool", at, [left, right])

    # -- atoms --

    def atom(self) -> _Value:
        token = self.next()
        if token.kind == "number":
            return self.build(Constant(self.number(token)), "number", token.at)
        if token.kind == "text":
            return self.build(Constant(token.text[1:-1]), "text", token.at)
        if token.text == "(" and token.kind == "sign":
            value = self.nested(self.expression, token)
            self.expect(")")
            return value
        if token.kind == "name":
            return self.call(token) if self.token.text == "(" else self.name(token)
        return self.fail(
            "E42001", "formula", f"expected a value instead of {token.text.strip() or 'the end'}", at=token.at
        )

    def number(self, token: _Token) -> float:
        following = self.token
        if following.kind in ("name", "number") and following.at == token.at + len(token.text):
            self.fail("E42001", "formula", f"{token.text}{following.text[:20]} is no number", at=token.at)
        value = float(token.text)
        if not math.isfinite(value):
            self.fail("E42001", "formula", f"{token.text} is no finite double", at=token.at)
        return value

    def name(self, token: _Token) -> _Value:
        name = token.text
        if name in self.names.inputs:
            return self.build(Input(name), self.names.inputs[name], token.at)
        if name in self.locals:
            return self.build(Local(name), self.locals[name], token.at)
        if name in self.names.attributes:
            return self.build(AttributeRef(name), self.attribute_kind(token), token.at)
        if name in ("true", "false", "True", "False"):
            return self.build(Constant(name.lower() == "true"), "bool", token.at)
        constant = _SYNONYMS.get(name, name)
        if constant in CONSTANTS:
            return self.build(Constant(CONSTANTS[constant]), "number", token.at)
        known = [*self.names.inputs, *self.names.attributes, *self.locals, *CONSTANTS]
        return self.fail("E42002", name[:80], did_you_mean(name, known), at=token.at)

    def attribute_kind(self, token: _Token) -> Kind:
        kinds: dict[str, Kind] = {"int": "number", "float": "number", "bool": "bool", "string": "text"}
        kind = kinds.get(self.names.attributes[token.text])
        if kind is None:
            self.fail("E42003", f"the list attribute {token.text} can only stand after axis=", at=token.at)
        return kind

    def call(self, token: _Token) -> _Value:
        name = _SYNONYMS.get(token.text, token.text)
        self.expect("(")
        if name == "given":
            return self.given(token)
        arguments: list[_Value] = []
        options: dict[str, tuple[int, ...] | AttributeRef | bool] = {}
        while not self.take(")"):
            if arguments or options:
                self.expect(",")
            if self.token.kind == "name" and self.tokens[self.at + 1].text == "=":
                self.option(options)
            elif options:
                self.fail("E42001", "formula", "arguments come before axis= and keepdims=", at=self.token.at)
            else:
                arguments.append(self.nested(self.expression, token))
        return self.function(name, arguments, options, token)

    def given(self, token: _Token) -> _Value:
        name = self.next()
        if name.text not in self.names.optional:
            self.fail("E42003", "given() takes the name of an optional input", at=name.at)
        self.expect(")")
        return self.build(Given(name.text), "bool", token.at)

    def option(self, options: dict[str, tuple[int, ...] | AttributeRef | bool]) -> None:
        key = self.next()
        self.expect("=")
        if key.text in options or key.text not in ("axis", "axes", "keepdims"):
            self.fail("E42001", "formula", "the options are axis= and keepdims=, once", at=key.at)
        if key.text == "keepdims":
            word = self.next()
            if word.text not in ("true", "false", "True", "False", "1", "0"):
                self.fail("E42001", "formula", "keepdims= takes true or false", at=word.at)
            options["keepdims"] = word.text in ("true", "True", "1")
        else:
            options["axis"] = self.axes()

    def axes(self) -> tuple[int, ...] | AttributeRef:
        token = self.token
        if token.kind == "name":
            self.next()
            if self.names.attributes.get(token.text) not in ("int", "ints"):
                self.fail(
                    "E42003", "axis= takes an integer, a list of them, or such an attribute", at=token.at
                )
            return AttributeRef(token.text)
        if not self.take("["):
            return (self.integer(),)
        result = [self.integer()]
        while not self.take("]"):
            self.expect(",")
            result.append(self.integer())
        return tuple(result)

    def integer(self) -> int:
        sign = -1 if self.take("-") else 1
        token = self.next()
        if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 3:
            self.fail("E42001", "formula", "expected an axis, a small integer", at=token.at)
        return sign * int(token.text)

    # -- functions --

    def function(
        self,
        name: str,
        arguments: list[_Value],
        options: dict[str, tuple[int, ...] | AttributeRef | bool],
        token: _Token,
    ) -> _Value:
        if name in REDUCTIONS and len(arguments) == 1:
            return self.reduction(name, arguments[0], options, token)
        if name in ("index", "size", "softmax"):
            return self.along_axis(name, arguments, options, token)
        if options:
            self.fail("E42003", f"{name} takes no axis= or keepdims=", at=token.at)
        if name == "where":
            self.check_count(name, arguments, 3, token)
            return self.select(self.truth(arguments[0]), arguments[1], arguments[2])
        if name in dtypes.NUMBERS:
            self.check_count(name, arguments, 1, token)
            value = self.numeric(arguments[0])
            return self.build(Cast(dtypes.NUMBERS[name], value.node), "number", token.at, [value])
        if name in _MACROS:
            return self.macro(name, arguments, token)
        if name in ("min", "max") and len(arguments) > 2:
            first = self.apply(name, arguments[:2], token.at)
            return self.function(name, [first, *arguments[2:]], options, token)
        if name not in OPERATIONS or name in ("and", "or", "not", "select"):
            known = [*OPERATIONS, *_MACROS, *REDUCTIONS, "where", "index", "size", "softmax", "given"]
            self.fail("E42002", f"{token.text[:80]}()", did_you_mean(name, known), at=token.at)
        self.check_count(name, arguments, len(OPERATIONS[name].takes), token)
        return self.apply(name, arguments, token.at)

    def check_count(self, name: str, arguments: list[_Value], count: int, token: _Token) -> None:
        if len(arguments) != count:
            self.fail("E42003", f"{name} takes {count} arguments, not {len(arguments)}", at=token.at)

    def reduction(
        self,
        name: str,
        value: _Value,
        options: dict[str, tuple[int, ...] | AttributeRef | bool],
        token: _Token,
    ) -> _Value:
        axes = options.get("axis", (-1,))
        assert not isinstance(axes, bool)
        value = self.numeric(value)
        node = Reduce(name, value.node, axes, bool(options.get("keepdims", True)))
        return self.build(node, "number", token.at, [value])

    def along_axis(
        self,
        name: str,
        arguments: list[_Value],
        options: dict[str, tuple[int, ...] | AttributeRef | bool],
        token: _Token,
    ) -> _Value:
        self.check_count(name, arguments, 1, token)
        axes = options.pop("axis", (-1,))
        assert not isinstance(axes, bool)
        if options or (isinstance(axes, tuple) and len(axes) != 1):
            self.fail("E42003", f"{name} takes one axis= and nothing else", at=token.at)
        value = self.numeric(arguments[0])
        if name != "softmax":
            axis = axes[0] if isinstance(axes, tuple) else axes
            return self.build(Index(value.node, axis, name == "size"), "number", token.at, [value])
        shared = self.shared(value)
        top = self.build(Reduce("max", shared.node, axes), "number", token.at, [shared])
        powers = self.shared(self.apply("exp", [self.apply("sub", [shared, top], token.at)], token.at))
        total = self.build(Reduce("sum", powers.node, axes), "number", token.at, [powers])
        return self.apply("div", [powers, total], token.at)

    def macro(self, name: str, arguments: list[_Value], token: _Token) -> _Value:
        parameters, body = _MACROS[name]
        self.check_count(name, arguments, len(parameters), token)
        numbers = map(self.numeric, arguments)
        uses = [t.text for t in _Parser(body, Names({}, {}, ()), "").tokens]
        values = {
            p: self.shared(a) if uses.count(p) > 1 else a for p, a in zip(parameters, numbers, strict=True)
        }
        names = Names(dict.fromkeys(parameters, "number"), {}, ("y",))
        parsed = parse_formula(body, names).outputs[0][1]

        def insert(node: Expression) -> _Value:
            if isinstance(node, Input):
                return values[node.name]
            if isinstance(node, Apply):
                return self.apply(node.op, [insert(arg) for arg in node.args], token.at)
            return self.build(node, "number", token.at)

        return insert(parsed)

    def shared(self, value: _Value) -> _Value:
        """The value under a name when it is more than a name, so that using it twice computes it once."""
        leaf = value.node.args[0] if isinstance(value.node, Apply) and value.node.op == "neg" else value.node
        if isinstance(leaf, Constant | Input | Local | AttributeRef):
            return value
        name = f"t{len(self.lets)}"
        while (
            name in self.locals
            or name in self.names.inputs
            or name in self.names.attributes
            or self.used_later(name)
        ):
            name += "_"
        self.lets.append((name, value.node))
        self.locals[name] = value.kind
        return self.build(Local(name), value.kind, value.at)

    # -- kinds --

    def apply(self, op: str, arguments: list[_Value], at: int) -> _Value:
        convert: dict[Kind, Callable[[_Value], _Value]] = {"number": self.numeric, "bool": self.truth}
        operands = [convert[k](a) for k, a in zip(OPERATIONS[op].takes, arguments, strict=True)]
        return self.build(Apply(op, tuple(o.node for o in operands)), OPERATIONS[op].gives, at, operands)

    def numeric(self, value: _Value) -> _Value:
        """A truth value in arithmetic counts as 1 or 0."""
        if value.kind == "text":
            self.fail("E42003", "a text can only be compared", at=value.at)
        if value.kind == "number":
            return value
        node = Apply("select", (value.node, Constant(1.0), Constant(0.0)))
        return self.build(node, "number", value.at, [value])

    def truth(self, value: _Value) -> _Value:
        """A number as a condition means: not zero."""
        if value.kind == "text":
            self.fail("E42003", "a text is no condition", at=value.at)
        if value.kind == "bool":
            return value
        return self.build(Apply("ne", (value.node, Constant(0.0))), "bool", value.at, [value])
