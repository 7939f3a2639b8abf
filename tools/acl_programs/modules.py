"""Modules that a Python program imports and that lie elsewhere in its repository, such as acllite's: pages
say to copy them, or to name their folder in PYTHONPATH."""

from __future__ import annotations

import ast
import importlib.util
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path

from acl_programs.programs import Program


def folders(program: Program, folder: Path) -> list[Path]:
    """Those that hold what it imports, and what that imports in turn; of several the nearest."""
    if program.script is None:
        return []
    found: list[Path] = []
    beside = [program.script.parent, program.script.parent.parent, program.root]
    waiting, seen = [program.script], {program.script}
    while waiting:
        for name in imported(waiting.pop()):
            place = next((p for p in [*beside, *found] if _module(p, name)), None)
            if place is None:
                place = None if is_installed(name) else _nearest(_index(folder)[name], program.root)
                if place is None:
                    continue
                found.append(place)
            for file in _module(place, name):
                if file not in seen:
                    seen.add(file)
                    waiting.append(file)
    return found


@cache
def imported(file: Path) -> tuple[str, ...]:
    """The first words of the names that it imports from the path."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_text(errors="replace"))
    except (SyntaxError, ValueError):
        return ()
    names = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    names += [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level]
    return tuple(dict.fromkeys(name.partition(".")[0] for name in names))


@cache
def is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _module(place: Path, name: str) -> list[Path]:
    """The files of a module or a package in a folder."""
    file = place / f"{name}.py"
    return [file] if file.is_file() else sorted((place / name).glob("*.py"))


@cache
def _index(folder: Path) -> dict[str, list[Path]]:
    """Module -> the folders that hold it."""
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for file in sorted(folder.rglob("*.py")):
        if file.name == "__init__.py":
            found[file.parent.name].append(file.parent.parent)
        else:
            found[file.stem].append(file.parent)
            if (
                not (file.parent / "__init__.py").exists()
                and file.parent.parent not in found[file.parent.name]
            ):
                found[file.parent.name].append(file.parent.parent)
    return found


def _nearest(places: list[Path], root: Path) -> Path | None:
    def shared(place: Path) -> int:
        pairs = zip(place.parts, root.parts, strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(root.parts))

    return max(places, key=shared, default=None)
