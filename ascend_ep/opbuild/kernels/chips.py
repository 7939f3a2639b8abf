"""The chip that an operator is for where nobody says: of those that its host code names with AddConfig."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ascend_ep.cann.soc import Soc, find_soc
from ascend_ep.errors import AscendError

#: Of the family that most operators name, `ascend910b`; also where host code names none.
SOC_VERSION = "Ascend910B1"
_CONFIG = re.compile(r'\bAddConfig\s*\(\s*"(\w+)"')


def chips_named(files: Iterable[Path]) -> list[str]:
    """Families of chips in calls of AddConfig, in the order of the text."""
    texts = (f.read_text(encoding="utf-8", errors="replace") for f in files)
    return list(dict.fromkeys(name for text in texts for name in _CONFIG.findall(text)))


def soc_of(chips: Sequence[str]) -> Soc:
    """The default chip if its family is among these, else one of the first family that is known."""
    families = [] if any(c.lower() == "ascend910b" for c in chips) else chips
    for chip in families:
        try:
            return find_soc(chip[:1].upper() + chip[1:6] + chip[6:].upper())
        except AscendError:
            continue
    return find_soc(SOC_VERSION)
