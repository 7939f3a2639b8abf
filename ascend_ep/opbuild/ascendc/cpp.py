"""C++ for this CPU: translation units compiled side by side and linked, kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from ascend_ep.codegen import compiler_process
from ascend_ep.codegen.cache import is_whole, keep, limit, locked, note_use, prune
from ascend_ep.codegen.compilers import find_cpp_compiler
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError
from ascend_ep.runtime.cache_folder import open_cache

from .apart import LEFT_OUT, RUNTIME, WHOLE, is_of_kernels
from .attributes import has_bracketed, without_bracketed
from .class_specializations import as_aggregates, constrained, has_in_class
from .core_types import core_types, flags_of, join, tool
from .precompiled import Beginning

#: This package's libraries.
LIBRARIES = HEADERS.parent / "lib"
#: A compiler that takes more CPU time is stopped, and one that takes more by the clock, on a machine of many.
SECONDS, SECONDS_BY_CLOCK = 180, 3600
#: Compilers at once.
PARALLEL = 2
FLAGS = ("-w", "-pthread", "-fPIC", "-fno-strict-aliasing", "-fvisibility=hidden", "-ffp-contract=off")
#: A library has its own C++ runtime and exports one function: several of them share a process with others'.
_SHARED = ("-shared", "-Wl,-Bsymbolic", "-Wl,--strip-debug", "-static-libstdc++", "-static-libgcc")
#: A function that is declared and never defined, since the core has no code for it, is none that g++ can inline.
_ALWAYS = "__attribute__((always_inline))"
#: g++ makes variables of inline functions unique in a process; libraries here have their own. And it collects garbage
#: several times a unit, about 7 % of its time, unless it may take 512 MiB first, which most units don't need.
_GNU = ("-fno-gnu-unique", "--param=ggc-min-heapsize=524288")
#: What g++ needs for constraints before C++20.
_CONCEPTS = ("-fconcepts",)
_EXPORTED = "{ global: asc_get_custom_op; local: *; };\n"
_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """One translation unit. files: what it may include beside what is in `folders`, by name. kept: the only symbol that
    other units see, "" for all: units with functions of one name and different bodies need it."""

    name: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    folders: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ("-std=c++17", "-Og")
    kept: str = ""


def find_cpp() -> tuple[str, ...]:
    """How the C++ compiler is started. Raises AscendError as find_cpp_compiler does."""
    return find_cpp_compiler().command


def linked(
    units: Sequence[Unit],
    kind: Literal["run", "so"],
    cache: Path | None = None,
    libraries: Sequence[str] = (),
) -> Path:
    """The program or shared library of `units`, linked with `libraries` of this package.

    Raises AscendError E43001 without a C++ compiler, E43002 with the compiler's first error and its place.
    """
    command = find_cpp()
    folder = open_cache(cache)
    left: set[Path] = set()
    apart = _without_runtime(units, command)
    with compiler_process.CompilerPool(PARALLEL) as pool:
        # first, so that it is under way when a thread of the pool waits for it
        runtimes = {
            flags: pool.submit(
                _object, Unit("runtime", RUNTIME, flags=flags + WHOLE), command, folder, pool, left
            )
            for flags in dict.fromkeys(unit.flags for unit in apart)
        }
        made = [
            pool.submit(_object, u, command, folder, pool, left, runtimes[u.flags] if u in apart else None)
            for u in units
        ]
        objects = [future.result() for future in made]
        # units of which one symbol is seen have theirs in them
        objects += [runtimes[flags].result() for flags in dict.fromkeys(u.flags for u in apart if not u.kept)]
    found = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", *(f"-l{name}" for name in libraries)]
    flags = ["-pthread", *(_SHARED if kind == "so" else ()), *(found if libraries else ())]
    key = hashlib.sha256("\0".join([*command, *flags, _EXPORTED, *(o.stem for o in objects)]).encode())
    target = folder / f"{key.hexdigest()}.{kind}"
    if is_whole(target):
        note_use(target)
        return target
    with tempfile.TemporaryDirectory(dir=folder, prefix=".compile-") as work:
        script = Path(work) / "exported"
        script.write_text(_EXPORTED, encoding="utf-8")
        scripted = [f"-Wl,--version-script={script}"] if kind == "so" else []
        _run_compiler([*command, *map(str, objects), *flags, *scripted], target)
    prune(folder, limit())
    return target


def _without_runtime(units: Sequence[Unit], command: Sequence[str]) -> list[Unit]:
    """Units of kernels that leave out what is the same for all: those that are the same for both kinds of core. Units
    that see each other's symbols do so all or none, since one's functions would be taken for the others."""
    kernels = [u for u in units if is_of_kernels(u.text)] if _gnu_flags(tuple(command)) else []
    apart = [u for u in kernels if not core_types(_texts(u.text, sources_of(u.text, u.folders)))]
    if any(not u.kept and u not in apart for u in kernels):
        return [u for u in apart if u.kept]
    return apart


def _object(
    unit: Unit,
    command: Sequence[str],
    folder: Path,
    pool: ThreadPoolExecutor,
    left: set[Path],
    runtime: Future[Path] | None = None,
) -> Path:
    """The object of a unit, which leaves out what `runtime` has."""
    sources = sources_of(unit.text, unit.folders)
    flags = [*unit.flags, *(LEFT_OUT if runtime else ()), *FLAGS, *_gnu_flags(tuple(command))]
    parts = [unit.text, *(f"{n}\0{t}" for n, t in sorted(unit.files.items())), *command, *flags, unit.kept]
    key = hashlib.sha256("\0".join(parts).encode())
    key.update(_headers_digest())
    for path in sources:
        key.update(str(path).encode() + path.read_bytes())
    target = folder / f"{key.hexdigest()}.o"
    with locked(target.with_suffix(".lock")):  # what another process compiles is taken when it is there
        if is_whole(target):
            note_use(target)
        else:
            _compile_unit(unit, [*command], flags, sources, target, pool, left, runtime)
    return target


def _compile_unit(
    unit: Unit,
    command: list[str],
    flags: Sequence[str],
    sources: Sequence[Path],
    target: Path,
    pool: ThreadPoolExecutor,
    left: set[Path],
    runtime: Future[Path] | None,
) -> None:
    folder = target.parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".compile-") as work:
        file = Path(work) / f"{unit.name}.cpp"
        file.write_text(unit.text, encoding="utf-8")
        for name, content in unit.files.items():
            (Path(work) / name).write_text(content, encoding="utf-8")
        own = [f"-I{p}" for p in (HEADERS / "ascendc", HEADERS)]
        beginning = Beginning(unit.text, command, flags, _identity(tuple(command)), folder)
        includes = [*(f"-I{p}" for p in (work, *unit.folders)), *own, *beginning.flags()]
        if beginning.is_due(left):
            pool.submit(beginning.compile, [*command, *own, *flags], _run_compiler)
        compile_it = [*command, "-c", str(file), *includes, *flags]
        made = target if not unit.kept else Path(work) / "whole.o"
        compile_for_cores(compile_it, unit.text, sources, made, Path(work))
        if unit.kept:
            joined = Path(work) / "joined.o"
            parts = [str(made), *([str(runtime.result())] if runtime else [])]
            _run_compiler([tool("ld"), "-r", "--force-group-allocation", *parts], joined)
            _run_compiler([tool("objcopy"), f"--keep-global-symbol={unit.kept}", str(joined)], target, out=())


def asks_for_more(text: str, sources: Sequence[Path]) -> bool:
    """Whether a unit that includes these files is more than one compilation of what stands there."""
    return has_bracketed(text, sources) or has_in_class(sources) or bool(core_types(_texts(text, sources)))


def is_rewritten(text: str, sources: Sequence[Path], compiler: Sequence[str]) -> bool:
    """Whether the preprocessed text of a unit has what the compiler can't read."""
    return has_bracketed(text, sources) or (has_in_class(sources) and bool(_gnu_flags(tuple(compiler))))


