"""Normalisations: rows (layer, RMS), channels (batch, group, instance), and vectors (Lp)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import axis_of, needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.formula import lower_formula
from ascend_ep.compiler.lower.reduction import OPS as REDUCE_OPS
from ascend_ep.compiler.lower.views import broadcast
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dtypes import FLOAT32, FLOAT64
from ascend_ep.plan.kernel_params import GROUP_NORM, LAYER_NORM, LP_NORM, NORM_FLOATS, REDUCE, RMS_NORM
from ascend_ep.plan.tile_program import ProgramError
from ascend_ep.runtime._rt import lib

#: |mean| / sqrt(var) up to which x s + (bias - mean s) stands for (x - mean) s + bias: four bits are lost.
MOST_DEVIATIONS = 16

#: `approximate` of a GELU.
EPILOGUES = {"none": lib.ASC_NORM_EPILOGUE_GELU, "tanh": lib.ASC_NORM_EPILOGUE_GELU_TANH}


def _row_operand(b: PlanBuilder, source: Operand, given: Operand | None, axis: int) -> Ref | None:
    """A scale or bias, one element for each of a row."""
    return None if given is None else broadcast(b, b.ref(given), source.dims[axis:])


def _row_operands(node: NodeView, b: PlanBuilder, axis: int, count: int) -> list[Ref | None]:
    source = needed(node.inputs, 0)
    rows = [_row_operand(b, source, operand(node.inputs, i), axis) for i in range(1, 1 + count)]
    return [b.ref(source), *rows]


def _epsilon(node: NodeView) -> tuple[float, ...]:
    return NORM_FLOATS.pack(epsilon=float(node.attr("epsilon", 1e-5)))


@lowers("layer_norm")
def lower_layer_norm(node: NodeView, b: PlanBuilder) -> None:
    """LayerNormalization; the statistics are float32 (stash_type 1)."""
    if int(node.attr("stash_type", 1)) != 1:
        raise Unsupported(f"its stash_type {node.attr('stash_type')} is not float32")
    axis = axis_of(node, needed(node.inputs, 0).rank, -1)
    mean, deviation = operand(node.outputs, 1), operand(node.outputs, 2)
    outs = [b.out(needed(node.outputs, 0))]
    if mean is not None:
        outs.append(b.out(mean))
    if deviation is not None:
        outs += [] if mean is not None else [b.temp(deviation.dtype, deviation.dims)]
        outs.append(b.out(deviation))
    ints = LAYER_NORM.pack(axis=axis, epilogue=lib.ASC_NORM_EPILOGUE_NONE)
    b.emit("layer_norm", _row_operands(node, b, axis, 2), outs, ints, _epsilon(node))


@lowers("layer_norm_gelu")
def lower_layer_norm_gelu(node: NodeView, b: PlanBuilder) -> None:
    """LayerNormGelu: the layer_norm kernel with its epilogue."""
    axis = axis_of(node, needed(node.inputs, 0).rank, -1)
    epilogue = EPILOGUES.get(node.attr("approximate", "none"))
    if epilogue is None:
        raise Unsupported(f"its attribute approximate={node.attr('approximate')!r} is neither none nor tanh")
    outs = [b.out(needed(node.outputs, 0))]
    ints = LAYER_NORM.pack(axis=axis, epilogue=epilogue)
    b.emit("layer_norm", _row_operands(node, b, axis, 2), outs, ints, _epsilon(node))


@lowers("rms_norm")
def lower_rms_norm(node: NodeView, b: PlanBuilder) -> None:
    """RMSNormalization, SimplifiedLayerNormalization, and the custom RMSNorm."""
    if operand(node.outputs, 1) is not None:
        lower_formula(node, b)
        return
    axis = axis_of(node, needed(node.inputs, 0).rank, -1)
    outs = [b.out(needed(node.outputs, 0))]
    b.emit("rms_norm", _row_operands(node, b, axis, 1), outs, RMS_NORM.pack(axis=axis), _epsilon(node))


@lowers("group_norm")
def lower_group_norm(node: NodeView, b: PlanBuilder) -> None:
    """GroupNormalization; before opset 21 scale and bias hold one element for each group."""
    source = needed(node.inputs, 0)
    groups = int(node.attr("num_groups", 0))
    if groups < 1:
        raise Unsupported(f"its num_groups {groups} is not positive")
    channels = source.dims[1]
    affine = [b.ref(needed(node.inputs, i)) for i in (1, 2)]
    if node.version < 21:
        spread = [b.view(a, [groups, channels // groups], 0, [1, 0]) for a in affine]
        affine = [b.view(b.contiguous(a), [channels]) for a in spread]
    outs = [b.out(needed(node.outputs, 0))]
    b.emit("group_norm", [b.ref(source), *affine], outs, GROUP_NORM.pack(groups=groups), _epsilon(node))


@lowers("instance_norm")
def lower_instance_norm(node: NodeView, b: PlanBuilder) -> None:
    """InstanceNormalization: every channel is a group of its own."""
    source = needed(node.inputs, 0)
    ins = [b.ref(needed(node.inputs, i)) for i in range(3)]
    ints = GROUP_NORM.pack(groups=source.dims[1])
    b.emit("group_norm", ins, [b.out(needed(node.outputs, 0))], ints, _epsilon(node))


@lowers("batch_norm")
def lower_batch_norm(node: NodeView, b: PlanBuilder) -> None:
    """BatchNormalization with given statistics, or in training with those of the batch."""
    training = bool(node.attr("training_mode", 0))
    if not training and any(o is not None for o in node.outputs[1:]):
        raise Unsupported("it computes statistics, as in training before opset 14")
    if int(node.attr("spatial", 1)) != 1:
        raise Unsupported("its statistics are not one for each channel")
    if not training and (folded := _scale_and_offset(node)) is not None:
        _scale_channels(b, node, *folded)
        return
    ins = [b.ref(needed(node.inputs, i)) for i in range(5)]
    if training:
        ins[3:] = _batch_statistics(node, b, ins)
    if training or ins[0].dtype == FLOAT64:
        _normalise_channels(
            b, ins, b.out(needed(node.outputs, 0)), NORM_FLOATS.get(_epsilon(node), "epsilon")
        )
    else:
        b.emit("batch_norm", ins, [b.out(needed(node.outputs, 0))], [], _epsilon(node))


def _scale_and_offset(node: NodeView) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """Of float32 and constant statistics: s = scale / sqrt(var + epsilon) and bias - mean s, rounded once.

    x s + offset then has the rounding errors of terms as large as |mean| s, so it is done only where no mean
    is many deviations from zero.
    """
    given = [needed(node.inputs, i) for i in range(5)]
    constants = [o.const.astype(np.float64) for o in given[1:] if o.const is not None]
    if len(constants) < 4 or any(o.dtype != FLOAT32 for o in given) or given[0].rank < 2:
        return None
    scale, bias, mean, variance = constants
    deviation = np.sqrt(variance + float(node.attr("epsilon", 1e-5)))
    if not np.all(np.abs(mean) <= MOST_DEVIATIONS * deviation):  # nor where it is NaN
        return None
    factor = scale / deviation
    return factor.astype(np.float32), (bias - mean * factor).astype(np.float32)


def _scale_channels(
    b: PlanBuilder, node: NodeView, factor: NDArray[np.float32], offset: NDArray[np.float32]
) -> None:
    """x factor + offset as an elementwise instruction, which others of its kind join and channels may end."""
    x, program = b.ref(needed(node.inputs, 0)), Program()
    shape = (len(factor), *[1] * (x.rank - 2))
    by_channel = [program.input(b.constant(a.reshape(shape)), FLOAT32) for a in (factor, offset)]
    program.output(program.input(x, FLOAT32) * by_channel[0] + by_channel[1], FLOAT32)
    emit_program(b, program, [b.out(needed(node.outputs, 0))])


def _per_channel(b: PlanBuilder, x: Ref, given: Ref) -> Ref:
    """One element for each channel, as it broadcasts to x [N, C, ...]."""
    return b.view(b.contiguous(given), (*given.dims, *[1] * (x.rank - 2)))


def _batch_statistics(node: NodeView, b: PlanBuilder, ins: list[Ref]) -> list[Ref]:
    """Mean and variance of the batch; the outputs after the first blend them into the running ones."""
    x, running = ins[0], ins[3:]
    if x.dtype not in (FLOAT32, FLOAT64) or any(r.dtype != x.dtype for r in running):
        raise Unsupported("its statistics are in another type than the batch")
    axes = [0, *range(2, x.rank)]
    mean, variance = b.temp(x.dtype, running[0].dims), b.temp(x.dtype, running[1].dims)
    b.emit("reduce", [x], [mean], REDUCE.pack(axes, op=REDUCE_OPS["ReduceMean"]))
    program, squares = Program(), b.temp(x.dtype, x.dims)
    centred = program.input(x, x.dtype) - program.input(_per_channel(b, x, mean), x.dtype)
    program.output(centred * centred, x.dtype)
    emit_program(b, program, [squares])
    b.emit("reduce", [squares], [variance], REDUCE.pack(axes, op=REDUCE_OPS["ReduceMean"]))
    momentum = float(node.attr("momentum", 0.9))
    for i, (old, new) in enumerate(zip(running, (mean, variance), strict=True)):
        if (blend := operand(node.outputs, 1 + i)) is not None:
            program = Program()
            values = [program.input(r, x.dtype) for r in (old, new)]
            program.output(values[0] * momentum + values[1] * (1 - momentum), x.dtype)
            emit_program(b, program, [b.out(blend)])
    return [mean, variance]


def _normalise_channels(b: PlanBuilder, ins: list[Ref], out: Ref, epsilon: float) -> None:
    """out = (x - mean) / sqrt(variance + epsilon) * scale + bias, as one program."""
    program, x = Program(), ins[0]
    value = program.input(x, x.dtype)
    scale, bias, mean, variance = (program.input(_per_channel(b, x, r), r.dtype) for r in ins[1:])
    deviation = program.call("sqrt", variance + epsilon)
    try:
        program.output((value - mean) * (scale / deviation) + bias, x.dtype)
    except ProgramError as error:
        raise Unsupported(str(error)) from None
    emit_program(b, program, [out])


@lowers("lp_norm")
def lower_lp_norm(node: NodeView, b: PlanBuilder) -> None:
    """LpNormalization with p 1 or 2."""
    source = needed(node.inputs, 0)
    order = int(node.attr("p", 2))
    if order not in (1, 2):
        raise Unsupported(f"its p {order} is neither 1 nor 2")
    x, axis, target = b.ref(source), axis_of(node, source.rank, -1), b.out(needed(node.outputs, 0))
    if x.dtype == FLOAT64:
        length = b.temp(FLOAT64, [1 if i == axis else d for i, d in enumerate(x.dims)])
        op = REDUCE_OPS["ReduceL1" if order == 1 else "ReduceL2"]
        b.emit("reduce", [x], [length], REDUCE.pack([axis], op=op))
        program = Program()
        value, divisor = program.input(x, FLOAT64), program.input(length, FLOAT64)
        program.output(program.select(program.call("eq", divisor, 0.0), 0.0, value / divisor), FLOAT64)
        emit_program(b, program, [target])
    else:
        b.emit("lp_norm", [x], [target], LP_NORM.pack(axis=axis, order=order))
