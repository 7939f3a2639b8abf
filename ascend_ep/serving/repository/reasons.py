"""Failures to load, as clients may read them."""

from __future__ import annotations

import re

from ascend_ep.errors import AscendError

from .layout import Layout

#: Of absolute paths.
_FOLDERS = re.compile(r"(?<![\w.~/-])/(?!/)(?:[\w.~+@-]+/)+")


def reason(error: AscendError, places: Layout) -> str:
    """Code and sentence; of places outside the repository only the names of files."""
    text = f"{error.code}: {error.text}"
    for root in (places.root, places.root.resolve()):
        text = text.replace(f"{root}/", "")
    return _FOLDERS.sub("", text)
