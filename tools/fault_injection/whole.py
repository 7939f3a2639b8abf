"""Whether files that a command wrote while something failed are whole: the old ones, or as without it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import onnx

from ascend_ep import InferenceSession

Content = dict[str, bytes]
#: Folders that a command makes anew, and refuses where they are.
NEW = ("project",)


def files(folder: Path) -> Content:
    """All but links, and hidden ones; where they name the folder, or what it is a copy of, without."""
    own, kept = os.fsencode(folder), os.fsencode(folder.with_name("kept"))
    found = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return {
        str(p.relative_to(folder)): p.read_bytes().replace(own, b"").replace(kept, b"")
        for p in found
        if not p.name.startswith(".")
    }


def _json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def _ends(text: str) -> Callable[[Path], None]:
    def check(path: Path) -> None:
        assert path.read_text(encoding="utf-8").rstrip().endswith(text), f"it has no {text} at its end"

    return check


def _arrays(path: Path) -> None:
    with np.load(path) as arrays:
        assert [arrays[name].size for name in arrays.files]


def _database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


#: How files show that they are whole; what is in them may differ, as by the time.
CHECKS: dict[str, Callable[[Path], object]] = {
    ".json": _json, ".html": _ends("</html>"), ".npz": _arrays, ".db": _database,
    ".onnx": onnx.load, ".om": InferenceSession, ".xml": _ends(">"),
}  # fmt: skip


class Reference:
    """What is in a folder before a command, and after runs of it in which nothing fails."""

    def __init__(self, folder: Path) -> None:
        self._seen = [files(folder)]

    def note(self, folder: Path) -> None:
        """After another run. What the command makes anew is taken away for the next."""
        self._seen.append(files(folder))
        for name in NEW:
            shutil.rmtree(folder / name, ignore_errors=True)

    def damaged(self, folder: Path) -> str:
        """What is lost or cut, "" for nothing."""
        now, last = files(folder), self._seen[-1]
        for path in self._seen[0].keys() - now.keys():
            return f"{path} is gone"
        for path, content in now.items():
            if any(content == seen.get(path) for seen in self._seen):
                continue
            check = CHECKS.get(Path(path).suffix)
            if check is None and path in last and last[path] == self._seen[-2].get(path):
                return f"{path} isn't the old one or the new one: {len(content)} of {len(last[path])} bytes"
            try:
                if check is not None:
                    check(folder / path)
            except Exception as error:  # of any kind: it can't be read
                return f"{path}: {type(error).__name__}: {error}"
        return ""
