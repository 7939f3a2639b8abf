"""C and C++ compilers: which there is, what it is, and the flags of each ISA level."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

from ascend_ep.errors import AscendError

#: ISA level -> flags; the levels and their meaning are those of CMakeLists.txt, except that generated code
#: uses no products of bytes or of bfloat16, and no tiles: the levels above avx512 are the same code. Those of
#: AArch64 differ in nothing that it uses.
ISA_FLAGS: dict[str, tuple[str, ...]] = {
    "baseline": ("-march=x86-64-v2",),
    "avx2": ("-march=x86-64-v3",),
    "avx512": ("-march=x86-64-v4", "-mprefer-vector-width=512"),
    "avx512vnni": ("-march=x86-64-v4", "-mprefer-vector-width=512"),
    "avx512bf16": ("-march=x86-64-v4", "-mprefer-vector-width=512"),
    "amx": ("-march=x86-64-v4", "-mprefer-vector-width=512"),
}
AARCH64_LEVELS = ("neon", "dotprod", "bf16i8mm")
#: Expensive optimisations are those of -O2; -O1 needs them to contract, which every level must do alike.
COMMON_FLAGS = (
    "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math",
    "-ffp-contract=fast", "-fexpensive-optimizations", "-fschedule-insns", "-w", "-g0",
)  # fmt: skip


@dataclass(frozen=True)
class Compiler:
    """command: how it is started. version: the first line it prints about itself."""

    command: tuple[str, ...]
    version: str


def find_compiler() -> Compiler:
    """$CC, or the first of cc, gcc, clang and `python -m ziglang cc` that answers. Raises AscendError E43001,
    and E43005 for a $CC that doesn't."""
    return _find("CC", os.environ.get("CC", ""), os.environ.get("PATH", ""))


def find_cpp_compiler() -> Compiler:
    """$CXX, or the first of c++, g++ and clang++ that answers. Raises AscendError E43001 and E43005."""
    return _find("CXX", os.environ.get("CXX", ""), os.environ.get("PATH", ""))


def has_compiler() -> bool:
    """Whether there is any. A $CC that doesn't work counts: it is for whoever compiles to say."""
    try:
        find_compiler()
    except AscendError as error:
        return error.code != "E43001"
    return True


@cache
def _find(variable: str, given: str, path: str) -> Compiler:
    if given.strip():
        return _named(variable, given)
    candidates = _candidates(variable)
    for command in candidates:
        found = _ask(command)
        if isinstance(found, Compiler):
            return found
    raise AscendError("E43001", ", ".join(" ".join(command) for command in candidates))


def _named(variable: str, given: str) -> Compiler:
    """What the user names, and nothing else in its place."""
    try:
        found = _ask(tuple(shlex.split(given)))
    except ValueError:
        found = "a quote in it has no end"
    if isinstance(found, Compiler):
        return found
    raise AscendError("E43005", variable, given, found, fix=f"Correct {variable}, or unset it.")


def _candidates(variable: str) -> list[tuple[str, ...]]:
    if variable == "CXX":
        return [("c++",), ("g++",), ("clang++",)]
    has_zig = importlib.util.find_spec("ziglang") is not None
    zig = (sys.executable, "-m", "ziglang", "cc") if has_zig else ("python -m ziglang cc",)
    return [("cc",), ("gcc",), ("clang",), zig]


def _ask(command: tuple[str, ...]) -> Compiler | str:
    """The compiler, or why it is none."""
    if not command or shutil.which(command[0]) is None:
        return _absent(command[0] if command else "")
    try:
        answer = subprocess.run(
            [*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.SubprocessError:
        return "it doesn't answer --version within 30 s"
    lines = answer.stdout.decode("utf-8", "replace").splitlines()
    if answer.returncode != 0:
        return f"--version ends with status {answer.returncode}"
    return Compiler(command, lines[0]) if lines else "it says nothing to --version"


def _absent(name: str) -> str:
    if os.path.isdir(name):
        return "it is a folder"
    if os.path.exists(name):
        return "it is no file that may be executed"
    return "there is no such command"


def flags_of(isa: str) -> tuple[str, ...]:
    """What makes the compiler aim at an ISA level. Raises ValueError for one that this CPU family lacks."""
    if platform.machine() not in ("x86_64", "AMD64"):
        if isa not in (AARCH64_LEVELS if platform.machine() == "aarch64" else ("baseline",)):
            raise ValueError(f"{platform.machine()} has no ISA level {isa}")
        return ()
    return ISA_FLAGS[isa]
