"""Dimensions as text: the dim_param strings of exporters, and ours.

Understood are `N`, `past+seq`, `2*N - 1`, `N//2`, `floor(N/2)`, `ceil(N/2)`, `max(a, b)`, `min`, `Mod(a, b)`
(any case). Anything else - `batch size`, `unk__7`, `a.b-c?` - is the name of one opaque symbol, which is
what ONNX says a dim_param is.
"""

from __future__ import annotations

import re

from ascend_ep.opdef.dims import Dim, DimExpr, DimTooComplex, floordiv, max_, min_, modulo, symbol

MAX_TEXT = 512
MAX_NESTING = 32

_TOKEN = re.compile(r"\s*(?:(?P<int>\d{1,18}(?![\w.]))|(?P<name>[A-Za-z_][\w.:]*)|(?P<op>//|[-+*/%(),]))")
_FUNCTIONS = {"max": max_, "min": min_, "mod": modulo}


class _NotAnExpression(Exception):
    pass


def parse_dim(text: str) -> Dim:
    """The dimension a dim_param denotes; never raises: what is no expression is a symbol of that name."""
    if len(text) > MAX_TEXT:
        return symbol(text)
    try:
        return _Parser(text).parse()
    except (_NotAnExpression, DimTooComplex, ZeroDivisionError):
        return symbol(text)


def dim_param(dim: DimExpr) -> str:
    """What a model calls the dimension; "" where its expression is longer than anything parse_dim reads."""
    text = str(dim)
    return text if len(text) <= MAX_TEXT else ""


class _Parser:
    """Recursive descent over + - * // % / and calls; `/` only as the argument of floor and ceil."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise _NotAnExpression
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self.at = 0
        self.depth = 0

    def parse(self) -> Dim:
        value = self.sum()
        if self.at != len(self.tokens):
            raise _NotAnExpression
        return value

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> tuple[str, str]:
        if self.at >= len(self.tokens) or (expected and self.peek() != expected):
            raise _NotAnExpression
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> Dim:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise _NotAnExpression
        value = self.product()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take()[1] == "+" else -1
            value = value + self.product() * sign
        self.depth -= 1
        return value

    def product(self) -> Dim:
        value = self.factor()
        while self.peek() in ("*", "//", "%"):
            operator = self.take()[1]
            right = self.factor()
            value = (
                value * right if operator == "*" else (floordiv if operator == "//" else modulo)(value, right)
            )
        return value

    def factor(self) -> Dim:
        sign = 1
        while self.peek() == "-":
            self.take()
            sign = -sign
        kind, text = self.take()
        if kind == "int":
            return sign * int(text)
        if text == "(":
            value = self.sum()
            self.take(")")
            return value * sign
        if kind != "name":
            raise _NotAnExpression
        return (self.call(text.lower()) if self.peek() == "(" else symbol(text)) * sign

    def call(self, function: str) -> Dim:
        self.take("(")
        if function in ("floor", "ceil", "ceiling", "ceiltoint"):
            value = self.quotient(up=function.startswith("ceil"))
        elif function in _FUNCTIONS:
            value = self.sum()
            self.take(",")
            value = _FUNCTIONS[function](value, self.sum())
            while function != "mod" and self.peek() == ",":
                self.take()
                value = _FUNCTIONS[function](value, self.sum())
        else:
            raise _NotAnExpression
        self.take(")")
        return value

    def quotient(self, up: bool) -> Dim:
        value = self.sum()
        if self.peek() == "/":
            self.take()
            divisor = self.factor()
            value = floordiv(value * -1, divisor) * -1 if up else floordiv(value, divisor)
        return value
