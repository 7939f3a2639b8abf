"""A kernel of several files as one text, in which mistakes are planted, and where its lines are from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.opbuild.ascendc.cpp import sources_of

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


@dataclass(frozen=True)
class WholeText:
    """places: the file and the line of each line."""

    text: str
    places: Sequence[tuple[Path, int]]


def whole_text(kernel: Path, folders: Sequence[Path]) -> WholeText:
    """The kernel's file, with each file of its project that it includes in the place of the first include."""
    root = kernel.resolve().parent
    own = [p for p in sources_of(f'#include "{kernel.resolve()}"', folders) if p.is_relative_to(root.parent)]
    lines: list[str] = []
    places: list[tuple[Path, int]] = []
    _take(kernel.resolve(), own, set(), lines, places)
    return WholeText("\n".join([*lines, ""]), places)


def _take(
    file: Path, own: Sequence[Path], taken: set[Path], lines: list[str], places: list[tuple[Path, int]]
) -> None:
    taken.add(file)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        found = _INCLUDE.match(line)
        inner = _named(found[1], file, own) if found else None
        if inner is None:
            lines.append(line)
            places.append((file, number))
        elif inner not in taken:
            _take(inner, own, taken, lines, places)


def _named(name: str, beside: Path, own: Sequence[Path]) -> Path | None:
    """The file of the project that an include names."""
    there = (beside.parent / name).resolve()
    if there in own:
        return there
    return next((p for p in own if p.as_posix().endswith("/" + name.lstrip("./"))), None)
