"""Writes a plan as a bundle: frame, MODEL_DEF, weights, host models, native code, samples, plan.

The layout is that of native/core/bundle.c. Everything is streamed: of weights no more than a piece of
one is in memory. A file is written next to its target and renamed, so a reader never sees half of it.
"""

from __future__ import annotations

import hashlib
import io
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.opdef.dims import static
from ascend_ep.plan.plan import WEIGHT, HostPartition, Native, NativePartition, Plan, Ref, Weight
from ascend_ep.runtime._rt import ffi, lib

from .packing import pack, packed_bytes
from .placement import Placement, Segment
from .plan_image import PlanImage
from .weight_files import WeightFiles, Weights

HEADER: int = lib.ASC_OM_HEADER_BYTES
TABLE: int = ffi.sizeof("asc_om_table")
ENTRY: int = lib.ASC_OM_ENTRY_BYTES
ALIGN: int = lib.ASC_ALIGN
PAGE = 4096
PRODUCER = "ascend-ep"
#: Types in the table, by kind of partition.
TYPES: dict[int, int] = {
    lib.ASC_PART_MODEL_DEF: lib.ASC_OM_TYPE_MODEL_DEF,
    lib.ASC_PART_WEIGHTS: lib.ASC_OM_TYPE_WEIGHTS,
    lib.ASC_PART_PLAN: lib.ASC_OM_TYPE_PLAN,
    lib.ASC_PART_HOST: lib.ASC_OM_TYPE_HOST,
    lib.ASC_PART_NATIVE: lib.ASC_OM_TYPE_NATIVE,
    lib.ASC_PART_SAMPLES: lib.ASC_OM_TYPE_SAMPLES,
}


#: Given the bundle written so far, the bytes of its last samples, in order.
Fill = Callable[[Path | bytes], Sequence[memoryview]]


def write_file(
    plan: Plan,
    model_def: bytes,
    path: Path,
    soc_version: str = "",
    fill: Fill | None = None,
    outside: WeightFiles | None = None,
) -> None:
    """Writes the bundle to `path`, replacing what was there in one step. Raises AscendError E40002.

    Weights are in the bundle, or `outside`, whose files are written before it and removed if it can't be.
    `fill` is called with the complete file before it gets its name; what it returns becomes the last samples.
    """
    try:
        with atomic_file.replacing(path) as file:
            samples = _write(plan, model_def, file, soc_version, outside)
            file.flush()
            with mmap.mmap(file.fileno(), 0) as mapped:
                stamp(mapped)
                if fill is not None and _refill(mapped, samples, _filled(fill, Path(file.name), path)):
                    stamp(mapped)
        outside = None
    except OSError as error:
        raise AscendError("E40002", f"can't write [{path}]: {error.strerror}") from error
    finally:
        if outside is not None:
            outside.discard()


def _filled(fill: Fill, written: Path, path: Path) -> Sequence[memoryview]:
    """What `fill` says of the file beside `path`; its errors name `path`."""
    try:
        return fill(written)
    except AscendError as error:
        error.where = error.where.replace(str(written), str(path))
        raise


def write_bytes(plan: Plan, model_def: bytes, soc_version: str = "", fill: Fill | None = None) -> bytes:
    """The bundle in memory."""
    buffer = io.BytesIO()
    samples = _write(plan, model_def, buffer, soc_version)
    with buffer.getbuffer() as image:
        stamp(image)
        if fill is not None and _refill(image, samples, fill(bytes(image))):
            stamp(image)
    return buffer.getvalue()


def _refill(
    image: memoryview | mmap.mmap, samples: Sequence[tuple[int, int]], bodies: Sequence[memoryview]
) -> bool:
    """Overwrites the last samples; whether there was anything to write."""
    for (at, size), body in zip(samples[len(samples) - len(bodies) :], bodies, strict=True):
        if len(body) != size:
            raise ValueError("a sample output has another size than its shape says")
        image[at : at + size] = bytes(body)
    return bool(bodies)


def _write(
    plan: Plan, model_def: bytes, file: BinaryIO, soc_version: str, outside: WeightFiles | None = None
) -> list[tuple[int, int]]:
    """Writes everything but the digest; returns position and size of each sample."""
    refs, weights = plan_weights(plan), Weights()
    if outside is not None:
        outside.write(refs, weights)
        refs = []
    hosts = [p for p in plan.partitions if isinstance(p, HostPartition)]
    natives = list(dict.fromkeys(plan_natives(plan)))
    frame = _Frame(file, 2 + sum(map(bool, (_any_bytes(refs), hosts, natives, _sample_bytes(plan)))))
    frame.add(lib.ASC_PART_MODEL_DEF, 1, lambda: file.write(model_def))
    frame.add(lib.ASC_PART_WEIGHTS, PAGE, lambda: _write_weights(file, refs, weights))
    placed_hosts: list[Segment] = []
    frame.add(lib.ASC_PART_HOST, ALIGN, lambda: _segments(file, (p.model for p in hosts), placed_hosts))
    placed_natives: list[Segment] = []
    code = (Path(n.path).read_bytes() for n in natives)
    frame.add(lib.ASC_PART_NATIVE, ALIGN, lambda: _segments(file, code, placed_natives))
    samples: list[Segment] = []
    arrays = (pack(Weight(s.array), s.edge.dtype) for s in plan.samples)
    first = frame.add(lib.ASC_PART_SAMPLES, ALIGN, lambda: _segments(file, arrays, samples))
    placement = Placement(
        weights.segments,
        weights.number,
        dict(zip(hosts, placed_hosts, strict=True)),
        dict(zip(natives, placed_natives, strict=True)),
        samples,
        outside.files if outside is not None else (),
    )
    image = PlanImage(plan, placement).build()
    frame.add(lib.ASC_PART_PLAN, ALIGN, lambda: file.write(image))
    frame.finish(soc_version, is_dynamic=any(static(d) is None for e in plan.edges for d in e.dims))
    return [(first + s.offset, s.size) for s in samples]


