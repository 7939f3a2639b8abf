"""Shared memory that tensors pass through: anonymous, of a fixed size that neither side can change."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterable, Sequence

import numpy as np

from ascend_ep.serving.request import Array
from ascend_ep.serving.tensors import array_from_raw, raw_from_array

from .messages import Nonsense, Place

_ALIGN = 64
_LEAST = 1 << 16

Named = tuple[str, str, Array]  # name, datatype, array


class Segment:
    """descriptor: to be sent to the other process, and the segment's own."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self._memory = memoryview(mmap.mmap(descriptor, size))

    def write(self, tensors: Iterable[tuple[Place, memoryview]]) -> None:
        for place, raw in tensors:
            self._memory[place.offset : place.offset + place.size] = raw

    def read(self, place: Place) -> Array:
        """A view of its elements (of BYTES, their texts). Raises Nonsense for a tensor that lies outside, and
        AscendError E50004 when its shape and size don't fit."""
        end = place.offset + place.size
        if not 0 <= place.offset <= end <= self.size:
            raise Nonsense(f"tensor [{place.name}] lies outside the segment")
        return array_from_raw(place.name, place.datatype, place.shape, self._memory[place.offset : end])


def new_segment(size: int) -> tuple[Segment, int]:
    """One with room for so many bytes, and its descriptor. It is sealed: a process that cut it off would end
    the other one."""
    room = max(_LEAST, 1 << (size - 1).bit_length()) if size else _LEAST
    descriptor = os.memfd_create("ascend-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, room)
        fcntl.fcntl(
            descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        )
        return Segment(descriptor, room), descriptor
    except BaseException:
        os.close(descriptor)
        raise


def received_segment(descriptor: int) -> Segment:
    """The one that the other process sent; the descriptor is closed."""
    try:
        return Segment(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def placed(tensors: Sequence[Named]) -> tuple[list[tuple[Place, memoryview]], int]:
    """Where each of the tensors goes, with its bytes, and the bytes of all."""
    found, at = [], 0
    for name, datatype, array in tensors:
        raw = raw_from_array(np.asarray(array), datatype)
        found.append((Place(name, datatype, list(array.shape), at, raw.nbytes), raw))
        at += -(-raw.nbytes // _ALIGN) * _ALIGN
    return found, at
