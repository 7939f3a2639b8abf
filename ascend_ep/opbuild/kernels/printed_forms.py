"""Calls of AscendCL that pages print and that CANN lacks: where a program's sources have them.

What they are, and what to write instead, stands in the header that takes them, acl/asc_printed_forms.h; a
compiler that is called by itself warns of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.declarations import without_comments

_FORM = re.compile(r"^ASC_PRINTED\(\"(.*)\"\)\n.*?(\w+)(?: =|\()", re.MULTILINE)
#: Of two arguments, where CANN's has three.
_MALLOC = "asc_malloc_of_two"
_TWO = r"\baclrtMalloc(?=\s*\((?:[^(),;]|\([^()]*\))*,(?:[^(),;]|\([^()]*\))*\))"


@cache
def _forms() -> dict[re.Pattern[str], str]:
    text = (HEADERS / "acl" / "asc_printed_forms.h").read_text(encoding="utf-8")
    return {
        re.compile(_TWO if name == _MALLOC else rf"\b{name}\b"): instead
        for instead, name in _FORM.findall(text)
    }


def printed_forms(files: Iterable[Path]) -> Iterator[str]:
    """A line for each: where it is, and what CANN has."""
    for path in files:
        plain = without_comments(path.read_text(encoding="utf-8", errors="replace"))
        for form, instead in _forms().items():
            for found in form.finditer(plain):
                line = plain.count("\n", 0, found.start()) + 1
                yield f"{path.name}:{line}: CANN has no such {found[0]}; write {instead}"
