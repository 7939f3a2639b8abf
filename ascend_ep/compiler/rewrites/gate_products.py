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

from ascend_ep.compiler.fusion_candidates import candidate, decided_parts
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import FLOAT32
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import MATMUL, MATMUL_FLOATS
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Plan, Ref, Weight, joining
from ascend_ep.plan.value_uses import ValueUses
from ascend_ep.runtime._rt import lib
from ascend_ep.runtime.layouts import LAYOUTS

RULE = rule_of("GatedProducts")
#: The activation of such a product, and one that is as its sums are; columns of a side in a group.
GATED = lib.ASC_ACTIVATION_GATED
PLAIN = MATMUL.pack(trans_a=0, trans_b=0, activation=lib.ASC_ACTIVATION_NONE)
GROUP = lib.ASC_GATED_GROUP
#: Rows of weights, by layout, up to which a product is one block of K in the caches: it has nowhere to keep
#: sums of several.
MOST_ROWS = {name: lib.ASC_K_BLOCK * LAYOUTS[name].rows for name in ("panel32", "fp16_32", "vnni2_32")}
#: Rows of x from which on it pays: products of fewer wait for their weights alone. Free sizes count as many.
LEAST_ROWS = 8
#: Elements of a weight, of which conversion holds a copy: 256 MB of float32.
MOST_ELEMENTS = 1 << 26


def gate_products(plan: Plan, ledger: Ledger | None = None) -> int:
    """Changes the plan in place, wherever possible and `ledger` decides so; the number of layers whose
    products are one now. What a partition falls back on is decided alike, and not entered."""
    return sum(_gate_all(part, own) for part, own in decided_parts(plan, RULE, ledger))


def _gate_all(part: NativePartition, ledger: Ledger) -> int:
    changed = 0
    uses = ValueUses.of(part)
    for glu in [i for i in part.insns if i.kernel == "swiglu"]:
        sides = [_product(uses, ref) for ref in glu.ins]
        if len(sides) != 2 or any(glu.ints):
            continue
        gate, up = sides
        if gate is None or up is None or gate is up:
            continue
        layer = candidate([gate, up, glu])
        reason = _against(uses, gate, up, glu)
        if reason:
            ledger.refuse(RULE, layer, reason)
        elif ledger.weigh(RULE, layer):
            _gate(part, uses, gate, up, glu)
            changed += 1
    return changed


def _gate(part: NativePartition, uses: ValueUses, gate: Insn, up: Insn, glu: Insn) -> None:
    v, w = gate.ins[1], up.ins[1]
    assert v is not None
    assert w is not None
    assert v.weight is not None
    assert w.weight is not None
    *rows, columns = v.dims
    source = _ByTurns(v.weight, w.weight)
    both = Ref(v.name, v.dtype, (*rows, 2 * columns), WEIGHT, weight=Weight(source, v.weight.layout))
    ints = MATMUL.put(PLAIN, activation=GATED)
    made = replace(gate, ins=(gate.ins[0], both), outs=glu.outs, ints=ints)
    made = joining(made, [gate, up, glu])
    uses.put(part, glu, made)
    for insn in (gate, up):
        uses.drop(part, insn)
        part.values.remove(insn.outs[0])
    part.values.append(both)
    for weight in (v, w):
        if not uses.readers(weight) and weight in part.values:
            part.values.remove(weight)


def _product(uses: ValueUses, ref: Ref | None) -> Insn | None:
    """The product that makes a value."""
    maker = None if ref is None else uses.maker(ref)
    return maker if maker is not None and maker.kernel == "matmul" else None


def _against(uses: ValueUses, gate: Insn, up: Insn, glu: Insn) -> str:
    """Why two products and what gates one by the other are not one call, or ""."""
    result = glu.outs[0]
    for insn in (gate, up):
        made = insn.outs[0]
        if made.dtype != FLOAT32 or made.dims != result.dims:
            return f"its intermediate value {made.name!r} is not float32 of its result's shape"
        if not uses.is_inner(made) or uses.readers(made) != [glu]:
            return f"its intermediate value {made.name!r} is used elsewhere"
        if insn.ints != PLAIN or MATMUL_FLOATS.get(insn.floats, "alpha") != 1 or any(insn.ins[2:]):
            return f"its product {made.name!r} is transposed, scaled or has an epilogue"
    if gate.ins[0] is not up.ins[0]:
        return "its products are of different inputs"
    sizes = [static(d) for d in result.dims[:-1]]
    count = prod(LEAST_ROWS if n is None else n for n in sizes)
    if count < LEAST_ROWS:
        return f"its products have {count} rows: fewer than {LEAST_ROWS} wait for their weights alone"
    return _against_weights(gate.ins[1], up.ins[1])


def _against_weights(v: Ref | None, w: Ref | None) -> str:
    """Why two weights cannot lie in one, by turns, or ""."""
    if v is None or w is None or v.weight is None or w.weight is None:
        return "its products are not both by weights"
    layout = v.weight.layout
    if w.weight.layout != layout or v.dtype != w.dtype or v.dims != w.dims:
        return "its weights differ in shape, type or layout"
    most = MOST_ROWS.get(layout)
    if most is None or len(v.dims) != 2:
        return f"its weights are of rank {len(v.dims)} and lie as {layout}, which no gated kernel reads"
    rows, columns = (static(d) for d in v.dims)
    if rows is None or columns is None:
        return "its weights are of no fixed size"
    if rows > most:
        return f"its products sum {rows} terms: one block in the caches holds {most} of {layout}"
    if columns % GROUP:
        return f"its weights have {columns} columns, which is no multiple of {GROUP}"
    if rows * columns > MOST_ELEMENTS:
        return f"its weights have {rows * columns} elements each: conversion copies {MOST_ELEMENTS} at most"
    return ""


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
