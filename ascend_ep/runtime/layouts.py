"""The layouts of packed weights, as ascend_rt.h describes them."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.runtime._rt import ffi, lib


@dataclass(frozen=True)
class Layout:
    """Panels of 32 columns of units; a unit holds `rows` neighbouring rows of a column. rows 0: row-major.

    dtype and source (ONNX numbers): of the elements as a value has them, and of those they are packed from.
    """

    number: int
    name: str
    dtype: int
    source: int
    rows: int
    reader: int


def _layout(number: int) -> Layout:
    it = lib.asc_layout_of(number)
    return Layout(number, ffi.string(it.name).decode(), it.dtype, it.source, it.rows, it.reader)


LAYOUTS = {layout.name: layout for layout in map(_layout, range(lib.ASC_LAYOUT_COUNT))}
LAYOUT_NAMES = tuple(LAYOUTS)