def readable(preprocessed: str, compiler: Sequence[str]) -> str:
    """The text as the compiler reads it."""
    text = without_bracketed(preprocessed)
    return constrained(as_aggregates(text)).replace(_ALWAYS, "") if _gnu_flags(tuple(compiler)) else text


def _texts(text: str, sources: Sequence[Path]) -> list[str]:
    return [text, *(p.read_text(encoding="utf-8", errors="replace") for p in sources)]


def compile_for_cores(
    command: Sequence[str], text: str, sources: Sequence[Path], target: Path, work: Path
) -> str:
    """Runs the command of a compilation of a unit's text (`compiler ... -c file ...`) for each kind of core that it
    asks for, and makes the object `target`. sources: files that the unit includes. work: an empty folder for what is
    between. Where `-MF` names a list of included files, that has those of each kind. Returns what the compiler says,
    its warnings. Raises AscendError E43001, E43002."""
    compiler = command[: command.index("-c")]
    rewritten = is_rewritten(text, sources, compiler)
    texts = _texts(text, sources)
    kinds = core_types(texts)
    if len(kinds) < 2:
        more = flags_of(kinds[0], False) if kinds else []
        return _compile([*command, *more], rewritten, target, work)
    said, included = [], []
    for kind in kinds:
        more = [*flags_of(kind, True), *_gnu_flags(tuple(compiler))]
        own = list(command)
        if "-MF" in own:
            included.append(work / f"{kind}.d")
            own[own.index("-MF") + 1] = str(included[-1])
        said.append(_compile([*own, *more], rewritten, work / f"{kind}.o", work))
    both = work / "both.o"
    join(work / "cube.o", work / "vector.o", both, compiler, _run_compiler, "\n".join(texts))
    keep(both, target)
    if included:
        rules = "".join(p.read_text(encoding="utf-8", errors="surrogateescape") for p in included)
        listed = Path(command[command.index("-MF") + 1])
        listed.write_text(rules, encoding="utf-8", errors="surrogateescape")
    return "".join(dict.fromkeys(said))


