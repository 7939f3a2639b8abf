"""Elementwise instructions after a product become its epilogue.

    matmul or conv -> T -> ... elementwise ... -> Y     becomes    matmul or conv -> Y

when Y = activation(alpha T + addends), T and everything between have no other reader, and no axis grows.
Chains are read as expressions, so it makes no difference whether an activation was one node or, as exporters
write GELU, five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.compiler.lower.matmul import Activation
from ascend_ep.element_types import FLOAT32
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.expression import Expression
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import CONV, CONV_FLOATS, MATMUL, MATMUL_FLOATS
from ascend_ep.plan.plan import TEMP, Insn, NativePartition, Ref, joining
from ascend_ep.plan.tile_expression import load
from ascend_ep.plan.value_uses import ValueUses

from .elementwise_insns import in_float32, is_elementwise
from .epilogue_match import Epilogue, match

EPILOGUE = rule_of("ProductEpilogue")
WINDOW = 64  # instructions after a product that may belong to its epilogue


def fuse_epilogues(part: NativePartition, ledger: Ledger | None = None) -> int:
    """Fuses in place, wherever possible and `ledger` decides so; the number of instructions that went."""
    ledger = Ledger() if ledger is None else ledger
    if not ledger.is_on(EPILOGUE):
        return 0
    before = len(part.insns)
    uses = ValueUses.of(part)
    dropped: set[int] = set()
    at = 0
    while at < len(part.insns):
        found = _find(part, at, uses, ledger) if part.insns[at].kernel in ("matmul", "conv") else None
        if found is None:
            at += 1
        else:
            dropped |= _apply(part, at, found, uses)
    part.values[:] = [ref for ref in part.values if id(ref) not in dropped]
    return before - len(part.insns)


@dataclass(frozen=True)
class _Chain:
    """An elementwise value that depends on the product: what it is, and the instructions that make it."""

    expression: Expression
    insns: frozenset[int]  # positions


@dataclass(frozen=True)
class _Fusion:
    end: int  # position of the last instruction
    insns: frozenset[int]
    product: Insn


def _find(part: NativePartition, at: int, uses: ValueUses, ledger: Ledger) -> _Fusion | None:
    """The longest epilogue of the product at that position."""
    product = part.insns[at]
    (target,) = product.outs
    if target.kind != TEMP:
        return None
    leaves = [target]  # what the chain reads
    chains = {id(target): _Chain(load(0), frozenset())}
    best: _Fusion | None = None
    missed: tuple[frozenset[int], str] | None = None
    waiting = set(map(id, uses.memory_readers(target)))  # the rest reads no value of the chain
    for position in range(at + 1, min(at + 1 + WINDOW, len(part.insns))):
        insn = part.insns[position]
        if id(insn) not in waiting:
            continue
        used = [chains[id(r)] for r in insn.ins if r is not None and id(r) in chains]
        if not used or not is_elementwise(insn):
            continue
        members = frozenset({position}).union(*(c.insns for c in used))
        if not _keeps_shape(insn, target):
            missed = missed or (members, "its shape or type is not that of the product")
            continue
        expression = in_float32(insn, {key: chain.expression for key, chain in chains.items()}, leaves)
        if expression is None:
            missed = missed or (members, "it computes what no epilogue can")
            continue
        chains[id(insn.outs[0])] = _Chain(expression, members)
        waiting |= set(map(id, uses.memory_readers(insn.outs[0])))
        if _is_closed(part, target, members, position, uses):
            found = match(expression, load(0), leaves)
            fused = None if found is None else _with_epilogue(product, found, insn.outs[0])
            best = best if fused is None else _Fusion(position, members, fused)
            if fused is None:
                missed = missed or (members, "the product's kernel has no such epilogue")
        else:
            missed = missed or (members, f"its intermediate value {target.name!r} is used elsewhere")
    return _decided(part, at, best, missed, ledger)


def _decided(
    part: NativePartition,
    at: int,
    best: _Fusion | None,
    missed: tuple[frozenset[int], str] | None,
    ledger: Ledger,
) -> _Fusion | None:
    """The epilogue if the ledger has it; where there is none, the first near miss is entered."""
    if best is not None:
        calls = [part.insns[p] for p in sorted(best.insns | {at})]
        return best if ledger.weigh(EPILOGUE, candidate(calls)) else None
    if missed is not None:
        members, reason = missed
        ledger.refuse(EPILOGUE, candidate([part.insns[p] for p in sorted(members | {at})]), reason)
    return None


def _keeps_shape(insn: Insn, target: Ref) -> bool:
    return (
        len(insn.outs) == 1
        and insn.outs[0].dims == target.dims
        and all(r is not None and r.dtype == FLOAT32 for r in (*insn.ins, *insn.outs))
    )


def _is_closed(
    part: NativePartition, target: Ref, members: frozenset[int], end: int, uses: ValueUses
) -> bool:
    """Whether nothing else reads what the chain would no longer write."""
    inner = [target, *(part.insns[m].outs[0] for m in members if m != end)]
    chain = {id(part.insns[m]) for m in members}
    return all(
        ref.kind == TEMP and not uses.leaves(ref) and {id(r) for r in uses.memory_readers(ref)} <= chain
        for ref in inner
    )


def _with_epilogue(product: Insn, epilogue: Epilogue, out: Ref) -> Insn | None:
    """The product with this epilogue on top of its own, or None when its kernel can't."""
    made = _matmul_with if product.kernel == "matmul" else _conv_with
    return made(product, epilogue, out)


