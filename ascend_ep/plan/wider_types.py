"""Kernels for integers they have no row for: of fewer than 32 bits and bools in int32, uint32 in int64.

Sums and products that leave the range of a narrow integer wrap in it, as they do in the wide one. float16
and bfloat16 are the matter of half_types.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.opdef.dtypes import BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32

from .rows import find_row

_WIDER = {INT8: INT32, UINT8: INT32, INT16: INT32, UINT16: INT32, BOOL: INT32, UINT32: INT64}


def wider_types(
    kernel: str, in_types: Sequence[int], out_types: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """The operand types, each the same or wider, for which the kernel has a row; None when there are none."""
    ins, outs = ([_WIDER.get(t, t) for t in types] for types in (in_types, out_types))
    return None if find_row(kernel, ins, outs) is None else (ins, outs)
