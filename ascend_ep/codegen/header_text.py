"""The part of generated code that is the same for every operator: the text of the kernels' own headers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

HEADERS = Path(__file__).resolve().parent.parent / "include"

_IMMINTRIN = "#include <immintrin.h>"
_INTRINSICS = re.compile(r"\b(?:_mm\d*_\w+|_MM_\w+|__m\d\w+|__mmask\d+)\b")


@cache
def code(wide: bool) -> str:
    """The text of formula_code.h with what it includes of ours."""
    seen: set[str] = set()
    lines: list[str] = [f"#define ASC_WIDE {int(wide)}"]

    def add(name: str) -> None:
        for line in _text(name).splitlines():
            included = re.fullmatch(r'#include "(\w+\.h)"', line)
            if included is None:
                lines.append(line)
            elif included[1] not in seen and included[1] != "kernel.h":
                seen.add(included[1])
                add(included[1])

    add("formula_code.h")
    return "\n".join(lines)


@cache
def ranking() -> str:
    """The text of formula_rank.h."""
    return _text("formula_rank.h")


@cache
def mathematics(wide: bool) -> str:
    """All that may stand before a kernel: code and ranking."""
    return code(wide) + "\n" + ranking()


@cache
def abi() -> str:
    """The text of formula_abi.h."""
    return _text("formula_abi.h")


def code_of(text: str) -> str:
    """C without its comments."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def with_few_intrinsics(text: str) -> str:
    """The text with intrinsics.h after its first line and without immintrin.h, where that has all it uses."""
    few = _few_intrinsics()
    if set(_INTRINSICS.findall(text)) - set(_INTRINSICS.findall(few)):
        return text
    first, _, rest = text.replace(f"\n{_IMMINTRIN}\n", "\n").partition("\n")
    return "\n".join([first, few, rest])


@cache
def _few_intrinsics() -> str:
    text = _text("intrinsics.h")
    return text.replace(_IMMINTRIN, f"{_IMMINTRIN} /* all of them */").rstrip()


def _text(name: str) -> str:
    return (HEADERS / "kernels" / name).read_text(encoding="utf-8")
