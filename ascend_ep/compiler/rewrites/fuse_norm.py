"""Normalisations fuse what stands beside them, for which their kernels have operands:

    a + b -> rms_norm              becomes    rms_norm with a residual, whose second output is the sum
    layer_norm -> elementwise      becomes    layer_norm with an epilogue, when the elementwise part is a GELU

The sum stays a value of its own where anything else reads it.

An RMSNorm that only products read is a part of them in the end (norm_prologue.py); a LayerNorm is not.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.compiler.fusion_candidates import candidate
from ascend_ep.compiler.lower.matmul import Activation
from ascend_ep.element_types import FLOAT32
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.expression import Apply, Input
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import LAYER_NORM
from ascend_ep.plan.plan import Insn, NativePartition, Ref, joining
from ascend_ep.plan.tile_expression import load, place
from ascend_ep.plan.value_uses import ValueUses
from ascend_ep.runtime._rt import lib

from .elementwise_insns import in_float32, is_elementwise
from .epilogue_match import match

#: Epilogues of layer_norm: its second int.
RESIDUAL = rule_of("NormResidual")
GELU = rule_of("NormGelu")
EPILOGUES = {
    Activation.GELU: lib.ASC_NORM_EPILOGUE_GELU,
    Activation.GELU_TANH: lib.ASC_NORM_EPILOGUE_GELU_TANH,
}


def fuse_norms(part: NativePartition, ledger: Ledger | None = None) -> int:
    """Fuses in place, wherever possible and `ledger` decides so; the number of instructions that went."""
    ledger = Ledger() if ledger is None else ledger
    before = len(part.insns)
    uses = ValueUses.of(part)
    for insn in list(part.insns):
        if insn.kernel == "rms_norm" and ledger.is_on(RESIDUAL):
            _take_sum(part, insn, uses, ledger)
        elif insn.kernel == "layer_norm" and ledger.is_on(GELU):
            _take_gelu(part, insn, uses, ledger)
    return before - len(part.insns)


def _take_sum(part: NativePartition, norm: Insn, uses: ValueUses, ledger: Ledger) -> None:
    x, *rest = norm.ins
    made = None if x is None else uses.maker(x)
    if made is None or x is None or len(rest) > 1 or len(norm.outs) > 1:
        return
    addends = _addends(made)
    if addends is None:
        return
    at, start = part.insns.index(norm), part.insns.index(made)
    between = part.insns[start + 1 : at]
    others = [i for i in uses.memory_readers(x) if i is not norm]
    if not any(i in between for i in others):
        place = at
    elif not any(o is r for i in between for o in i.outs for r in rest if r is not None):
        place = start
    else:
        ledger.refuse(RESIDUAL, candidate([made, norm]), "its sum is read before its weight is made")
        return
    stays = bool(others) or not uses.is_inner(x)
    if not ledger.weigh(RESIDUAL, candidate([made, norm], [x] if stays else [])):
        return
    outs = (*norm.outs, x) if stays else norm.outs
    first, second = addends
    fused = joining(replace(norm, ins=(first, *(rest or [None]), second), outs=outs), [made, norm])
    kept, gone = (made, norm) if place == start else (norm, made)
    uses.put(part, kept, fused)
    uses.drop(part, gone)
    if not stays:
        part.values.remove(x)


def _addends(insn: Insn) -> tuple[Ref, Ref] | None:
    """The operands of an instruction that only adds two tensors of its output's shape."""
    if not is_elementwise(insn) or len(insn.outs) != 1:
        return None
    leaves: list[Ref] = []
    expression = in_float32(insn, {}, leaves)
    if not isinstance(expression, Apply) or expression.op != "add":
        return None
    a, b = expression.args
    if not isinstance(a, Input) or not isinstance(b, Input):
        return None
    out, first, second = insn.outs[0], leaves[place(a)], leaves[place(b)]
    whole = all(r.dims == out.dims and r.dtype == FLOAT32 and r.strides is None for r in (first, second, out))
    return (first, second) if whole else None


def _take_gelu(part: NativePartition, norm: Insn, uses: ValueUses, ledger: Ledger) -> None:
    out = norm.outs[0]
    readers = uses.memory_readers(out)
    if LAYER_NORM.get(norm.ints, "epilogue") != lib.ASC_NORM_EPILOGUE_NONE:
        return
    if len(norm.outs) > 1 or not readers:
        return
    gelu = readers[0]
    if not is_elementwise(gelu) or len(gelu.outs) != 1:
        return
    expression = in_float32(gelu, {}, [out])
    if expression is None or gelu.outs[0].dims != out.dims or gelu.outs[0].dtype != FLOAT32:
        return
    if any(r is not out for r in gelu.ins):
        return
    found = match(expression, load(0), [out])
    if found is None or found.alpha != 1.0 or found.addends or found.activation not in EPILOGUES:
        return
    pair = candidate([norm, gelu])
    if not uses.is_inner(out) or len(readers) != 1:
        ledger.refuse(GELU, pair, f"its intermediate value {out.name!r} is used elsewhere")
        return
    if not ledger.weigh(GELU, pair):
        return
    ints = LAYER_NORM.put(norm.ints, epilogue=EPILOGUES[found.activation])
    fused = joining(replace(norm, outs=gelu.outs, ints=ints), [norm, gelu])
    uses.put(part, norm, fused)
    uses.drop(part, gelu)
    part.values.remove(out)
