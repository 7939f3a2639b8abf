"""Products without a sign: `0.5x`, `2π(x + 1)`, `x σ(x)`; and functions without brackets: `tanh x`, `sin² x`.

Of two matrices, which capital letters name, it is the matrix product: `softmax(QKᵀ/√d)V`. What could be read
in two ways is refused: `1/2x`, `e^2x`, `√2x`, `ln x/y`, `Wx`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NoReturn

from ascend_ep.frontends.mathematics_text import closing
from ascend_ep.opdef.expression import (
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Reduce,
    children,
    walk,
)
from ascend_ep.opdef.formula import FormulaParser
from ascend_ep.opdef.formula_nodes import Options, Value
from ascend_ep.opdef.formula_text import Token

#: Signs that begin a value and no operation: ln Σ x is ln(Σ x).
BEGIN_VALUES = ("Σ", "∏", "√", "|", "‖")
_IMPLICIT = ("beside", 6)
_WORDS = ("if", "else", "and", "or", "not", "otherwise", "for", "true", "false", "True", "False")


class ProductParser(FormulaParser):
    """Formula text in which values may stand beside each other."""

    #: How many signs of absolute values and norms are open: the next one closes.
    bars = 0
    is_latex = False
    #: Whether every unknown name is an input: then words in a row are no products.
    has_free_names = False

    def is_value(self, token: Token) -> bool:
        """Whether a name is a value that is known here."""
        raise NotImplementedError

    def is_function(self, name: str) -> bool:
        """Whether a name is a function that is known here."""
        raise NotImplementedError

    # -- products --

    def infix(self) -> tuple[str, int] | None:
        if self.token.kind == "implicit":
            return _IMPLICIT
        known = super().infix()
        if known is None and self.at and self.begins_factor(self.token):
            self.check_one_reading()
            self.tokens.insert(self.at, Token("implicit", "*", self.token.at))
            return _IMPLICIT
        return known

    def begins_factor(self, token: Token) -> bool:
        if token.kind == "name":
            if self.has_free_names and any(self.is_free_word(t) for t in (self.tokens[self.at - 1], token)):
                return False
            return token.text not in _WORDS and (self.is_value(token) or self.is_function(token.text))
        if token.kind != "sign":
            return False
        return token.text in ("(", "√", "Σ", "∏") or (token.text in ("|", "‖") and not self.bars)

    def is_free_word(self, token: Token) -> bool:
        return (
            token.kind == "name"
            and len(token.text.partition("_")[0]) > 2
            and not self.is_function(token.text)
        )

    def check_one_reading(self) -> None:
        """Refuses a product without sign after what it may or may not belong to."""
        token, last = self.token, self.tokens[self.at - 1]
        touches = last.at + len(last.text) == token.at and last.kind in ("name", "number")
        operations = list(self.operations_before(self.at - 1))
        for operation in operations:
            if operation.text in ("/", "//", "%"):
                self.two_readings(operation.at, f"what {operation.text} divides by isn't clear")
        if not operations or not touches:
            return
        at_once = operations[0].at == last.at  # x², not x^2
        if operations[0].text == "^" and not self.is_latex and not at_once:
            self.two_readings(operations[0].at, "where the exponent ends isn't clear")
        if operations[0].text == "√":
            self.two_readings(operations[0].at, "where the root ends isn't clear")

    def operations_before(self, i: int) -> Iterator[Token]:
        """The signs before the value that ends at token i: of its exponents and roots, then the next one."""
        start = self.beginning(i)
        while start > 0:
            before = self.tokens[start - 1]
            if before.text == "-" and start >= 2 and self.tokens[start - 2].text == "^":
                start -= 1
                continue
            if before.kind in ("sign", "implicit"):
                yield before
            if before.text == "^" and start >= 2:
                start = self.beginning(start - 2)
            elif before.text == "√":
                start -= 1
            else:
                return

    def beginning(self, i: int) -> int:
        """Where the value that ends at token i begins: its bracket or bar, or a function's name before it."""
        text = self.tokens[i].text
        if text in ("|", "‖"):
            return next((j for j in range(i - 1, -1, -1) if self.tokens[j].text == text), 0)
        if text != ")":
            return i
        start = next((j for j in range(i - 1, -1, -1) if closing(self.tokens, j) == i), 0)
        return start - 1 if start and self.tokens[start - 1].kind == "name" else start

    def two_readings(self, at: int, reason: str) -> NoReturn:
        fix = "Write the product with * and brackets: 1/(2*x), e^(2*x), √(2*x)."
        self.fail("E42001", "formula", reason, at=at, fix=fix)

    def number(self, token: Token) -> float:
        if self.token.kind == "name":  # 0.5x
            return float(token.text) if math.isfinite(float(token.text)) else super().number(token)
        return super().number(token)

    def beside(self, a: Value, b: Value, at: int) -> Value:
        """The product of values beside each other."""
        matrices = [self.is_matrix(v.node) for v in (a, b)]
        if all(matrices):
            return self.matmul(a, b, at)
        for value, is_matrix in zip((b, a), matrices, strict=True):
            if is_matrix and any(isinstance(n, Input) for n in walk(value.node)):
                reason = "whether this is a matrix product isn't clear"
                self.fail("E42001", "formula", reason, at=at, fix="Write a @ b, or a * b element by element.")
        return super().apply("mul", [a, b], at)

    def is_matrix(self, node: Expression) -> bool:
        """Whether it is made of inputs that capital letters name, element by element or as matrices."""
        if isinstance(node, Input):
            return node.name[0].isupper()
        if isinstance(node, Local):
            return any(self.is_matrix(value) for name, value in self.lets if name == node.name)
        if isinstance(node, Reduce | Index | Constant):
            return False
        return any(map(self.is_matrix, children(node)))

    # -- functions without brackets --

    def function_without_brackets(self, token: Token) -> Value:
        """`tanh x`, `sin² x`, `log_2 x`: the argument ends before the next sign or function."""
        token = self.with_base(token)
        power = self.function_power(token)
        if self.token.text == "(":
            value = self.call(token)
        elif self.begins_factor(self.token) or self.token.kind == "number":
            argument = self.nested(self.bare_argument, token)
            value = self.function(self.function_name(token), [argument], Options(), token)
        else:
            fix = f"Write {token.text[:40]}(...)."
            self.fail("E42001", "formula", f"{token.text[:40]} is a function", at=token.at, fix=fix)
        return value if power is None else self.apply("pow", [value, power], token.at)

    def function_name(self, token: Token) -> str:
        return token.text

    def with_base(self, token: Token) -> Token:
        """log with the base 2 or 10 below it."""
        texts = [t.text for t in self.tokens[self.at : self.at + 4]]
        if token.text == "log" and texts[:2] == ["_", "("]:
            if texts[2:] not in (["2", ")"], ["10", ")"]):
                self.fail("E42001", "formula", "logarithms have the base e, 2 or 10", at=token.at)
            self.at += 4
            return Token("name", "log" + texts[2], token.at)
        return token

    def function_power(self, token: Token) -> Value | None:
        """The 2 of sin²x; -1 could mean the inverse or 1/sin."""
        if not self.take("^"):
            return None
        at = self.token.at
        power = None if self.token.text == "-" else self.nested(self.atom, token)
        if power is None or not isinstance(power.node, Constant) or power.kind != "number":
            reason = f"a power of {token.text[:40]} is a positive number"
            self.fail("E42001", "formula", reason, at=at, fix=f"Write {token.text[:40]}(x)^...")
        return power

    def bare_argument(self) -> Value:
        value = self.binary(8)
        while self.infix() == _IMPLICIT and self.token.kind == "implicit":
            if self.following.text == "(":
                self.two_readings(self.following.at, "where the argument ends isn't clear")
            if self.is_function(self.following.text):
                break
            token = self.next()
            value = self.apply("beside", [value, self.binary(8)], token.at)
        if self.token.text in ("/", "//", "%"):
            self.two_readings(self.token.at, "where the argument ends isn't clear")
        return value
