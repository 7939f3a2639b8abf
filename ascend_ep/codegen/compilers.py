"""C compilers: which there is, what it is, and the flags of each ISA level."""

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
    """The first of $CC, cc, gcc, clang and `python -m ziglang cc` that answers. Raises AscendError E43001."""
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", ""))


def has_compiler() -> bool:
    """Whether there is any."""
    try:
        find_compiler()
    except AscendError:
        return False
    return True


@cache
def _find(given: str, path: str) -> Compiler:
    tried = []
    for command in _candidates(given):
        tried.append(" ".join(command))
        found = _ask(command)
        if found is not None:
            return found
    raise AscendError("E43001", ", ".join(tried))


def _candidates(given: str) -> list[tuple[str, ...]]:
    try:
        named = [tuple(shlex.split(given))] if given.strip() else []
    except ValueError:
        named = [(given,)]
    zig = [(sys.executable, "-m", "ziglang", "cc")] if importlib.util.find_spec("ziglang") else []
    return [*named, ("cc",), ("gcc",), ("clang",), *zig, *([] if zig else [("python -m ziglang cc",)])]


def _ask(command: tuple[str, ...]) -> Compiler | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        answer = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = answer.stdout.splitlines()
    return Compiler(command, lines[0]) if answer.returncode == 0 and lines else None


def flags_of(isa: str) -> tuple[str, ...]:
    """What makes the compiler aim at an ISA level. Raises ValueError for one that this CPU family lacks."""
    if platform.machine() not in ("x86_64", "AMD64"):
        if isa not in (AARCH64_LEVELS if platform.machine() == "aarch64" else ("baseline",)):
            raise ValueError(f"{platform.machine()} has no ISA level {isa}")
        return ()
    return ISA_FLAGS[isa]
