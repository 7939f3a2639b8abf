"""Files that users name as inputs: a device may never end, a pipe's opening may wait for ever."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from ascend_ep.errors import AscendError


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """The file, to be read. Raises OSError, also for what is neither a file nor a link to one."""
    # A pipe's opening would wait for its other end.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return file


def read(path: str | os.PathLike[str]) -> bytes:
    """What the file holds. Raises OSError as `opened` does."""
    with opened(path) as file:
        return file.read()


def need(path: str | os.PathLike[str], *details: str, where: str = "") -> None:
    """Raises AscendError, as `refusal`, for what is no file."""
    if not Path(path).is_file():
        raise refusal(path, *details, where=where)


def refusal(path: str | os.PathLike[str], *details: str, where: str = "") -> AscendError:
    """Of what is no file: E10410 where nothing is, else E41010, which says what is there."""
    found = Path(path)
    if not found.exists():
        return AscendError("E10410", path, *details, where=where)
    reason = "it is a folder" if found.is_dir() else "it is no regular file"
    return AscendError("E41010", path, reason, *details, where=where)


def is_endless(path: Path) -> bool:
    """Whether it is there, and neither a file nor a folder."""
    return path.exists() and not (path.is_file() or path.is_dir())
