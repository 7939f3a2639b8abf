"""The kernel files of a folder: those that define a kernel function and whose licence allows a run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.opbuild.ascendc.cpp import sources_of
from ascend_ep.opbuild.ascendc.declarations import without_comments
from ascend_ep.opbuild.kernels.signature import KernelFunction, kernels_of
from ascend_ep.opbuild.kernels.sources import find_sources, is_program

SUFFIXES = (".cpp", ".cc", ".cxx", ".cce", ".asc", ".h", ".hpp")
#: Headers with one of these texts are not for use outside of CANN.
LICENCES = ("CANN Open Software License",)
#: Copies that builds leave behind.
_BUILDS = re.compile(r"(^|/)(build_out|build|cceprint|_CPack_Packages|\.git)(/|$)")
#: What tells a kernel from one of CUDA.
_OF_ASCEND = re.compile(r"__aicore__|__(?:vector|cube|mix)__|\bkernel_operator\.h\b")
#: A task's empty kernel, to be written by somebody else.
_EMPTY = re.compile(r"\{\s*\}\s*$")


@dataclass(frozen=True)
class KernelFile:
    """A file and its kernel functions. included: by other files of the folder, which are compiled for it."""

    path: Path
    kernels: tuple[KernelFunction, ...]
    is_program: bool


@dataclass(frozen=True)
class Left:
    """A file that is not compiled, and why."""

    path: Path
    reason: str


def kernel_files(folder: Path, licences: Sequence[str] = LICENCES) -> Iterator[KernelFile | Left]:
    """Every file with a kernel function, each text once."""
    seen: dict[str, Path] = {}
    for path in sorted(p for p in folder.resolve().rglob("*") if p.suffix in SUFFIXES and p.is_file()):
        if _BUILDS.search(path.relative_to(folder.resolve()).as_posix()):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if "__global__" not in text or not _OF_ASCEND.search(text):
            continue
        if licence := left_for_licence(path, licences):
            yield Left(path, licence)
            continue
        kernels = tuple(kernels_of(path))
        if not kernels:
            continue
        plain = " ".join(without_comments(text).split())
        if len(kernels) == 1 and _EMPTY.search(plain):
            yield Left(path, "the kernel is empty")
            continue
        digest = hashlib.sha256(plain.encode()).hexdigest()
        if digest in seen:
            yield Left(path, "a copy of another")
            continue
        seen[digest] = path
        yield KernelFile(path.resolve(), kernels, is_program([path]))


def left_for_licence(path: Path, licences: Sequence[str]) -> str:
    """Why a file is left, for its own header's licence or that of a file that it includes; "" if it isn't."""
    head = path.read_text(encoding="utf-8", errors="replace")[:3000]
    if any(licence in head for licence in licences):
        return "its licence"
    for other in sources_of(f'#include "{path.resolve()}"', find_sources([path]).folders):
        head = other.read_text(encoding="utf-8", errors="replace")[:3000]
        if any(licence in head for licence in licences):
            return "the licence of what it includes"
    return ""
