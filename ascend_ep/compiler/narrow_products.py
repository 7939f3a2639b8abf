"""Products in bfloat16: constant right operands are stored rounded, in pairs, and what they are multiplied
with is rounded as it is read; so are both operands of attention's two products. Sums, biases, activations,
softmax and everything between matrix products stay float32; images between convolutions don't
(narrow_convolutions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.half_weights import product_weight, replace_weight
from ascend_ep.compiler.narrow_convolutions import narrow_convolutions
from ascend_ep.compiler.plan import WEIGHT, NativePartition, Plan, Ref, Weight

BFLOAT16 = 16
NARROW = 4  #: of attention's ints (native/kernels/attention.c)


#: Whether a product, of these node names and operators, joined by "+", is to be narrow.
Chosen = Callable[[str, str], bool]


def narrow_products(plan: Plan, chosen: Chosen = lambda names, operators: True) -> int:
    """Changes the plan in place; the number of products and convolutions that now compute in bfloat16."""
    narrowed: dict[Weight, Ref] = {}
    changed = 0
    for owner in plan.partitions:
        for part in (owner, owner.fallback) if isinstance(owner, NativePartition) else ():
            if part is not None:
                changed += _narrow(part, narrowed, chosen) + narrow_convolutions(part, chosen)
    return changed


def _narrow(part: NativePartition, narrowed: dict[Weight, Ref], chosen: Chosen) -> int:
    changed = 0
    for i, insn in enumerate(part.insns):
        if not chosen(insn.name, insn.op_type):
            continue
        if insn.kernel == "attention":
            part.insns[i] = replace(insn, ints=(*insn.ints[:NARROW], 1, *insn.ints[NARROW + 1 :]))
            changed += 1
            continue
        right = product_weight(insn)
        if right is None or right.weight is None:
            continue
        if right.weight not in narrowed:
            made = Weight(_Wide(right.weight), "pairs32")
            narrowed[right.weight] = Ref(right.name, BFLOAT16, right.dims, WEIGHT, weight=made)
        replace_weight(part, i, narrowed[right.weight])
        changed += 1
    return changed


@dataclass(eq=False)
class _Wide:
    """The same weight as float32, from which pairs are packed."""

    weight: Weight

    def numpy(self) -> NDArray[np.generic]:
        return self.weight.array().astype(np.float32, copy=False)
