"""Products in bfloat16: constant right operands are stored rounded, as VNNI2_32, and what they are multiplied
with is rounded as it is read; so are the state of a recurrent layer and both operands of attention's two
products. Sums, biases, activations, softmax and everything between matrix products stay float32, but for
images between convolutions (narrow_convolutions) and what products alone read (narrow_activations).

The products behind the convolutions of an image model, its head, take little of its time but make most of
its error: ResNet-50's is 1/2000 of the multiplications, and rounding it to bfloat16 causes 80 % of the
variance of the result's error. Heads store float16, which is as large and eight times as exact, and compute
float32; unless the user names them as operators to be narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, FLOAT32
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.plan.kernel_params import ATTENTION
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Plan, Ref, Weight

from .half_weights import fp16_weight, product_weight, replace_weight
from .narrow_convolutions import narrow_convolutions

#: A product with fewer multiplications, for each of the convolutions', is a head.
HEAD = 1 / 64
#: The root mean square of float16's rounding errors, relative to the weights'; bfloat16's is about 2**-10.
MOST_ERROR = 2.0**-12


#: Whether a product, of these node names and operators, joined by "+", is to be narrow.
Chosen = Callable[[str, str], bool]


def narrow_products(
    plan: Plan,
    chosen: Chosen = lambda names, operators: True,
    named: Chosen = lambda names, operators: False,
) -> int:
    """Changes the plan in place; the number of products and convolutions that now compute in bfloat16. What
    is `named` is no head."""
    narrowed: dict[tuple[Weight, bool], Ref] = {}
    changed = 0
    for part in plan.native_parts():
        images = narrow_convolutions(part, chosen)
        head = HEAD * _convolutions(part) if images else 0
        changed += images + _narrow(part, narrowed, chosen, named, head)
    return changed


def _narrow(
    part: NativePartition,
    narrowed: dict[tuple[Weight, bool], Ref],
    chosen: Chosen,
    named: Chosen,
    head: float,
) -> int:
    """`head`: products with fewer multiplications are heads, unless they are `named`. `narrowed`: what was
    made of a weight, and whether for a head."""
    changed = 0
    for i, insn in enumerate(part.insns):
        if not chosen(insn.name, insn.op_type):
            continue
        if insn.kernel in ("attention", "attention_append"):
            part.insns[i] = replace(insn, ints=ATTENTION.put(insn.ints, narrow=1))
            changed += 1
            continue
        for operand, right, weight in _weights(insn):
            small = not named(insn.name, insn.op_type) and _multiplications(insn.ins[0], right) < head
            small = small and insn.kernel == "matmul" and _suits_fp16(weight)
            if (weight, small) not in narrowed:
                narrowed[weight, small] = fp16_weight(right) if small else _vnni2_weight(right)
            replace_weight(part, i, narrowed[weight, small], operand)
            changed += 1
    return changed


def _weights(insn: Insn) -> Iterator[tuple[int, Ref, Weight]]:
    """What may be narrow of the right operands: constants in panels of floats, by their places."""
    found = [(1, product_weight(insn))]
    if insn.kernel == "recurrent":
        found = [(i, ref) for i, ref in enumerate(insn.ins[:3]) if ref is not None and ref.dtype == FLOAT32]
    for place, right in found:
        if right is not None and right.weight is not None and right.weight.layout in ("panel32", "fp16_32"):
            yield place, right, right.weight


def _vnni2_weight(right: Ref) -> Ref:
    assert right.weight is not None
    made = Weight(_Wide(right.weight), "vnni2_32")
    return Ref(right.name, BFLOAT16, right.dims, WEIGHT, weight=made)


# --- heads ------------------------------------------------------------------------------------


def _convolutions(part: NativePartition) -> int:
    """Multiplications of the convolutions with channels last, for one image."""
    return sum(
        _size(insn.outs[0].dims[1:-1]) * _size(insn.ins[1].dims)
        for insn in part.insns
        if insn.kernel == "conv_last" and insn.ins[1] is not None
    )


def _multiplications(left: Ref | None, right: Ref) -> int:
    """Of a product, for one image: the first of several axes of the left operand is the batch."""
    return _size(left.dims[1:-1] if left is not None else ()) * _size(right.dims)


def _size(dims: Sequence[Dim]) -> int:
    return prod(static(d) or 1 for d in dims)


def _suits_fp16(weight: Weight) -> bool:
    """Whether float16 holds the weights in its range: neither too large for it nor nearly all tiny."""
    array = weight.array().astype(np.float32, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        error = array.astype(np.float16).astype(np.float32) - array
        return bool(np.vdot(error, error) <= MOST_ERROR**2 * np.vdot(array, array))


@dataclass(eq=False)
class _Wide:
    """The same weight as float32, from which pairs are packed."""

    weight: Weight

    def numpy(self) -> NDArray[np.generic]:
        return self.weight.array().astype(np.float32, copy=False)
