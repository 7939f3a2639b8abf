"""Files that ascend-atc's command line names: what is read must exist, what is written is written whole."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep import atomic_file, regular_file
from ascend_ep.cli.command_line import LINE
from ascend_ep.errors import AscendError, nearest

if TYPE_CHECKING:
    from ascend_ep.compiler.conversion import Conversion

#: Bytes of --output; the rest of what a file system takes is for suffixes and for files half written.
MAX_NAME, MAX_PATH = 200, 4000


def existing(path: str) -> Path:
    """The path of a file that is there. Raises AscendError E10410, or E41010 for what is no file."""
    found = Path(path)
    if not found.is_file():
        stems = [] if found.exists() else nearest(found.stem, _beside(found))
        near = [f"{stem}{found.suffix}" for stem in stems]
        raise regular_file.refusal(path, *([f"near it: {', '.join(near)}"] if near else []))
    return found


def _beside(path: Path) -> list[str]:
    """The names, without it, of files with this suffix in the folder, as long as that isn't large."""
    with contextlib.suppress(OSError):
        return [f.stem for f in itertools.islice(path.parent.iterdir(), 1000) if f.suffix == path.suffix]
    return []


def output_stem(text: str) -> Path:
    """--output as a stem: suffixes are appended, never replaced. Its folder can be made and written to."""
    stem = Path(text)
    if text.endswith("/") or stem.name in ("", ".", "..") or stem.is_dir():
        raise AscendError("E10022", text, "output")
    if len(os.fsencode(stem.name)) > MAX_NAME or len(os.fsencode(text)) > MAX_PATH:
        raise AscendError("E10021", "output", f"{MAX_NAME} bytes for the name, {MAX_PATH} for the path")
    there = next(folder for folder in stem.absolute().parents if folder.exists())
    if not there.is_dir():
        raise AscendError("E10001", text, "--output", f"The folder cannot be made: [{there}] is a file.")
    bundle = Path(f"{stem}.om")
    for made in (bundle, Path(f"{stem}_ctx.onnx")):
        if _times_named(made):
            raise AscendError("E10001", text, "--output", f"The line names [{made}]; it would be lost.")
    if atomic_file.is_mounted(bundle):
        if not os.access(bundle, os.W_OK):
            raise AscendError("E10001", text, "--output", f"[{bundle}] is mounted, and is not writable.")
    elif not os.access(there, os.W_OK):
        raise AscendError("E10001", text, "--output", f"The folder [{there}] is not writable.")
    return stem


def output_path(text: str) -> Path:
    """--output as a stem, whose folder is made."""
    stem = output_stem(text)
    try:
        atomic_file.make_folder(stem.parent)
    except OSError as error:
        raise AscendError(
            "E10001", text, "--output", f"The folder cannot be made: {error.strerror}."
        ) from error
    return stem


def write_bundle(conversion: Conversion, text: str, flag: str) -> Path:
    """Writes TEXT.om and, for onnxruntime, TEXT_ctx.onnx, whose folder is made: all or nothing, also where it
    is interrupted. Returns TEXT. Raises AscendError."""
    stem = output_stem(text)
    bundle, context = Path(f"{stem}.om"), Path(f"{stem}_ctx.onnx")
    with atomic_file.removing_new([stem.parent]):
        output_path(text)
        content = conversion.context_model(bundle.name)  # before anything is written
        before = _identity(bundle)
        try:
            conversion.write(bundle)
            write_renamed(context, content, flag)
        except KeyboardInterrupt:
            if _identity(bundle) != before:
                write_renamed(context, content, flag)
            raise
    return stem


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def check_target(text: str, flag: str) -> None:
    """Before the work whose result goes there: the file that `flag` names can be written, and isn't one that
    the line names elsewhere, such as the model. Raises E10001."""
    if text == "-" or not text:
        return
    try:
        if atomic_file.stands(Path(text)):
            return
    except OSError as error:
        raise AscendError("E10001", text, flag, f"{error.strerror}.") from error
    target = Path(os.path.realpath(text) if os.path.islink(text) else text)
    if target.is_dir():
        raise AscendError("E10001", text, flag, "It is a folder.")
    if not target.parent.is_dir():
        raise AscendError("E10001", text, flag, f"There is no folder [{target.parent}].")
    if _times_named(target) > any(text in _names(word) for word in LINE.get()):
        raise AscendError("E10001", text, flag, "The line names this file elsewhere; it would be lost.")
    if atomic_file.is_mounted(target):
        if not os.access(target, os.W_OK):
            raise AscendError("E10001", text, flag, "It is mounted, and is not writable.")
    elif not os.access(target.parent, os.W_OK):
        raise AscendError("E10001", text, flag, f"The folder [{target.parent}] is not writable.")


def _times_named(file: Path) -> int:
    """How many words of the line name this file, if it is there."""
    try:
        there = file.stat()
    except OSError:
        return 0
    return sum(any(_is_file(name, there) for name in _names(word)) for word in LINE.get())


def _names(word: str) -> set[str]:
    """What a word may name: all of it, the value of its flag, and that of a name."""
    return {word, word.partition("=")[2], word.rpartition("=")[2]}


def _is_file(name: str, there: os.stat_result) -> bool:
    try:
        return bool(name) and os.path.samestat(os.stat(name), there)
    except (OSError, ValueError):
        return False


def write_renamed(path: Path, data: bytes | str, flag: str) -> None:
    """Replaces a file that `flag` asked for. Raises AscendError E10001."""
    try:
        atomic_file.write(path, data)
    except OSError as error:
        raise AscendError(
            "E10001", str(path), flag, f"The file cannot be written: {error.strerror}."
        ) from error


def write_text(target: str, text: str, flag: str) -> None:
    if target == "-":
        print(text, file=sys.__stdout__)
    else:
        write_renamed(Path(target), text, flag)
