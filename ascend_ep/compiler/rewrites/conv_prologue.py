"""What one convolution alone reads becomes a part of its reading: images put together along the channels,
and a scale, a shift and limits of each channel.

    concat(a, b..) -> j   elementwise(min(high, max(low, j * scale + shift))) -> x   conv_last(x, W)
    becomes     conv_joined(a, W, .., scale, shift, b..)

Either may be absent. The windows' strip is written from the images themselves: neither j nor x goes to
memory. DenseNet has both before each convolution of 1 x 1, SqueezeNet the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from ascend_ep.compiler.fusion_candidates import candidate, decided_parts
from ascend_ep.element_types import FLOAT32
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Number
from ascend_ep.opdef.fusion_rules import rule_of
from ascend_ep.plan.kernel_params import CONCAT, CONV_FLOATS, CONV_JOINED_FLOATS, CONV_LAST
from ascend_ep.plan.plan import VIEW, WEIGHT, Insn, NativePartition, Plan, Ref, Weight, joining
from ascend_ep.plan.rows import find_row
from ascend_ep.plan.tile_expression import place
from ascend_ep.plan.value_uses import ValueUses

from .elementwise_insns import is_elementwise

RULE = rule_of("ConvPrologue")
KERNEL = "conv_joined"


@dataclass(frozen=True)
class Affine:
    """min(high, max(low, x * scale + shift)); scale and shift have a number for each channel, or are
    absent."""

    x: Ref
    scale: Ref | None = None
    shift: Ref | None = None
    low: float = -inf
    high: float = inf


def take_prologues(plan: Plan, ledger: Ledger | None = None) -> int:
    """Changes the plan in place, wherever possible and `ledger` decides so; the number of instructions that
    went."""
    return sum(_take_all(part, own) for part, own in decided_parts(plan, RULE, ledger))


def _take_all(part: NativePartition, ledger: Ledger) -> int:
    before = len(part.insns)
    for conv in [i for i in part.insns if i.kernel == "conv_last"]:
        uses = ValueUses.of(part)
        if conv.native is not None or CONV_LAST.get(conv.ints, "channels_first"):
            continue
        affine, gone = _affine_before(conv, uses)
        images = _images_before(affine.x, gone[-1] if gone else conv, uses)
        if images is None:
            images = [affine.x]
        else:
            concat = uses.maker(affine.x)
            assert concat is not None
            gone.append(concat)
        made = _joined(conv, affine, images) if gone else None
        if made is not None and ledger.weigh(RULE, candidate([*gone[::-1], conv])):
            _take(part, conv, joining(made, [*gone[::-1], conv]), gone)
    return before - len(part.insns)


def _take(part: NativePartition, conv: Insn, made: Insn, gone: list[Insn]) -> None:
    known = {id(v) for v in part.values}
    new = [r for r in made.ins[4:6] if r is not None and id(r) not in known]
    at = next(i for i, insn in enumerate(part.insns) if insn is conv)
    part.insns[at] = made
    part.insns[:] = [i for i in part.insns if all(i is not g for g in gone)]
    left = {id(o) for g in gone for o in g.outs}
    part.values[:] = sorted(
        (v for v in [*part.values, *new] if id(v) not in left), key=lambda v: v.kind == VIEW
    )


def _affine_before(conv: Insn, uses: ValueUses) -> tuple[Affine, list[Insn]]:
    """What the convolution's image is of another one, and the instruction that goes with that; the image
    itself and none, where that isn't so or the image has other readers."""
    x = conv.ins[0]
    assert x is not None
    maker = uses.maker(x)
    if maker is None or not is_elementwise(maker) or len(maker.outs) > 1 or not _is_read_once(x, conv, uses):
        return Affine(x), []
    weights = conv.ins[1]
    found = None if weights is None else _affine(maker, weights.dtype)
    return (Affine(x), []) if found is None else (found, [maker])