def _compile(command: Sequence[str], rewritten: bool, target: Path, work: Path) -> str:
    """One compilation; where it can't read the source, of what the preprocessor makes, as it can. Returns what the
    compiler says."""
    at = command.index("-c")
    compiler, file, flags = command[:at], command[at + 1], command[at + 2 :]
    if not rewritten:
        return _run_compiler([*compiler, "-c", "-x", "c++", file, *flags], target)
    made = work / f"{target.stem}.ii"
    said = _run_compiler([*compiler, "-E", "-x", "c++", file, *flags], made)
    text = made.read_text(encoding="utf-8", errors="surrogateescape")
    made.write_text(readable(text, compiler), encoding="utf-8", errors="surrogateescape")
    flags = [*without_includes(flags), *(_CONCEPTS if _gnu_flags(tuple(compiler)) else ())]
    return said + _run_compiler([*compiler, "-c", str(made), *flags], target)


def without_includes(flags: Sequence[str]) -> list[str]:
    """Flags for what is preprocessed already: nothing is included, and what was is written down."""
    with_value = ("-include", "-MF", "-MT", "-MQ")
    before = ("", *flags)
    return [
        flag
        for flag, last in zip(flags, before, strict=False)
        if last not in with_value and flag not in (*with_value, "-MD", "-MMD", "-MP")
    ]


@cache
def _version(command: tuple[str, ...]) -> str:
    answer = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return answer.stdout


def _gnu_flags(command: tuple[str, ...]) -> tuple[str, ...]:
    """What g++ is given that clang++ doesn't know."""
    return () if "clang" in _version(command) else _GNU


def _identity(command: tuple[str, ...]) -> bytes:
    """What a precompiled header is of: the compiler, if it is g++, and our headers."""
    version = _version(command)
    return b"" if "clang" in version else version.encode() + _headers_digest()


def _headers_digest() -> bytes:
    key = hashlib.sha256()
    for header in sorted((HEADERS / "ascendc").rglob("*.h")):
        key.update(header.read_bytes())
    return key.digest()


def missing_includes(path: Path, folders: Sequence[Path]) -> list[str]:
    """What a file and those that it includes include by `"name"`, and neither `folders` nor our own headers have."""
    names: dict[str, None] = {}
    places = (*folders, HEADERS / "ascendc", HEADERS)
    for source in (path, *sources_of(f'#include "{path}"', folders)):
        for name in _QUOTED.findall(source.read_text(encoding="utf-8", errors="replace")):
            if not any(p.is_file() for p in _candidates(name, source.parent, places)):
                names[name] = None
    return list(names)


def sources_of(text: str, folders: Iterable[Path]) -> list[Path]:
    """Files that a text includes, and those that they include, where they are found: by an absolute path, beside
    the file, or in `folders`."""
    found: dict[Path, None] = {}
    waiting: list[tuple[str, Path | None]] = [(name, None) for name in _INCLUDE.findall(text)]
    folders = tuple(folders)
    while waiting:
        name, beside = waiting.pop()
        path = next((p for p in _candidates(name, beside, folders) if p.is_file()), None)
        if path is None or path.resolve() in found:
            continue
        path = path.resolve()
        found[path] = None
        inner = path.read_text(encoding="utf-8", errors="replace")
        waiting += [(included, path.parent) for included in _INCLUDE.findall(inner)]
    return sorted(found)


def _candidates(name: str, beside: Path | None, folders: Sequence[Path]) -> Iterator[Path]:
    if name.startswith("/"):
        yield Path(name)
        return
    for folder in (*([beside] if beside else []), *folders):
        yield folder / name


def _run_compiler(command: Sequence[str], target: Path, out: tuple[str, ...] = ("-o",)) -> str:
    """Runs a compiler, whose result takes the place of `target` when it is whole. Returns what it says; raises
    AscendError E43002."""
    handle, made = tempfile.mkstemp(dir=target.parent, prefix=".compile-")
    os.close(handle)
    try:
        words = ["/bin/sh", "-c", f'ulimit -S -t {SECONDS}; exec "$@"', "sh", *command, *out, made]
        answer = compiler_process.run(words, SECONDS_BY_CLOCK)
        if answer.returncode != 0 and "CPU time limit exceeded" in answer.stderr:
            reason = f"it takes more than {SECONDS} s of CPU time"
            raise AscendError("E43002", command[0], reason, fix="Split the source, or build fewer instances.")
        if answer.returncode != 0:
            raise _failed(command[0], answer.stderr, answer.returncode)
        os.chmod(made, 0o700)
        keep(Path(made), target)
        return answer.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AscendError("E43002", command[0], error) from error
    finally:
        Path(made).unlink(missing_ok=True)


def _failed(command: str, said: str, status: int) -> AscendError:
    lines = [
        line for line in said.splitlines() if re.search(r"\berror\b|undefined reference", line)
    ] or said.splitlines()[-1:]
    first = lines[0].strip() if lines else f"status {status}"
    fix = "Correct the source at this place."
    return AscendError("E43002", command, first, details=said.splitlines()[:20], fix=fix)
