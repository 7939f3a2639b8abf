"""Names as formulas run them together: `x_i` is x with the index i, `βx` a product, n the number of elements.

An index says which element; a formula computes all, so it leaves the name and is kept beside it: sums over an
index, and whether a formula mixes two of one axis, are the parser's business (mathematics_sums). `x_1` and
names that a parameter list or definition declares keep their subscript.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ascend_ep.frontends.mathematics_text import AND, WHERE, closing, definition_length
from ascend_ep.opdef.formula_text import Token

#: Functions over an axis that a subscript may name.
OVER_INDEX = ("max", "min", "sum", "prod", "mean", "argmax", "argmin", "var", "std", "Σ", "∏")
_ALWAYS = {"i", "j"}
_OF_DECLARED = set("ijklmnt")
_INDEXED = re.compile(r"(?P<base>.+)_(?P<letters>[A-Za-z]{1,3})")


@dataclass
class Indices:
    """`letters`: for the position of a name its indices; `sizes`: for a name such as n, a tensor and the axis
    whose length it is."""

    letters: dict[int, str] = field(default_factory=dict)
    sizes: dict[str, tuple[str, int]] = field(default_factory=dict)


def read_indices(
    tokens: Sequence[Token], attributes: Collection[str], functions: Collection[str]
) -> tuple[list[Token], Indices]:
    """The tokens with names taken apart, and what their indices were."""
    parameters, defined = _declared(tokens)
    reader = _Names(parameters | set(attributes), defined, functions, _summed_over(tokens))
    found: list[Token] = []
    for token in tokens:
        found += reader.resolved(token) if token.kind == "name" else [token]
    indices = Indices(reader.letters)
    indices.sizes = _sizes(found, indices.letters, reader.parameters | reader.defined)
    return found, indices


def _declared(tokens: Sequence[Token]) -> tuple[set[str], set[str]]:
    """The parameters of all heads, and the names that they define."""
    parameters: set[str] = set()
    defined: set[str] = set()
    for i, token in enumerate(tokens):
        if token.kind != "name" or not (i == 0 or _separates(tokens[i - 1])):
            continue
        if i and not definition_length(tokens, i):
            continue
        defined.add(token.text)
        if i + 1 < len(tokens) and tokens[i + 1].text == "(":
            for j in range(i + 1, closing(tokens, i + 1)):
                if tokens[j].text in ("(", ",") and tokens[j + 1].kind == "name":
                    parameters.add(tokens[j + 1].text)
    return parameters, defined


def _separates(token: Token) -> bool:
    return token.kind == "end" or token.text in (",", ":", *WHERE, *AND)


def _summed_over(tokens: Sequence[Token]) -> set[str]:
    """The letters that sums go over, and those of the definition's own head: y_k = ..."""
    letters = set()
    for before, sign, _, name in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if before.text in OVER_INDEX and sign.text == "_" and name.kind == "name":
            letters |= set(name.text)
    for i, token in enumerate(tokens[:-1]):
        match = _INDEXED.fullmatch(token.text)
        if match and (i == 0 or _separates(tokens[i - 1])) and tokens[i + 1].text == "=":
            letters |= set(match["letters"]) & _OF_DECLARED
    return letters


class _Names:
    """What the names of one text are."""

    def __init__(
        self, parameters: set[str], defined: set[str], functions: Collection[str], summed: set[str]
    ) -> None:
        self.parameters, self.defined, self.functions = parameters, defined, functions
        self.summed = summed
        self.letters: dict[int, str] = {}

    def known(self, name: str) -> bool:
        return name in self.parameters or name in self.defined or name in self.functions

    def resolved(self, token: Token) -> list[Token]:
        """The tokens that a name stands for."""
        text = token.text
        match = _INDEXED.fullmatch(text)
        if text in self.parameters or text in self.functions:
            return [token]
        if match and match["base"] in (*OVER_INDEX, "log") and len(match["letters"]) == 1:
            return self.over(token, match["base"], match["letters"])
        if text[:4] == "log_" and text[4:].isdecimal():
            base = [Token("number", text[4:], token.at + 4)]
            return [Token("name", "log", token.at), *_limits(base, token.at + 3)]
        if match and self.is_index(text, match["base"], set(match["letters"])):
            parts = self.product(Token("name", match["base"], token.at))
            self.letters[parts[-1].at] = match["letters"]
            return parts
        return [token] if self.known(text) else self.product(token)

    def over(self, token: Token, base: str, letters: str) -> list[Token]:
        """max_j: a function over an index."""
        self.summed |= set(letters)
        at = token.at + len(base)
        inner = [Token("name", letters, at + 1)]
        return [Token("name", base, token.at), *_limits(inner, at)]

    def is_index(self, text: str, base: str, letters: set[str]) -> bool:
        if text in self.defined and (base in self.defined or base in self.parameters):
            return False
        usual = _ALWAYS | self.summed
        declared = base in self.parameters or base in self.defined
        return letters <= usual or (letters <= _OF_DECLARED and declared and text not in self.defined)

    def product(self, token: Token) -> list[Token]:
        """`βx` as β and x: where letters of two scripts meet, or each letter is a parameter."""
        text = token.text
        if self.known(text) or not text.isalpha():
            return [token]
        letters = set(text)
        if 1 < len(text) == len(letters) and letters <= self.parameters | self.defined:
            return [Token("name", c, token.at + i) for i, c in enumerate(text)]
        starts = [i for i in range(len(text)) if i == 0 or _is_greek(text[i]) != _is_greek(text[i - 1])]
        ends = [*starts[1:], len(text)]
        return [Token("name", text[a:b], token.at + a) for a, b in zip(starts, ends, strict=True)]


def _is_greek(character: str) -> bool:
    return unicodedata.name(character, "").startswith("GREEK")


def _limits(inner: Sequence[Token], at: int) -> list[Token]:
    opening = [Token("sign", "_", at), Token("sign", "(", at)]
    return [*opening, *inner, Token("sign", ")", at + 1)]


def _sizes(
    tokens: Sequence[Token], letters: Mapping[int, str], declared: Collection[str]
) -> dict[str, tuple[str, int]]:
    """n of Σ_{i=1}^{n} x_i, unless the text says what n is."""
    sizes: dict[str, tuple[str, int]] = {}
    for i, token in enumerate(tokens):
        if token.text not in OVER_INDEX:
            continue
        lower, upper, after = sum_limits(tokens, i + 1)
        if len(lower) < 2 or not upper or upper[0].kind != "name" or upper[0].text in declared:
            continue
        for summed in tokens[after:]:
            indices = letters.get(summed.at, "")
            if lower[0].text in indices and summed.kind == "name":
                sizes.setdefault(upper[0].text, (summed.text, indices.index(lower[0].text) - len(indices)))
                break
    return sizes


def sum_limits(tokens: Sequence[Token], i: int) -> tuple[Sequence[Token], Sequence[Token], int]:
    """What stands below and above a sum sign, from the token after it on, and where that ends."""
    found: dict[str, Sequence[Token]] = {"_": (), "^": ()}
    while i + 1 < len(tokens) and tokens[i].text in found and tokens[i].kind == "sign":
        end = closing(tokens, i + 1) if tokens[i + 1].text == "(" else i + 1
        found[tokens[i].text] = tokens[i + 2 : end] if end > i + 1 else tokens[i + 1 : i + 2]
        i = end + 1
    return found["_"], found["^"], i