def _images_before(x: Ref, reader: Insn, uses: ValueUses) -> list[Ref] | None:
    """The images that `x` has one behind the other along its channels; None where it is something else or has
    other readers."""
    maker = uses.maker(x)
    if (
        maker is None
        or maker.kernel != "concat"
        or maker.native is not None
        or not _is_read_once(x, reader, uses)
    ):
        return None
    images = [r for r in maker.ins if r is not None]
    same = all(r.dtype == x.dtype and r.strides is None for r in images)
    return images if same and CONCAT.get(maker.ints, "axis") == x.rank - 1 else None


def _is_read_once(x: Ref, reader: Insn, uses: ValueUses) -> bool:
    return uses.is_inner(x) and uses.readers(x) == [reader] and sum(r is x for r in reader.ins) == 1


def _affine(insn: Insn, rounded: int) -> Affine | None:
    """The elementwise instruction as scale, shift and limits of an image of its result's dims. `rounded`: the
    type to which whatever reads the result rounds it as well."""
    node = insn.expressions[0]
    if isinstance(node, Cast) and node.dtype == rounded:
        node = node.arg
    bounds: dict[str, float] = {}
    while (limit := _limit(node)) is not None and limit[0] not in bounds:
        bounds[limit[0]], node = limit[1:]
    low, high = bounds.get("max", -inf), bounds.get("min", inf)
    shift = scale = None
    channels = insn.outs[0].dims[-1]
    if (found := _by_channel(node, "add", insn)) is not None:
        shift, node = found
    if (found := _by_channel(node, "mul", insn)) is not None:
        scale, node = found
    x = insn.ins[place(node)] if isinstance(node, Input) else None
    if x is None or x.dims != insn.outs[0].dims or x.strides is not None or x.kind == WEIGHT:
        return None
    if static(channels) is None or not low <= high or not (scale or shift or bounds):
        return None
    return Affine(x, scale, shift, low, high)


def _limit(node: Expression) -> tuple[str, float, Expression] | None:
    """Maximum or minimum with a number: which, the number, and of what."""
    if not isinstance(node, Apply) or node.op not in ("max", "min"):
        return None
    for bound, other in (node.args, node.args[::-1]):
        if isinstance(bound, Number) and isinstance(bound.value, float):
            return node.op, bound.value, other
    return None


def _by_channel(node: Expression, op: str, insn: Insn) -> tuple[Ref, Expression] | None:
    """The constant with a number for each channel that is added, or a factor, and the other operand."""
    if not isinstance(node, Apply) or node.op != op:
        return None
    for constant, other in (node.args, node.args[::-1]):
        ref = insn.ins[place(constant)] if isinstance(constant, Input) else None
        vector = None if ref is None else _vector(ref, insn.outs[0])
        if vector is not None:
            return vector, other
    return None


def _vector(ref: Ref, out: Ref) -> Ref | None:
    """A constant [1.., C] of float32, which broadcasts to an image, as [C]."""
    memory = ref if ref.base is None else ref.base
    channels = static(out.dims[-1])
    wanted = [1] * (ref.rank - 1) + [channels]
    if memory.weight is None or ref.dtype != FLOAT32 or memory.weight.layout != "plain":
        return None
    if channels is None or [static(d) for d in ref.dims] != wanted or ref.strides is not None:
        return None
    if static(ref.offset) != 0 or memory.rank < 1:
        return None
    values = memory.weight.array().reshape(-1)
    if values.size != channels:
        return None
    return memory if memory.rank == 1 else Ref(ref.name, FLOAT32, (channels,), WEIGHT, weight=Weight(values))


def _joined(conv: Insn, affine: Affine, images: list[Ref]) -> Insn | None:
    """The convolution of these images; None where no kernel computes it."""
    weights = conv.ins[1]
    if weights is None or weights.rank != 3:
        return None  # of channels apart
    first, *more = images
    bias, residual = (*conv.ins[2:], None, None)[:2]
    ins = (first, weights, bias, residual, affine.scale, affine.shift, *more)
    bounds = {name: CONV_FLOATS.get(conv.floats, name) for name in CONV_FLOATS.names}
    floats = CONV_JOINED_FLOATS.pack(**bounds, x_low=affine.low, x_high=affine.high)
    if find_row(KERNEL, [0 if r is None else r.dtype for r in ins], [o.dtype for o in conv.outs]) is None:
        return None
    return replace(conv, kernel=KERNEL, ins=ins, floats=floats)
