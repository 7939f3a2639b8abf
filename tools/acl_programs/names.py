"""Which names of AscendCL and pyACL programs use that the headers and the module here lack."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import ascend_ep.cann

C_FILES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
PYTHON_FILES = (".py", ".ipynb")
_C_NAME = re.compile(
    r"\b(?:acl(?:rt|mdl|op|prof|blas|tdt|fv|dvpp|vdec|venc|nn)?[A-Z]|hi_mpi_|ge[A-Z])\w*(?=\s*\()"
)
#: What torch_npu's macros, and those of its kind, make two calls of.
_LAUNCHED = re.compile(r"\bEXEC_\w+\(\s*(aclnn[A-Z]\w*)")
_PYTHON_NAME = re.compile(r"(?<![\w.])acl(?:\.[A-Za-z_]\w*)+")
_ASIDE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\n])*"', re.DOTALL)
_MODULES = Path(ascend_ep.cann.__file__).parent / "python"
_IMPORT = re.compile(r"\b(?:import|from) acl\b")
#: A program's own function: a name and parameters before a body.
_DEFINITION = re.compile(r"\b(\w+)\s*\([^;{}()]*\)\s*(?:const\s*)?\{")


def lacking(folder: Path, headers: Path) -> dict[str, set[Path]]:
    """Each name that `headers` or pyACL lack, with the files of `folder` that call it."""
    found: dict[str, set[Path]] = defaultdict(set)
    known = {word for header in headers.rglob("*.h") for word in re.findall(r"\w+", header.read_text())}
    texts = {path: _ASIDE.sub(" ", text) for path, text in _texts(folder, C_FILES)}
    known |= {name for text in texts.values() for name in _DEFINITION.findall(text)}
    for path, text in texts.items():
        _count(found, {*_C_NAME.findall(text), *_LAUNCHED.findall(text)} - known, path)
    sys.path.append(str(_MODULES))
    for path, text in _texts(folder, PYTHON_FILES):
        if _IMPORT.search(text):
            _count(found, (name for name in set(_PYTHON_NAME.findall(text)) if not _in_module(name)), path)
    return found


def listing(found: dict[str, set[Path]], folder: Path) -> str:
    """A line a name, the most used first: how many files call it, and the first of them."""
    rows = sorted(found.items(), key=lambda row: (-len(row[1]), row[0]))
    lines = [f"{len(paths):5d}  {name}  {min(paths).relative_to(folder)}" for name, paths in rows]
    return "\n".join([*lines, f"{len(rows)} names are lacking"])


def _count(found: dict[str, set[Path]], names: Iterable[str], path: Path) -> None:
    for name in names:
        found[name].add(path)


def _texts(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file():
            yield path, path.read_text(errors="replace")


def _in_module(name: str) -> bool:
    place: object = importlib.import_module("acl")
    for part in name.split(".")[1:]:
        if not hasattr(place, part):
            return False
        place = getattr(place, part)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/acl_names", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    headers = Path(ascend_ep.cann.__file__).parents[1] / "include"
    print(listing(lacking(folder, headers), folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
