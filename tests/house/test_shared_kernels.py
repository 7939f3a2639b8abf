"""Kernels that use neither AVX512-BF16 nor AMX are compiled once for the upper levels (CMakeLists.txt).

The options of two neighbouring levels differ in a few macros of the compiler. A file that neither names
one nor includes one that does is the same text at both, but for the names that ASC_FN gives.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_circles import Graph, include_graph

ROOT = Path(__file__).resolve().parent.parent.parent
#: What a level has beyond the one below it: the list of its files, the macros they name, its own options.
BF16 = ("bf16_sources", re.compile(r"__AVX512(BF16|VNNI)__"), "avx512bf16", "avx512")
VNNI = ("vnni_sources", re.compile(r"__AVX512VNNI__"), "avx512vnni", "avx512")
AMX = ("amx_sources", re.compile(r"__AMX_?TILE__"), "amx", "avx512bf16")
#: On AArch64, where the files of bf16_sources are compiled anew for bf16i8mm, too.
ARM_BF16 = re.compile(r"__ARM_FEATURE_(BF16_VECTOR_ARITHMETIC|MATMUL_INT8)")
ARM_DOTPROD = re.compile(r"__ARM_FEATURE_DOTPROD")
LEVELS = pytest.mark.parametrize(
    ("sources", "macro", "level", "below"), [BF16, VNNI, AMX], ids=["bf16", "vnni", "amx"]
)


def listed(sources: str) -> list[str]:
    """The files that CMake compiles anew for a level, below native/kernels and without `.c`."""
    found = re.search(rf"set\({sources}\s?([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())
    assert found
    return found[1].split()


def reaching(graph: Graph, named: set[str]) -> set[str]:
    """The files of `named`, and all that include one of them, directly or through others."""
    while more := {file for file, included in graph.items() if included & named} - named:
        named = named | more
    return named


def dependent(files: list[Path], macro: re.Pattern[str]) -> set[str]:
    named = {file.name for file in files if macro.search(file.read_text())}
    return {name for name in reaching(include_graph(files), named) if name.endswith(".c")}


def kernels_dependent(macro: re.Pattern[str]) -> list[str]:
    """The files below native/kernels, without `.c`, whose text a macro changes."""
    files = [
        p for folder in ("kernels", "core", "include") for p in (ROOT / "native" / folder).rglob("*.[ch]")
    ]
    kernels = {p.name: str(p.relative_to(ROOT / "native/kernels")) for p in files if "kernels" in p.parts}
    return sorted(kernels[name].removesuffix(".c") for name in dependent(files, macro) & kernels.keys())


@LEVELS
def test_files_are_compiled_twice_when_their_text_differs(
    sources: str, macro: re.Pattern[str], level: str, below: str
) -> None:
    assert sorted(listed(sources)) == kernels_dependent(macro)


def test_files_of_vnni_are_the_same_text_above() -> None:
    assert not set(listed("vnni_sources")) & set(kernels_dependent(re.compile("__AVX512BF16__")))


def test_files_are_compiled_for_each_level_of_aarch64_when_their_text_differs() -> None:
    assert sorted(listed("dotprod_sources")) == kernels_dependent(ARM_DOTPROD)
    assert set(kernels_dependent(ARM_BF16)) - set(listed("bf16_sources")) == set(listed("arm_bf16_sources"))
    assert set(listed("dotprod_sources")) <= set(listed("bf16_sources"))


@LEVELS
def test_the_options_differ_in_what_is_looked_for(
    sources: str, macro: re.Pattern[str], level: str, below: str
) -> None:
    options = re.search(
        rf"set\(flags_{level} \$\{{flags_{below}\}} ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()
    )
    wanted = {
        "avx512vnni": {"-mavx512vnni"},
        "avx512bf16": {"-mavx512bf16", "-mavx512vnni"},
        "amx": {"-mamx-tile", "-mamx-bf16", "-mamx-int8"},
    }
    assert options
    assert set(options[1].split()) == wanted[level]


def test_planted_files(tmp_path: Path) -> None:
    for name, text in {
        "a.h": "#if defined(__AVX512VNNI__)",
        "b.h": '#include "sub/a.h"',
        "c.c": '#include "b.h"',
        "d.c": "int x;",
    }.items():
        (tmp_path / name).write_text(text)
    assert dependent(list(tmp_path.iterdir()), BF16[1]) == {"c.c"}
