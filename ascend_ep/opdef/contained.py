"""Files that a definition names: always below its own folder, whatever the definition says."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PureWindowsPath

from ascend_ep.errors import AscendError


def resolve_contained(folder: Path, name: str, where: str = "") -> Path:
    """The regular file `name` below `folder`, as an absolute path.

    Refused (E41007): absolute paths, `..`, and any symbolic link on the way from the folder to the file,
    including the file itself; hard links, whose content another folder may own; anything but a regular file.
    """

    def refuse(reason: str) -> AscendError:
        return AscendError("E41007", name, reason, where=where)

    if "\0" in name or "\\" in name or PureWindowsPath(name).drive:
        raise refuse("it has characters that a relative POSIX path can't have")
    if name.startswith("/"):
        raise refuse("it is absolute")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise refuse("it leaves the folder")
    path = Path(os.path.realpath(folder))
    for i, part in enumerate(parts):
        path = path / part
        try:
            mode = os.lstat(path)
        except OSError as error:
            raise refuse(error.strerror or "it can't be read") from None
        if stat.S_ISLNK(mode.st_mode):
            raise refuse(f"{part} is a symbolic link")
        last = i == len(parts) - 1
        if last and not stat.S_ISREG(mode.st_mode):
            raise refuse("it is no regular file")
        if last and mode.st_nlink > 1:
            raise refuse("it has more than one hard link")
    return path
