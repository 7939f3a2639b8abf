"""Whether a text is a TBE file: by what it imports."""

from __future__ import annotations

import re

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<source>[\w.]+)[ \t]+import\b(?P<names>[^\n]*)|import[ \t]+(?P<module>[\w.]+))",
    re.MULTILINE,
)
_PACKAGES = ("te", "tbe", "topi", "tvm", "impl")


def is_tbe(text: str) -> bool:
    """Whether it imports a package of the TBE toolkit, or registers a TBE operator with MindSpore."""
    for found in _IMPORT.finditer(text):
        module = found["source"] or found["module"]
        if module.partition(".")[0] in _PACKAGES:
            return True
        if module.startswith("mindspore.ops") and "TBERegOp" in (found["names"] or ""):
            return True
    return False
