"""The session being created on this thread.

onnxruntime partitions and compiles on the thread that creates the session, so what the session hook knows
reaches the plugin's callbacks by thread.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ascend_ep.opdef.registry import Registry


@dataclass
class Pending:
    """A session between its hook and its first run."""

    session: weakref.ref[Any]
    registry: Registry


class _Local(threading.local):
    def __init__(self) -> None:
        self.pending: Pending | None = None
        self.models: dict[frozenset[str], Any] = {}
        self.functions: set[tuple[str, str]] | None = None
        self.overridden: Mapping[str, Any] = {}


_local = _Local()


def announce(session: Any, registry: Registry) -> None:
    """From now on callbacks on this thread belong to `session`."""
    clear()
    _local.pending = Pending(weakref.ref(session), registry)


def clear() -> None:
    """Callbacks on this thread belong to nobody known."""
    _local.pending = _local.functions = None
    _local.overridden = {}
    _local.models.clear()


def announce_functions(functions: set[tuple[str, str]]) -> None:
    """Callbacks on this thread belong to a session with AscendEP by device; its model has these functions."""
    clear()
    _local.functions = functions


def functions() -> set[tuple[str, str]] | None:
    """What `announce_functions` said last; None: nobody has read the model."""
    return _local.functions


def override(values: Mapping[str, Any]) -> None:
    """The session of callbacks on this thread has these values for initializers of these names."""
    _local.overridden = values


def overridden() -> Mapping[str, Any]:
    """What `override` said last."""
    return _local.overridden


def current() -> Pending | None:
    """What `announce` said last, while that session lives."""
    found = _local.pending
    return found if found is not None and found.session() is not None else None


def models() -> dict[frozenset[str], Any]:
    """The asc_model of each group that onnxruntime hasn't asked for yet, by the names of its outputs."""
    return _local.models
