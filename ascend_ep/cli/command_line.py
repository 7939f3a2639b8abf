"""The line that runs, for what must know everything that it names."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

#: Its words, without the command's own.
LINE: ContextVar[Sequence[str]] = ContextVar("LINE", default=())
