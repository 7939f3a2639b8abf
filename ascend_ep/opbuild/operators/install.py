"""Putting an operator's files in place: all of them, or none after a failure or an interrupt."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from ascend_ep import atomic_file, interrupt
from ascend_ep.errors import AscendError
from ascend_ep.runtime.cache_folder import open_cache

#: What ends a program, or raises an exception in it.
_DEFERRED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}


@contextmanager
def exclusively(folders: Sequence[Path]) -> Iterator[None]:
    """Holds this user's locks of these folders, so that of two installations one comes after the other.

    Raises AscendError E40002 when the cache, where the locks are, can't be used.
    """
    cache = open_cache()
    names = {hashlib.sha256(os.fsencode(folder.resolve())).hexdigest() for folder in folders}
    with ExitStack() as held:
        for name in sorted(names):
            handle = os.open(cache / f"{name}.install.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def put_in_place(folders: Sequence[Path], contents: Mapping[str, bytes], removed: Sequence[Path]) -> None:
    """Writes the files, by path below each folder, in this order, and removes others.

    Everything is written beside its place first, then moved there without being interrupted; what a failed
    move left is put back. Folders may be on different file systems. Raises AscendError E43104.
    """
    places = {(folder / name).parent for folder in folders for name in contents}
    with atomic_file.removing_new(places), ExitStack() as staged:
        beside = _Beside(staged)
        try:
            moves = [move for folder in folders for move in _stage(beside, folder, contents)]
            steps = [(source, target, beside.new(target)) for source, target in moves]
            steps += [(None, target, beside.new(target)) for target in removed if target.exists()]
            with _uninterrupted():
                _move(steps)
        except OSError as error:
            path = error.filename2 or error.filename or folders[0]
            raise AscendError("E43104", path, error.strerror or error) from None


_PREFIX = ".ascend-op-"


class _Beside:
    """Hidden folders beside files, on their file systems, as long as `staged` is open."""

    def __init__(self, staged: ExitStack) -> None:
        self.staged = staged
        self.folders: dict[Path, Path] = {}
        self.names = count()

    def new(self, target: Path) -> Path:
        """A new name on the file system of the target."""
        parent = target.parent
        if parent not in self.folders:
            folder = tempfile.TemporaryDirectory(dir=parent, prefix=_PREFIX)
            self.folders[parent] = Path(self.staged.enter_context(folder))
        return self.folders[parent] / str(next(self.names))


def _stage(beside: _Beside, folder: Path, contents: Mapping[str, bytes]) -> list[tuple[Path | None, Path]]:
    """Files with the contents beside their places, and for each where it goes."""
    moves: list[tuple[Path | None, Path]] = []
    for name, data in contents.items():
        target = folder / name
        atomic_file.make_folder(target.parent)
        file = beside.new(target)
        file.write_bytes(data)
        file.chmod(0o755 if name.endswith(".so") else 0o644)
        moves.append((file, target))
    return moves


def _move(steps: Sequence[tuple[Path | None, Path, Path]]) -> None:
    """Moves files to their places, or removes what is there. The third of a step: where that is kept until
    all have arrived."""
    undo: list[tuple[Path | None, Path]] = []
    try:
        for source, target, kept in steps:
            before = kept if target.exists() else None
            if before is not None:
                before.write_bytes(target.read_bytes())
                before.chmod(target.stat().st_mode & 0o777)
            undo.append((before, target))
            if source is not None:
                atomic_file.put(source, target)
            else:
                target.unlink(missing_ok=True)
    except OSError:
        for before, target in reversed(undo):
            with suppress(
                OSError
            ):  # the first failure is the one to tell, and the others go back all the same
                if before is None:
                    target.unlink(missing_ok=True)
                else:
                    atomic_file.put(before, target)
        raise


@contextmanager
def tried_in(folder: Path) -> Iterator[Path]:
    """A folder in this one, to see what can be made there: gone after the block, which signals wait for.
    Raises OSError."""
    came: list[int] = []
    try:
        with _deferred(came), tempfile.TemporaryDirectory(dir=folder, prefix=_PREFIX) as trial:
            yield Path(trial)
    finally:
        for late in sorted(set(came)):
            signal.raise_signal(late)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals wait, those that end a program; an interrupt that comes meanwhile has come too late. Raises
    KeyboardInterrupt for one that is still to be raised."""
    interrupt.check()
    came: list[int] = []
    with _deferred(came):
        yield
    for late in set(came) - {signal.SIGINT}:
        signal.raise_signal(late)


@contextmanager
def _deferred(came: list[int]) -> Iterator[None]:
    """Signals that end a program only leave their numbers in `came`. Only the main thread handles any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in _DEFERRED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
