"""No garbage collection while a model is compiled.

Compiling makes a hundred thousand objects, of which few are garbage before its end; what Python's collector
does meanwhile is to look at all objects of the process again and again, with onnxruntime waiting.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class _Pauses:
    active: int = 0
    was_enabled: bool = False


_pauses = _Pauses()
_lock = threading.Lock()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Python's cyclic collector is off until the last of these that overlap has ended, then as it was."""
    with _lock:
        if _pauses.active == 0:
            _pauses.was_enabled = gc.isenabled()
            gc.disable()
        _pauses.active += 1
    try:
        yield
    finally:
        with _lock:
            _pauses.active -= 1
            if _pauses.active == 0 and _pauses.was_enabled:
                gc.enable()
