"""The folder of models: `<model>/<version>/model.om` (or `model.onnx`), where a version is a positive number.

A folder can also be one model's, as KServe mounts it: then its versions, or its one bundle, lie in it itself.
Names that begin with a dot or end as those of unfinished copies do are no models, versions or files.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from ascend_ep.errors import AscendError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
VERSION = re.compile(r"[1-9][0-9]{0,17}")
UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".swp", "~")
BUNDLE = "model.om"
ONNX = "model.onnx"
CONTEXT_SUFFIX = "_ctx.onnx"
WEIGHTS = "weight"
CONFIG = "config.pbtxt"
OPTIONS = "atc.cfg"
#: Of what lies around instead of versions.
_SHOWN = 4


class Layout:
    """`only`: the name of the one model that the folder is of, "" for a folder of models. Raises AscendError
    E50030 for a name that no model can have."""

    def __init__(self, root: Path, only: str = "") -> None:
        if only and not is_name(only):
            raise AscendError("E50030", only, "model-name", "it has letters, digits, _, - and dots within")
        self.root = root
        self.only = only

    def names(self) -> list[str]:
        """The models there are. Raises AscendError E50021 when there is no folder, E50052 when it can't be
        listed."""
        if self.only:
            return [self.only]
        try:
            with os.scandir(self.root) as entries:
                return sorted(e.name for e in entries if is_name(e.name) and e.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            raise AscendError("E50021", self.root) from None
        except OSError as error:
            raise AscendError("E50052", self.root, error.strerror) from None

    def model(self, name: str) -> Path:
        return self.root if self.only else self.root / name

    def versions(self, name: str) -> dict[int, Path]:
        """The folders of the versions of a model that have a bundle or an ONNX model, by number.

        Raises AscendError E50052 when the file system doesn't say.
        """
        folder = self.model(name)
        found: dict[int, Path] = {}
        try:
            with os.scandir(folder) as entries:
                numbered = [e.name for e in entries if VERSION.fullmatch(e.name) and e.is_dir()]
        except OSError as error:
            if _is_absent(error):
                return {}
            raise _unreadable(folder, error) from None
        found = {int(n): folder / n for n in numbered if source(folder / n) is not None}
        if not found and self.only and source(folder) is not None:
            found[1] = folder
        return found

    def instead(self, name: str) -> str:
        """What a model without a version has in the place of one: "none; there is 1/model.plan"."""
        found: list[str] = []
        try:
            with os.scandir(self.model(name)) as entries:
                for entry in sorted(entries, key=lambda e: e.name):
                    shown = [entry.name + "/" * entry.is_dir()]
                    if entry.is_dir() and VERSION.fullmatch(entry.name):
                        shown = [f"{entry.name}/{i}" for i in sorted(os.listdir(entry))] or shown
                    found += [s for s in shown if s != CONFIG and not _ignored(s)]
        except OSError:
            return "none"
        listed = ", ".join(found[:_SHOWN]) + ", ..." * (len(found) > _SHOWN)
        return f"none; there is {listed}" if found else "none"

    def is_model(self, name: str) -> bool:
        """Whether anything in the folder of that name could be served, or can't be read."""
        try:
            return bool(self.versions(name)) or is_file(self.model(name) / CONFIG)
        except AscendError:
            return True

    def contained(self, path: Path) -> Path:
        """The file or folder without symbolic links. Raises AscendError E50042 when it lies outside the
        repository, E50045 when it is gone."""
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            raise AscendError("E50045", self.shown(path)) from None
        if not real.is_relative_to(self.root.resolve()):
            raise AscendError("E50042", self.shown(path))
        return real

    def shown(self, path: Path) -> str:
        """A path as clients may see it: within the repository."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else path.name


def is_name(name: str) -> bool:
    """Whether a folder of this name is a model."""
    return bool(NAME.fullmatch(name)) and not name.endswith(UNFINISHED)


def is_file(path: Path) -> bool:
    """Whether there is such a file. Raises AscendError E50052 when the file system doesn't say: what can't be
    read at the moment isn't taken for gone."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """As is_file."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    """0 when there is nothing."""
    try:
        return path.stat().st_mode
    except OSError as error:
        if _is_absent(error):
            return 0
        raise _unreadable(path, error) from None


def _is_absent(error: OSError) -> bool:
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def _unreadable(path: Path, error: OSError) -> AscendError:
    return AscendError("E50052", f"{path.parent.name}/{path.name}", error.strerror)


def source(folder: Path) -> Path | None:
    """What a version is served from: its bundle, else its ONNX model, else nothing."""
    return next((p for p in (folder / BUNDLE, folder / ONNX) if is_file(p)), None)


def original(folder: Path) -> Path | None:
    """The ONNX model of a version, which its bundle was made from."""
    return folder / ONNX if is_file(folder / ONNX) else None


def files(folder: Path) -> Iterator[Path]:
    """The files that a version consists of: a bundle with its weights and the model that may stand in for it,
    or a model with all beside it."""
    model = source(folder)
    if model is None:
        return
    if model.name == BUNDLE:
        yield model
        yield from _below(folder / WEIGHTS)
        if is_file(folder / ONNX):
            yield folder / ONNX
    else:
        yield from _below(folder)


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not _ignored(f))
        yield from (Path(root) / n for n in sorted(names) if not _ignored(n))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name.endswith((*UNFINISHED, CONTEXT_SUFFIX))
