"""Asking the native kernel table which operators and types it has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ascend_ep.opdef.dtypes import BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32
from ascend_ep.runtime._rt import ffi, lib

STRIDED = lib.ASC_K_STRIDED
INPLACE = lib.ASC_K_INPLACE
BATCH_INVARIANT = lib.ASC_K_BATCH_INVARIANT
PACKED = lib.ASC_K_PACKED


def find_row(kernel: str, in_types: Sequence[int], out_types: Sequence[int]) -> int | None:
    """Flags (ASC_K_...) of the row for these ONNX dtypes (0: absent operand); None when there is no row."""
    return _find(kernel, tuple(in_types), tuple(out_types))


@lru_cache(maxsize=4096)
def _find(kernel: str, in_types: tuple[int, ...], out_types: tuple[int, ...]) -> int | None:
    types = ffi.new("int32_t[]", [*in_types, *out_types])
    isa = lib.asc_isa_current()
    index = lib.asc_kernel_find(isa, kernel.encode(), types, len(in_types), len(out_types))
    if index < 0:
        return None
    info = ffi.new("asc_kernel_info *")
    lib.asc_kernel_at(isa, index, info)
    return int(info.flags)


#: Integers of fewer than 32 bits and bools in int32, uint32 in int64. Sums and products that leave the range
#: of a narrow integer wrap in it, as they do in the wide one. float16 and bfloat16: compiler/half_types.py.
_WIDER = {INT8: INT32, UINT8: INT32, INT16: INT32, UINT16: INT32, BOOL: INT32, UINT32: INT64}


def wider_types(
    kernel: str, in_types: Sequence[int], out_types: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """The operand types, each the same or wider, for which the kernel has a row; None when there are none."""
    ins, outs = ([_WIDER.get(t, t) for t in types] for types in (in_types, out_types))
    return None if find_row(kernel, ins, outs) is None else (ins, outs)
