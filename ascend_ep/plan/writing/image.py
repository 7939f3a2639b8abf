"""A plan as a bundle in memory, for this process alone.

What `writer` streams into a file is laid out first and then written where the runtime will read it: every
weight once, packed in place, several at a time. There is no MODEL_DEF, and no digest of the weights, which
nobody else could have changed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep.plan.plan import HostPartition, Plan, Ref, Weight
from ascend_ep.runtime.binding import fail, ffi, lib, new_status

from .packing import pack_into, packed_bytes
from .placement import Placement, Segment
from .plan_image import PlanImage
from .writer import ALIGN, PAGE, frame, plan_natives, plan_weights, stamp

NO_DIGEST = bytes(32)
#: Bytes from which on it pays to get memory ready early.
LEAST_ROOM = 8 << 20


class Image:
    """A bundle that `asc_image_open` takes over; freed with this object."""

    def __init__(self, size: int) -> None:
        status = new_status()
        made = lib.asc_image_new(size, status)
        if made == ffi.NULL:
            raise fail(status)
        self.pointer = ffi.gc(made, lib.asc_image_free)
        self.bytes: Any = ffi.buffer(lib.asc_image_bytes(made), size)

    def shrink(self, size: int) -> None:
        """Keeps the first `size` bytes."""
        lib.asc_image_shrink(self.pointer, size)
        self.bytes = ffi.buffer(lib.asc_image_bytes(self.pointer), size)


class Room:
    """Memory for an image whose size isn't known yet, got ready by a thread while the plan is made.

    `size`: about how many bytes it will have.
    """

    def __init__(self, size: int) -> None:
        self._image: Image | None = None
        if size >= LEAST_ROOM and lib.asc_threads_default() > 1:
            self._image = Image(size + size // 4)  # address space; populated is what is likely to be needed
            self._thread = threading.Thread(target=_populate, args=(self._image, size), daemon=True)
            self._thread.start()

    def take(self, size: int) -> Image:
        """An image of that size: in this memory, if it is enough."""
        image, self._image = self._image, None
        if image is None or size > len(image.bytes):
            return Image(size)
        image.shrink(size)
        self._thread.join()  # one that began only now would look at an image that somebody opens
        return image

    def close(self) -> None:
        """Gives the memory back, unless it was taken."""
        if self._image is not None:
            self.take(0)


def _populate(image: Image, size: int) -> None:
    lib.asc_image_populate(image.pointer, size)


def make_image(plan: Plan, room: Room | None = None) -> Image:
    """The bundle of a plan that has no host partition and no samples, in `room` if given."""
    if plan.samples or any(isinstance(p, HostPartition) for p in plan.partitions):
        raise ValueError("an image holds native partitions and no samples")
    refs = plan_weights(plan)
    kept, weight_of = _distinct(refs)
    weights, weight_bytes = _lay([packed_bytes(ref) for ref in kept])
    natives = list(dict.fromkeys(plan_natives(plan)))
    code = [Path(n.path).read_bytes() for n in natives]
    placed, code_bytes = _lay([len(c) for c in code])
    placed = [replace(s, sha256=hashlib.sha256(c).digest()) for s, c in zip(placed, code, strict=True)]
    placement = Placement(weights, weight_of, {}, dict(zip(natives, placed, strict=True)), [])
    body = PlanImage(plan, placement).build()
    parts = [
        (lib.ASC_PART_WEIGHTS, PAGE, weight_bytes),
        (lib.ASC_PART_NATIVE, ALIGN, code_bytes),
        (lib.ASC_PART_PLAN, ALIGN, len(body)),
    ]
    head, starts, size = frame([p for p in parts if p[2]])
    image = Image(size) if room is None else room.take(size)
    target = np.frombuffer(image.bytes, np.uint8)
    target[: len(head)] = np.frombuffer(head, np.uint8)
    _write_weights(image, starts.get(lib.ASC_PART_WEIGHTS, 0), kept, weights)
    for segment, blob in zip(placed, code, strict=True):
        at = starts[lib.ASC_PART_NATIVE] + segment.offset
        target[at : at + segment.size] = np.frombuffer(blob, np.uint8)
    target[starts[lib.ASC_PART_PLAN] :] = np.frombuffer(body, np.uint8)
    stamp(memoryview(image.bytes))
    return image


def _distinct(refs: Sequence[Ref]) -> tuple[list[Ref], dict[Weight, int]]:
    """Weights without those that are the same memory in the same layout; the number of each."""
    kept: list[Ref] = []
    known: dict[object, int] = {}
    weight_of: dict[Weight, int] = {}
    for ref in refs:
        assert ref.weight is not None
        key = (_memory(ref.weight.source), ref.weight.layout, ref.dtype, ref.dims)
        if key not in known:
            known[key] = len(kept)
            kept.append(ref)
        weight_of[ref.weight] = known[key]
    return kept, weight_of


def _memory(source: object) -> object:
    """What sources of the same elements share: the memory itself, or that of all they are made of."""
    if isinstance(source, Weight):
        return _memory(source.source)
    if isinstance(source, np.ndarray):
        return source.__array_interface__["data"], source.shape, source.strides, source.dtype.str
    if is_dataclass(source):
        return type(source), *(_memory(getattr(source, f.name)) for f in fields(source))
    return source if isinstance(source, int) else id(source)


def _lay(sizes: Iterable[int]) -> tuple[list[Segment], int]:
    """Where segments of these sizes lie, and the bytes they take."""
    segments: list[Segment] = []
    end = 0
    for size in sizes:
        offset = -(-end // ALIGN) * ALIGN
        segments.append(Segment(offset, size, NO_DIGEST))
        end = offset + size
    return segments, end


def _write_weights(image: Image, start: int, refs: Sequence[Ref], segments: Sequence[Segment]) -> None:
    """Packs each weight in its segment of what begins at `start`."""
    target = np.frombuffer(image.bytes, np.uint8)

    def write(ref: Ref, segment: Segment) -> None:
        assert ref.weight is not None
        begin, end = start + segment.offset, start + segment.offset + segment.size
        lib.asc_image_populate(image.pointer, end)
        pack_into(ref.weight, ref.dtype, target[begin:end])

    with ThreadPoolExecutor(lib.asc_threads_default()) as workers:
        list(workers.map(write, refs, segments))
