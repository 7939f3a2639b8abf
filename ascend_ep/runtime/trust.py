"""The user's trust store: digests of native code that may run from bundles.

Lines "sha256 <64 hex digits> [comment]" in $ASCEND_EP_TRUST, else ascend_ep/trust in $XDG_CONFIG_HOME or
~/.config. libascend_rt reads it (native/core/trust.c), and only when it belongs to the user and nobody else
may write it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from ascend_ep import atomic_file, regular_file
from ascend_ep.errors import AscendError
from ascend_ep.runtime.cache_folder import user_folder

_DIGEST = re.compile(r"[0-9A-Fa-f]{64}")


def store_path() -> Path:
    """Where the store is, whether it exists or not. Raises AscendError E40002 when there is no home."""
    given = os.environ.get("ASCEND_EP_TRUST")
    if given:
        return Path(given)
    folder = user_folder("XDG_CONFIG_HOME", ".config")
    if folder is None:
        raise AscendError(
            "E40002", "there is no HOME for the trust store", fix="Set ASCEND_EP_TRUST to a file."
        )
    return folder / "trust"


def trusted() -> set[str]:
    """The digests in the store, as lower-case hex."""
    try:
        lines = regular_file.read(store_path()).decode(errors="replace").splitlines()
    except (OSError, AscendError):
        return set()
    fields = (line.split() for line in lines)
    return {f[1].lower() for f in fields if len(f) >= 2 and f[0] == "sha256" and _DIGEST.fullmatch(f[1])}


def problem() -> str:
    """Why libascend_rt would not read the store; "" when it would, or when there is none."""
    try:
        info = store_path().stat()
    except (OSError, AscendError):
        return ""
    if not stat.S_ISREG(info.st_mode):
        return "it is no regular file"
    if info.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others may write it" if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def trust(digests: Iterable[tuple[str, str]]) -> Path:
    """Adds (hex digest, comment) pairs that aren't there yet. Raises AscendError E40002."""
    path = store_path()
    if path.exists() and not path.is_file():
        raise AscendError("E40002", f"can't write the trust store [{path}]: it is no regular file")
    known = trusted()
    fresh = [
        f"sha256 {digest} {' '.join(comment.split())}\n" for digest, comment in digests if digest not in known
    ]
    if not fresh and path.exists():
        return path
    try:
        atomic_file.make_folder(path.parent, 0o700)
        atomic_file.append(path, "".join(fresh), 0o600)
    except OSError as error:
        raise AscendError("E40002", f"can't write the trust store [{path}]: {error.strerror}") from error
    return path
