"""The project that a source lies in, and its files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

SUFFIXES = (".cpp", ".cc", ".cxx", ".asc")
HEADER_SUFFIXES = (".h", ".hpp")
#: How far above a file the folder of its project is looked for.
LEVELS = 8


def project_of(path: Path) -> Path:
    """The folder that a file's project begins with: the highest of those near it that has build files."""
    above = list(path.parents)[:LEVELS]
    building = [a for a in above if (a / "CMakeLists.txt").is_file() or (a / "build.sh").is_file()]
    return building[-1] if building else path.parent


def files_of(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files of a project with these suffixes, of the first 20000 that it has."""
    return [p for p in _all_of(folder) if p.suffix in suffixes]


def steps_between(one: Path, other: Path) -> int:
    """How many folders lie between two files."""
    common = sum(1 for a, b in zip(one.parts, other.parts, strict=False) if a == b)
    return len(one.parts) + len(other.parts) - 2 * common


@cache
def _all_of(folder: Path) -> tuple[Path, ...]:
    return tuple(p for _, p in zip(range(20000), folder.rglob("*"), strict=False))
