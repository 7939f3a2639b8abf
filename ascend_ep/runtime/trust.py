"""The user's trust store: digests of native code that may run from bundles.

Lines "sha256 <64 hex digits> [comment]" in $ASCEND_EP_TRUST, else ascend_ep/trust in $XDG_CONFIG_HOME or
~/.config. libascend_rt reads it (native/core/trust.c), and only when it belongs to the user and nobody else
may write it.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from ascend_ep import atomic_file, regular_file
from ascend_ep.errors import AscendError
from ascend_ep.runtime.cache_folder import user_folder

#: A line as libascend_rt reads it, and the bytes of a store that it reads.
_LINE = re.compile(rb"[ \t]*sha256[ \t]+([0-9A-Fa-f]{64})(?:[ \t\r]|\Z)")
_MOST_BYTES = 1 << 20


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
    """The digests that libascend_rt finds in the store, as lower-case hex."""
    try:
        content = b"" if problem() else regular_file.read(store_path())
    except (OSError, AscendError):
        return set()
    lines = content.partition(b"\0")[0].split(b"\n")
    return {found[1].decode().lower() for line in lines if (found := _LINE.match(line))}


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
    if info.st_size > _MOST_BYTES:
        return f"it has more than {_MOST_BYTES >> 20} MB"
    return "others may write it" if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def trust(digests: Iterable[tuple[str, str]]) -> Path:
    """Adds (hex digest, comment) pairs that aren't there yet. Raises AscendError E40002, also where the store
    wouldn't count with them."""
    path, wanted = store_path(), list(digests)
    if wrong := problem():
        raise AscendError("E40002", f"can't write the trust store [{path}]: {wrong}", fix=_mend(path, wrong))
    known = trusted()
    fresh = [f"sha256 {d} {' '.join(comment.split())}\n" for d, comment in wanted if d not in known]
    if not fresh and path.exists():
        return path
    try:
        atomic_file.make_folder(path.parent, 0o700)
        atomic_file.append(path, "".join(fresh), 0o600)
    except OSError as error:
        raise AscendError("E40002", f"can't write the trust store [{path}]: {error.strerror}") from error
    if {digest for digest, _ in wanted} - trusted():
        wrong = problem() or "what is in it keeps its last lines from being read"
        raise AscendError(
            "E40002", f"the trust store [{path}] counts for nothing: {wrong}", fix=_mend(path, wrong)
        )
    return path


def _mend(path: Path, wrong: str) -> str:
    if wrong.startswith("others"):
        return f"Look at what is in it, then: chmod go-w {shlex.quote(str(path))}"
    return "Remove it, and trust again what you still do."
