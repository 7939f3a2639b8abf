"""Mathematics as people write it: `Swish(x) = x * σ(x), where σ(x) = 1 / (1 + exp(-x))`.

The first clause defines the operator: Name(parameters) = value. Parameters are inputs in order, those with a
default (alpha=0.1) attributes. Further clauses, after where/其中, commas or on lines of their own, define
functions and values, which are inlined; none may need itself. Without a parameter list (`y = a*x`) the free
names are the inputs in the order of their first use. The value is formula text (opdef.formula) and besides:
σ √ Σ ∏ · × ÷ − ≤ ≥ ≠ ∧ ∨ ¬ π ∞ and exponents such as ², |x|, chained comparisons, `{a if c, b otherwise}` or
`{a, c; b, otherwise}`, and the functions of functions.LIBRARY. Several outputs: (a, b). A sum, mean, ...
without axis= is over the last axis and keeps it. √ and Σ without brackets: √ takes the next value, Σ the
next product.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ascend_ep.errors import AscendError
from ascend_ep.frontends.functions import LIBRARY, inline
from ascend_ep.frontends.interface import (
    RESERVED,
    Defaults,
    Described,
    Parameter,
    as_names,
    attribute_parameter,
    identifier,
    operator,
)
from ascend_ep.frontends.mathematics_text import Clause, closing, split_clauses, tokenize
from ascend_ep.opdef.definition import AttributeValue
from ascend_ep.opdef.expression import Constant
from ascend_ep.opdef.formula import FormulaParser
from ascend_ep.opdef.formula_nodes import FUNCTIONS, Axes, Names, Options, Value
from ascend_ep.opdef.formula_text import MAX_TEXT, Token, TokenReader

MAX_CASES = 32
_EMPTY = Names({}, {}, ())
_WORDS = RESERVED | {"otherwise", "π", "for"}
_FUNCTION_SIGNS = {"Σ": "sum", "∑": "sum", "∏": "prod"}
#: `implement Name:` before the formula.
_HEADING = re.compile(r"\s*(?P<words>[^=\n:：()（）]{1,200})[:：](?!=)\s*(?=\S)")


def describe_mathematics(
    text: str, op_type: str | None = None, attributes: Defaults | None = None, where: str = ""
) -> Described:
    """The operator that the text defines. Raises AscendError E42001 to E42004, E42102 at a caret."""
    return _Description(text, op_type, attributes or {}, where).read()


def reads_as_mathematics(text: str) -> bool:
    """Whether a text is a formula, not prose: it begins with a definition, or has no words in a row."""
    if len(text) > MAX_TEXT:
        return True
    try:
        clauses = _Clauses(text, "").clauses
    except AscendError:
        return bool(re.match(r"\s*\w+\s*(\([^()]*\)\s*)?[=＝]", text))
    if not clauses or clauses[0].head:
        return True
    words = [t.kind == "name" and t.text not in _WORDS for t in clauses[0].body]
    return len(clauses) == 1 and len(words) > 1 and not any(a and b for a, b in pairwise(words))


class _Clauses(TokenReader):
    """The clauses of a text after its heading."""

    def __init__(self, text: str, where: str) -> None:
        heading = _HEADING.match(text[:1000])
        self.heading = heading["words"] if heading else ""
        self.start = heading.end() if heading else 0
        super().__init__(text, where)
        self.text = text
        self.clauses = split_clauses(self.tokens[:-1])

    def tokenize(self) -> list[Token]:
        return tokenize(self, self.start)


class _Description:
    """What one text defines: its clauses sorted into the operator, definitions and remarks."""

    def __init__(self, text: str, op_type: str | None, attributes: Defaults, where: str) -> None:
        self.reader = _Clauses(text, where)
        self.text, self.where, self.op_type = text, where, op_type
        self.attributes = dict(attributes)
        self.warnings: list[str] = []
        self.definitions: dict[str, Clause] = {}
        self.remarks: list[Clause] = []

    def read(self) -> Described:
        clauses = self.reader.clauses
        if not clauses:
            self.reader.fail("E42001", "description", "it is empty", at=0)
        main, *others = clauses
        for clause in others:
            self.sort(clause)
        op = self.op_type or self.defined_name(main)
        if not identifier(op):
            self.reader.fail("E42003", f"{op[:80]} can't be a name: use letters, digits and _", at=main.at)
        parameters = self.parameters(main)
        names = as_names(parameters, ())
        parser = _Mathematics(self.reader, self.definitions, names)
        results = parser.results(main)
        unused = [n for n in self.definitions if n not in parser.used]
        self.warnings += [f"{n} is defined but not used" for n in unused]
        self.warnings += [f"input {p.name} is not used" for p in parameters if p.name not in parser.used]
        output = "" if main.has_parameters or not main.head else identifier(main.name)
        if len(results) == 1:
            results = [(output, results[0][1])]
        doc = " ".join(self.text.split())[:500]
        opdef = operator(op, parameters, parser.lets, results, doc, self.where)
        return Described(opdef, "formula", tuple(self.warnings))

    def sort(self, clause: Clause) -> None:
        if not clause.head:
            self.remark(clause)
        elif clause.name in self.definitions:
            self.reader.fail("E42003", f"{clause.name} is defined twice", at=clause.at)
        else:
            self.definitions[clause.name] = clause

    def remark(self, clause: Clause) -> None:
        """A clause in words: `alpha is a scalar` makes an attribute, other known words nothing."""
        words = " ".join(t.text for t in clause.body)
        known = re.search(
            r"learn|parameter|tensor|input|shape|float|fp16|bf16|scalar|attribute|参数|张量|输入|任意|标量|属性|形状",
            words,
            re.IGNORECASE,
        )
        if not known or any(t.kind == "sign" and t.text in "+-*/^=" for t in clause.body):
            self.reader.fail(
                "E42001",
                "formula",
                f"unexpected {clause.body[0].text[:40]}",
                at=clause.at,
                fix="After the formula only definitions may follow: where name = ...",
            )
        if re.search(r"scalar|attribute|标量|属性", words, re.IGNORECASE):
            self.attributes.setdefault(identifier(clause.body[0].text), None)
        elif not re.search(r"learn|可学习", words, re.IGNORECASE):
            self.warnings.append(f"not part of the formula: {words[:100]}")

    def defined_name(self, main: Clause) -> str:
        heading = re.findall(r"[A-Za-z_]\w*", self.reader.heading, re.ASCII)
        if main.has_parameters:
            return next((w for w in heading if w.casefold() == main.name.casefold()), identifier(main.name))
        if heading:
            return str(heading[-1])
        raise AscendError("E42102", where=self.where, details=[self.text.strip()[:100]])

    # -- parameters --

    def parameters(self, main: Clause) -> list[Parameter]:
        if main.has_parameters:
            listed = self.listed(main.head[2:-1])
        else:
            listed = [Parameter(n) for n in self.free_names(main)]
        result = [
            attribute_parameter(p.name, self.attributes[p.name]) if p.name in self.attributes else p
            for p in listed
        ]
        known = {p.name for p in result}
        extra = [n for n in self.attributes if n not in known]
        return result + [attribute_parameter(n, self.attributes[n]) for n in extra]

    def listed(self, tokens: Sequence[Token]) -> list[Parameter]:
        result: list[Parameter] = []
        reader = _Tokens(self.reader, tokens)
        while reader.token.kind != "end":
            if result:
                reader.expect(",")
            token = reader.next()
            name = identifier(token.text) if token.kind == "name" else ""
            if not name:
                self.reader.fail("E42001", "formula", "expected the name of a parameter", at=token.at)
            if name in {p.name for p in result}:
                self.reader.fail("E42003", f"the parameter {name} is named twice", at=token.at)
            if reader.take("="):
                default = self.default(reader, name)
                result.append(attribute_parameter(name, default))
            else:
                result.append(Parameter(name))
        return result

    def default(self, reader: _Tokens, name: str) -> AttributeValue:
        sign = -1 if reader.take("-") else 1
        token = reader.next()
        if token.text in ("true", "false", "True", "False"):
            return token.text.lower() == "true"
        if token.kind == "text":
            return token.text[1:-1]
        if token.text in ("inf", "π", "pi"):
            return sign * (math.inf if token.text == "inf" else math.pi)
        if token.kind != "number" or not math.isfinite(float(token.text)):
            self.reader.fail("E42001", "formula", "a default is a number, true, false or a text", at=token.at)
        if token.text.isdecimal() and len(token.text) <= 18 and self.is_axis(name):
            return sign * int(token.text)
        return sign * float(token.text)

    def is_axis(self, name: str) -> bool:
        tokens = self.reader.tokens
        return any(
            a.text in ("axis", "axes", "dim") and b.text == "=" and identifier(c.text) == name
            for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)
        )

    def free_names(self, main: Clause) -> list[str]:
        """The names without a meaning, in order of appearance."""
        found: dict[str, None] = {}
        for clause in (main, *self.definitions.values()):
            own = {t.text for t in clause.head}
            tokens = [*clause.body, Token("end", "", 0)]
            for i, token in enumerate(tokens[:-1]):
                following = tokens[i + 1].text
                is_option = following == "=" or (following == "(" and token.kind == "name")
                known = token.text in own or token.text in self.definitions or token.text in _WORDS
                if token.kind == "name" and not is_option and not known:
                    found[identifier(token.text) or token.text] = None
        return [n for n in found if identifier(n)]


class _Tokens(TokenReader):
    """Some tokens of another reader's text."""

    def __init__(self, reader: TokenReader, tokens: Sequence[Token]) -> None:
        self.text, self.where = reader.text, reader.where
        end = tokens[-1].at + len(tokens[-1].text) if tokens else 0
        self.tokens = [*tokens, Token("end", "", end)]
        self.at = 0