class _Frame:
    """The header and the partition table; the number of partitions is known beforehand."""

    def __init__(self, file: BinaryIO, count: int) -> None:
        self._file = file
        self._count = count
        self._start = HEADER + TABLE + ENTRY * count
        self._entries: list[tuple[int, int, int]] = []
        file.write(bytes(self._start))

    def add(self, kind: int, align: int, write: Callable[[], object]) -> int:
        """Appends a partition and returns where it begins; one that turns out empty leaves no trace."""
        end = self._file.tell()
        start = _pad(self._file, align)
        write()
        if self._file.tell() > start:
            self._entries.append((kind, start - self._start, self._file.tell() - start))
        else:
            self._file.seek(end)
            self._file.truncate()
        return start

    def finish(self, soc_version: str, is_dynamic: bool) -> None:
        if len(self._entries) != self._count:
            raise ValueError("the number of partitions changed while they were written")
        length = self._file.tell() - HEADER
        self._file.seek(0)
        self._file.write(_header(length, soc_version, is_dynamic))
        self._file.write(_table(self._entries))
        self._file.seek(0, io.SEEK_END)


def frame(parts: Sequence[tuple[int, int, int]]) -> tuple[bytes, dict[int, int], int]:
    """Header and table of a bundle of parts (kind, alignment, bytes), not stamped; where each kind begins;
    and the size of the whole."""
    table_end = end = HEADER + TABLE + ENTRY * len(parts)
    starts: dict[int, int] = {}
    entries: list[tuple[int, int, int]] = []
    for kind, align, size in parts:
        starts[kind] = -(-end // align) * align
        end = starts[kind] + size
        entries.append((kind, starts[kind] - table_end, size))
    return _header(end - HEADER, "", False) + _table(entries), starts, end


def _header(length: int, soc_version: str, is_dynamic: bool) -> bytes:
    header = ffi.new("asc_om_header *")
    header.magic, header.header_bytes, header.version = lib.ASC_OM_MAGIC, HEADER, lib.ASC_OM_VERSION
    header.length_low, header.model_length = length & 0xFFFFFFFF, length
    for field, text in ((header.name, PRODUCER), (header.platform_version, soc_version)):
        known = text.encode()[: len(field) - 1]
        ffi.memmove(field, known, len(known))
    header.platform_type, header.model_num = lib.ASC_OM_PLATFORM_TYPE, 1
    header.is_unknown_model = int(is_dynamic)
    return bytes(ffi.buffer(header))  # the checksum is stamped last


def _table(entries: Sequence[tuple[int, int, int]]) -> bytes:
    """Of kinds, offsets and sizes."""
    table = ffi.new("asc_om_table *", {"count": len(entries)})
    rows = ffi.new(
        "asc_om_entry[]", [{"type": TYPES[k], "mem_offset": o, "mem_size": n} for k, o, n in entries]
    )
    return bytes(ffi.buffer(table)) + bytes(ffi.buffer(rows))


def stamp(image: memoryview | mmap.mmap) -> None:
    """Puts the digest into the header of a finished bundle."""
    digest = ffi.new("uint8_t[32]")
    status = ffi.new("asc_status *")
    with ffi.from_buffer("uint8_t[]", image) as view:
        if lib.asc_bundle_digest(view, len(view), digest, status) != lib.ASC_OK:
            raise AscendError("E40012", ffi.string(status.text).decode())
    at = ffi.offsetof("asc_om_header", "checksum")
    image[at : at + 32] = bytes(digest)


def _write_weights(file: BinaryIO, refs: Iterable[Ref], weights: Weights) -> None:
    start = file.tell()
    for ref in refs:
        weights.write(file, ref, start)


def _segments(file: BinaryIO, blobs: Iterable[bytes | memoryview], placed: list[Segment]) -> None:
    start = file.tell()
    for blob in blobs:
        offset = _pad(file, ALIGN, start) - start
        placed.append(Segment(offset, len(blob), hashlib.sha256(blob).digest()))
        file.write(blob)


def _pad(file: BinaryIO, align: int, start: int = 0) -> int:
    """Writes zeros up to the next multiple of `align` counted from `start`; returns the position."""
    at = file.tell()
    file.write(bytes(-(at - start) % align))
    return file.tell()


def plan_weights(plan: Plan) -> list[Ref]:
    """The weights that instructions or partition boundaries use, each once, in order of use."""
    found: dict[Weight, Ref] = {}
    for partition in _parts(plan):
        operands = [r for i in partition.insns for r in (*i.ins, *i.outs) if r is not None]
        for ref in (*operands, *(r for _, r in (*partition.inputs, *partition.outputs))):
            root = ref.base or ref
            if root.kind == WEIGHT and root.weight is not None:
                found.setdefault(root.weight, root)
    return list(found.values())


def plan_natives(plan: Plan) -> Iterator[Native]:
    for partition in _parts(plan):
        yield from (i.native for i in partition.insns if i.native is not None)


def _parts(plan: Plan) -> Iterator[NativePartition]:
    """Those of the plan, and of the one for sizes that contradict names."""
    yield from plan.native_parts()
    if plan.apart is not None:
        yield from plan.apart.native_parts()


def _any_bytes(weights: Iterable[Ref]) -> bool:
    return any(packed_bytes(ref) for ref in weights)


def _sample_bytes(plan: Plan) -> bool:
    return any(s.array.nbytes for s in plan.samples)
