"""RMSNorms that only products read become a part of them: their rows are normalised as they are packed.

    rms_norm(x, scale) -> n   matmul(n, W) ...     becomes     matmul(x, W, scale, epsilon) ...

What is normalised doesn't go to memory, and no pass of its own reads it. Products of one x by turns find its
rows packed, and their factors. The same bits.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.compiler.fusion_candidates import candidate, decided_parts
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import FLOAT32
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import MATMUL, MATMUL_FLOATS, NORM_FLOATS, RMS_NORM
from ascend_ep.plan.plan import Insn, NativePartition, Plan, Ref, joining
from ascend_ep.plan.value_uses import ValueUses
from ascend_ep.runtime._rt import lib

RULE = rule_of("NormPrologue")
#: Layouts of the weights of products that have such a prologue (native/kernels/matmul/matmul.c).
LAYOUTS = frozenset({"panel32", "vnni2_32", "fp16_32"})
#: Columns up to which products of many rows have a kernel that normalises nothing.
NARROW = lib.ASC_SMALL_N_COLUMNS
#: Operands in front of the norm's scale.
BEFORE = lib.ASC_MATMUL_SCALE


def take_norms(plan: Plan, ledger: Ledger | None = None) -> int:
    """Changes the plan in place, wherever possible and `ledger` decides so; the number of norms that went.
    What a partition falls back on is decided alike, and not entered."""
    return sum(_take_all(part, own) for part, own in decided_parts(plan, RULE, ledger))


def _take_all(part: NativePartition, ledger: Ledger) -> int:
    changed = 0
    uses = ValueUses.of(part)
    for norm in [i for i in part.insns if i.kernel == "rms_norm"]:
        out = norm.outs[0]
        products = uses.readers(out)
        if not products or any(i.kernel != "matmul" for i in products):
            continue
        call = candidate([norm, *products], [i.outs[0] for i in products[:-1]])
        reason = _against(uses, norm, products)
        if reason:
            ledger.refuse(RULE, call, reason)
        elif ledger.weigh(RULE, call):
            _take(part, uses, norm, products)
            changed += 1
    return changed


def _take(part: NativePartition, uses: ValueUses, norm: Insn, products: list[Insn]) -> None:
    x, scale = norm.ins[:2]
    for product in products:
        rest = (*product.ins[1:], *[None] * BEFORE)[: BEFORE - 1]
        epsilon = NORM_FLOATS.get(norm.floats, "epsilon")
        floats = MATMUL_FLOATS.put(product.floats, epsilon=epsilon)
        made = joining(replace(product, ins=(x, *rest, scale), floats=floats), [norm, product])
        uses.put(part, product, made)
    uses.drop(part, norm)
    part.values.remove(norm.outs[0])


def _against(uses: ValueUses, norm: Insn, products: list[Insn]) -> str:
    """Why a norm is no part of the products that read it, or ""."""
    x, *rest = norm.ins
    out = norm.outs[0]
    if not uses.is_inner(out):
        return f"its intermediate value {out.name!r} is used elsewhere"
    if x is None or len(norm.outs) > 1 or any(rest[1:]):
        return "its norm is of a sum"
    if (
        len(rest) < 1
        or rest[0] is None
        or len(rest[0].dims) != 1
        or RMS_NORM.get(norm.ints, "axis") != len(x.dims) - 1
    ):
        return "its norm has no scale, or is of several axes"
    if x.dtype != FLOAT32 or out.dtype != FLOAT32 or x.strides is not None or x.dims != out.dims:
        return f"its input {x.name!r} isn't contiguous float32"
    for product in products:
        if any(r is out for r in product.ins[1:]) or MATMUL.get(product.ints, "trans_a"):
            return "a product has it on its right, or transposed"
        against = _against_weights(product.ins[1])
        if against:
            return f"the product {product.outs[0].name!r} is {against}"
    return ""


def _against_weights(weights: Ref | None) -> str:
    """What a product by these is that normalises nothing, or ""."""
    if weights is None or weights.weight is None:
        return "not by weights"
    if weights.weight.layout not in LAYOUTS:
        return f"by weights that lie as {weights.weight.layout}, beside which no kernel normalises"
    columns = static(weights.dims[-1])
    if columns is None or columns <= NARROW:
        return f"of {columns} columns: up to {NARROW} are multiplied by rows as they lie"
    return ""
