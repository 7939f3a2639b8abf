"""asc_compile COMPILER FLAG...: one compilation of build files, done for each kind of core that the source
asks for, and of text that the compiler reads. What asks for neither is left to the compiler as it stands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.cli.command import command
from ascend_ep.errors import AscendError

WRONG_USAGE = 2
_SUFFIXES = (".cpp", ".cc", ".cxx", ".C", ".asc", ".cce")
_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")
#: Flags whose value is the next word; some may have it in the same one.
_WITH_VALUE = re.compile(
    r"-[oxDULlBTuzAI]|-M[FTQJ]|-X(?:preprocessor|assembler|linker|clang)|--param|--sysroot|-target|-arch|-aux-info"
    r"|-dumpbase|-dumpdir|-wrapper|-include|-imacros|-imultilib|-isysroot|-iprefix|-iwithprefix(?:before)?"
    r"|-isystem|-iquote|-idirafter"
)
#: What says which list of included files is made.
_LISTED = ("-MD", "-MMD", "-MF", "-MT", "-MQ", "-MP", "-MG")
#: Response files within response files.
_NESTED = 10
#: Commands with these make no object.
_OTHERS = ("-E", "-S", "-M", "-MM", "-fsyntax-only", "-###")


@dataclass(frozen=True)
class Compilation:
    """One source's. flags: but for its result and language; listed: those of the list of included files."""

    compiler: list[str]
    source: str
    target: Path
    flags: list[str]
    listed: list[str]

    @property
    def words(self) -> list[str]:
        return [*self.compiler, "-c", self.source, *self.flags, *self.listed]


@command("asc_compile")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status; a compiler that is left alone takes its place."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0].startswith(("-", "@")):
        print("usage: asc_compile COMPILER FLAG...", file=sys.stderr)
        return WRONG_USAGE
    one = compilation(expanded(words))
    if one is None or shutil.which(words[0]) is None:
        return _compiler(words)
    from ascend_ep.codegen.header_text import HEADERS
    from ascend_ep.opbuild.ascendc.cpp import asks_for_more, compile_for_cores, sources_of

    text = "".join(
        f'#include "{name}"\n' for name in [*_included(one.flags), str(Path(one.source).resolve())]
    )
    own = HEADERS.resolve()
    folders = own_folders(one.flags)
    sources = [p for p in sources_of(text, folders) if not p.is_relative_to(own)]
    if not asks_for_more(text, sources):
        return _compiler(words)
    with tempfile.TemporaryDirectory(prefix="asc-compile-") as work:
        made = Path(work) / "made.o"
        said = compile_for_cores(one.words, text, sources, made, Path(work))
        with atomic_file.replacing(one.target) as file:
            file.write(made.read_bytes())
    sys.stderr.write(said)
    return 0


def compilation(words: Sequence[str]) -> Compilation | None:
    """The compilation of C++ that a command line is, None where it is another command."""
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    pairs = list(paired(words[first:]))
    plain = [word for word, value in pairs if value is None]
    named = [w for w in plain if w.endswith(_SUFFIXES) and not w.startswith("-") and Path(w).is_file()]
    languages = {v or w[2:] for w, v in pairs if w == "-x" or (w.startswith("-x") and w != "-x")}
    if (
        "-c" not in plain
        or "-o" in plain
        or set(plain) & set(_OTHERS)
        or len(named) != 1
        or languages - {"c++"}
    ):
        return None
    results = [v or w[2:] for w, v in pairs if w.startswith("-o")]
    target = Path(results[-1] if results else f"{Path(named[0]).stem}.o")
    flags: list[str] = []
    for word, value in pairs:
        if word in ("-c", named[0], *_LISTED) or word.startswith(("-o", "-x", "-Wp,-M")):
            continue
        flags += [word] if value is None else [word, value]
    return Compilation(list(words[:first]), named[0], target, flags, _listed(pairs, target))


def expanded(words: Sequence[str], depth: int = 0) -> list[str]:
    """The command line with what its response files (@file) say; one that can't be read is the compiler's."""
    made: list[str] = []
    for word in words:
        inner: list[str] | None = None
        if word.startswith("@") and depth < _NESTED:
            with suppress(OSError, ValueError):
                inner = shlex.split(Path(word[1:]).read_text(encoding="utf-8", errors="surrogateescape"))
        made += [word] if inner is None else expanded(inner, depth + 1)
    return made


def paired(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each word with the next one where that is its value; `-MFfile` as two."""
    at = 0
    while at < len(words):
        if len(words[at]) > 3 and words[at].startswith(("-MF", "-MT", "-MQ")):
            yield words[at][:3], words[at][3:]
            at += 1
            continue
        has_value = _WITH_VALUE.fullmatch(words[at]) is not None and at + 1 < len(words)
        yield words[at], words[at + 1] if has_value else None
        at += 1 + has_value


def _listed(pairs: Sequence[tuple[str, str | None]], target: Path) -> list[str]:
    """Flags of the list of included files, with its name and that of its rule, by default the result's."""
    found = list(pairs)
    for word, _ in pairs:  # -Wp,-MD,file
        if word.startswith("-Wp,-M"):
            kind, _, file = word.removeprefix("-Wp,").partition(",")
            found += [(kind, None), *([("-MF", file)] if file else [])]
    kinds = [w for w, _ in found if w in ("-MD", "-MMD")]
    if not kinds:
        return []
    file = next((v for w, v in reversed(found) if w == "-MF" and v), str(target.with_suffix(".d")))
    rules = [part for w, v in found if w in ("-MT", "-MQ") and v for part in (w, v)]
    others = [w for w, _ in found if w in ("-MP", "-MG")]
    return [kinds[-1], "-MF", file, *(rules or ["-MQ", str(target)]), *others]


def _compiler(words: list[str]) -> int:
    """The command as it stands, in the place of this program."""
    try:
        os.execvp(words[0], words)
    except OSError as error:
        fix = "CMAKE_CXX_COMPILER names it, and CMAKE_CXX_COMPILER_LAUNCHER what runs it."
        raise AscendError("E43002", words[0], str(error.strerror), fix=fix) from error


def own_folders(flags: Sequence[str]) -> list[Path]:
    """Where the command looks for included files, but for the folders of our headers."""
    from ascend_ep.codegen.header_text import HEADERS

    ours = HEADERS.resolve()
    return [f for f in _folders(flags) if not (f / "kernel_operator.h").resolve().is_relative_to(ours)]


def _folders(flags: Sequence[str]) -> list[Path]:
    found = []
    for word, value in paired(flags):
        for flag in _FOLDERS:
            if word.startswith(flag):
                found.append(value or word[len(flag) :])
    return [Path(f) for f in found if f]


def _included(flags: Sequence[str]) -> list[str]:
    """Files that the command includes before the source."""
    names = [value for word, value in paired(flags) if word in ("-include", "-imacros") and value]
    return [str(Path(name).resolve()) if Path(name).is_file() else name for name in names]


if __name__ == "__main__":
    sys.exit(main())
