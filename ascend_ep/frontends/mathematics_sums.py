"""Sums, products and extremes over an index (`Σ x_i²`, `Σ_{k=1}^{5} x^k`, `max_j x_j`), and norms.

A sum over an index is over the axis that the index has in the names: the last of x_ij is j. Without an index
it is over the last axis. Limits that are numbers make a series, one term for each. Two indices on one axis,
as in x_i·y_j, would be an outer product, which is no elementwise operation: they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ascend_ep.errors import AscendError
from ascend_ep.frontends.mathematics_indices import Indices, sum_limits
from ascend_ep.frontends.mathematics_products import ProductParser
from ascend_ep.frontends.mathematics_text import closing
from ascend_ep.opdef.expression import Index
from ascend_ep.opdef.formula_nodes import Value
from ascend_ep.opdef.formula_text import Token

MAX_TERMS = 64
#: Stands for an index that was summed over: it fills its axis and agrees with every other.
_SUMMED = "·"
_OPERATIONS = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class SumParser(ProductParser):
    """Reads sums with their indices; `indexed` are the names with indices since the formula began."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.indices = Indices()
        self.indexed: list[tuple[Token, str]] = []
        self.bound: dict[str, Value] = {}
        self.no_norm: set[int] = set()

    def note_index(self, token: Token) -> None:
        letters = self.indices.letters.get(token.at, "")
        if letters:
            self.indexed.append((token, letters))

    def check_indices(self, start: int) -> None:
        """Of the names since `start`, those with an index on one axis have the same there."""
        seen: dict[int, str] = {}
        for token, letters in self.indexed[start:]:
            for i, letter in enumerate(letters):
                if letter == _SUMMED:
                    continue
                other = seen.setdefault(i - len(letters), letter)
                if other != letter:
                    self.mixed(token, letter, other)

    def mixed(self, token: Token, letter: str, other: str) -> NoReturn:
        reason = f"{token.text[:40]} has the index {letter} where another has {other}"
        fix = "Names of one axis have one index; a product over two indices is no elementwise operation."
        self.fail("E42001", "formula", reason, at=token.at, fix=fix)

    def size_named(self, token: Token) -> Value:
        """n: the length of the axis that a sum goes over."""
        name, axis = self.indices.sizes[token.text]
        like = self.numeric(self.name(Token("name", name, token.at)))
        return self.build(Index(like.node, axis, True), "number", token.at, [like])

    # -- sums --

    def over_index(self, op: str, token: Token) -> Value:
        """After a sum sign or the name of a function over an axis: its limits and what it goes over."""
        lower, upper, after = sum_limits(self.tokens, self.at)
        if not lower and upper and op in ("sum", "prod"):
            self.fail("E42001", "formula", "a sum has its index below", at=upper[0].at)
        if not lower:
            return self.summed(op, "", token)
        self.at = after
        if any(t.kind != "name" and t.text != "," for t in lower[:1]):
            self.fail("E42001", "formula", "below a sum stands its index", at=lower[0].at)
        if len(lower) == 1 or all(t.kind == "name" or t.text == "," for t in lower):
            if upper:
                self.fail("E42001", "formula", "below a sum with an upper limit stands i = 1", at=lower[0].at)
            return self.summed(op, "".join(t.text for t in lower if t.kind == "name"), token)
        first = _number(lower[2:]) if lower[1].text == "=" else None
        last = _number(upper)
        if first is None or not upper:
            self.fail("E42001", "formula", "the limits of a sum are i = 1 and a last number", at=lower[0].at)
        if last is not None:
            return self.series(op, lower[0], range(first, last + 1), token)
        spelled = [t.text for t in upper]
        whole = [spelled[0]] if first == 1 else [spelled[0], "-", "1"]
        if spelled[0] not in self.indices.sizes or first not in (0, 1) or spelled != whole:
            said = f"{lower[0].text} from {first} to {' '.join(spelled)}"
            reason = f"the sum doesn't go over a whole axis: {said}"
            fix = "Leave the limits out, or write numbers: Σ_{k=1}^{5}."
            self.fail("E42001", "formula", reason, at=upper[0].at, fix=fix)
        return self.summed(op, lower[0].text, token)

    def summed(self, op: str, letters: str, token: Token) -> Value:
        """The reduction of what follows over the axes of these indices."""
        start = len(self.indexed)
        value = self.nested(lambda: self.body(op, bool(letters)), token)
        if not letters:
            return self.reduced(op, value, self.last_index(start), start, token)
        for letter in reversed(letters):
            value = self.reduced(op, value, letter, start, token)
        return value

    def body(self, op: str, has_index: bool) -> Value:
        """A sum goes over the next product, which brackets may end; other functions over the next value."""
        if self.token.text == "(":
            after = self.tokens[min(closing(self.tokens, self.at) + 1, len(self.tokens) - 1)]
            goes_on = after.text == "^" or self.begins_factor(after) or (has_index and after.text in "*/")
            if not goes_on or op not in ("sum", "prod", "mean"):
                return self.atom()
        return self.binary(6) if op in ("sum", "prod", "mean") else self.bare_argument()

    def last_index(self, start: int) -> str:
        """The index that every name has on its last axis, or "": of a sum that names none."""
        self.check_indices(start)
        return next((letters[-1] for _, letters in self.indexed[start:] if letters[-1] != _SUMMED), "")

    def reduced(self, op: str, value: Value, letter: str, start: int, token: Token) -> Value:
        entries = self.indexed[start:]
        named = [letters for _, letters in entries if letter and letter in letters]
        axes = {letters.index(letter) - len(letters) for letters in named}
        if entries and letter and not axes:
            self.fail("E42001", "formula", f"nothing here has the index {letter}", at=token.at)
        if len(axes) > 1:
            self.fail("E42001", "formula", f"the index {letter} stands for two axes", at=token.at)
        axis = axes.pop() if axes else -1
        for name, letters in entries if letter else []:
            if len(letters) >= -axis and letters[axis] not in (letter, _SUMMED):
                self.mixed(name, letters[axis], letter)
        self.indexed[start:] = [(n, ls.replace(letter, _SUMMED) if letter else ls) for n, ls in entries]
        return self.reduction(op, value, (axis,), token.at)

    def series(self, op: str, index: Token, terms: range, token: Token) -> Value:
        """One term for each number."""
        if op not in _OPERATIONS or not 0 < len(terms) <= MAX_TERMS:
            reason = f"a series has 1 to {MAX_TERMS} terms and is a sum, product, max or min"
            self.fail("E42001", "formula", reason, at=index.at)
        outer, at, start = self.bound, self.at, len(self.indexed)
        result: Value | None = None
        for number in terms:
            self.at = at
            self.bound = {**outer, index.text: self.constant(float(number), index.at)}
            term = self.nested(lambda: self.body(op, True), token)
            result = term if result is None else self.apply(_OPERATIONS[op], [result, term], token.at)
        picked = [n for n, letters in self.indexed[start:] if index.text in letters]
        if picked:
            reason = f"single elements of {picked[0].text[:40]} can't be picked"
            self.fail("E42001", "formula", reason, at=picked[0].at, fix="Sum over the whole axis: Σ x_i.")
        self.bound = outer
        assert result is not None
        return result

    # -- absolute values and norms --

    def bar(self, token: Token) -> Value:
        """|x|, or ||x||: a norm where that can be read."""
        double = self.token.text == "|" and (self.is_latex or self.token.at == token.at + 1)
        if double and token.at not in self.no_norm:
            kept = self.at, len(self.lets), dict(self.locals), len(self.indexed), self.depth, self.bars
            try:
                self.next()
                return self.norm(token, "||")
            except AscendError:
                self.no_norm.add(token.at)
                self.at, lets, self.locals, indexed, self.depth, self.bars = kept
                del self.lets[lets:], self.indexed[indexed:]
        value = self.between_bars(token, "|")
        if self.token.text == "_":
            self.fail("E42001", "formula", "a norm has two bars on each side", at=self.token.at, fix="‖x‖₂")
        return self.apply("abs", [value], token.at)

    def between_bars(self, token: Token, close: str) -> Value:
        self.bars += 1
        value = self.nested(self.expression, token)
        self.bars -= 1
        self.expect(close[0])
        if len(close) > 1:
            self.expect(close[1])
        return value

    def norm(self, token: Token, close: str) -> Value:
        """‖x‖ over the last axis, of the order below it: 2 unless it says 1, ∞ or another number."""
        x = self.shared(self.numeric(self.between_bars(token, close)))
        at = token.at
        order = 2.0
        if self.token.text == "_":
            end = closing(self.tokens, self.at + 1)
            lower = self.tokens[self.at + 2 : end]
            self.at = end + 1
            order = float("inf") if [t.text for t in lower] == ["inf"] else float(_number(lower) or 0)
        if order == float("inf"):
            return self.reduction("max", self.apply("abs", [x], at), (-1,), at)
        if order < 1:
            self.fail("E42001", "formula", "a norm has the order 1, 2, another number, or ∞", at=at)
        if order == 2:
            squares = self.reduction("sum", self.apply("mul", [x, x], at), (-1,), at)
            return self.apply("sqrt", [squares], at)
        powers = self.apply("abs", [x], at)
        if order == 1:
            return self.reduction("sum", powers, (-1,), at)
        powers = self.apply("pow", [powers, self.constant(order, at)], at)
        total = self.reduction("sum", powers, (-1,), at)
        return self.apply("pow", [total, self.constant(1 / order, at)], at)


def _number(tokens: Sequence[Token]) -> int | None:
    """The whole number that the tokens are."""
    texts = [t.text for t in tokens]
    sign = -1 if texts[:1] == ["-"] else 1
    digits = "".join(texts[1:] if sign < 0 else texts)
    return sign * int(digits) if digits.isdecimal() and len(digits) < 6 else None
