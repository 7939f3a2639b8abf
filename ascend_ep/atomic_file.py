"""Files that are replaced whole: what is at a name is the old content or the new, whenever the program is
killed or the power fails.

New content is written beside its target, synced to the disk, and renamed over it. A target that is no regular
file, such as /dev/stdout or a pipe, is written to instead. With ASCEND_EP_SYNC=0 nothing waits for the disk:
a failure of the power can then leave a file cut.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: File systems that can't sync a file say so by these.
_UNSYNCED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
#: Characters of the target's name in that of the file beside it; a name has at most 255 bytes.
_STEM = 40


def write(target: Path, content: bytes | str) -> None:
    """Puts `content`, text as UTF-8, in the place of the file. Raises OSError; the old one stays then."""
    with replacing(target) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A file to write and read whose content is that of `target` once the block has ended. Raises OSError.

    After an error in the block, or an interrupt, `target` is what it was.
    """
    if _is_special(target):
        with open(target, "wb") as file:
            yield file
        return
    beside = beside_of(target)
    try:
        with open(beside, "xb+") as file:
            yield file
            file.flush()
            _sync(file.fileno())
        os.replace(beside, target)
    finally:
        with suppress(OSError):
            beside.unlink()
    sync_folder(target.parent)


def put(made: Path, target: Path, *, settled: bool = True) -> None:
    """Gives a finished file, or a folder that isn't there yet, its name on the same file system.

    Without `settled`, a failure of the power may still lose the name: sync_folder after the last of several.
    Raises OSError.
    """
    handle = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync(handle)
    finally:
        os.close(handle)
    os.replace(made, target)
    if settled:
        sync_folder(target.parent)


def copy(source: Path, target: Path) -> None:
    """Puts the content and the mode of a file in the place of another. Raises OSError."""
    with replacing(target) as file, open(source, "rb") as given:
        os.fchmod(file.fileno(), os.fstat(given.fileno()).st_mode & 0o777)
        shutil.copyfileobj(given, file)


def append(target: Path, lines: str, mode: int = 0o666) -> None:
    """Adds whole lines to a file, made with `mode` if need be. Raises OSError.

    A last line that was cut is ended first, so that it spoils none of these.
    """
    handle = os.open(target, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
    with open(handle, "ab", buffering=0) as file:
        size = os.fstat(handle).st_size
        is_cut = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = ("\n" * is_cut + lines).encode()
        while data:
            data = data[file.write(data) :]
        _sync(handle)
    sync_folder(target.parent)


def beside_of(target: Path) -> Path:
    """A new hidden name in the folder of `target`, for what will be renamed over it."""
    return target.with_name(f".{target.name[:_STEM]}.{os.getpid()}-{os.urandom(4).hex()}.part")


def sync_folder(folder: Path) -> None:
    """Waits until the names in it are on the disk. Names that can't be synced are in force all the same."""
    if not _waits():
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync(handle: int) -> None:
    if not _waits():
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSYNCED:
            raise


def _waits() -> bool:
    return os.environ.get("ASCEND_EP_SYNC") != "0"


def _is_special(target: Path) -> bool:
    try:
        kind = target.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))
