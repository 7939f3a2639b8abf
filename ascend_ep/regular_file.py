"""Files that users name as inputs, read whole: a device or a pipe may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read(path: str | os.PathLike[str]) -> bytes:
    """What the file holds. Raises OSError, also for what is neither a file nor a link to one."""
    # A pipe's opening would wait for its other end.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
        return file.read()


def is_endless(path: Path) -> bool:
    """Whether it is there, and neither a file nor a folder."""
    return path.exists() and not (path.is_file() or path.is_dir())
