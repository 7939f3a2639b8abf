"""compile_library: generated C to a shared object, kept in the user's cache (cache.py).

The key of a compilation covers the source, the ISA level's flags and the compiler. Entries are written beside
their name and renamed, under a lock per key, so processes that want the same one compile it once.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import lib, text_of
from ascend_ep.runtime.cache_folder import open_cache

from . import compiler_process
from .assembly import Assembly
from .c_source import Source
from .cache import is_whole, keep, limit, locked, note_use, prune
from .compilers import COMMON_FLAGS, Compiler, find_compiler, flags_of
from .header_text import HEADERS
from .source_text import quoted

#: A compiler that takes longer is stopped.
SECONDS = 120


@dataclass(frozen=True)
class CompiledLibrary:
    """A shared object that exports asc_get_custom_op(op_type) and the aot function `symbol`."""

    path: Path
    sha256: str
    op_type: str
    symbol: str
    isa: str
    cached: bool


def compile_library(
    source: Source, isa: str | None = None, sanitize: str = "", cache: Path | None = None
) -> CompiledLibrary:
    """Compiles for an ISA level, by default the one in use; `sanitize`: "address", "thread" or neither.

    Raises AscendError E43001 without a compiler, E43002 when it fails, E40002 for an unusable cache, E10001
    for a cache limit that is no number.
    """
    level = isa or text_of(lib.asc_isa_name(lib.asc_isa_current()))
    return _linked([compile_object(source, level, sanitize, cache)], source, level, sanitize, cache)


def compile_assembly(assembly: Assembly, isa: str | None = None, sanitize: str = "") -> CompiledLibrary:
    """The library of several parts; errors as in compile_library."""
    level = isa or text_of(lib.asc_isa_name(lib.asc_isa_current()))
    return _linked(_objects(assembly, level, sanitize), assembly, level, sanitize)


def assembly_object(assembly: Assembly) -> Path:
    """The relocatable object (.o) of several parts, for the level in use; errors as in compile_library."""
    level = text_of(lib.asc_isa_name(lib.asc_isa_current()))
    return _cached(_objects(assembly, level, ""), ["-r", "-nostdlib"], "o")[0]


def _objects(assembly: Assembly, level: str, sanitize: str) -> list[Path]:
    pairs = zip(assembly.parts, assembly.links, strict=True)
    parts = [compile_object(part, level, sanitize, link=link) for part, link in pairs]
    flags = ["-c", *COMMON_FLAGS, "-O1", *_sanitizing(sanitize)]
    return [_cached(assembly.front, flags, "o")[0], *parts]


def _linked(
    objects: Sequence[Path], made_of: Source | Assembly, level: str, sanitize: str, cache: Path | None = None
) -> CompiledLibrary:
    flags = ["-shared", "-fPIC", *_sanitizing(sanitize)]
    target, cached = _cached(objects, flags, "so", cache)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    return CompiledLibrary(target, digest, made_of.op_type, made_of.symbol, level, cached)


def compile_object(
    source: Source, isa: str | None = None, sanitize: str = "", cache: Path | None = None, link: str = ""
) -> Path:
    """The relocatable object (.o) that compile_library makes a library of; errors as there. `link`: the name
    that its operator is linked by, as a part of an assembly; otherwise it is the whole library.

    Sanitized ones aren't optimised: they are run a few times, and every access is in them as it is written.
    """
    level = isa or text_of(lib.asc_isa_name(lib.asc_isa_current()))
    optimize = "-O0" if sanitize else f"-O{source.schedule.optimize}"
    flags = ["-c", *COMMON_FLAGS, optimize, *flags_of(level), *_sanitizing(sanitize)]
    flags.append(f"-DASC_PART={link}" if link else f"-DASC_SCHEDULE={quoted(str(source.schedule))}")
    if source.looks_up and "-mprefer-vector-width=512" in flags:
        flags.append("-fno-schedule-insns")  # tables stay in registers, which chains side by side would take
    return _cached(source.text, flags, "o", cache)[0]


def compile_program(path: Path, sanitize: str = "") -> Path:
    """A program from one C file of ours, kept like libraries; errors as in compile_library."""
    flags = ["-std=gnu11", "-O0", "-g0", "-pthread", "-Wl,--no-as-needed", "-ldl", *_sanitizing(sanitize)]
    return _cached(path.read_text(encoding="utf-8"), flags, "exe")[0]


def compile_source(path: Path, language: str) -> Path:
    """The library of a C or C++ file that isn't ours, which may include others; errors as in compile_library.

    It is preprocessed first, so that the key covers what it includes.
    """
    compiler = find_compiler()
    include = [f"-I{HEADERS}", f"-I{path.parent}"]
    text = _run(compiler, ["-E", "-x", language, *include, str(path)]).stdout
    preprocessed = {"c": "cpp-output", "c++": "c++-cpp-output"}[language]
    runtime = ["-lstdc++"] if language == "c++" else []
    flags = ["-O2", "-shared", "-fPIC", "-w", *runtime, "-x", preprocessed]
    return _cached(text, flags, "so")[0]


def link_object(path: Path) -> Path:
    """The library of an object file that isn't ours; errors as in compile_library."""
    content = path.read_bytes()
    kept = open_cache() / f"{hashlib.sha256(content).hexdigest()}.o"
    with locked(kept.with_suffix(".lock")):
        if not is_whole(kept):
            _replace(kept, content)
    return _cached([kept], ["-shared", "-fPIC"], "so")[0]