@dataclass
class _Position:
    """Where the parser is, and what the parameters of the function it is in stand for."""

    tokens: list[Token]
    at: int
    bound: dict[str, Value]


class _Mathematics(FormulaParser):
    """The grammar of mathematics over a description's clauses."""

    chains_comparisons = True

    def __init__(self, reader: _Clauses, definitions: dict[str, Clause], names: Names) -> None:
        super().__init__("", names, reader.where)
        self.text = reader.text
        self.mentioned = {identifier(t.text) for t in reader.tokens if t.kind == "name"}
        self.definitions = definitions
        self.values: dict[str, Value] = {}
        self.bound: dict[str, Value] = {}
        self.active: list[str] = []
        self.used: set[str] = set()

    def used_later(self, name: str) -> bool:
        return name in self.mentioned

    # -- clauses --

    def results(self, main: Clause) -> list[tuple[str, Value]]:
        """The values of the operator, each with the name it has in the text, or ""."""
        self.active.append(main.name)
        parts = _tuple_parts(main.body)
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
        outer = _Position(self.tokens, self.at, self.bound)
        end = tokens[-1].at + len(tokens[-1].text) if tokens else at
        self.tokens, self.at, self.bound = [*tokens, Token("end", "", end)], 0, bound
        value = parse()
        self.tokens, self.at, self.bound = outer.tokens, outer.at, outer.bound
        return value

    def whole(self) -> Value:
        value = self.expression()
        if self.token.text:
            self.fail("E42001", "formula", f"unexpected {self.token.text[:40]}", at=self.token.at)
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
        token = self.token
        if token.kind == "sign" and token.text == "|":
            self.next()
            value = self.nested(self.expression, token)
            self.expect("|")
            return self.apply("abs", [value], token.at)
        if token.kind == "sign" and token.text == "√":
            self.next()
            return self.apply("sqrt", [self.nested(self.atom, token)], token.at)
        if token.kind == "sign" and token.text in _FUNCTION_SIGNS:
            return self.sum_sign(self.next())
        if token.kind == "sign" and token.text == "{":
            self.next()
            return self.piecewise(token)
        return super().atom()

    def sum_sign(self, token: Token) -> Value:
        word = Token("name", _FUNCTION_SIGNS[token.text], token.at)
        if self.token.text == "(":
            return self.call(word)
        return self.function(word.text, [self.nested(lambda: self.binary(6), token)], Options(), word)

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

    def name(self, token: Token) -> Value:
        if token.text in self.bound:
            return self.bound[token.text]
        if token.text in self.definitions:
            if token.text not in self.values:
                value = self.inside([], token.at, {}, lambda: self.defined(token, []))
                self.values[token.text] = self.shared(value, identifier(token.text))
            return self.values[token.text]
        plain = Token(token.kind, identifier(token.text) or token.text, token.at)
        self.used.add(plain.text)
        if plain.text in (*self.names.inputs, *self.names.attributes):
            return super().name(plain)
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
