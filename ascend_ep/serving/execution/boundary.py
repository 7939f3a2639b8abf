"""What a bundle says of its batches: which sizes count rows, at which it runs, and what may mix rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_ep.element_types import STRING
from ascend_ep.runtime.binding import ffi, lib, text_of
from ascend_ep.runtime.bundle import Bundle

from .rules import Boundary


@dataclass(frozen=True)
class BatchBoundary:
    """inputs: names and dims as the plan calls them; the first of each counts rows. profiles: as the
    bundle's. doubt: what in the model doesn't promise a row's bits whatever its batch; "" when all does."""

    inputs: tuple[Boundary, ...]
    profiles: tuple[Mapping[str, int], ...]
    doubt: str = ""


def batch_boundary(bundle: Bundle, *, insisted: bool) -> BatchBoundary | str:
    """How the model is batched, or why it can't be. insisted: the first free dims count rows even if they are
    called differently."""
    edges = [e for e in bundle.edges if e.is_input or e.is_output]
    inputs = [e for e in edges if e.is_input]
    if not inputs or len(inputs) == len(edges):
        return "it has no inputs or no outputs"
    if any(e.dtype == STRING for e in edges):
        return "it takes or gives strings"
    first = {e.dims[0] if e.dims else None for e in edges}
    free = [d for d in first if isinstance(d, str)]
    named = len(first) == 1 and len(free) == 1 and free[0].isidentifier()
    if not named and not (insisted and len(free) == len(first)):
        return "no first dimension is common to all its inputs and outputs"
    if any(free[0] in d for e in edges for d in e.dims[1:] if isinstance(d, str)):
        return f"the size [{free[0]}] isn't only that of the first dimension"
    boundaries = tuple((e.name, e.dims) for e in inputs)
    return BatchBoundary(boundaries, bundle.profiles, _doubt(bundle))


def _doubt(bundle: Bundle) -> str:
    mixing = _kernels_that_mix()
    for partition in bundle.partitions:
        if not partition.is_native:
            return f"partition [{partition.name}] runs on onnxruntime"
        for insn in bundle.instructions(partition):
            if insn.native is None and insn.kernel in mixing:
                return f"[{insn.node}] is a {insn.kernel}, whose rows depend on each other"
    return ""


def _kernels_that_mix() -> frozenset[str]:
    """The kernels of which a row of the table doesn't say that bits of rows are independent."""
    isa, info = lib.asc_isa_current(), ffi.new("asc_kernel_info *")
    found = set()
    for index in range(lib.asc_kernel_count(isa)):
        lib.asc_kernel_at(isa, index, info)
        if not info.flags & lib.ASC_K_BATCH_INVARIANT:
            found.add(text_of(info.op))
    return frozenset(found)
