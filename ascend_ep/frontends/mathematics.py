"""Mathematics as people write it: `Swish(x) = x * σ(x), where σ(x) = 1 / (1 + exp(-x))`.

The first clause defines the operator: Name(parameters) = value. Parameters are inputs in order, those with a
default (alpha=0.1) attributes. Further clauses, after where/其中, commas or on lines of their own, define
functions and values, which are inlined; none may need itself. Without a parameter list (`y = a*x`) the free
names are the inputs in the order of their first use. The value is formula text (opdef.formula) and besides:
σ √ Σ ∏ · × ÷ − ≤ ≥ ≠ ∧ ∨ ¬ π ∞ and exponents such as ², |x|, chained comparisons, `{a if c, b otherwise}` or
`{a, c; b, otherwise}`, and the functions of functions.LIBRARY. Several outputs: (a, b). A sum, mean, ...
without axis= is over the last axis and keeps it. √ and Σ without brackets: √ takes the next value, Σ the
next product. LaTeX is read as what it shows (mathematics_latex), products need no sign
(mathematics_products), and names may carry indices (mathematics_indices, mathematics_sums).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

from ascend_ep.errors import AscendError
from ascend_ep.frontends.functions import LIBRARY
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
from ascend_ep.frontends.mathematics_indices import read_indices, sum_limits
from ascend_ep.frontends.mathematics_parser import SYNONYMS, MathematicsParser
from ascend_ep.frontends.mathematics_text import (
    WHERE,
    Clause,
    closing,
    output_names,
    split_clauses,
    tokenize,
)
from ascend_ep.frontends.prose import HEADING, is_remark, stated_type
from ascend_ep.opdef.definition import AttributeValue
from ascend_ep.opdef.formula_nodes import Names
from ascend_ep.opdef.formula_text import Token, TokenReader

_EMPTY = Names({}, {}, ())
_FUNCTIONS = frozenset({*RESERVED, *LIBRARY, *SYNONYMS, "std"})
_WORDS = RESERVED | {"otherwise", "π", "for"}
_HEADING_WORDS = (
    *("implement", "define", "write", "use", "using", "with", "the", "a", "an", "of"),
    *("activation", "function", "operator", "op", "kernel", "tbe", "dsl"),
)


def describe_mathematics(
    text: str, op_type: str | None = None, attributes: Defaults | None = None, where: str = ""
) -> Described:
    """The operator that the text defines. Raises AscendError E42001 to E42004, E42102 at a caret."""
    return _Description(text, op_type, attributes or {}, where).read()


class _Clauses(TokenReader):
    """The clauses of a text after its heading."""

    def __init__(self, text: str, where: str, attributes: Collection[str] = ()) -> None:
        self.attributes = attributes
        heading = HEADING.match(text[:1000])
        self.heading = heading["words"] if heading else ""
        self.start = heading.end() if heading else 0
        super().__init__(text, where)
        self.text = text
        self.clauses = split_clauses(self.tokens[:-1])

    def tokenize(self) -> list[Token]:
        """The tokens, with what names the outputs taken out of them: Name(x) -> a, b = value, Name(x): y =
        value, and a, b = value."""
        tokens, self.indices = read_indices(tokenize(self, self.start), self.attributes, _FUNCTIONS)
        self.outputs: list[Token] = []
        begins = 0
        if tokens[0].kind == "name" and len(tokens) > 1 and tokens[1].text == "(":
            begins = closing(tokens, 1) + 1
        named: list[Token] = []
        if begins and begins < len(tokens) and tokens[begins].text in (":", "->"):
            named, length = output_names(tokens, begins + 1)
            if named or tokens[begins].text == ":":
                tokens[begins : begins + 1 + length] = [Token("sign", "=", tokens[begins].at)]
        elif not begins and len(output_names(tokens, 0)[0]) > 1:
            named, length = output_names(tokens, 0)
            tokens[:length] = [named[0], Token("sign", "=", tokens[length - 1].at)]
        self.outputs = named
        return self.bracketed(tokens) if len(named) > 1 else tokens

    def bracketed(self, tokens: list[Token]) -> list[Token]:
        """Values without brackets, as many as there are outputs, get them."""
        start = next(i for i, t in enumerate(tokens) if t.text == "=") + 1
        end, commas = start, 0
        while end < len(tokens) and tokens[end].kind != "end" and tokens[end].text not in WHERE:
            commas += tokens[end].text == ","
            end = closing(tokens, end) + 1 if tokens[end].text in ("(", "[", "{") else end + 1
        if commas + 1 != len(self.outputs) or end >= len(tokens):  # a bracket that isn't closed
            return tokens
        opening, close = Token("sign", "(", tokens[start].at), Token("sign", ")", tokens[end].at)
        return [*tokens[:start], opening, *tokens[start:end], close, *tokens[end:]]


class _Description:
    """What one text defines: its clauses sorted into the operator, definitions and remarks."""

    def __init__(self, text: str, op_type: str | None, attributes: Defaults, where: str) -> None:
        self.reader = _Clauses(text, where, attributes)
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
            named = (op or main.name)[:80]
            self.reader.fail("E42003", f"{named} can't be a name: use letters, digits and _", at=main.at)
        parameters = self.parameters(main)
        names = as_names(parameters, ())
        parser = MathematicsParser(self.reader, self.definitions, names, self.reader.indices)
        parser.has_free_names = not main.has_parameters
        results = parser.results(main, len(self.reader.outputs))
        unused = [n for n in self.definitions if n not in parser.used]
        self.warnings += [f"{n} is defined but not used" for n in unused]
        self.warnings += [f"input {p.name} is not used" for p in parameters if p.name not in parser.used]
        output = "" if main.has_parameters or not main.head else identifier(main.name)
        if outputs := self.reader.outputs:
            if len(outputs) != len(results):
                self.reader.fail(
                    "E42003",
                    f"it names {len(outputs)} outputs and has {len(results)} values",
                    at=outputs[0].at,
                )
            results = [(identifier(t.text), r[1]) for t, r in zip(outputs, results, strict=True)]
        elif len(results) == 1:
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
        if not is_remark(words):
            self.reader.fail(
                "E42001",
                "formula",
                f"unexpected {clause.body[0].text[:40]}",
                at=clause.at,
                fix="Several outputs are (a, b); definitions follow the formula: where name = ...",
            )
        if re.search(r"scalar|attribute|标量|属性", words, re.IGNORECASE):
            self.attributes.setdefault(identifier(clause.body[0].text), None)
        elif not re.search(r"learn|可学习", words, re.IGNORECASE) and not stated_type(words)[1]:
            self.warnings.append(f"not part of the formula: {words[:100]}")

    def defined_name(self, main: Clause) -> str:
        """The name the heading gives, unless the formula's own says more than f."""
        heading = re.findall(r"[A-Za-z_]\w*", self.reader.heading, re.ASCII)
        heading = [w for w in heading if w.casefold() not in _HEADING_WORDS]
        same = [w for w in heading if w.casefold() == main.name.casefold()]
        capital = [w for w in heading if w != w.lower()]
        own = [identifier(main.name)] if main.has_parameters else []
        names = [*same, *(n for n in own if len(n) > 1), *capital, *heading, *own]
        if names:
            return str(names[0])
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
            a.text in ("axis", "axes", "dim", "k") and b.text == "=" and identifier(c.text) == name
            for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)
        ) or any(
            a.text.lower() in ("topk", "topk_indices")
            and [t.text for t in tokens[i + 1 : i + 2]] == ["("]
            and name in [identifier(t.text) for t in tokens[i + 2 : closing(tokens, i + 1)]]
            for i, a in enumerate(tokens)
        )

    def free_names(self, main: Clause) -> list[str]:
        """The names without a meaning, in order of appearance."""
        found: dict[str, None] = {}
        for clause in (main, *self.definitions.values()):
            own = {t.text for t in clause.head}
            tokens = [*clause.body, Token("end", "", 0)]
            own |= set(self.reader.indices.sizes) | _index_names(tokens)
            for i, token in enumerate(tokens[:-1]):
                following = tokens[i + 1].text
                is_option = following == "=" or (following == "(" and token.kind == "name")
                known = (
                    token.text in own
                    or (token.text == "T" and tokens[i - 1].text in ("^", "("))
                    or token.text in self.definitions
                    or token.text in _WORDS
                )
                if token.kind == "name" and not is_option and not known:
                    found[identifier(token.text) or token.text] = None
        return [n for n in found if identifier(n)]


def _index_names(tokens: Sequence[Token]) -> set[str]:
    """The indices below sums."""
    names: set[str] = set()
    for i, token in enumerate(tokens):
        if token.text == "_" and token.kind == "sign":
            names |= {t.text for t in sum_limits(tokens, i)[0] if t.kind == "name"}
    return names


class _Tokens(TokenReader):
    """Some tokens of another reader's text."""

    def __init__(self, reader: TokenReader, tokens: Sequence[Token]) -> None:
        self.text, self.where = reader.text, reader.where
        end = tokens[-1].at + len(tokens[-1].text) if tokens else 0
        self.tokens = [*tokens, Token("end", "", end)]
        self.at = 0
