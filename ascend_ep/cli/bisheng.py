"""bisheng FLAG... FILE...: the command line of the device's compiler, for this CPU.

Sources of Ascend C (.asc, .cce, and any after `-x asc`) become objects that run on the CPU twin, checked; the
host's compiler does the rest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.cli.command import command
from ascend_ep.cli.compile_tool import expanded, own_folders, paired
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError

WRONG_USAGE = 2
_KERNELS = (".asc", ".cce")
_SOURCES = (*_KERNELS, ".cpp", ".cc", ".cxx", ".c")
_LANGUAGES = ("asc", "cce")
#: The chip of each architecture that `--npu-arch=dav-...` names.
ARCHITECTURES = {
    "1001": "Ascend910A",
    "2002": "Ascend310P3",
    "2201": "Ascend910B1",
    "3002": "Ascend310B1",
    "3510": "Ascend910_95",
}
#: Flags that are about the device's instructions alone.
_OF_DEVICE = ("--enable-simt", "--cce-", "-Xaicore", "-Xhost")
#: Commands with these make no program.
_OTHERS = ("-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "--version", "-dumpversion", "-dumpmachine")


@dataclass(frozen=True)
class Line:
    """A command line. kernels: its sources of Ascend C; others: what else is no flag, in order. flags: those
    for the host's compiler; left: those that have no effect here. target: "" if it names none."""

    chip: str
    kernels: tuple[Path, ...]
    others: tuple[str, ...]
    flags: tuple[str, ...]
    left: tuple[str, ...]
    target: str
    compiles_only: bool


@command("bisheng")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        print("usage: bisheng [-x asc] [--npu-arch=dav-2201] FLAG... FILE...", file=sys.stderr)
        return WRONG_USAGE
    line = read_line(expanded(words))
    if line.left:
        print(f"bisheng: without effect on this CPU: {' '.join(line.left)}", file=sys.stderr)
    if set(line.flags) & set(_OTHERS):  # compiler caches tell sources apart by what -E prints
        kernels = ["-xc++", *map(str, line.kernels)] if line.kernels else []
        return _run([*_compiler(), *includes(), *line.flags, *line.others, *_target(line), *kernels])
    if not line.kernels:
        more = () if line.compiles_only else _libraries()
        target = ("-c", *_target(line)) if line.compiles_only else _target(line)
        return _run([*_compiler(), *includes(), *line.flags, *line.others, *target, *more])
    if line.compiles_only:
        if line.target and len(line.kernels) + len(line.others) > 1:
            raise AscendError("E10001", line.target, "-o", "With -c it names the object of one source.")
        for source in line.kernels:
            _compile(line, source, Path(line.target or f"{source.stem}.o"))
        if line.others:
            return _run([*_compiler(), *includes(), *line.flags, "-c", *line.others])
        return 0
    with tempfile.TemporaryDirectory(prefix="bisheng-") as work:
        objects = [Path(work, f"{i}.o") for i in range(len(line.kernels))]
        for source, made in zip(line.kernels, objects, strict=True):
            _compile(line, source, made)
        inputs = [*map(str, objects), *line.others]
        return _run([*_compiler(), *includes(), *line.flags, *inputs, *_target(line), *_libraries()])


def read_line(words: Sequence[str]) -> Line:
    """What a command line says. Raises AscendError E10001 for an architecture that no chip has."""
    chip, target, language, is_only = "Ascend910B1", "", "", False
    kernels: list[Path] = []
    others: list[str] = []
    flags: list[str] = []
    left: list[str] = []
    for word, value in _joined(words):
        if word.startswith("--npu-arch"):
            chip = _chip(value or "")
        elif word == "-x":
            language = value or ""
        elif word == "-o":
            target = value or ""
        elif word == "-c":
            is_only = True
        elif word == "-mllvm" or word.startswith(_OF_DEVICE):
            left += [word] if value is None else [word, value]
        elif not word.startswith("-") and Path(word).suffix in _SOURCES:
            if language in _LANGUAGES or (Path(word).suffix in _KERNELS and language in ("", "none")):
                kernels.append(Path(word).resolve())
            else:
                others.append(word)
        elif word.startswith("-l") or not word.startswith("-"):
            others += [word] if value is None else [word, value]
        else:
            flags += [word] if value is None else [word, value]
    return Line(chip, tuple(kernels), tuple(others), tuple(flags), tuple(left), target, is_only)


