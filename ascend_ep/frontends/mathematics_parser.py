"""The grammar of mathematics: formula text with signs, cases and a description's own definitions, inlined."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_ep.frontends.functions import LIBRARY, inline
from ascend_ep.frontends.interface import RESERVED, identifier
from ascend_ep.frontends.mathematics_indices import OVER_INDEX, Indices
from ascend_ep.frontends.mathematics_sums import SumParser
from ascend_ep.frontends.mathematics_text import Clause, closing
from ascend_ep.opdef.expression import Constant
from ascend_ep.opdef.formula_nodes import FUNCTIONS, Axes, Names, Options, Value
from ascend_ep.opdef.formula_text import Token, TokenReader

MAX_CASES = 32
SYNONYMS = {
    "σ": "sigmoid",
    "ln": "log",
    "sgn": "sign",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "logistic": "sigmoid",
}
_FUNCTION_SIGNS = {"Σ": "sum", "∏": "prod"}


@dataclass
class _Position:
    """Where the parser is, and what the parameters of the function it is in stand for."""

    tokens: list[Token]
    at: int
    bound: dict[str, Value]
    indexed: list[tuple[Token, str]]
    bars: int


class MathematicsParser(SumParser):
    """The grammar of mathematics over a description's clauses."""

    chains_comparisons = True

    def __init__(
        self, reader: TokenReader, definitions: dict[str, Clause], names: Names, indices: Indices
    ) -> None:
        super().__init__("", names, reader.where)
        self.text = reader.text
        self.is_latex = "\\" in reader.text
        self.indices = indices
        self.mentioned = {identifier(t.text) for t in reader.tokens if t.kind == "name"}
        self.definitions = definitions
        self.values: dict[str, Value] = {}
        self.active: list[str] = []
        self.used: set[str] = set()

    def used_later(self, name: str) -> bool:
        return name in self.mentioned

    # -- clauses --

    def results(self, main: Clause, wanted: int = 0) -> list[tuple[str, Value]]:
        """The values of the operator, each with the name it has in the text, or "". wanted: how many outputs
        the text names; a topk that is wanted as two is values and indices."""
        self.active.append(main.name)
        parts = _tuple_parts(main.body)
        if wanted == 2 and len(parts) == 1 and parts[0] and parts[0][0].text.lower() == "topk":
            first, *rest = parts[0]
            parts = [parts[0], [Token("name", "topk_indices", first.at), *rest]]
        results = []
        for part in parts:
            single = identifier(part[0].text) if len(part) == 1 and part[0].kind == "name" else ""
            name = single if single not in self.names.inputs else ""
            value = self.inside(part, main.at, {}, self.whole)
            if value.kind == "text":
                self.fail("E42003", "a text is no tensor", at=value.at)
            results.append((name, value))
        return results

    def inside(
        self, tokens: Sequence[Token], at: int, bound: dict[str, Value], parse: Callable[[], Value]
    ) -> Value:
        """Parses other tokens with other names bound, and comes back."""
        outer = _Position(self.tokens, self.at, self.bound, self.indexed, self.bars)
        end = tokens[-1].at + len(tokens[-1].text) if tokens else at
        self.tokens, self.at, self.bound = [*tokens, Token("end", "", end)], 0, bound
        self.indexed, self.bars = [], 0
        value = parse()
        self.check_indices(0)
        self.tokens, self.at, self.bound = outer.tokens, outer.at, outer.bound
        self.indexed, self.bars = outer.indexed, outer.bars
        return value

    def whole(self) -> Value:
        value = self.expression()
        if self.token.text:
            is_name = self.token.kind == "name"
            fix = f"{self.token.text[:40]} is no parameter and not defined after where." if is_name else None
            self.fail("E42001", "formula", f"unexpected {self.token.text[:40]}", at=self.token.at, fix=fix)
        return value

    def defined(self, token: Token, arguments: list[Value]) -> Value:
        """The value of a function or name that the description defines."""
        clause = self.definitions[token.text]
        if token.text in self.active:
            path = " → ".join([*self.active[self.active.index(token.text) :], token.text])
            self.fail(
                "E42003",
                f"{token.text} is defined by itself ({path}), which never ends",
                at=token.at,
                fix="Define it by operations on its arguments.",
            )
        parameters = [t for t in clause.head[2:-1] if t.text != ","]
        if any(t.kind != "name" for t in parameters):
            self.fail("E42001", "formula", "a defined function takes names", at=clause.at)
        if len(parameters) != len(arguments):
            reason = f"{token.text} takes {len(parameters)} arguments, not {len(arguments)}"
            self.fail("E42003", reason, at=token.at)
        bound = {p.text: self.shared(a) for p, a in zip(parameters, arguments, strict=True)}
        self.active.append(token.text)
        value = self.nested(lambda: self.inside(clause.body, clause.at, bound, self.whole), token)
        self.active.pop()
        self.used.add(token.text)
        return value

    # -- grammar --

    def atom(self) -> Value:
        """A value, and ᵀ after it."""
        value = self.bare_atom()
        while self.is_transposition():
            at = self.next().at
            self.at += 3 if self.token.text == "(" else 1
            value = self.transpose(self.numeric(value), (-2, -1), at)
        return value

    def is_transposition(self) -> bool:
        texts = [t.text for t in self.tokens[self.at : self.at + 4]]
        if texts[:2] != ["^", "T"] and texts != ["^", "(", "T", ")"]:
            return False
        return "T" not in (*self.bound, *self.definitions, *self.names.inputs, *self.names.attributes)

    def bare_atom(self) -> Value:
        token = self.token
        if token.kind == "sign" and token.text == "|":
            return self.bar(self.next())
        if token.kind == "sign" and token.text == "‖":
            return self.norm(self.next(), "‖")
        if token.kind == "sign" and token.text == "√":
            return self.root(self.next())
        if token.kind == "sign" and token.text in _FUNCTION_SIGNS:
            return self.sum_sign(self.next())
        if token.kind == "sign" and token.text == "{":
            self.next()
            return self.piecewise(token)
        return super().atom()

    def root(self, token: Token) -> Value:
        """√ takes the next value; √x² could be the root of x or of x²."""
        bracketed = self.token.text == "("
        value = self.apply("sqrt", [self.nested(self.atom, token)], token.at)
        if self.token.text == "^" and not bracketed:
            self.two_readings(token.at, "where the root ends isn't clear")
        return value

    def sum_sign(self, token: Token) -> Value:
        """Σ(x, axis=0) is a call; Σ (x - μ)², as every other sum, goes over the next product."""
        word = Token("name", _FUNCTION_SIGNS[token.text], token.at)
        if self.token.text == "(":
            after = self.tokens[min(closing(self.tokens, self.at) + 1, len(self.tokens) - 1)]
            if after.text != "^" and not self.begins_factor(after):
                start = len(self.indexed)
                value = self.call(word)
                self.last_index(start)
                self.indexed[start:] = [(n, ls[:-1] + "·") for n, ls in self.indexed[start:]]
                return value
        return self.over_index(word.text, word)

    def piecewise(self, token: Token) -> Value:
        """After `{`: cases `value if condition`, or `value, condition`, the last one `otherwise`."""
        cases: list[tuple[Value, Value]] = []
        while len(cases) <= MAX_CASES:
            while self.token.text in (",", "or") or (self.token.kind == "end" and self.token.text):
                self.next()
            if self.token.text == "}":
                self.fail("E42001", "formula", "the last case must be `... otherwise`", at=self.token.at)
            first = self.take("otherwise", "else")
            value = self.nested(lambda: self.binary(1), token)
            if not first:
                separated = self.take(",")
                first = self.take("otherwise", "else")
                if not first and not self.take("if", "for") and not separated:
                    self.fail(
                        "E42001",
                        "formula",
                        "a case is `value if condition` or `value otherwise`",
                        at=self.token.at,
                    )
            if first:
                while self.token.kind == "end" and self.token.text:
                    self.next()
                self.expect("}")
                for chosen, condition in reversed(cases):
                    value = self.select(condition, chosen, value)
                return value
            cases.append((value, self.truth(self.nested(lambda: self.binary(1), token))))
        return self.fail("E42004", "formula", f"it has more than {MAX_CASES} cases", at=token.at)

    # -- names and functions --

    def is_value(self, token: Token) -> bool:
        known = (self.bound, self.definitions, self.indices.sizes, self.names.inputs, self.names.attributes)
        plain = identifier(token.text)
        return any(token.text in k or plain in k for k in known) or token.text in ("e", "π", "pi")

    def function_name(self, token: Token) -> str:
        return SYNONYMS.get(token.text, token.text)

    def name(self, token: Token) -> Value:
        self.note_index(token)
        if token.text in self.bound:
            return self.bound[token.text]
        if token.text in self.definitions:
            if token.text not in self.values:
                value = self.inside([], token.at, {}, lambda: self.defined(token, []))
                wanted = identifier(token.text)
                self.values[token.text] = self.shared(value, "" if wanted in RESERVED else wanted)
            return self.values[token.text]
        plain = Token(token.kind, identifier(token.text) or token.text, token.at)
        self.used.add(plain.text)
        if plain.text in (*self.names.inputs, *self.names.attributes):
            return super().name(plain)
        if token.text in self.indices.sizes:
            return self.size_named(token)
        if self.is_function(token.text):
            if self.token.text == "_" and plain.text in OVER_INDEX:
                return self.over_index(plain.text, token)
            return self.function_without_brackets(token)
        if token.text not in ("true", "false", "True", "False", "π", *RESERVED):
            known = ", ".join([*self.names.inputs, *self.names.attributes, *self.definitions])
            self.fail(
                "E42002",
                token.text[:80],
                f" It is free: neither a parameter ({known}) nor defined after where.",
                at=token.at,
                fix=f"Add {token.text[:40]} to the parameters, or define it: where {token.text[:40]} = ...",
            )
        return super().name(token)

    def is_function(self, name: str) -> bool:
        plain = identifier(name) or name
        known = {*FUNCTIONS, *LIBRARY, "std"}
        return name in SYNONYMS or plain in known or SYNONYMS.get(plain.lower(), plain.lower()) in known

    def call(self, token: Token) -> Value:
        """Of a parameter or value it is a product."""
        if token.text in (*self.definitions, *self.active):
            return super().call(token)
        is_value = token.text != "e" and self.is_value(token)
        if is_value and self.is_function(token.text):
            name = token.text[:40]
            reason = f"{name} is a parameter and a function"
            fix = f"Write {name}*(...) for the product, or the function by another name: sigmoid(...)."
            self.fail("E42001", "formula", reason, at=token.at, fix=fix)
        return self.name(token) if is_value else super().call(token)

    def axes(self) -> Axes:
        token = self.token
        if token.kind == "name" and (plain := identifier(token.text)):
            self.used.add(plain)
            self.tokens[self.at] = Token("name", plain, token.at)
        return super().axes()

    def function(self, name: str, arguments: list[Value], options: Options, token: Token) -> Value:
        if token.text in self.definitions and not options:
            return self.defined(token, arguments)
        if token.text in self.active:
            return self.fail(
                "E42003",
                f"{token.text} is defined by itself, which never ends",
                at=token.at,
                fix="Define it by operations on its arguments.",
            )
        name = identifier(name) or name
        if name not in FUNCTIONS and name not in LIBRARY:
            name = SYNONYMS.get(name.lower(), name.lower())
        if name == "std" and len(arguments) == 1:
            return self.apply("sqrt", [super().function("var", arguments, options, token)], token.at)
        if name in LIBRARY and name not in FUNCTIONS:
            return self.library(name, arguments, options, token)
        return super().function(name, arguments, options, token)

    def library(self, name: str, arguments: list[Value], options: Options, token: Token) -> Value:
        names = [p for p in LIBRARY[name].parameters if p != "dim"]
        required = [p for p in names if LIBRARY[name].parameters[p] is None]
        if not len(required) <= len(arguments) <= len(names):
            self.fail("E42003", f"{name} takes {len(required)} arguments, not {len(arguments)}", at=token.at)
        axes = {"dim": options.axes} if options.axes else {"dim": (-1,)}
        if options.keepdims is not None or (options.axes and "dim" not in LIBRARY[name].parameters):
            self.fail("E42003", f"{name} doesn't take this option", at=token.at)
        bound = {p: self.numeric(a) for p, a in zip(names, arguments, strict=False)}
        return inline(self, name, bound, axes, token.at)

    def apply(self, op: str, arguments: Sequence[Value], at: int) -> Value:
        """e^x is exp(x)."""
        if op == "beside":
            return self.beside(arguments[0], arguments[1], at)
        if op == "pow" and arguments[0].node == Constant(math.e):
            return super().apply("exp", arguments[1:], at)
        return super().apply(op, arguments, at)


def _tuple_parts(body: Sequence[Token]) -> list[Sequence[Token]]:
    """`(a, b)` as its parts; anything else as one part."""
    if not body or body[0].text != "(" or closing(body, 0) != len(body) - 1 or body[-1].text != ")":
        return [body]
    parts: list[Sequence[Token]] = []
    start = i = 1
    while i < len(body) - 1:
        if body[i].kind == "sign" and body[i].text in "([{":
            i = closing(body, i)
        elif body[i].kind == "sign" and body[i].text == ",":
            parts.append(body[start:i])
            start = i + 1
        i += 1
    parts.append(body[start : len(body) - 1])
    return parts if len(parts) > 1 else [body]
