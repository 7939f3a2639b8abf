"""Attributes of the device's compiler in brackets, `[aicore]`, which no C++ compiler reads: taken out of a unit's text
as the preprocessor makes it, so that they may stand in macros and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_OF_DEVICE = re.compile(r"(?<!\[)\[[ \t]*(?:host[ \t]*,[ \t]*)?aicore[ \t]*\](?!\])")
_OF_BLOCK = re.compile(r"(?<!\[)\[[ \t]*(?:block|workgroup)_local[ \t]*\](?!\])")


def has_bracketed(text: str, files: Iterable[Path]) -> bool:
    """Whether a unit's text or one of the files that it includes has such an attribute."""
    texts = (f.read_text(encoding="utf-8", errors="replace") for f in files)
    return any(_OF_DEVICE.search(t) or _OF_BLOCK.search(t) for t in (text, *texts))


def without_bracketed(preprocessed: str) -> str:
    """The text in C++: what a block has of its own is a thread's, as a block is one here."""
    return _OF_BLOCK.sub("thread_local", _OF_DEVICE.sub("", preprocessed))
