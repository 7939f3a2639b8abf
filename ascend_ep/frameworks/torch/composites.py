"""PyTorch's composite operators, of which every export makes a table three times. Each time they are all
looked up once for each namespace of operators, a fifth of what it takes to convert a small graph. Here they
are looked up once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import lru_cache

_lock = threading.RLock()


@contextlib.contextmanager
def looked_up_once() -> Iterator[None]:
    """In here, where nobody registers any. One thread at a time; a release of PyTorch that does it otherwise
    is left as it is."""
    from torch._export import utils

    with _lock:
        usual = getattr(utils, "_materialize_cpp_cia_ops", None)
        if usual is None:
            yield
            return
        utils._materialize_cpp_cia_ops = lru_cache(maxsize=1)(usual)
        try:
            yield
        finally:
            utils._materialize_cpp_cia_ops = usual
