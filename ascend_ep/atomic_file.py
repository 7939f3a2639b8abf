"""Files that are replaced whole: what is at a name is the old content or the new, whenever the program is
killed or the power fails.

New content is written beside its target, synced to the disk, and renamed over it. Where the target is a link,
that is the file it leads to, and the link stays. A device or a pipe is written to instead, and so is what a
link leads to by way of /proc, as /dev/stdout does, even where that is a regular file. A file that is a mount
point itself, as containers have them, keeps its name: what was made whole elsewhere is copied into it, and
only a failure during that copy can leave it cut. With ASCEND_EP_SYNC=0 nothing waits for the disk: a failure
of the power can then leave a file cut.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

#: File systems that can't sync a file say so by these.
_UNSYNCED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
#: Characters of the target's name in that of the file beside it; a name has at most 255 bytes.
_STEM = 40
#: Links that Linux follows to a file before it takes them for a loop.
_LINKS = 40


def write(target: Path, content: bytes | str, *, synced: bool = True) -> None:
    """Puts `content`, text as `encoded` has it, in the place of the file. Raises OSError; the old one stays
    then."""
    with replacing(target, synced=synced) as file:
        file.write(encoded(content) if isinstance(content, str) else content)


def encoded(text: str) -> bytes:
    """UTF-8. Bytes of a file's name that are no text are shown by number, as JSON writes them."""
    return text.encode("utf-8", "backslashreplace")


@contextmanager
def replacing(target: Path, mode: int | None = None, *, synced: bool = True) -> Iterator[BinaryIO]:
    """A file to write and read whose content is that of `target` once the block has ended. Raises OSError.

    Without `synced` a failure of the power may leave it cut: for files by the hundred.
    It has this mode, else that of the file it replaces. What `stands` keeps its mode, and can't be read here.
    After an error in the block, or an interrupt, `target` is what it was.
    """
    if stands(target):
        with _opened(target) as file:
            yield file
        return
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if is_mounted(target):
        with _into_place(target, mode, synced) as file:
            yield file
        return
    old = target.stat() if target.exists() else None
    if mode is None and old is not None:
        mode = old.st_mode & 0o777
    first = 0o666 if mode is None else mode  # what the file has before anything is in it
    beside = beside_of(target)
    try:
        with open(beside, "xb+", opener=lambda path, flags: os.open(path, flags, first)) as file:
            if old is not None:
                with suppress(OSError):  # only root may give a file to somebody else
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            if synced:
                _sync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        if error.filename in (beside, str(beside)):  # the name that the caller knows
            error.filename = str(target)
        raise
    finally:
        with suppress(OSError):
            beside.unlink()
    if synced:
        sync_folder(target.parent)


@contextmanager
def replacing_text(target: Path, *, synced: bool = True) -> Iterator[TextIO]:
    """The same for text, in UTF-8. Raises OSError."""
    with replacing(target, synced=synced) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError):
                text.detach()


def put(made: Path, target: Path, *, settled: bool = True) -> None:
    """Gives a finished file, or a folder that isn't there yet, its name on the same file system.

    This is for names of our own: a link there is replaced, and the mode is that of `made`.
    Without `settled`, a failure of the power may still lose the name: sync_folder after the last of several.
    Raises OSError.
    """
    if not target.is_symlink() and is_mounted(target):
        copy(made, target)
        made.unlink()
        return
    handle = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync(handle)
    finally:
        os.close(handle)
    os.replace(made, target)
    if settled:
        sync_folder(target.parent)


def copy(source: Path, target: Path) -> None:
    """Puts the content and the mode of a file in the place of another. Raises OSError."""
    with open(source, "rb") as given, replacing(target, os.fstat(given.fileno()).st_mode & 0o777) as file:
        shutil.copyfileobj(given, file)


