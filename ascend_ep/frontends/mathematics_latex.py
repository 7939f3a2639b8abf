"""LaTeX and unicode notation in the tokens of mathematics: commands, groups, exponents and subscripts.

`\\frac{a}{b}` becomes ((a)/(b)), `x^{2}` x^(2), `\\begin{cases}` the cases in braces, `\\beta` β, `½` (1/2).
A subscript is part of its name (`x_{ij}` is x_ij) or, after a sum sign, function or norm, `_ ( ... )`.
Commands that only place things (`\\left`, `\\,`) leave nothing. Positions stay those of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import NoReturn

from ascend_ep.errors import did_you_mean
from ascend_ep.frontends import mathematics_commands as commands
from ascend_ep.opdef.formula_text import Token, TokenReader

MAX_GROUPS = 50
Raw = Callable[[str, int], list[Token]]
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵏᵃᵇᵀ"
_LOWERED = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ᵢⱼₖₗₘₙₜ"
_PLAIN = str.maketrans(_RAISED + _LOWERED, "0123456789+-=()nixykabT" + "0123456789+-=()ijklmnt")
#: What regular expressions of tokens exclude from names: subscripts that are digits may end a name (x₁).
RAISED, LOWERED, LOWERED_LETTERS = _RAISED, _LOWERED, "ᵢⱼₖₗₘₙₜ"
FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"

_CASE_WORDS = ("if", "otherwise", "for", "else", "when", "若", "当", "如果", "否则", "其他")
#: Names that keep a subscript apart: it is what they go over, or their base.
_WITH_LIMITS = ("max", "min", "sum", "prod", "mean", "argmax", "argmin", "log", "var", "std")


def expand(reader: TokenReader, tokens: list[Token], raw: Raw) -> list[Token]:
    """The tokens without commands and groups. `raw` reads a piece of text as tokens: (text, position)."""
    return _Expander(reader, tokens, raw).run(0, len(tokens))


def plain_script(text: str) -> str:
    """Raised or lowered characters on the line."""
    return text.translate(_PLAIN)


class _Expander:
    """One pass over the tokens of a text; groups are passes of their own."""

    def __init__(self, reader: TokenReader, tokens: list[Token], raw: Raw) -> None:
        self.reader = reader
        self.tokens = tokens
        self.raw = raw
        self.is_latex = any(t.kind == "command" for t in tokens)
        self.closed, self.with_cases = _braces(tokens)
        self.replaced: dict[int, str] = {}
        self.environments: list[str] = []
        self.depth = 0
        self.at, self.stop = 0, len(tokens)
        self.out: list[Token] = []

    def fail(self, reason: str, at: int, fix: str | None = None) -> NoReturn:
        self.reader.fail("E42001", "formula", reason, at=at, fix=fix)

    def run(self, start: int, stop: int) -> list[Token]:
        """The expanded tokens from `start` to `stop`."""
        outer = self.at, self.stop, self.out
        self.depth += 1
        if self.depth > MAX_GROUPS:
            reason = f"it is nested deeper than {MAX_GROUPS}"
            self.reader.fail("E42004", "formula", reason, at=self.tokens[start - 1].at)
        self.at, self.stop, self.out = start, stop, []
        while self.at < self.stop:
            self.unit()
        found = self.out
        self.at, self.stop, self.out = outer
        self.depth -= 1
        return found

    def sign(self, text: str, at: int) -> None:
        self.out.append(Token("sign", text, at))

    def bracketed(self, tokens: Sequence[Token], at: int) -> None:
        end = tokens[-1].at + len(tokens[-1].text) if tokens else at
        self.out += [Token("sign", "(", at), *tokens, Token("sign", ")", end)]

    # -- one unit --

    def unit(self) -> None:
        """Expands the next token with what belongs to it."""
        i, token = self.at, self.tokens[self.at]
        self.at += 1
        if token.kind == "command":
            self.command(token, i)
        elif token.kind == "raised":
            self.exponent(token)
        elif token.kind == "lowered":
            self.subscript(self.read(token), token, i)
        elif token.kind == "fraction":
            above, _, below = unicodedata.normalize("NFKC", token.text).partition("\u2044")
            parts = [("number", above), ("sign", "/"), ("number", below)]
            self.bracketed([Token(k, t, token.at) for k, t in parts], token.at)
        elif token.kind == "name" and (token.text[0] == "_" or token.text[-1] == "_"):
            self.open_name(token, i)
        elif token.kind == "sign":
            self.plain_sign(token, i)
        elif token.kind == "end" and self.environments[-1:] == ["cases"] and token.text.strip(" \n") == "":
            return
        else:
            self.out.append(token)

    def read(self, token: Token) -> list[Token]:
        return self.raw(plain_script(token.text), token.at)

    def exponent(self, token: Token) -> None:
        """`²` is `^2`, `⁻¹` is `^-1`, `⁻ˣ` is `^(-x)`."""
        if token.text == "ᵀ":
            self.out += [Token("sign", "^", token.at), Token("name", "T", token.at)]
            return
        inner = self.read(token)
        signed = inner[1:] if inner and inner[0].text in "+-" else inner
        if not signed or any(t.kind not in ("number", "name") and t.text not in "+-()" for t in inner):
            self.fail(f"{token.text} is no exponent", token.at)
        self.sign("^", token.at)
        if len(signed) == 1 and signed[0].kind in ("number", "name"):
            self.out += [Token(t.kind, t.text, token.at) for t in inner]
        else:
            self.bracketed([Token(t.kind, t.text, token.at) for t in inner], token.at)

    def plain_sign(self, token: Token, i: int) -> None:
        if i in self.replaced:
            self.sign(self.replaced[i], token.at)
        elif token.text == "$":
            return
        elif token.text in ("&", "~"):
            self.tabulator(token)
        elif token.text == "^":
            self.sign("^", token.at)
            if self.at < self.stop and self.tokens[self.at].text == "{":
                self.bracketed(self.group(), token.at)
        elif token.text == "{":
            self.brace(token, i)
        else:
            self.out.append(token)

    def tabulator(self, token: Token) -> None:
        if not self.is_latex:
            self.fail(f"there is no sign {token.text!r}", token.at)
        separates = token.text == "&" and self.environments[-1:] == ["cases"]
        if separates and self.out and self.out[-1].text != ",":
            self.sign(",", token.at)

    def brace(self, token: Token, i: int) -> None:
        """`{`: arguments after a function's name, a group, or cases."""
        before = self.tokens[i - 1] if i else token
        called = before.kind in ("name", "command") and before.at + len(before.text) == token.at
        called = called and bool(self.out) and self.out[-1].kind == "name"
        if i in self.closed and (called or i not in self.with_cases):
            self.sign("(", token.at)
            self.replaced[self.closed[i]] = ")"
        else:
            self.sign("{", token.at)

    def group(self) -> list[Token]:
        """The expanded tokens of the group that begins here."""
        i = self.at
        end = self.closed.get(i)
        if end is None or end >= self.stop:
            self.fail("this { isn't closed", self.tokens[i].at)
        inside = self.run(i + 1, end)
        self.at = end + 1
        return inside

    def argument(self, command: Token) -> list[Token]:
        """What a command takes: a group, or one token, of a number one digit."""
        if self.at >= self.stop or self.tokens[self.at].text == "}":
            self.fail(f"{command.text} needs an argument in braces", command.at)
        token = self.tokens[self.at]
        if token.text == "{" and token.kind == "sign":
            return self.group()
        if token.kind == "number" and len(token.text) > 1:
            self.tokens[self.at] = Token("number", token.text[1:], token.at + 1)
            return [Token("number", token.text[0], token.at)]
        outer, self.out = self.out, []
        self.unit()
        found, self.out = self.out, outer
        return found

    # -- subscripts --

    def open_name(self, token: Token, i: int) -> None:
        """`x_` before a group or command, `_i` after a command, sign or bracket."""
        base, rest = ("", token.text[1:]) if token.text[0] == "_" else (token.text[:-1], "")
        if base:
            self.out.append(Token("name", base, token.at))
        if rest:
            kind = "number" if rest.isdecimal() else "name"
            self.subscript([Token(kind, rest, token.at + 1)], token, i)
        elif self.at < self.stop:
            self.subscript(self.argument(token), token, i + 1)
        else:
            self.fail("this subscript is empty", token.at)

    def subscript(self, inner: list[Token], token: Token, i: int) -> None:
        """Joined to a name; after anything else `_ ( ... )`."""
        before = self.out[-1] if self.out else None
        simple = all(t.kind in ("name", "number") or t.text == "," for t in inner)
        named = before is not None and before.kind == "name" and before.text not in _WITH_LIMITS
        if before is not None and named and simple and inner:
            joined = "".join(t.text for t in inner if t.text != ",")
            self.out[-1] = Token("name", f"{before.text}_{joined}", before.at)
        elif before is not None and before.text == ")" and [t.kind for t in inner] == ["name"]:
            return  # softmax(x)_i: the element, of which the formula says what it is
        else:
            self.sign("_", token.at)
            self.bracketed(inner, token.at)

    # -- commands --

    def command(self, token: Token, i: int) -> None:
        name = token.text[1:].strip()
        if i in self.replaced:
            self.sign(self.replaced[i], token.at)
        elif name in ("{", "lbrace"):
            self.brace(token, i)
        elif name in ("}", "rbrace") or name.endswith("."):
            if name in ("}", "rbrace") or i in self.closed.values():
                self.sign("}", token.at)
        elif name == "\\":
            self.out.append(Token("end", ";" if self.environments[-1:] == ["cases"] else "\n", token.at))
        elif name in commands.PLACING or token.text[1:] in commands.PLACING:
            return
        elif name in ("begin", "end"):
            self.environment(name, token)
        elif name in commands.FRACTIONS:
            above, below = self.argument(token), self.argument(token)
            outer, self.out = self.out, []
            self.bracketed(above, token.at)
            self.sign("/", token.at)
            self.bracketed(below, token.at)
            inner, self.out = self.out, outer
            self.bracketed(inner, token.at)
        elif name == "sqrt":
            self.root(token)
        else:
            self.word(name, token)

    def root(self, token: Token) -> None:
        """`\\sqrt{x}`, and `\\sqrt[3]{x}` as x^(1/3)."""
        degree: list[Token] = []
        if self.at < self.stop and self.tokens[self.at].text == "[":
            end = next((j for j in range(self.at, self.stop) if self.tokens[j].text == "]"), None)
            if end is None:
                self.fail("this [ isn't closed", self.tokens[self.at].at)
            degree = self.run(self.at + 1, end)
            self.at = end + 1
        inside = self.argument(token)
        if not degree:
            self.sign("√", token.at)
            self.bracketed(inside, token.at)
            return
        outer, self.out = self.out, []
        self.bracketed(inside, token.at)
        self.sign("^", token.at)
        one = [Token("number", "1", token.at), Token("sign", "/", token.at)]
        self.bracketed([*one, Token("sign", "(", token.at), *degree, Token("sign", ")", token.at)], token.at)
        inner, self.out = self.out, outer
        self.bracketed(inner, token.at)

    def word(self, name: str, token: Token) -> None:
        """A command that stands for a sign, a letter, a name or the style of one."""
        letter = commands.LETTERS.get(name, name)
        if name in commands.SIGNS:
            self.sign(commands.SIGNS[name], token.at)
        elif name in commands.NAMES:
            self.out.append(Token("name", commands.NAMES[name], token.at))
        elif name in commands.FUNCTION_OPENINGS:
            self.out += [
                Token("name", commands.FUNCTION_OPENINGS[name], token.at),
                Token("sign", "(", token.at),
            ]
        elif letter.lower() in commands.GREEK and letter in (letter.lower(), letter.capitalize()):
            size = "SMALL" if letter[0].islower() else "CAPITAL"
            self.out.append(
                Token("name", unicodedata.lookup(f"GREEK {size} LETTER {letter.upper()}"), token.at)
            )
        elif name in commands.STYLES:
            self.out += self.argument(token)
        elif name in commands.ACCENTS:
            inner = self.argument(token)
            if len(inner) != 1 or inner[0].kind != "name":
                self.fail(f"{token.text} takes one name", token.at)
            self.out.append(Token("name", f"{inner[0].text}_{commands.ACCENTS[name]}", token.at))
        else:
            near = did_you_mean(name, commands.COMMANDS).strip() or None
            self.fail(f"the command {token.text[:40]} isn't known", token.at, near)

    def environment(self, name: str, token: Token) -> None:
        """`\\begin{cases}` opens cases; other environments only arrange lines."""
        inner = "".join(t.text for t in self.argument(token)).rstrip("*")
        if inner not in (*commands.CASES, *commands.LINES):
            self.fail(f"the environment {inner[:40]} isn't known", token.at)
        if inner == "array" and name == "begin" and self.at < self.stop:
            self.argument(token)
        if name == "begin":
            brace = bool(self.out) and self.out[-1].text == "{"
            self.environments.append("cases" if inner in commands.CASES or brace else inner)
        elif self.environments:
            self.environments.pop()
        if inner in commands.CASES:
            self.sign("{" if name == "begin" else "}", token.at)


def _braces(tokens: Sequence[Token]) -> tuple[dict[int, int], set[int]]:
    """Where each brace closes, and which have what cases have: separators or their words."""
    closed: dict[int, int] = {}
    with_cases: set[int] = set()
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.text in ("{", "\\{", "\\lbrace") and token.kind in ("sign", "command"):
            opened.append(i)
        elif token.text in ("}", "\\}", "\\rbrace") or token.text.replace(" ", "") == "\\right.":
            if opened and (token.text == "}") == (tokens[opened[-1]].text == "{"):
                closed[opened.pop()] = i
        elif opened and (
            token.text in (",", "&", "\\\\", "\\begin") or token.kind == "end" or token.text in _CASE_WORDS
        ):
            with_cases.add(opened[-1])
    return closed, with_cases
