"""Keeps code that nobody vouches for from files, processes, the network and native code, by audit events.

It is the second wall: a whitelist over the syntax (frontends.answers) is the first. What Python itself reads
to import a module stays allowed.
"""

from __future__ import annotations

import os
import sys

_REFUSED = (
    "os.",
    "subprocess.",
    "socket.",
    "ctypes.",
    "shutil.",
    "pty.",
    "fcntl.",
    "mmap.",
    "tempfile.",
    "urllib.",
)
_ALLOWED = ("os.listdir", "os.scandir")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine(answer: int) -> None:
    """From now on, and for good in this process; the descriptor `answer` may be written."""
    readable = tuple(os.path.realpath(p) + os.sep for p in (sys.prefix, sys.base_prefix, *sys.path) if p)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if path == answer:
                return
            writes = any(c in str(mode or "") for c in "wax+") or (
                isinstance(flags, int) and flags & _WRITING
            )
            if writes or not str(path).startswith(readable):
                raise PermissionError("an answer may not open files")
        elif event.startswith(_REFUSED) and event not in _ALLOWED:
            raise PermissionError(f"an answer may not use {event}")

    sys.addaudithook(hook)
