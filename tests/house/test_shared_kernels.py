"""Kernels whose code doesn't depend on AVX512-BF16 are compiled once for both upper levels (CMakeLists.txt).

The options of the two levels differ in two macros of the compiler. A file that neither names one nor
includes one that does is the same text at both, but for the names that ASC_FN gives.
"""

from __future__ import annotations

import re
from pathlib import Path

from test_circles import Graph, include_graph

ROOT = Path(__file__).resolve().parent.parent.parent
MACRO = re.compile(r"__AVX512(BF16|VNNI)__")


def listed() -> list[str]:
    """The files that CMake compiles for each of the two levels, below native/kernels and without `.c`."""
    found = re.search(r"set\(bf16_sources\s([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())
    assert found
    return found[1].split()


def reaching(graph: Graph, named: set[str]) -> set[str]:
    """The files of `named`, and all that include one of them, directly or through others."""
    while more := {file for file, included in graph.items() if included & named} - named:
        named = named | more
    return named


def dependent(files: list[Path]) -> set[str]:
    named = {file.name for file in files if MACRO.search(file.read_text())}
    return {name for name in reaching(include_graph(files), named) if name.endswith(".c")}


def test_files_are_compiled_twice_when_their_text_differs() -> None:
    files = [
        p for folder in ("kernels", "core", "include") for p in (ROOT / "native" / folder).rglob("*.[ch]")
    ]
    kernels = {p.name: str(p.relative_to(ROOT / "native/kernels")) for p in files if "kernels" in p.parts}
    assert sorted(listed()) == sorted(
        kernels[name].removesuffix(".c") for name in dependent(files) & kernels.keys()
    )


def test_the_options_differ_in_what_is_looked_for() -> None:
    options = re.search(
        r"set\(flags_avx512bf16 \$\{flags_avx512\} ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert options
    assert {option.removeprefix("-mavx512").upper() for option in options[1].split()} == {"BF16", "VNNI"}


def test_planted_files(tmp_path: Path) -> None:
    for name, text in {
        "a.h": "#if defined(__AVX512VNNI__)",
        "b.h": '#include "sub/a.h"',
        "c.c": '#include "b.h"',
        "d.c": "int x;",
    }.items():
        (tmp_path / name).write_text(text)
    assert dependent(list(tmp_path.iterdir())) == {"c.c"}