def _replace(target: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".compile-", delete=False) as file:
        file.write(content)
    keep(Path(file.name), target)


def _sanitizing(sanitizer: str) -> list[str]:
    """Checks are calls where the compiler can do so: inline they take most of the time to compile."""
    flags = [f"-fsanitize={sanitizer}", "-fno-omit-frame-pointer"] if sanitizer else []
    if sanitizer == "address" and "clang" not in find_compiler().version:
        flags += ["--param", "asan-instrumentation-with-call-threshold=0"]
    return flags


def _cached(
    given: str | Sequence[Path], flags: list[str], suffix: str, cache: Path | None = None
) -> tuple[Path, bool]:
    """What the compiler makes of a text or of objects of the cache, and whether it had been made before."""
    compiler = find_compiler()
    folder = open_cache(cache)
    named = given if isinstance(given, str) else "\0".join(path.name for path in given)
    key = _key(named, compiler, flags)
    target = folder / f"{key}.{suffix}"
    most = limit()
    with locked(folder / f"{key}.lock"):
        cached = is_whole(target)
        if cached:
            note_use(target)
        else:
            _compile(given, compiler, flags, target)
    if not cached:
        prune(folder, most)
    return target, cached


def _key(source: str, compiler: Compiler, flags: list[str]) -> str:
    header = (HEADERS / "ascend_rt.h").read_bytes()
    text = "\0".join([source, *compiler.command, compiler.version, *flags])
    return hashlib.sha256(text.encode() + header).hexdigest()


def _is_elf(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _compile(given: str | Sequence[Path], compiler: Compiler, flags: list[str], target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".compile-") as work:
        source, made = Path(work) / "operator.c", Path(work) / "operator.so"
        if isinstance(given, str):
            source.write_text(given, encoding="utf-8")
            given = [source]
        libraries = [] if "-r" in flags else ["-lm"]
        _run(compiler, [*flags, f"-I{HEADERS}", *map(str, given), "-o", str(made), *libraries], made)
        keep(made, target)


def _run(
    compiler: Compiler, arguments: list[str], makes: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the compiler. Raises AscendError E43002 when it fails, or doesn't make the ELF file it should."""
    command = [*compiler.command, *arguments]
    try:
        answer = compiler_process.run(command, SECONDS)
    except subprocess.TimeoutExpired as error:
        raise AscendError("E43002", compiler.command[0], f"it took longer than {SECONDS} s") from error
    except OSError as error:
        raise AscendError("E43002", compiler.command[0], error.strerror or error) from error
    if answer.returncode != 0 or (makes and not _is_elf(makes)):
        said = answer.stderr.splitlines()
        errors = [line for line in said if "error" in line] or [f"status {answer.returncode}"]
        raise AscendError("E43002", " ".join(compiler.command), errors[0], details=said[:20])
    return answer
