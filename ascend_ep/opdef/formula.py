"""Formula text to a Program: `x * sigmoid(alpha * x)`, or lines of `name = expression`.

Names are the definition's inputs, attributes, earlier assignments and the constants pi, e, inf, nan. With one
output the last line may be a bare expression; otherwise every output is assigned. Operators, loosest first:
`a if c else b` and `c ? a : b`; or; and; not; comparisons; + -; * / // % and @, the matrix product; unary -;
^ and ** (right to left).
Functions: those of expression.OPERATIONS; where(c, a, b); clip, relu, square, silu, gelu, softmax; casts by
type name; the reductions of expression.REDUCTIONS of one tensor over `axis=` (default -1; a number, a list,
an attribute, all, or a range as of a slice, `2:` or `:-1`) with `keepdims=` (default true), also written
dim= and keepdim=; softmax, log_softmax, layer_norm(x, epsilon) and rms_norm(x, epsilon) without scale over
axis=; topk(x, k, axis=, largest=) and topk_indices of the same; index(x, axis=) and size(x, axis=);
unsqueeze(x, axis=); matmul(a, b), which is a @ b; transpose(x, axis=[-2, -1]); slice, chunk, windows, concat,
take and add_at of formula_moves; sum_to(x, like); given(x) for optional inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from ascend_ep.errors import did_you_mean
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.expression import (
    AttributeRef,
    AxisRange,
    Constant,
    Expression,
    Given,
    Input,
    Kind,
    Local,
    Program,
)
from ascend_ep.opdef.formula_nodes import FUNCTIONS, MAX_K, Axes, Names, NodeBuilder, Options, Value
from ascend_ep.opdef.formula_text import Token

MAX_DEPTH = 50

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
#: Other spellings of functions and constants.
_SYNONYMS = {"σ": "sigmoid", "π": "pi", "ln": "log", "select": "where", "clamp": "clip", "fabs": "abs"}
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
    "@": ("matmul", 6),
    "^": ("pow", 8),
    "**": ("pow", 8),
}


@lru_cache(maxsize=1024)
def formula_program(opdef: OpDef) -> Program:
    """The program of a definition that has a formula. Raises E42001 to E42004."""
    if opdef.formula is None:
        raise TypeError(f"{opdef.full_name} has no formula")
    names = Names(
        inputs={t.name: "bool" if t.types == (dtypes.BOOL,) else "number" for t in opdef.inputs},
        attributes={a.name: a.type for a in opdef.attributes},
        outputs=tuple(t.name for t in opdef.outputs),
        optional=frozenset(t.name for t in opdef.inputs if t.occurrence == "optional"),
    )
    return parse_formula(opdef.formula, names, opdef.origin)


def parse_formula(text: str, names: Names, where: str = "") -> Program:
    """Parses a formula. Errors show the line with a caret and carry `where`."""
    return FormulaParser(text, names, where).program()


class FormulaParser(NodeBuilder):
    """The grammar, by precedence climbing. Front ends extend it."""

    #: Whether a < b < c means a < b and b < c; formulas of definitions say which.
    chains_comparisons = False

    def __init__(self, text: str, names: Names, where: str) -> None:
        super().__init__(text, names, where)
        self.outputs: dict[str, Expression] = {}
        self.depth = 0

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
        assigned = start.kind == "name" and self.following.text == "="
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

    def check_new_name(self, token: Token) -> None:
        name = token.text
        taken = {
            "an input": self.names.inputs,
            "an attribute": self.names.attributes,
            "assigned already": {**self.locals, **self.outputs},
            "a constant": CONSTANTS,
            "a function": FUNCTIONS,
        }
        for what, known in taken.items():
            if name in known:
                self.fail("E42003", f"{name} is {what}", at=token.at)

    def assign(self, name: str, value: Value) -> None:
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

    # -- expressions: precedence climbing --

    def expression(self) -> Value:
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

    def nested(self, parse: Callable[[], Value], token: Token) -> Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("E42004", "formula", f"it is nested deeper than {MAX_DEPTH}", at=token.at)
        value = parse()
        self.depth -= 1
        return value

    def binary(self, weakest: int) -> Value:
        """Operators at least as strong as `weakest`, left to right; a power takes what follows it first."""
        value = self.prefixed()
        compared: Value | None = None
        while (infix := self.infix()) is not None and infix[1] >= weakest:
            op, strength = infix
            token = self.next()
            chained = compared if strength == _COMPARISON else None
            if chained and not self.chains_comparisons:
                reason = "comparisons can't be chained; join them with `and`"
                self.fail("E42001", "formula", reason, at=token.at)
            right_strength = _SIGN if op == "pow" else strength + 1
            right = self.nested(lambda: self.binary(right_strength), token)  # noqa: B023  (called at once)
            if strength == _COMPARISON and self.chains_comparisons and right.kind != "text":
                right = self.shared(right)
            if chained:
                value = self.apply("and", [value, self.apply(op, [chained, right], token.at)], token.at)
            elif op == "matmul":
                value = self.matmul(value, right, token.at)
            elif "text" in (value.kind, right.kind):
                value = self.compare_texts(op, value, right, token.at)
            else:
                value = self.apply(op, [value, right], token.at)
            compared = right if strength == _COMPARISON else None
        return value

    def infix(self) -> tuple[str, int] | None:
        """The operation that the next token stands for, and how strongly it binds."""
        return _BINARY.get(self.token.text) if self.token.kind in ("sign", "name") else None

    def prefixed(self) -> Value:
        token = self.take("-", "+", "not", "!")
        if token is None:
            return self.atom()
        strength = _NOT if token.text in ("not", "!") else _SIGN
        value = self.nested(lambda: self.binary(strength), token)
        if token.text == "+":
            return self.numeric(value)
        return self.apply("neg" if token.text == "-" else "not", [value], token.at)

    # -- atoms --

    def atom(self) -> Value:
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

    def number(self, token: Token) -> float:
        following = self.token
        if following.kind in ("name", "number") and following.at == token.at + len(token.text):
            self.fail("E42001", "formula", f"{token.text}{following.text[:20]} is no number", at=token.at)
        value = float(token.text)
        if not math.isfinite(value):
            self.fail("E42001", "formula", f"{token.text} is no finite double", at=token.at)
        return value

    def name(self, token: Token) -> Value:
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

    def attribute_kind(self, token: Token) -> Kind:
        kinds: dict[str, Kind] = {"int": "number", "float": "number", "bool": "bool", "string": "text"}
        kind = kinds.get(self.names.attributes[token.text])
        if kind is None:
            self.fail("E42003", f"the list attribute {token.text} can only stand after axis=", at=token.at)
        return kind

    def call(self, token: Token) -> Value:
        name = _SYNONYMS.get(token.text, token.text)
        self.expect("(")
        if name == "given":
            return self.given(token)
        arguments: list[Value] = []
        options = Options()
        while not self.take(")"):
            if arguments or options:
                self.expect(",")
            if self.token.kind == "name" and self.following.text == "=":
                self.option(options)
            elif options:
                self.fail(
                    "E42001", "formula", "arguments come before axis= and other options", at=self.token.at
                )
            else:
                arguments.append(self.nested(self.expression, token))
        return self.function(name, arguments, options, token)

    def given(self, token: Token) -> Value:
        name = self.next()
        if name.text not in self.names.optional:
            self.fail("E42003", "given() takes the name of an optional input", at=name.at)
        self.expect(")")
        return self.build(Given(name.text), "bool", token.at)

    def option(self, options: Options) -> None:
        key = self.next()
        self.expect("=")
        if key.text in ("keepdims", "keepdim") and options.keepdims is None:
            options.keepdims = self.flag()
        elif key.text in ("axis", "axes", "dim") and options.axes is None:
            if self.token.text in ("[", "(") and self.following.kind == "name":
                options.swapped = self.swapped()
                return
            options.axes = (0,) if self.token.text == ":" else self.axes()
            if self.token.text == ":" and (first := _single(options.axes)) is not None:
                self.next()
                ends = self.token.text not in (",", ")")
                options.axes = AxisRange(first, self.integer() if ends else None)
        elif key.text == "k" and options.k is None:
            options.k = self.attribute("int") or self.integer(MAX_K)
        elif key.text == "largest" and options.largest is None:
            options.largest = self.attribute("int", "bool") or self.flag()
        else:
            allowed = "the options are axis= and keepdims=, and of topk k= and largest=, each once"
            self.fail("E42001", "formula", allowed, at=key.at)

    def flag(self) -> bool:
        word = self.next()
        if word.text not in ("true", "false", "True", "False", "1", "0"):
            self.fail("E42001", "formula", "expected true or false", at=word.at)
        return word.text in ("true", "True", "1")

    def attribute(self, *types: str) -> AttributeRef | None:
        """The attribute of one of these types that comes next."""
        if self.token.kind == "name" and self.names.attributes.get(self.token.text) in types:
            return AttributeRef(self.next().text)
        return None

    def axes(self) -> Axes:
        token = self.token
        if token.kind == "name":
            self.next()
            if token.text == "all":
                return "all"
            if self.names.attributes.get(token.text) not in ("int", "ints"):
                self.fail(
                    "E42003", "axis= takes an integer, a list of them, such an attribute, or all", at=token.at
                )
            return AttributeRef(token.text)
        opening = self.take("[", "(")
        if opening is None:
            return (self.integer(),)
        closing = "]" if opening.text == "[" else ")"
        result = [self.integer()]
        while not self.take(closing):
            self.expect(",")
            if self.take(closing):
                break
            result.append(self.integer())
        return tuple(result)

    def swapped(self) -> tuple[int | AttributeRef, int | AttributeRef]:
        """Two axes, the first an attribute."""
        closing = "]" if self.next().text == "[" else ")"
        first = self.attribute("int")
        if first is None:
            self.fail("E42003", "expected an axis: an integer or an attribute of that type", at=self.token.at)
        self.expect(",")
        second = self.attribute("int") or self.integer()
        self.expect(closing)
        return first, second

    def integer(self, limit: int = 1000) -> int:
        sign = -1 if limit == 1000 and self.take("-") else 1
        token = self.next()
        if token.kind != "number" or not token.text.isdecimal() or float(token.text) >= limit:
            self.fail("E42001", "formula", f"expected a small integer, below {limit}", at=token.at)
        return sign * int(token.text)


def _single(axes: Axes) -> int | AttributeRef | None:
    if isinstance(axes, AttributeRef):
        return axes
    return axes[0] if isinstance(axes, tuple) and len(axes) == 1 else None
