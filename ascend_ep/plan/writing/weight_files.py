"""Weights in files of their own (--external_weight), in the folder `weight` beside the bundle.

Names hold the digest of what is in the file, so a file never changes: a bundle that was written before and
names one of them stays whole, and conversions of one model share them.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.graph.mapped import release_pages
from ascend_ep.plan.plan import Ref, Weight
from ascend_ep.plan.writing.packing import pack
from ascend_ep.runtime._rt import lib

from .packing import packed_bytes
from .placement import Segment, WeightFile

FOLDER = "weight"
#: ASC_MAX_WEIGHT_FILES of native/core/plan.h.
MOST_FILES = 1 << 14
#: Characters of the bundle's name that are part of the name of its one file.
STEM = 48
ALIGN: int = lib.ASC_ALIGN


class Weights:
    """Segments for the weights of a plan; weights with equal bytes share one."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.number: dict[Weight, int] = {}
        self._known: dict[bytes, int] = {}

    def write(self, file: BinaryIO, ref: Ref, start: int) -> bool:
        """Appends a weight at the next multiple of ALIGN from `start`; whether it was none of the earlier."""
        assert ref.weight is not None
        end = file.tell()
        offset = -(-(end - start) // ALIGN) * ALIGN
        file.write(bytes(start + offset - end))
        sha256 = hashlib.sha256()
        for piece in pieces(ref):
            sha256.update(piece)
            file.write(piece)
        size, digest = file.tell() - start - offset, sha256.digest()
        if size != packed_bytes(ref):
            raise ValueError(f"weight {ref.name!r} has {size} bytes; its dims say {packed_bytes(ref)}")
        is_new = digest not in self._known
        if is_new:
            self._known[digest] = len(self.segments)
            self.segments.append(Segment(offset, size, digest))
        else:
            file.seek(end)
            file.truncate()
        self.number[ref.weight] = self._known[digest]
        return is_new


class WeightFiles:
    """The files of one bundle: each weight in its own (--external_weight=1), or all in one (2)."""

    def __init__(self, bundle: Path, combined: bool) -> None:
        self._folder = bundle.parent / FOLDER
        self._stem = re.sub(r"[^\w.-]", "_", bundle.stem)[:STEM]
        self._combined = combined
        self._made: list[Path] = []
        self.files: list[WeightFile] = []

    def write(self, refs: Sequence[Ref], weights: Weights) -> None:
        """Writes all weights. Raises AscendError E40001 for more files than a bundle may have, E40002."""
        empty = [r for r in refs if not packed_bytes(r)]
        full = [r for r in refs if packed_bytes(r)]
        for ref in empty:  # these stay in the bundle, where they take no room
            weights.write(io.BytesIO(), ref, 0)
        try:
            if full and not self._folder.is_dir():
                atomic_file.make_folder(self._folder)
                self._made.append(self._folder)
            for group in ([full] if full else []) if self._combined else ([r] for r in full):
                self._write_file(group, weights)
        except OSError as error:
            what = f"can't write weights to [{self._folder}]: {error.strerror}"
            raise AscendError("E40002", what) from error
        if self.files:
            atomic_file.sync_folder(self._folder)

    def discard(self) -> None:
        """Removes what was made here and wasn't there before."""
        for path in reversed(self._made):
            if path == self._folder:
                with suppress(OSError):  # others may have put files there
                    path.rmdir()
            else:
                with suppress(OSError):
                    path.unlink()

    def _write_file(self, refs: Iterable[Ref], weights: Weights) -> None:
        """One file of these weights, under its name at once when it is whole."""
        first = len(weights.segments)
        temporary = atomic_file.beside_of(self._folder / self._stem)
        try:
            with open(temporary, "xb+") as file:
                for ref in refs:
                    weights.write(file, ref, 0)
                size, count = file.tell(), len(weights.segments) - first
            if not count:
                return
            if len(self.files) == MOST_FILES:
                what = f"the model has more weights than the {MOST_FILES} files that a bundle may have"
                raise AscendError("E40001", what, fix="Use --external_weight=2: all weights in one file.")
            digest = weights.segments[-1].sha256 if count == 1 else _digest(temporary)
            text = digest.hex()
            name = f"{self._stem}_weight_combined_{text[:16]}" if self._combined else f"weight_{text}"
            target = self._folder / name
            if not target.exists():
                self._made.append(target)
            atomic_file.put(temporary, target, settled=False)
            self.files.append(WeightFile(f"{FOLDER}/{name}", first, count, size, digest))
        finally:
            with suppress(OSError):
                temporary.unlink()


def _digest(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


PANEL = lib.ASC_PANEL
#: Bytes of a weight that are packed at a time.
PIECE = 16 << 20


def pieces(ref: Ref) -> Iterator[memoryview]:
    """The bytes of a weight, those of `pack`, one piece after another; its elements are asked for once."""
    assert ref.weight is not None
    array = ref.weight.array()
    if array.nbytes <= PIECE:
        yield pack(Weight(array, ref.weight.layout), ref.dtype)
    elif ref.weight.layout == "plain":
        rows = array.reshape(-1) if array.flags.c_contiguous else array
        for part in _split(rows, 0):
            yield pack(Weight(part), ref.dtype)
    else:
        k, n = array.shape[-2:]
        for matrix in array.reshape(prod(array.shape[:-2]), k, n):
            for part in _split(matrix, 1, PANEL):  # panels are of columns, one after another
                yield pack(Weight(part, ref.weight.layout), ref.dtype)
    release_pages(array)


def _split(array: NDArray[np.generic], axis: int, unit: int = 1) -> Iterator[NDArray[np.generic]]:
    """Pieces along an axis, of whole units of it."""
    length = array.shape[axis]
    step = max(PIECE * length // array.nbytes // unit, 1) * unit
    for start in range(0, length, step):
        yield array[(slice(None),) * axis + (slice(start, start + step),)]
