"""The folder of models: `<model>/<version>/model.om`, where a version is a positive number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
VERSION = re.compile(r"[1-9][0-9]{0,17}")
BUNDLE = "model.om"


def model_names(root: Path) -> list[str]:
    """The folders in `root` that are named as models may be."""
    return sorted(p.name for p in root.iterdir() if p.is_dir() and NAME.fullmatch(p.name))


def versions(model: Path) -> Iterator[int]:
    """The versions of a model that have a bundle."""
    for folder in model.iterdir():
        if VERSION.fullmatch(folder.name) and (folder / BUNDLE).is_file():
            yield int(folder.name)
