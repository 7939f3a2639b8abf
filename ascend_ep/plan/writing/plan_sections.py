"""The frame of the PLAN partition: header, section table, sections where they say (native/core/plan.c)."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.errors import AscendError
from ascend_ep.runtime._rt import ffi, lib

#: A section: its kind, the bytes of an element, and those of all.
Section = tuple[int, tuple[int, bytes]]


def assemble(sections: Sequence[Section], min_reader: int) -> bytes:
    """Header, section table and sections. Empty sections are left out."""
    present = [(kind, stride, body) for kind, (stride, body) in sections if body]
    align = lib.ASC_ALIGN
    head = ffi.sizeof("asc_plan_header")
    at = head + ffi.sizeof("asc_section") * len(present)
    table = ffi.new("asc_section[]", len(present))
    image = bytearray(at)
    for row, (kind, stride, body) in zip(table, present, strict=True):
        image += bytes(-len(image) % align)
        row.kind, row.stride, row.offset, row.count = kind, stride, len(image), len(body) // stride
        image += body
    if len(image) > 2**62:
        raise AscendError("E40008", "the plan is too large for a bundle")
    header = ffi.new(
        "asc_plan_header *",
        {
            "magic": lib.ASC_PLAN_MAGIC,
            "version": lib.ASC_PLAN_VERSION,
            "min_reader": min_reader,
            "header_bytes": head,
            "n_sections": len(present),
            "plan_bytes": len(image),
            "isa_hint": lib.asc_isa_current(),
        },
    )
    image[:head] = ffi.buffer(header)
    image[head:at] = ffi.buffer(table)
    return bytes(image)