def _matmul_with(product: Insn, epilogue: Epilogue, out: Ref) -> Insn | None:
    left, right, bias, residual, *tables = (*product.ins, None, None)[: max(4, len(product.ins))]
    alpha, beta = (MATMUL_FLOATS.get(product.floats, name) for name in ("alpha", "beta"))
    if MATMUL.get(product.ints, "activation") != Activation.NONE:
        return None
    if epilogue.alpha != 1.0 and (bias is not None or residual is not None):
        return None
    addends = list(epilogue.addends)
    if any(not _broadcasts(a.dims, out.dims) for a in addends):
        return None
    if addends and bias is None:
        bias, beta = addends.pop(0), 1.0
    if addends and residual is None:
        residual = addends.pop(0)
    if addends:
        return None
    ints = MATMUL.put(product.ints, activation=int(epilogue.activation))
    floats = MATMUL_FLOATS.pack(alpha=alpha * epilogue.alpha, beta=beta, low=epilogue.low, high=epilogue.high)
    ins = (left, right, bias, residual, *tables)
    return replace(product, ins=ins, outs=(out,), ints=ints, floats=floats)


def _conv_with(product: Insn, epilogue: Epilogue, out: Ref) -> Insn | None:
    x, weights, bias, residual = (*product.ins, None, None)[:4]
    if CONV.get(product.ints, "activation") != Activation.NONE or epilogue.alpha != 1.0:
        return None
    for addend in epilogue.addends:
        if residual is not None or addend.dims != out.dims or addend.strides is not None:
            return None
        residual = addend
    ints = CONV.put(product.ints, activation=int(epilogue.activation))
    floats = CONV_FLOATS.pack(low=epilogue.low, high=epilogue.high)
    return replace(product, ins=(x, weights, bias, residual), outs=(out,), ints=ints, floats=floats)


def _broadcasts(dims: Sequence[Dim], to: Sequence[Dim]) -> bool:
    """Whether an operand certainly broadcasts to `to` without growing it."""
    aligned = zip(reversed(dims), reversed(to), strict=False)
    return len(dims) <= len(to) and all(d == 1 or d == t for d, t in aligned)


def _apply(part: NativePartition, at: int, fusion: _Fusion, uses: ValueUses) -> set[int]:
    """The product moves to where its chain ended, behind whatever makes its addends; the values that nothing
    makes any more."""
    gone = [part.insns[position] for position in sorted(fusion.insns | {at})]
    product = joining(fusion.product, gone)
    for insn in gone:
        uses.remove(insn)
    uses.add(product)
    left = [i for p, i in enumerate(part.insns[at : fusion.end], at) if p != at and p not in fusion.insns]
    part.insns[at : fusion.end + 1] = [*left, product]
    return {id(r) for insn in gone for r in insn.outs} - {id(r) for r in product.outs}
