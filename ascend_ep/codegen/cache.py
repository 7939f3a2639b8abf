"""The user's cache of compilations and measurements: where it is, who may use it, and how large it grows.

It is that of `runtime.cache_folder`. Files are `<key>.<suffix>`, the key 64
hexadecimal digits. After each compilation it is cut to $ASCEND_EP_CACHE_LIMIT, in MiB (default 512; 0: no
limit): what was used longest ago goes first, what nobody used for 90 days goes in any case, and what was used
within the last hour stays. Nothing but files with such names is ever removed.

What a compiler made has its SHA-256 beside it, `<key>.<suffix>.sha256`. A file that was cut or changed since,
by a full disk or by hand, isn't used, and made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError

DEFAULT_LIMIT = 512
#: Seconds: younger files stay whatever the size, since whoever asked for them may not have loaded them yet.
FRESH = 3600
#: Seconds after which an unused file goes whatever the size.
OLD = 90 * 24 * 3600
#: Seconds after which a use is noted again.
NOTED = 600
_ENTRY = re.compile(r"(?P<key>[0-9a-f]{64})\.(?:(?:so|o|exe|run|h|h\.gch)(?:\.sha256)?|search\.json|lock)")
_WORK = re.compile(r"\.compile-\w+")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file `path` alone. Raises AscendError E40002 when it can't be written."""
    handle = _lock(path, wait=True)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def only_one(path: Path) -> Iterator[bool]:
    """Whether the lock file `path` was free, and is held now. Raises AscendError as `locked` does."""
    handle = _lock(path, wait=False)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _lock(path: Path, wait: bool) -> int | None:
    """A locked handle, or None when another holds it. A file that was removed meanwhile locks nothing."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise AscendError("E40002", f"can't write [{path}]: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.fstat(handle).st_ino == os.stat(path).st_ino:
                return handle
        except FileNotFoundError:
            pass
        except BlockingIOError:
            os.close(handle)
            return None
        os.close(handle)


def keep(made: Path, target: Path) -> None:
    """Gives what was made its name in the cache. Raises OSError."""
    atomic_file.write(_digest_file(target), _digest(made))
    atomic_file.put(made, target)


def is_whole(target: Path) -> bool:
    """Whether this file of the cache is there, and as it was made."""
    try:
        return _digest_file(target).read_bytes() == _digest(target).encode()
    except OSError:
        return False


def _digest_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def note_use(path: Path) -> None:
    """Makes the file count as used now."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > NOTED:
            os.utime(path)


def limit() -> int | None:
    """$ASCEND_EP_CACHE_LIMIT in bytes, None for no limit. Raises AscendError E10001 for what is no number."""
    text = os.environ.get("ASCEND_EP_CACHE_LIMIT", "").strip()
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise AscendError(
            "E10001", text, "ASCEND_EP_CACHE_LIMIT", "it is a whole number of MiB, 0 for no limit"
        )
    mebibytes = int(text) if text else DEFAULT_LIMIT
    return mebibytes << 20 if mebibytes else None


@dataclass
class _Entry:
    """The files of one key."""

    files: list[Path]
    bytes: int = 0
    used: float = 0.0


def prune(folder: Path, most: int | None, now: float | None = None) -> int:
    """Cuts a cache to `most` bytes; how many it removed. What another process holds the lock of stays."""
    now = time.time() if now is None else now
    _remove_abandoned(folder, now)
    entries = _entries(folder)
    total = sum(e.bytes for e in entries.values())
    removed = 0
    for key, entry in sorted(entries.items(), key=lambda e: e[1].used):
        age = now - entry.used
        over = most is not None and total > most
        if age <= FRESH or not (over or age > OLD):
            continue
        if _remove(folder / f"{key}.lock", entry.files):
            total -= entry.bytes
            removed += entry.bytes
    return removed


def _entries(folder: Path) -> dict[str, _Entry]:
    found: dict[str, _Entry] = {}
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            match = _ENTRY.fullmatch(file.name)
            if match is None or not file.is_file(follow_symlinks=False):
                continue
            with suppress(OSError):
                info = file.stat(follow_symlinks=False)
                entry = found.setdefault(match["key"], _Entry([]))
                entry.files.append(Path(file.path))
                if file.name.endswith(".lock"):
                    continue
                entry.bytes += info.st_blocks * 512
                entry.used = max(entry.used, info.st_mtime)
    return found


def _remove(lock: Path, files: list[Path]) -> bool:
    """Removes the files of a key under its lock, the lock last."""
    try:
        handle = _lock(lock, wait=False)
    except AscendError:
        return False
    if handle is None:
        return False
    try:
        for file in [f for f in files if f != lock] + [lock]:
            with suppress(OSError):
                file.unlink()
    finally:
        os.close(handle)
    return True


def _remove_abandoned(folder: Path, now: float) -> None:
    """Removes the folders of compilations that were killed."""
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if _WORK.fullmatch(file.name) and file.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    if now - file.stat(follow_symlinks=False).st_mtime > FRESH:
                        shutil.rmtree(file.path, ignore_errors=True)
