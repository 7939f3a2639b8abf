"""The settings file of ACL (acl.json): what of it is done here, and what is said not to be."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ascend_ep import regular_file
from ascend_ep.opdef.jsontext import strict_json

from .failure import Failure


@dataclass(frozen=True)
class Settings:
    """profile: the folder for a trace, or None. dumps: whether tensors are dumped. remarks: what has no
    effect."""

    profile: Path | None = None
    dumps: bool = False
    remarks: tuple[str, ...] = ()


def read_settings(path: str | os.PathLike[str] | None) -> Settings:
    """The settings in a file; those of no file for None or "". Raises Failure E45003."""
    if not path:
        return Settings()
    try:
        found = strict_json(regular_file.read(path) or b"{}")
    except OSError as error:
        raise Failure("E45003", path, f"it can't be read: {error.strerror}") from None
    except ValueError as error:
        raise Failure("E45003", path, f"it isn't JSON: {error}") from None
    if not isinstance(found, dict):
        raise Failure("E45003", path, "it isn't an object of settings")
    profiler, profile = found.get("profiler"), None
    if isinstance(profiler, dict) and profiler.get("switch") == "on":
        profile = Path(str(profiler.get("output") or "."))
    remarks = [f"acl.json: [{key}] has no effect here" for key in found if key not in ("profiler", "dump")]
    return Settings(profile, found.get("dump", {}) != {}, tuple(remarks))
