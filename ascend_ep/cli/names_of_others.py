"""Names from bundles, models and profiles in what a command prints: none begins a line, steers a terminal or
turns the direction of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascend_ep.errors import CONTROLS, in_a_line, in_lines

#: Those that JSON has as they are, and tables with colours of ours may show by number.
_BEYOND_ASCII = {c: f"\\u{c:04x}" for c in CONTROLS if c >= 0x7F}


def text_of(data: object, text: str) -> str:
    """`text`, which was made from `data`."""
    for found in sorted(set(_strings(data)), key=len, reverse=True):
        shown = in_a_line(found)
        if shown != found:
            text = text.replace(found, shown)
    return in_lines(text)


def beyond_ascii(text: str) -> str:
    """JSON, or a table in which names are in one line already."""
    return text.translate(_BEYOND_ASCII)


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _strings(key)
            yield from _strings(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _strings(value)
