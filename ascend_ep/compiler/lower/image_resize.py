"""Resize and Upsample: one call of native/kernels/image/resize.c for every axis that changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_ep.compiler.lower.arguments import (
    enum_of,
    expect_ints,
    is_run_time,
    known_ints,
    needed,
    operand,
    wrap_axis,
)
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.reduction import OPS
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import REDUCE, RESIZE, RESIZE_FLOATS, choices

MODES = choices("asc_resize")
COORDINATES = choices("asc_coordinate")
ROUNDINGS = choices("asc_nearest")
#: Of an attribute; the other is what opset 10 does.
NEAREST_MODES = {name: number for name, number in ROUNDINGS.items() if name != "simple"}


@dataclass(frozen=True)
class AxisChange:
    """How one axis is resized. scale 0: the quotient of the lengths; None: element `index` of the scales that
    come with the data. `start` and `end` None: of the region that does."""

    axis: int
    scale: float | None
    start: float | None = 0.0
    end: float | None = 1.0
    index: int = 0


@lowers("resize")
def lower_resize(node: NodeView, b: PlanBuilder) -> None:
    """Resize of any opset, Upsample. Of the nearest, elements of any type."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    method = _method(node)
    changes = [c for c in _changes(node, source, target, b) if not _is_identity(c, source, target, method)]
    x = b.ref(source)
    if not changes:
        b.bind(target, x)
        return
    scales = region = None
    if any(c.scale is None for c in changes):
        scales = _run_time_scales(node, source, b)
    if any(c.start is None for c in changes):
        region = b.contiguous(b.ref(needed(node.inputs, 1)))
    for i, c in enumerate(_in_order(changes, source, target)):
        dims = [*x.dims[: c.axis], target.dims[c.axis], *x.dims[c.axis + 1 :]]
        y = b.out(target) if i == len(changes) - 1 else b.temp(x.dtype, dims)
        given = [x, scales if c.scale is None else None, region if c.start is None else None]
        kernel = "resize_nearest" if method.mode == MODES["nearest"] else "resize"
        b.emit(kernel, given, [y], method.ints(c), method.floats(c))
        x = y


@dataclass(frozen=True)
class Method:
    """What is the same for every axis; numbers as the kernel has them."""

    mode: int
    coordinate: int
    rounding: int
    antialias: int = 0
    exclude_outside: int = 0
    cubic: float = -0.75
    extrapolation: float = 0.0

    def ints(self, change: AxisChange) -> tuple[Dim, ...]:
        return RESIZE.pack(
            axis=change.axis,
            mode=self.mode,
            coordinate=self.coordinate,
            rounding=self.rounding,
            antialias=self.antialias,
            exclude_outside=self.exclude_outside,
            index=change.index,
        )

    def floats(self, change: AxisChange) -> tuple[float, ...]:
        return RESIZE_FLOATS.pack(
            scale=change.scale or 0.0,
            start=change.start or 0.0,
            end=change.end or 0.0,
            cubic=self.cubic,
            extrapolation=self.extrapolation,
        )


def _method(node: NodeView) -> Method:
    mode = enum_of(node, "mode", MODES, "nearest")
    if node.op_type == "Upsample" or node.version < 11:
        rounding = ROUNDINGS["floor" if node.op_type == "Upsample" else "simple"]
        return Method(mode, COORDINATES["asymmetric"], rounding)
    return Method(
        mode,
        enum_of(node, "coordinate_transformation_mode", COORDINATES, "half_pixel"),
        enum_of(node, "nearest_mode", NEAREST_MODES, "round_prefer_floor"),
        int(node.attr("antialias", 0)),
        int(node.attr("exclude_outside", 0)),
        float(node.attr("cubic_coeff_a", -0.75)),
        float(node.attr("extrapolation_value", 0.0)),
    )


def _changes(node: NodeView, source: Operand, target: Operand, b: PlanBuilder) -> list[AxisChange]:
    modern = node.op_type == "Resize" and node.version >= 11
    axes = [wrap_axis(int(a), source.rank) for a in node.attr("axes") or range(source.rank)]
    sizes = operand(node.inputs, 3) if modern else None
    if sizes is not None:
        scales = _scales_of_sizes(node, source, target, axes, b)
    else:
        scales = _scales(node, operand(node.inputs, 2 if modern else 1), len(axes))
    starts: list[float] | list[None] = [0.0] * len(axes)
    ends: list[float] | list[None] = [1.0] * len(axes)
    if node.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        starts, ends = _region(needed(node.inputs, 1), len(axes))
    if not len(scales) == len(axes) == len(starts):
        raise Unsupported(f"its {len(scales)} scales don't fit {len(axes)} axes")
    kept = sizes is not None and None in scales  # one scale for all axes
    indices = [0 if kept else i for i in range(len(axes))]
    return [AxisChange(*c) for c in zip(axes, scales, starts, ends, indices, strict=True)]


