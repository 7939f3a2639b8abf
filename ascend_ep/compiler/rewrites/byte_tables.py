"""Functions of one byte become tables.

    y = QuantizeLinear(HardSwish(DequantizeLinear(x) * scale + offset))     becomes     y = table[channel][x]

An elementwise instruction whose 8-bit result depends on one 8-bit image, on numbers, and on constants of
one axis is looked up: 256 bytes, or 256 for each index of the axis. The elementwise kernel itself fills the
tables when the model is converted, at the baseline ISA level: bundles are the same on every machine. A table
of a table is one, so that what branches and meets again, as x HardSigmoid(x) does, is a function of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import INT8, UINT8
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.opdef.expression import Position
from ascend_ep.plan.kernel_params import BYTE_TABLE
from ascend_ep.plan.plan import TEMP, WEIGHT, Insn, NativePartition, Ref, Weight
from ascend_ep.plan.tile_encoding import kernel_arguments
from ascend_ep.plan.tile_expression import reachable
from ascend_ep.plan.value_uses import ValueUses, read_values
from ascend_ep.runtime.kernel_evaluation import Operand, evaluate

from .elementwise_insns import is_elementwise

BYTES = {UINT8: np.dtype(np.uint8), INT8: np.dtype(np.int8)}
ENTRIES = 256
#: bytes of an image for each table, from which on looking up is faster
LEAST_RUN = 32

Bytes = NDArray[np.generic]


@dataclass(frozen=True)
class Function:
    """A value as a function of each byte of `source`: tables [n, 256], n 1 or the length of `axis`."""

    source: Ref
    tables: Bytes
    axis: int | None

    @staticmethod
    def identity(ref: Ref) -> Function:
        return Function(ref, np.arange(ENTRIES, dtype=np.uint8).view(BYTES[ref.dtype]).reshape(1, -1), None)


def tabulate_bytes(part: NativePartition) -> int:
    """Changes the partition in place; the number of instructions that are tables now."""
    known: dict[int, Function] = {}
    changed = 0
    for at, insn in enumerate(part.insns):
        found = _function(insn, known)
        if found is None:
            continue
        known[id(insn.outs[0])] = found
        part.insns[at] = _lookup(insn, found, part)
        changed += 1
    if changed:
        _drop_unread(part)
    return changed


def _function(insn: Insn, known: dict[int, Function]) -> Function | None:
    """The only output of an elementwise instruction as a function of one image; None when it is none."""
    out = insn.outs[0] if insn.outs else None
    if out is None or not is_elementwise(insn) or len(insn.outs) != 1 or out.dtype not in BYTES:
        return None
    images = [r for r in insn.ins if r is not None and is_image(r) and r.dims == out.dims]
    functions = [known.get(id(r)) or Function.identity(r) for r in images]
    if len({id(f.source) for f in functions}) != 1 or _is_unsteady(insn):
        return None
    constants = {id(r): _constant(r, out) for r in insn.ins if r is not None and r not in images}
    axes = {f.axis for f in functions} | {c[1] for c in constants.values() if c is not None}
    axes.discard(None)
    if len(axes) > 1 or any(c is None for c in constants.values()):
        return None
    axis = next(iter(axes), None)
    if not pays(out.dims, axis):
        return None
    given = {id(r): f.tables for r, f in zip(images, functions, strict=True)}
    given |= {i: c[0].reshape(-1, 1) for i, c in constants.items() if c is not None}
    operands = [(r.dtype, given[id(r)]) for r in insn.ins if r is not None]
    return Function(functions[0].source, _evaluated(insn, operands, out.dtype), axis)


def is_image(ref: Ref) -> bool:
    """Whether it has 8 bits, is no constant, and is read as it lies."""
    return ref.dtype in BYTES and ref.kind != WEIGHT and ref.strides is None


def _is_unsteady(insn: Insn) -> bool:
    """Whether it counts positions, or holds sizes that are free."""
    ints, _ = kernel_arguments(insn)
    counts = any(isinstance(node, Position) for node in reachable(insn.expressions))
    return counts or not all(isinstance(i, int) for i in ints)


def _constant(ref: Ref, out: Ref) -> tuple[Bytes, int | None] | None:
    """The elements of a constant and the axis of the output along which they lie, None of a single one."""
    memory = ref if ref.base is None else ref.base
    whole = ref.strides is None and static(ref.offset) == 0
    if memory.weight is None or memory.weight.layout != "plain" or not whole or ref.rank > out.rank:
        return None
    axes = [out.rank - ref.rank + i for i, d in enumerate(ref.dims) if static(d) != 1]
    if len(axes) > 1 or any(out.dims[i] != ref.dims[i - out.rank + ref.rank] for i in axes):
        return None
    elements = memory.weight.load().reshape(-1)
    return elements[: prod(d for d in map(static, ref.dims) if d is not None)], axes[0] if axes else None


def pays(dims: Sequence[Dim], axis: int | None) -> bool:
    """Whether tables are worth their room; sizes that are free are taken for large ones."""
    if any(static(d) == 0 for d in dims):
        return False
    sizes = [static(d) for i, d in enumerate(dims) if i != axis]
    entries = ENTRIES if axis is None else LEAST_RUN
    return any(s is None for s in sizes) or prod(s for s in sizes if s is not None) >= entries


def _evaluated(insn: Insn, given: Sequence[Operand], dtype: int) -> Bytes:
    """The kernel's result for all bytes: [n, 256]."""
    made = np.empty((max(len(a) for _, a in given), ENTRIES), BYTES[dtype])
    ints, floats = kernel_arguments(insn)
    evaluate(insn.kernel, given, (dtype, made), [int(str(i)) for i in ints], floats)
    return made


def _lookup(insn: Insn, found: Function, part: NativePartition) -> Insn:
    tables = found.tables if found.axis is not None else found.tables.reshape(-1)
    dims = tuple(int(d) for d in tables.shape)
    ref = Ref("", insn.outs[0].dtype, dims, WEIGHT, weight=Weight(np.ascontiguousarray(tables)))
    part.values.append(ref)
    ints = BYTE_TABLE.pack(axis=found.axis or 0)
    ins = (found.source, ref)
    return replace(insn, kernel="byte_table", ins=ins, ints=ints, floats=(), expressions=(), unfused=None)


def _drop_unread(part: NativePartition) -> None:
    """Removes tables that nothing reads any more, and the constants that only the programs read."""
    uses = ValueUses.of(part)
    kept: list[Insn] = []
    for insn in reversed(part.insns):
        out = insn.outs[0] if insn.kernel == "byte_table" else None
        if out is not None and uses.is_inner(out) and not uses.readers(out):
            uses.remove(insn)
        else:
            kept.append(insn)
    part.insns[:] = reversed(kept)
    read = read_values(part)
    made = {id(o) for i in part.insns for o in i.outs}
    part.values[:] = [
        r for r in part.values if id(r) in read or id(r) in made or r.kind not in (TEMP, WEIGHT)
    ]
