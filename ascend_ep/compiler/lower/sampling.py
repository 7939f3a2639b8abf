"""Operators that read images at places that other tensors name."""

from __future__ import annotations

from itertools import chain

from ascend_ep.compiler.lower.arguments import (
    enum_of,
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

# the numbers of native/kernels/image/grid_sample.c
GRID_MODES = {"linear": 0, "bilinear": 0, "nearest": 1, "cubic": 2, "bicubic": 2}
GRID_PADDINGS = ("zeros", "border", "reflection")


@lowers("grid_sample")
def lower_grid_sample(node: NodeView, b: PlanBuilder) -> None:
    names = tuple(GRID_MODES)
    ints = [
        GRID_MODES[names[enum_of(node, "mode", names, "linear")]],
        enum_of(node, "padding_mode", GRID_PADDINGS, "zeros"),
        int(node.attr("align_corners", 0)),
    ]
    ins = [b.ref(needed(node.inputs, i)) for i in range(2)]
    b.emit("grid_sample", ins, [b.out(needed(node.outputs, 0))], ints)


@lowers("roi_align")
def lower_roi_align(node: NodeView, b: PlanBuilder) -> None:
    """RoiAlign. Before opset 16 regions are not shifted by half a pixel."""
    shifts = "half_pixel" if node.version >= 16 else "output_half_pixel"
    pixels = enum_of(node, "coordinate_transformation_mode", ("output_half_pixel", "half_pixel"), shifts)
    ints = [enum_of(node, "mode", ("avg", "max"), "avg"), int(node.attr("sampling_ratio", 0)), pixels]
    ins = [b.ref(needed(node.inputs, i)) for i in range(3)]
    b.emit("roi_align", ins, [b.out(needed(node.outputs, 0))], ints, [float(node.attr("spatial_scale", 1.0))])


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
    axes = zip(block, dilations, strides, before, after, strict=True)
    ins = [b.ref(needed(node.inputs, 0)), *([run_time_ints(b, given)] if is_run_time(given) else [])]
    b.emit("col2im", ins, [b.out(target)], [*chain.from_iterable(axes)])


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
    ints = [*kernel, *strides, *dilations, *before, *target.dims[2:], int(node.attr("offset_group", 1))]
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
