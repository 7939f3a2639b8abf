"""The two products of a gated layer as one, whose tiles hold both sides:

    gate = matmul(x, V)  up = matmul(x, W)  swiglu(gate, up)   becomes   matmul(x, V and W by turns, GATED)

A few columns of V lie beside as many of W, so what the gate lets through is ready where the sums are, and
neither product goes to memory. The same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.plan import TEMP, WEIGHT, Insn, NativePartition, Plan, Ref, Weight
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import FLOAT32

#: The activation of such a product (native/kernels/matmul/matmul.c); columns of a side in a group (gemm.h).
GATED = 12
GROUP = 4
#: Rows of weights, by layout, up to which a product is one block of K in the caches: it has nowhere to keep
#: sums of several.
MOST_ROWS = {"panel32": 1152, "halves32": 1152, "pairs32": 2304}
#: Rows of x from which on it pays: products of fewer wait for their weights alone. Free sizes count as many.
LEAST_ROWS = 8
#: Elements of a weight, of which conversion holds a copy: 256 MB of float32.
MOST_ELEMENTS = 1 << 26


def gate_products(plan: Plan) -> int:
    """Changes the plan in place; the number of layers whose products are one now."""
    changed = 0
    for owner in plan.partitions:
        for part in (owner, owner.fallback) if isinstance(owner, NativePartition) else ():
            if part is not None:
                made = [_gate(part, insn) for insn in part.insns if insn.kernel == "swiglu"]
                changed += sum(made)
    return changed


def _gate(part: NativePartition, glu: Insn) -> bool:
    sides = [_product(part, ref, glu) for ref in glu.ins]
    if len(sides) != 2 or any(glu.ints):
        return False
    gate, up = sides
    if gate is None or up is None or gate is up or gate.ins[0] is not up.ins[0]:
        return False
    v, w = gate.ins[1], up.ins[1]
    if v is None or w is None or not _are_alike(v, w):
        return False
    assert v.weight is not None
    assert w.weight is not None
    *rows, columns = v.dims
    sizes = [static(d) for d in glu.outs[0].dims[:-1]]
    if prod(LEAST_ROWS if n is None else n for n in sizes) < LEAST_ROWS:
        return False
    source = _ByTurns(v.weight, w.weight)
    both = Ref(v.name, v.dtype, (*rows, 2 * columns), WEIGHT, weight=Weight(source, v.weight.layout))
    name, operators = (
        "+".join(t for t in texts if t)
        for texts in zip(*((i.name, i.op_type) for i in (gate, up, glu)), strict=True)
    )
    made = replace(
        gate, name=name, op_type=operators, ins=(gate.ins[0], both), outs=glu.outs, ints=(0, 0, GATED)
    )
    part.insns[part.insns.index(glu)] = made
    for insn in (gate, up):
        part.insns.remove(insn)
        part.values.remove(insn.outs[0])
    part.values.append(both)
    for weight in (v, w):
        if not any(r is weight for i in part.insns for r in i.ins) and weight in part.values:
            part.values.remove(weight)
    return True


def _product(part: NativePartition, ref: Ref | None, reader: Insn) -> Insn | None:
    """The product that makes a value which nothing else sees, if it is nothing but a product."""
    if ref is None or ref.kind != TEMP or ref.dtype != FLOAT32 or ref.dims != reader.outs[0].dims:
        return None
    seen = any(r is ref for _, r in part.outputs) or any(r.base is ref for r in part.values)
    readers = [i for i in part.insns if any(r is ref for r in i.ins)]
    makers = [i for i in part.insns if any(r is ref for r in i.outs)]
    if seen or readers != [reader] or len(makers) != 1 or makers[0].kernel != "matmul":
        return None
    insn = makers[0]
    plain = insn.ints == (0, 0, 0) and insn.floats[0] == 1 and not any(insn.ins[2:])
    return insn if plain else None


def _are_alike(v: Ref, w: Ref) -> bool:
    """Whether two weights can lie in one, by turns."""
    if v.weight is None or w.weight is None or v.weight.layout != w.weight.layout:
        return False
    most = MOST_ROWS.get(v.weight.layout)
    if most is None or v.dtype != w.dtype or v.dims != w.dims or len(v.dims) != 2:
        return False
    rows, columns = (static(d) for d in v.dims)
    if rows is None or columns is None or rows * columns > MOST_ELEMENTS:
        return False
    return rows <= most and columns % GROUP == 0


@dataclass(eq=False)
class _ByTurns:
    """Columns of two matrices, a group of each by turns."""

    first: Weight
    second: Weight

    def numpy(self) -> NDArray[np.generic]:
        arrays = [w.array() for w in (self.first, self.second)]
        rows, columns = arrays[0].shape
        if all(a.flags.f_contiguous for a in arrays):  # as torch.nn.Linear has them: groups are whole runs
            sides = [a.T.reshape(columns // GROUP, GROUP, rows) for a in arrays]
            return np.stack(sides, axis=1).reshape(2 * columns, rows).T
        kind = arrays[0].dtype
        group = np.dtype((np.void, GROUP * kind.itemsize))  # moved as one element: four times as fast
        both = np.empty((rows, columns // GROUP, 2), group)
        for i, array in enumerate(arrays):
            both[:, :, i] = np.ascontiguousarray(array).view(group)
        return both.view(kind).reshape(rows, 2 * columns)
