"""What the repository says of its models: the index of the protocol's repository extension."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    READY = "READY"
    LOADING = "LOADING"
    UNLOADING = "UNLOADING"
    UNAVAILABLE = "UNAVAILABLE"


@dataclass(frozen=True)
class IndexEntry:
    """version and state are "" for a model that was never loaded. reason: why it isn't ready, or why what
    serves is not the newest; fit for clients."""

    name: str
    version: str = ""
    state: str = ""
    reason: str = ""
