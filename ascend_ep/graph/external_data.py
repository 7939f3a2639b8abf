"""Tensor data outside the model file: the one place of the converter that opens such files.

A location is relative to the model's folder and stays in it: no absolute path, no `..`, no symbolic link
in any component, a regular file with a single hard link. Files are opened component by component relative
to the folder's descriptor, so nothing can be swapped between check and use, once. Files up to READ bytes are
read, so that one that is cut short meanwhile is an error; larger ones are mapped.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PureWindowsPath

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir

from ascend_ep.errors import AscendError

#: The location of tensors borrowed from this process's memory (never accepted from files).
MEMORY_LOCATION = "asc-memory"

#: Bytes of a file up to which it is read.
READ = 128 << 20

#: (address, length) -> the bytes there, read-only, valid while the model is in use.
MemoryReader = Callable[[int, int], memoryview]

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class ExternalData:
    """The external_data entries of one tensor: `length` None means "to the end of the file"."""

    location: str
    offset: int
    length: int | None


def read_entries(tensor: onnx.TensorProto) -> ExternalData:
    """The entries of `tensor`; ValueError when one is malformed. Unknown keys are ignored."""
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if not isinstance(entry.key, str) or not isinstance(entry.value, str):
            raise ValueError("an entry is not UTF-8")
        if entry.key in entries:
            raise ValueError(f"key {entry.key!r} occurs twice")
        entries[entry.key] = entry.value
    if not entries.get("location"):
        raise ValueError("no location")
    numbers: dict[str, int] = {}
    for key in ("offset", "length"):
        if key in entries:
            text = entries[key]
            if not (text.isascii() and text.isdecimal() and len(text) <= 20 and int(text) < 2**64):
                raise ValueError(f"{key} {text[:40]!r} is not a byte count")
            numbers[key] = int(text)
    return ExternalData(entries["location"], numbers.get("offset", 0), numbers.get("length"))


def tensor_bytes(dtype: ir.DataType, dims: tuple[int, ...]) -> int:
    """Bytes of the raw data of a tensor; ValueError for negative dims and types without raw data."""
    if any(d < 0 for d in dims):
        raise ValueError(f"negative dimension in {list(dims)}")
    bits = dtype.bitwidth
    count = 1
    for dim in dims:
        count *= dim
    if count * bits > 2**63:
        raise ValueError(f"dims {list(dims)} are too large")
    return (count * bits + 7) // 8


class ExternalFiles:
    """The external data of one model. `base_dir` None: no files; `memory` None: no borrowed memory."""

    def __init__(self, base_dir: str | None, memory: MemoryReader | None = None) -> None:
        self.base_dir = base_dir
        self.memory = memory
        self._maps: dict[str, Bytes] = {}

    def read(self, tensor: onnx.TensorProto) -> Bytes:
        """The raw data of `tensor`, mapped or borrowed, as many bytes as its dims and type take."""
        try:
            data = read_entries(tensor)
            size = tensor_bytes(ir.DataType(tensor.data_type), tuple(tensor.dims))
            if data.length is not None and data.length != size:
                raise ValueError(f"length {data.length} where dims and type take {size} bytes")
            if data.location == MEMORY_LOCATION and self.memory is not None:
                return np.frombuffer(self.memory(data.offset, size), dtype=np.uint8, count=size)
            if size == 0:
                return np.empty(0, np.uint8)
            content = self._map(data.location)
            if data.offset > content.size or size > content.size - data.offset:
                raise ValueError(
                    f"bytes {data.offset}..{data.offset + size} of a file of {content.size}"
                    f" ({data.location!r})"
                )
            return content[data.offset : data.offset + size]
        except (ValueError, OSError) as error:
            name = tensor.name[:120]
            raise AscendError(
                "E10041",
                self.base_dir or "memory",
                f"external data of tensor {name!r}: {error}",
                fix="Keep the data file in the model's folder, as a plain file (no link), complete.",
            ) from None

    def _map(self, location: str) -> Bytes:
        if location not in self._maps:
            if self.base_dir is None:
                raise ValueError("the model was not read from a file, so it has no data folder")
            descriptor = _open_contained(self.base_dir, location)
            try:
                self._maps[location] = _content(descriptor)
            finally:
                os.close(descriptor)
        return self._maps[location]


def _content(descriptor: int) -> Bytes:
    """What is in the file; ValueError where it is written to meanwhile."""
    info = os.fstat(descriptor)
    if info.st_size == 0:
        return np.empty(0, np.uint8)
    if info.st_size > READ:
        return np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    made = np.empty(info.st_size, np.uint8)
    with os.fdopen(os.dup(descriptor), "rb", buffering=0) as file:
        done = 0
        while part := file.readinto(made[done:].data):
            done += part
    after = os.fstat(descriptor)
    if done < made.size or (after.st_size, after.st_mtime_ns) != (info.st_size, info.st_mtime_ns):
        raise ValueError("the file was written to while it was read")
    made.flags.writeable = False
    return made


def _open_contained(folder: str, location: str) -> int:
    """A descriptor of the regular file `location` below `folder`; ValueError when it is not contained."""
    if "\0" in location or "\\" in location or PureWindowsPath(location).drive:
        raise ValueError(f"location {location[:200]!r} is not a portable relative path")
    if location.startswith("/"):
        raise ValueError(f"location {location[:200]!r} is absolute")
    parts = [p for p in location.split("/") if p not in ("", ".")]
    if not parts or ".." in parts or len(parts) > 64:
        raise ValueError(f"location {location[:200]!r} leaves the model's folder")
    current = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_NONBLOCK if last else os.O_DIRECTORY)
            try:
                following = os.open(part, flags, dir_fd=current)
            except OSError as error:
                if stat.S_ISLNK(os.lstat(part, dir_fd=current).st_mode):
                    raise ValueError(f"{part!r} in location {location[:200]!r} is a symbolic link") from None
                raise ValueError(f"{location[:200]!r}: {error.strerror}") from None
            os.close(current)
            current = following
        info = os.fstat(current)
        if not stat.S_ISREG(info.st_mode):
            raise ValueError(f"{location[:200]!r} is not a regular file")
        if info.st_nlink > 1:
            raise ValueError(f"{location[:200]!r} has {info.st_nlink} hard links")
    except BaseException:
        os.close(current)
        raise
    return current
