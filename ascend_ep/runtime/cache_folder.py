"""Where this user's cache is: of compilations, measurements and conversions."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from ascend_ep.errors import AscendError


def user_folder(variable: str, beside_home: str) -> Path | None:
    """Where this user's files of a kind are: in $XDG_..._HOME where that is an absolute path, as its
    specification has it, else in the folder of the home; None without a home."""
    given, home = os.environ.get(variable, ""), os.environ.get("HOME")
    if os.path.isabs(given):
        return Path(given) / "ascend_ep"
    return Path(home) / beside_home / "ascend_ep" if home else None


def cache_path() -> Path:
    """$ASCEND_EP_CACHE, else ascend_ep in $XDG_CACHE_HOME or ~/.cache, whether it exists or not."""
    given = os.environ.get("ASCEND_EP_CACHE")
    if given:
        return Path(given)
    own = user_folder("XDG_CACHE_HOME", ".cache")
    return own or Path(tempfile.gettempdir()) / f"ascend_ep-{os.geteuid()}"


def open_cache(given: Path | None = None) -> Path:
    """The cache folder, made if need be. Raises AscendError E40002 when it isn't this user's alone."""
    folder = given or cache_path()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info, link = folder.stat(), folder.lstat()
    except OSError as error:
        raise AscendError("E40002", f"can't make the cache [{folder}]: {error.strerror}") from error
    # Who owns a link may have it lead elsewhere after this.
    owners = {info.st_uid, link.st_uid}
    if owners != {os.geteuid()} or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise AscendError(
            "E40002", f"the cache [{folder}] must belong to this user, and nobody else may write it"
        )
    return folder