def append(target: Path, lines: str, mode: int = 0o666) -> None:
    """Adds whole lines to a file, made with `mode` if need be. Raises OSError.

    A last line that was cut is ended first, so that it spoils none of these.
    """
    handle = os.open(target, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
    with open(handle, "ab", buffering=0) as file:
        size = os.fstat(handle).st_size
        is_cut = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = encoded("\n" * is_cut + lines)
        while data:
            data = data[file.write(data) :]
        _sync(handle)
    sync_folder(target.parent)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Makes a folder, and those it is in, where they aren't there: on the disk before what they will hold.

    Raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(mode, parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


@contextmanager
def removing_new(folders: Iterable[Path]) -> Iterator[None]:
    """Around what makes these folders: those that weren't there before aren't there after it has failed."""
    new = {p for folder in folders for p in (folder, *folder.parents) if not p.exists()}
    try:
        yield
    except BaseException:
        for folder in sorted(new, key=lambda p: len(p.parts), reverse=True):
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        raise


def beside_of(target: Path) -> Path:
    """A new hidden name in the folder of `target`, for what will be renamed over it. Raises OSError."""
    if not target.name:  # "." or "/", a folder without a name of its own
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    return target.with_name(f".{target.name[:_STEM]}.{os.getpid()}-{os.urandom(4).hex()}.part")


def sync_folder(folder: Path) -> None:
    """Waits until the names in it are on the disk. Names that can't be synced are in force all the same."""
    if not _waits():
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync(handle: int) -> None:
    if not _waits():
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSYNCED:
            raise


def _waits() -> bool:
    return os.environ.get("ASCEND_EP_SYNC") != "0"


def stands(target: Path) -> bool:
    """Whether it is written to, and not replaced. Raises OSError for links in a loop and the like."""
    if _in_proc(target) is not None:
        return True
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def is_mounted(target: Path) -> bool:
    """Whether it is a file that is mounted by itself, so that nothing can be renamed over it."""
    place = Path(os.path.realpath(target))
    return place.is_file() and _mount_of(place) != _mount_of(place.parent)


def _mount_of(path: Path) -> str:
    """The number of the mount, "" where the system doesn't say."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        told = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii")
        return told.partition("mnt_id:")[2].split("\n")[0].strip()
    except OSError:
        return ""
    finally:
        os.close(handle)


@contextmanager
def _into_place(target: Path, mode: int | None, synced: bool) -> Iterator[BinaryIO]:
    """A file whose content is copied into `target` once the block has ended. It is beside that, or where
    temporary files are when the folder can't be written to."""
    folder = target.parent if os.access(target.parent, os.W_OK) else Path(tempfile.gettempdir())
    beside = beside_of(folder / target.name)
    with open(target, "rb+") as place:
        try:
            with open(beside, "xb+", opener=lambda path, flags: os.open(path, flags, 0o600)) as made:
                yield made
                made.flush()
                _copy_into(place, made)
        finally:
            with suppress(OSError):
                beside.unlink()
        if mode is not None:
            with suppress(OSError):  # the owner's alone, who may be outside of the container
                os.fchmod(place.fileno(), mode)
        if synced:
            _sync(place.fileno())


def _copy_into(place: BinaryIO, made: BinaryIO) -> None:
    size, before = made.seek(0, os.SEEK_END), os.fstat(place.fileno()).st_size
    made.seek(0)
    if size > before:  # a disk that is full says so before anything is lost
        _reserve(place.fileno(), before, size)
    shutil.copyfileobj(made, place)
    place.truncate()
    place.flush()


def _reserve(handle: int, before: int, size: int) -> None:
    try:
        os.posix_fallocate(handle, before, size - before)
    except OSError as error:
        if error.errno not in _UNSYNCED:
            os.ftruncate(handle, before)
            raise


def _opened(target: Path) -> BinaryIO:
    """What `stands`, to write. A descriptor of this process goes on where it is, and cuts nothing."""
    own = re.fullmatch(rf"/proc/{os.getpid()}(?:/task/\d+)?/fd/(\d+)", str(_in_proc(target)))
    return open(target if own is None else os.dup(int(own[1])), "wb")


def _in_proc(target: Path) -> Path | None:
    """The name in /proc to which the links lead; None where they don't."""
    for _ in range(_LINKS):
        target = Path(os.path.realpath(target.parent), target.name)
        if target.is_relative_to("/proc"):
            return target
        if not target.is_symlink():
            return None
        target = target.parent / os.readlink(target)
    return None
