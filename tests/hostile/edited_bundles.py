"""Bundles with fields that a hostile writer would set: by section, row and name, the digest stamped anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import onnx
import onnx.parser

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.writing.writer import TYPES, stamp
from ascend_ep.runtime._rt import ffi, lib

#: Two products with a view, weights, a free dimension and ints, in one native partition.
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
agraph (float[N,4] x, int64[2] i) => (float[M,4] y, float[N,8] z)
<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[8] b = {1,2,3,4,5,6,7,8}, int64[2] s = {0, 8}>
{
  h = MatMul(x, w)
  g = Gather<axis = 0>(h, i)
  y = Softmax(g)
  c = Concat<axis = 1>(h, x)
  z = Add(c, b)
}"""


@cache
def bundle() -> bytes:
    model = onnx.parser.parse_model(MODEL)
    return convert(model, ConvertOptions(codegen="off", sample_seed=None)).to_bytes()


class Edited:
    """A copy of the bundle; rows are structures of ascend_rt.h, which may be written."""

    def __init__(self) -> None:
        self.data = bytearray(bundle())
        self._base = ffi.from_buffer(self.data, require_writable=True)
        table = ffi.cast("asc_om_table *", self._base + lib.ASC_OM_HEADER_BYTES)
        entries = ffi.cast("asc_om_entry *", table + 1)
        self.entries = [entries[i] for i in range(table.count)]
        end = lib.ASC_OM_HEADER_BYTES + ffi.sizeof("asc_om_table") + table.count * lib.ASC_OM_ENTRY_BYTES
        (plan,) = [e for e in self.entries if e.type == TYPES[lib.ASC_PART_PLAN]]
        self.plan = ffi.cast("asc_plan_header *", self._base + end + plan.mem_offset)
        sections = ffi.cast("asc_section *", ffi.cast("char *", self.plan) + self.plan.header_bytes)
        self.sections = {sections[i].kind: sections[i] for i in range(self.plan.n_sections)}

    def rows(self, kind: int, struct: str) -> list[Any]:
        section = self.sections[kind]
        at = ffi.cast("char *", self.plan) + section.offset
        return [ffi.cast(f"{struct} *", at + i * section.stride) for i in range(section.count)]

    def stamped(self) -> bytes:
        with memoryview(self.data) as image:
            stamp(image)
        return bytes(self.data)


def edited(change: Callable[[Edited], None]) -> bytes:
    made = Edited()
    change(made)
    return made.stamped()