def _joined(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each flag with its value; of those that are read here, also where it stands in the same word."""
    pending: str | None = None
    for word, value in paired(words):
        if pending:
            yield pending, word
            pending = None
            if value is not None:
                yield value, None
        elif word in ("-mllvm", "--npu-arch", "-Xaicore", "-Xhost") and value is None:
            pending = word
        elif word.startswith("--npu-arch="):
            yield "--npu-arch", word.partition("=")[2]
        elif word.startswith(("-o", "-x")) and len(word) > 2 and value is None:
            yield word[:2], word[2:]
        else:
            yield word, value


def _chip(architecture: str) -> str:
    chip = ARCHITECTURES.get(architecture.removeprefix("dav-").removesuffix("-vec").removesuffix("-cube"))
    if chip is None:
        known = ", ".join(f"dav-{n}" for n in ARCHITECTURES)
        raise AscendError("E10001", architecture, "--npu-arch", f"The value must be one of {known}.")
    return chip


def _compile(line: Line, source: Path, target: Path) -> None:
    """A source as `ascend-op run` compiles it, with the flags of the command. Raises AscendError E43001 and
    E43002."""
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.opbuild.ascendc.cpp import FLAGS, compile_for_cores, sources_of
    from ascend_ep.opbuild.kernels.units import source_program_units

    if not source.is_file():
        raise AscendError("E10410", str(source))
    own = HEADERS.resolve()
    folders = [f.resolve() for f in own_folders(line.flags)]
    (unit,) = source_program_units([source], folders, True, find_soc(line.chip))
    sources = [p for p in sources_of(unit.text, unit.folders) if not p.is_relative_to(own)]
    with tempfile.TemporaryDirectory(prefix="bisheng-") as work:
        place, between = Path(work, source.stem), Path(work, "between")
        place.mkdir()
        between.mkdir()
        for name, text in ((f"{source.stem}.cpp", unit.text), *unit.files.items()):
            (place / name).write_text(text, encoding="utf-8")
        words = [
            *_compiler(), "-c", str(place / f"{source.stem}.cpp"), *FLAGS, "-fvisibility=default",
            *unit.flags, "-std=c++17", *line.flags, *(f"-I{f}" for f in (place, *unit.folders)), *includes(),
        ]  # fmt: skip
        made = Path(work, "made.o")
        sys.stderr.write(compile_for_cores(words, unit.text, sources, made, between))
        with atomic_file.replacing(target) as file:
            file.write(made.read_bytes())
    _keep_own(line.flags, work, source)


def _keep_own(flags: Sequence[str], work: str, source: Path) -> None:
    """The list of included files, where one is made, with the source in the place of what is gone."""
    lists = [value for word, value in paired(flags) if word == "-MF" and value]
    for name in lists:
        text = Path(name).read_text(encoding="utf-8", errors="surrogateescape")
        kept = re.sub(rf"(?<=\s){re.escape(work)}/\S+", lambda _: str(source), text)
        atomic_file.write(Path(name), os.fsencode(kept))


def _compiler() -> Sequence[str]:
    from ascend_ep.opbuild.ascendc.cpp import find_cpp

    return find_cpp()


def includes() -> list[str]:
    """Our headers, behind those of the command."""
    places = (HEADERS / "ascendc", HEADERS)
    return [f"-I{p}" for p in places]


def _libraries() -> list[str]:
    """What every program of the device's compiler is linked with."""
    from ascend_ep.opbuild.ascendc.cpp import LIBRARIES

    toolkit = os.environ.get("ASCEND_HOME_PATH")
    places = [f"-L{toolkit}/lib64"] if toolkit else []
    return [*places, str(LIBRARIES / "libascendcl.so"), f"-Wl,-rpath,{LIBRARIES}", "-pthread"]


def _target(line: Line) -> list[str]:
    return ["-o", line.target] if line.target else []


def _run(words: Sequence[str]) -> int:
    try:
        return subprocess.run(words, check=False).returncode
    except OSError as error:
        raise AscendError("E43002", words[0], str(error.strerror), fix="$CXX names the compiler.") from error


if __name__ == "__main__":
    sys.exit(main())
