"""Weights of products stored as float16: half the memory, and half of what a product of few rows reads.

    matmul(A, W in panels of float32)     becomes     matmul(A, W in panels of float16)

The product widens them in registers: its bits are those of the product with the same weights as float32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascend_ep.graph.mapped import release_pages
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import FLOAT16, FLOAT32
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Plan, Ref, Weight

#: Fewer elements than this are in a cache anyway.
LEAST = 1 << 14
CHUNK = 1 << 20  # elements that are compared at a time


@dataclass(eq=False)
class Rounded:
    """Floats rounded to float16 when the bundle is written; beyond its range they are infinite."""

    weight: Weight

    def numpy(self) -> NDArray[np.generic]:
        array = self.weight.array()
        with np.errstate(over="ignore"):
            rounded = array.astype(np.float16)
        release_pages(array)
        return rounded


def store_fp16_weights(plan: Plan, rounding: bool = False) -> int:
    """Changes the plan in place; the number of products that now read float16.

    Those whose weights float16 holds exactly; with `rounding` all of float32.
    """
    found: dict[Weight, Ref | None] = {}
    changed = 0
    for part in plan.native_parts():
        changed += _store(part, found, rounding)
    return changed


def _store(part: NativePartition, found: dict[Weight, Ref | None], rounding: bool) -> int:
    changed = 0
    for i, insn in enumerate(part.insns):
        right = product_weight(insn)
        if right is None or right.weight is None or right.weight.layout != "panel32":
            continue
        if right.weight not in found:
            found[right.weight] = fp16_weight(right) if rounding or _is_exact(right) else None
        made = found[right.weight]
        if made is not None:
            replace_weight(part, i, made)
            changed += 1
    return changed


def fp16_weight(ref: Ref) -> Ref:
    """A constant weight of products as float16, to take the place of one in panels of floats."""
    assert ref.weight is not None
    return Ref(ref.name, FLOAT16, ref.dims, WEIGHT, weight=Weight(Rounded(ref.weight), "fp16_32"))


def product_weight(insn: Insn) -> Ref | None:
    """The right operand of a product, when it is a constant in panels of floats."""
    right = insn.ins[1] if insn.kernel == "matmul" else None
    if right is None or right.weight is None or right.weight.layout not in ("panel32", "fp16_32"):
        return None
    return right if right.dtype in (FLOAT32, FLOAT16) else None


def replace_weight(part: NativePartition, at: int, weight: Ref, operand: int = 1) -> None:
    """Gives the product at that place another right operand."""
    insn = part.insns[at]
    part.insns[at] = replace(insn, ins=(*insn.ins[:operand], weight, *insn.ins[operand + 1 :]))
    if weight not in part.values:
        part.values.append(weight)


def _is_exact(ref: Ref) -> bool:
    """Whether float16 holds all of these float32; their first few tell of most that it doesn't."""
    sizes = [static(d) for d in ref.dims]
    if ref.weight is None or None in sizes or np.prod([s or 0 for s in sizes]) < LEAST:
        return False
    array = ref.weight.array()
    rows = array.reshape(-1, array.shape[-1]) if array.flags.c_contiguous else array
    if not _survives(_neighbours(array, 256)):
        return False
    step = max(CHUNK // max(array.size // len(rows), 1), 1)
    exact = all(_survives(rows[i : i + step]) for i in range(0, len(rows), step))
    release_pages(array)
    return exact


def _neighbours(array: NDArray[np.generic], count: int) -> NDArray[np.generic]:
    """The first elements along the axis of the least stride: one page of a mapped file is read."""
    nearest = min(range(array.ndim), key=lambda axis: abs(array.strides[axis]))
    return array[tuple(slice(count) if axis == nearest else 0 for axis in range(array.ndim))]


def _survives(floats: NDArray[np.generic]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((floats.astype(np.float16).astype(np.float32) == floats).all())