def _scales(node: NodeView, given: Operand | None, count: int) -> list[float | None]:
    if given is None:
        return [float(s) for s in node.attr("scales") or []]
    if given.const is None:
        return [None] * count
    return [float(s) for s in given.const.reshape(-1)]


def _scales_of_sizes(
    node: NodeView, source: Operand, target: Operand, axes: list[int], b: PlanBuilder
) -> list[float | None]:
    """0 for each axis, or the one scale that keeps the aspect ratio."""
    sizes, policy = needed(node.inputs, 3), node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        expect_ints(b, sizes, [(target.dims[a],) for a in axes])
        return [0.0] * len(axes)
    if is_run_time(sizes):
        return [None] * len(axes)
    lengths = _lengths(source, axes)
    ratios = [size / n for size, n in zip(known_ints(sizes, "sizes"), lengths, strict=True)]
    return [min(ratios) if policy == "not_larger" else max(ratios)] * len(axes)


def _lengths(source: Operand, axes: list[int]) -> list[int]:
    lengths = [n for a in axes if (n := static(source.dims[a]))]
    if len(lengths) != len(axes):
        raise Unsupported("its scale depends on the input shapes, to keep the aspect ratio")
    return lengths


def _run_time_scales(node: NodeView, source: Operand, b: PlanBuilder) -> Ref:
    """The tensor of scales, or the one that keeps the aspect ratio for sizes that come with the data."""
    sizes = operand(node.inputs, 3) if node.version >= 11 else None
    if sizes is None:
        return b.contiguous(b.ref(needed(node.inputs, 2 if node.version >= 11 else 1)))
    axes = [wrap_axis(int(a), source.rank) for a in node.attr("axes") or range(source.rank)]
    lengths = b.constant(np.array(_lengths(source, axes), np.float32))
    program = Program()
    ratios, scale = b.temp(dtypes.FLOAT32, [len(axes)]), b.temp(dtypes.FLOAT32, [1])
    wanted = program.cast(program.input(b.ref(sizes), sizes.dtype), dtypes.FLOAT32)
    program.output(wanted / program.input(lengths, dtypes.FLOAT32), dtypes.FLOAT32)
    emit_program(b, program, [ratios])
    op = "ReduceMin" if node.attr("keep_aspect_ratio_policy") == "not_larger" else "ReduceMax"
    b.emit("reduce", [ratios], [scale], REDUCE.pack([0], op=OPS[op]))
    return scale


def _region(roi: Operand, count: int) -> tuple[list[float], list[float]] | tuple[list[None], list[None]]:
    if roi.const is None:
        return [None] * count, [None] * count
    values = [float(v) for v in roi.const.reshape(-1)]
    if len(values) != 2 * count:
        raise Unsupported(f"its region has {len(values)} numbers for {count} axes")
    return values[:count], values[count:]


def _is_identity(change: AxisChange, source: Operand, target: Operand, method: Method) -> bool:
    """Whether every element stays where it is."""
    same = source.dims[change.axis] == target.dims[change.axis] and change.scale in (0.0, 1.0)
    if method.coordinate == COORDINATES["tf_crop_and_resize"]:
        return same and (change.start, change.end) == (0.0, 1.0)
    return same and method.coordinate != COORDINATES["tf_half_pixel_for_nn"]


def _in_order(changes: list[AxisChange], source: Operand, target: Operand) -> list[AxisChange]:
    """Shrinking axes first, outer ones of them before inner; of those that grow the inner ones first: the
    last axis, whose elements are picked one by one, when there are fewest."""

    def growth(change: AxisChange) -> tuple[float, int]:
        before, after = (static(o.dims[change.axis]) for o in (source, target))
        ratio = 1.0 if not before or after is None else after / before
        return ratio, change.axis if ratio < 1 else -change.axis

    return sorted(changes, key=growth)
