"""aclc and aclc++: the compilers that build scripts of articles take from a toolkit's `bin`.

CANN's own is bisheng. Files are told apart by their text: kernels, and what launches them by <<<...>>>, are
compiled as bisheng does it, the rest by the host's compiler.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ascend_ep.cli import bisheng
from ascend_ep.cli.command import command
from ascend_ep.cli.compile_tool import expanded
from ascend_ep.errors import AscendError

_OF_DEVICE = re.compile(r"\b__global__\b|\b__aicore__\b|<<<[^;]*>>>\s*\(")
_CPP = (".cpp", ".cc", ".cxx", ".asc")


@command("aclc")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line, behind the language (c or c++), and returns its exit status."""
    language, *words = sys.argv[1:] if arguments is None else arguments
    for variable in ("CC", "CXX"):  # CMake puts itself there what it was told to compile by
        if Path(os.environ.get(variable, "")).name in ("aclc", "aclc++"):
            del os.environ[variable]
    if language == "c":
        return _compile_c(words)
    return bisheng.main(list(_marked(expanded(words))))


def _marked(words: Sequence[str]) -> Iterator[str]:
    """The words, with `-x asc` before a source that has something of the device."""
    for before, word in zip(("", *words), words, strict=False):
        path = Path(word)
        is_source = not word.startswith("-") and before != "-o" and path.suffix in _CPP and path.is_file()
        if is_source and _OF_DEVICE.search(path.read_text(encoding="utf-8", errors="replace")):
            yield from ("-x", "asc", word, "-x", "none")
        else:
            yield word


def _compile_c(words: Sequence[str]) -> int:
    from ascend_ep.codegen.compilers import find_compiler

    compiler = find_compiler()
    try:
        os.execvp(compiler.command[0], [*compiler.command, *bisheng.includes(), *words])
    except OSError as error:
        fix = "$CC names the compiler."
        raise AscendError("E43002", compiler.command[0], str(error.strerror), fix=fix) from error


if __name__ == "__main__":
    sys.exit(main())
