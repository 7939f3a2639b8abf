"""Col2Im and DeformConv: columns of images, added up or times weights."""

from __future__ import annotations

from itertools import chain

from ascend_ep.compiler.lower.arguments import (
    expect_ints,
    is_run_time,
    known_ints,
    needed,
    operand,
    run_time_ints,
)
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.matmul import emit_matmul, require_float
from ascend_ep.compiler.lower.windows import explicit_pads, kernel_shape, spatial_ints
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import (
    COL2IM_AXIS,
    DEFORM_COLUMNS,
)


@lowers("col2im")
def lower_col2im(node: NodeView, b: PlanBuilder) -> None:
    """Col2Im: the image is as large as shape inference found it."""
    target = needed(node.outputs, 0)
    count = target.rank - 2
    given = needed(node.inputs, 2)
    block = [1] * count if is_run_time(given) else known_ints(given, "block_shape")
    expect_ints(b, needed(node.inputs, 1), [(d,) for d in target.dims[2:]])
    if len(block) != count:
        raise Unsupported(f"its block_shape {block} doesn't fit {count} axes")
    strides, dilations = spatial_ints(node, "strides", count), spatial_ints(node, "dilations", count)
    before, after = explicit_pads(node, count)
    axes = [
        COL2IM_AXIS.pack(block=k, dilation=d, stride=s, before=first, after=last)
        for k, d, s, first, last in zip(block, dilations, strides, before, after, strict=True)
    ]
    ins = [b.ref(needed(node.inputs, 0)), *([run_time_ints(b, given)] if is_run_time(given) else [])]
    b.emit("col2im", ins, [b.out(target)], tuple(chain.from_iterable(axes)))


@lowers("deform_conv")
def lower_deform_conv(node: NodeView, b: PlanBuilder) -> None:
    """DeformConv of images: columns read where the offsets say, times the weights of each group."""
    x, w, offset = (needed(node.inputs, i) for i in range(3))
    bias, mask, target = operand(node.inputs, 3), operand(node.inputs, 4), needed(node.outputs, 0)
    require_float(x, w, offset)
    if x.rank != 4:
        raise Unsupported(f"it has {x.rank - 2} spatial axes; the kernel has two")
    kernel, group = kernel_shape(node, w.dims[2:]), int(node.attr("group", 1))
    outputs = static(w.dims[0])
    if outputs is None or outputs % group:
        raise Unsupported(f"its {w.dims[0]} output channels don't fit {group} groups")
    strides, dilations = spatial_ints(node, "strides", 2), spatial_ints(node, "dilations", 2)
    before, _ = explicit_pads(node, 2)
    places = target.dims[2] * target.dims[3]
    rows = x.dims[1] * (kernel[0] * kernel[1])
    columns = b.temp(x.dtype, [x.dims[0], rows, places])
    ints = DEFORM_COLUMNS.pack(
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_height=strides[0],
        stride_width=strides[1],
        dilation_height=dilations[0],
        dilation_width=dilations[1],
        pad_height=before[0],
        pad_width=before[1],
        height=target.dims[2],
        width=target.dims[3],
        groups=int(node.attr("offset_group", 1)),
    )
    b.emit("deform_columns", [b.ref(x), b.ref(offset), b.ref(mask) if mask else None], [columns], ints)
    grouped = b.view(columns, [x.dims[0], group, rows // group, places])
    weights = b.view(b.ref(w), [group, outputs // group, rows // group])
    y = b.temp(x.dtype, [x.dims[0], group, outputs // group, places])
    emit_matmul(b, (weights, grouped), y)
    if bias is None:
        b.bind(target, b.view(y, target.dims))
        return
    program = Program()
    added = b.view(b.ref(bias), [1, outputs, 1, 1])
    program.output(program.input(b.view(y, target.dims), x.dtype) + program.input(added, x.dtype), x.dtype)
    emit_program(b, program, [b.out(target)])
