"""Fresh processes that don't begin with the caller's program: it may lack the guard that spawning wants, and
in a forked one the runtime's threads are gone."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from types import ModuleType


@contextmanager
def fresh_processes() -> Iterator[SpawnContext]:
    """What starts them, while the block runs."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield multiprocessing.get_context("spawn")
    finally:
        sys.modules["__main__"] = program
