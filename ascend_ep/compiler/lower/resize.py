"""Resize and Upsample: one call of native/kernels/resize.c for every axis that changes."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.compiler.lower.arguments import enum_of, known_ints, needed, operand, wrap_axis
from ascend_ep.compiler.lower.in_float32 import in_float32
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import static

# the numbers of native/kernels/resize_taps.h
MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")


@dataclass(frozen=True)
class AxisChange:
    """How one axis is resized. scale 0: the quotient of the lengths."""

    axis: int
    scale: float
    start: float = 0.0
    end: float = 1.0


@lowers("resize")
def lower_resize(node: NodeView, b: PlanBuilder) -> None:
    """Resize of any opset, Upsample. Of the nearest, elements of any type."""
    nearest = enum_of(node, "mode", MODES, "nearest") == 0
    (_resize if nearest else in_float32(_resize))(node, b)


def _resize(node: NodeView, b: PlanBuilder) -> None:
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    ints, floats = _method(node)
    changes = [c for c in _changes(node, source) if not _is_identity(c, source, target, ints)]
    x = b.ref(source)
    if not changes:
        b.bind(target, x)
        return
    for i, change in enumerate(_in_order(changes, source, target)):
        dims = [*x.dims[: change.axis], target.dims[change.axis], *x.dims[change.axis + 1 :]]
        y = b.out(target) if i == len(changes) - 1 else b.temp(x.dtype, dims)
        _emit(b, change, x, y, ints, floats)
        x = y


def _emit(b: PlanBuilder, change: AxisChange, x: Ref, y: Ref, ints: list[int], floats: list[float]) -> None:
    kernel = "resize" if ints[0] else "resize_nearest"
    b.emit(kernel, [x], [y], [change.axis, *ints], [change.scale, change.start, change.end, *floats])


def _method(node: NodeView) -> tuple[list[int], list[float]]:
    """What is the same for every axis, as the kernel's ints and floats."""
    mode = enum_of(node, "mode", MODES, "nearest")
    if node.op_type == "Upsample" or node.version < 11:
        rounding = ROUNDINGS.index("floor" if node.op_type == "Upsample" else "simple")
        return [mode, COORDINATES.index("asymmetric"), rounding, 0, 0], [-0.75, 0.0]
    coordinate = enum_of(node, "coordinate_transformation_mode", COORDINATES, "half_pixel")
    ints = [
        mode,
        coordinate,
        enum_of(node, "nearest_mode", ROUNDINGS[:4], "round_prefer_floor"),
        int(node.attr("antialias", 0)),
        int(node.attr("exclude_outside", 0)),
    ]
    return ints, [float(node.attr("cubic_coeff_a", -0.75)), float(node.attr("extrapolation_value", 0.0))]


def _changes(node: NodeView, source: Operand) -> list[AxisChange]:
    if node.op_type == "Upsample" or node.version < 11:
        return [AxisChange(axis, s) for axis, s in enumerate(_scales(node, operand(node.inputs, 1)))]
    given = node.attr("axes")
    axes = [wrap_axis(int(a), source.rank) for a in given] if given else list(range(source.rank))
    sizes = operand(node.inputs, 3)
    scales = _scales_of_sizes(node, source, sizes, axes) if sizes else _scales(node, operand(node.inputs, 2))
    if len(scales) != len(axes):
        raise Unsupported(f"its {len(scales)} scales don't fit {len(axes)} axes")
    starts, ends = [0.0] * len(axes), [1.0] * len(axes)
    if node.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        starts, ends = _region(operand(node.inputs, 1), len(axes))
    return [AxisChange(*change) for change in zip(axes, scales, starts, ends, strict=True)]


def _scales(node: NodeView, given: Operand | None) -> list[float]:
    if given is None:
        return [float(s) for s in node.attr("scales") or []]
    if given.const is None:
        raise Unsupported("its scales are known only at run time")
    return [float(s) for s in given.const.reshape(-1)]


def _scales_of_sizes(node: NodeView, source: Operand, sizes: Operand, axes: list[int]) -> list[float]:
    """0 for each axis, or the one scale that keeps the aspect ratio."""
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [0.0] * len(axes)
    lengths = [n for a in axes if (n := static(source.dims[a]))]
    if len(lengths) != len(axes):
        raise Unsupported("its scale depends on the input shapes, to keep the aspect ratio")
    ratios = [size / n for size, n in zip(known_ints(sizes, "sizes"), lengths, strict=True)]
    return [min(ratios) if policy == "not_larger" else max(ratios)] * len(axes)


def _region(roi: Operand | None, count: int) -> tuple[list[float], list[float]]:
    if roi is None or roi.const is None:
        raise Unsupported("its region is known only at run time")
    values = [float(v) for v in roi.const.reshape(-1)]
    if len(values) != 2 * count:
        raise Unsupported(f"its region has {len(values)} numbers for {count} axes")
    return values[:count], values[count:]


def _is_identity(change: AxisChange, source: Operand, target: Operand, ints: list[int]) -> bool:
    """Whether every element stays where it is."""
    same = source.dims[change.axis] == target.dims[change.axis] and change.scale in (0.0, 1.0)
    if COORDINATES[ints[1]] == "tf_crop_and_resize":
        return same and (change.start, change.end) == (0.0, 1.0)
    return same and COORDINATES[ints[1]] != "tf_half_pixel_for_nn"


def _in_order(changes: list[AxisChange], source: Operand, target: Operand) -> list[AxisChange]:
    """Shrinking axes first; of those that grow alike the inner ones, whose elements are picked one by one."""

    def growth(change: AxisChange) -> tuple[float, int]:
        before, after = (static(o.dims[change.axis]) for o in (source, target))
        return (1.0 if not before or after is None else after / before), -change.axis

    return sorted(changes, key=growth)
