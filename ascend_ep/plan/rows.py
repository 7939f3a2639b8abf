"""Asking the native kernel table which operators and types it has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

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
