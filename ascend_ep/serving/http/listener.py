"""Listening sockets: one in the file system, and the end of one without a reset connection."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import select
import socket
import stat
import struct
import time
from collections.abc import Iterable
from pathlib import Path

#: Linux: a packet filter of a socket. One instruction, "return 0": every packet is dropped.
_SO_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("=HBBI", 0x06, 0, 0, 0)
_SETTLE_SECONDS = 0.5


def unix_socket(path: Path) -> socket.socket:
    """A bound socket that only its owner may use, in the place of one that nobody listens on any more.
    Raises OSError when somebody does, or when something else is there."""
    _remove_stale(path)
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(before)
    return made


async def settle(numbers: Iterable[int]) -> None:
    """Lets no more connections begin on these listening sockets, and returns when those that had begun are
    accepted: closing a listening socket resets what waits there. The clients that are kept out try again
    after a second and are refused then. Without a descriptor left for it, it lets them be reset."""
    listeners: list[socket.socket] = []
    try:
        with contextlib.suppress(OSError):
            for number in numbers:
                listeners.append(socket.socket(fileno=os.dup(number)))
        for listener in listeners:
            _drop_packets(listener)
        poll = select.poll()
        for listener in listeners:
            poll.register(listener, select.POLLIN)
        until = time.monotonic() + _SETTLE_SECONDS
        while poll.poll(0) and time.monotonic() < until:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)  # what was accepted becomes a connection
    finally:
        for listener in listeners:
            listener.close()


def _drop_packets(listener: socket.socket) -> None:
    program = ctypes.create_string_buffer(_DROP_ALL, len(_DROP_ALL))
    with contextlib.suppress(OSError):
        listener.setsockopt(
            socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(program))
        )


def _remove_stale(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
