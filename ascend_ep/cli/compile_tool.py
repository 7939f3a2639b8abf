"""asc_compile COMPILER FLAG...: one compilation of build files, done for each kind of core that the source
asks for, and of text that the compiler reads. What asks for neither is left to the compiler as it stands."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.cli.command import command
from ascend_ep.errors import AscendError

WRONG_USAGE = 2
_SUFFIXES = (".cpp", ".cc", ".cxx", ".asc", ".cce")
_FOLDERS = ("-I", "-isystem", "-iquote")


@command("asc_compile")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status; a compiler that is left alone takes its place."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        print("usage: asc_compile COMPILER FLAG...", file=sys.stderr)
        return WRONG_USAGE
    source = next((w for w in reversed(words) if w.endswith(_SUFFIXES) and Path(w).is_file()), None)
    if source is None or "-c" not in words or "-o" not in words[:-1]:
        return _compiler(words)
    from ascend_ep.codegen.header_text import HEADERS
    from ascend_ep.opbuild.ascendc.cpp import asks_for_more, compile_for_cores, sources_of

    text = f'#include "{Path(source).resolve()}"\n'
    own = HEADERS.resolve()
    folders = [f for f in _folders(words) if not (f / "kernel_operator.h").resolve().is_relative_to(own)]
    sources = [p for p in sources_of(text, folders) if not p.is_relative_to(own)]
    if not asks_for_more(text, sources):
        return _compiler(words)
    target = Path(words[words.index("-o") + 1])
    with tempfile.TemporaryDirectory(prefix="asc_compile-") as work:
        made = Path(work) / "made.o"
        compile_for_cores(_in_order(words, source, target), text, sources, made, Path(work))
        atomic_file.copy(made, target)
    return 0


def _compiler(words: list[str]) -> int:
    """The command as it stands, in the place of this program."""
    try:
        os.execvp(words[0], words)
    except OSError as error:
        fix = "CMAKE_CXX_COMPILER names it, and CMAKE_CXX_COMPILER_LAUNCHER what runs it."
        raise AscendError("E43002", words[0], str(error.strerror), fix=fix) from error


def _folders(words: Sequence[str]) -> list[Path]:
    """Where the command looks for included files."""
    found = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        for flag in _FOLDERS:
            if word == flag:
                found.append(following)
            elif word.startswith(flag):
                found.append(word[len(flag) :])
    return [Path(f) for f in found if f]


def _in_order(words: Sequence[str], source: str, target: Path) -> list[str]:
    """The command as compiler, -c, file and flags, without its result."""
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    at = words.index("-o")
    flags = [
        w for i, w in enumerate(words) if i >= first and w not in ("-c", source) and i not in (at, at + 1)
    ]
    named = any(w in ("-MT", "-MQ") for w in flags)
    depends = any(w in ("-MD", "-MMD") for w in flags)
    return [*words[:first], "-c", source, *flags, *(["-MT", str(target)] if depends and not named else [])]


if __name__ == "__main__":
    sys.exit(main())
