"""Where the temporaries of a bundle lie in the memory of a run, and from which instruction to which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.opdef.dim_text import parse_dim
from ascend_ep.opdef.dims import evaluate
from ascend_ep.runtime.binding import ffi, lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.native_partition import NativePartition


@dataclass(frozen=True)
class Slot:
    """Bytes of the arena. first, last: instructions of the partition that use it."""

    name: str
    offset: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Arena:
    """Of one native partition."""

    name: str
    size: int
    slots: list[Slot]


def arenas(path: str) -> Iterator[Arena]:
    """Of each native partition whose inputs' sizes are fixed, or known by those of conversion. Native code in
    the bundle isn't loaded."""
    bundle = Bundle(open_model(path, flags=lib.ASC_OPEN_NO_NATIVE))
    for part in bundle.partitions:
        if not part.is_native:
            continue
        try:
            dims = [bundle.edges[i].dims for i in part.inputs]
            shapes = tuple(
                tuple(d if isinstance(d, int) else evaluate(parse_dim(d), bundle.sizes) for d in each)
                for each in dims
            )
            bound = NativePartition(bundle, part).bind(shapes)
        except (AscendError, KeyError):  # a size that only data or another partition tells
            continue
        names = ["" if (v := bundle.value(i)) is None else v.name for i in part.values]
        slots = [s for i, name in enumerate(names) if (s := _slot(bound.pointer, i, name)) is not None]
        yield Arena(part.name, int(lib.asc_bound_arena_bytes(bound.pointer)), slots)


def _slot(bound: object, number: int, name: str) -> Slot | None:
    offset, size = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    first, last = ffi.new("uint32_t *"), ffi.new("uint32_t *")
    lib.asc_bound_value(bound, number, ffi.NULL, offset, size, first, last)
    return Slot(name, offset[0], size[0], first[0], last[0]) if size[0] else None
