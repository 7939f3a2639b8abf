"""The text of pseudo-code as a syntax tree, with positions; nothing in it is ever executed."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from typing import NoReturn

from ascend_ep.errors import AscendError
from ascend_ep.opdef.formula_nodes import Names, NodeBuilder
from ascend_ep.opdef.formula_text import Token

_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_DEFINITION = re.compile(r"^[ \t]*(async[ \t]+)?def\b", re.MULTILINE)
_TOP_LEVEL = ("def ", "import ", "from ", "@", "class ", "async ")


def contains_definition(text: str) -> bool:
    """Whether the text has a line that begins a Python function."""
    return _DEFINITION.search(text) is not None


def code_of(text: str) -> str:
    """The code in a text: the first fenced block with a function if there is one, else all of it."""
    blocks = [m[1] for m in _FENCE.finditer(text)]
    chosen = next((b for b in blocks if contains_definition(b)), None)
    return _indented(textwrap.dedent(chosen if chosen is not None else text).strip("\n"))


def without_code(text: str) -> str:
    """What is said around the code: outside of fenced blocks, or in its comments."""
    if any(contains_definition(m[1]) for m in _FENCE.finditer(text)):
        return _FENCE.sub("\n", text)
    return "\n".join(line.partition("#")[2] for line in text.split("\n"))


def _indented(text: str) -> str:
    """Gives a body its indentation back when the line after `def ...:` has lost it."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith("def ") and line.rstrip().endswith(":")]
    lost = any(i + 1 < len(lines) and lines[i + 1][:1] not in (" ", "\t", "", "\r") for i in starts)
    if not lost:
        return text
    inside = False
    result = []
    for line in lines:
        top = line.startswith(_TOP_LEVEL)
        result.append(line if top or not inside else "    " + line)
        inside = inside or line.startswith("def ")
    return "\n".join(result)


class CodeReader(NodeBuilder):
    """Builds nodes from a syntax tree; errors name the line and put a caret below the column."""

    def __init__(self, text: str, where: str) -> None:
        super().__init__(code_of(text), Names({}, {}, ()), where)
        self.text = code_of(text)
        self.starts = [0]
        for line in self.text.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.tree = self.parse()

    def tokenize(self) -> list[Token]:
        return [Token("end", "", len(self.text))]

    def parse(self) -> ast.Module:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.text)
        except SyntaxError as error:
            line = min(max(error.lineno or 1, 1), len(self.starts) - 1)
            at = min(self.starts[line - 1] + max((error.offset or 1) - 1, 0), len(self.text))
            self.fail("E42001", "pseudo-code", error.msg, at=at)
        except ValueError as error:
            raise AscendError("E42001", "pseudo-code", error, where=self.where) from None
        except (RecursionError, MemoryError):
            self.fail("E42004", "pseudo-code", "it is nested too deeply", at=self.longest_line())

    def longest_line(self) -> int:
        """Where the longest line begins: the parser doesn't say what was too deep."""
        lines = self.text.split("\n")
        at = max(range(len(lines)), key=lambda i: len(lines[i]))
        return self.starts[at] + len(lines[at]) - len(lines[at].lstrip())

    def position(self, node: ast.AST) -> int:
        """The position of a node in the text."""
        line = getattr(node, "lineno", 1)
        start = self.starts[min(line, len(self.starts) - 1) - 1]
        encoded = self.text[start:].split("\n")[0].encode()
        return start + len(encoded[: getattr(node, "col_offset", 0)].decode(errors="ignore"))

    def place(self, at: int) -> str:
        return f"{self.where} line {self.text.count(chr(10), 0, at) + 1}".strip()

    def refuse(self, node: ast.AST, reason: str, fix: str | None = None) -> NoReturn:
        """Raises E42101 at a node."""
        self.fail("E42101", reason, at=self.position(node), fix=fix)
