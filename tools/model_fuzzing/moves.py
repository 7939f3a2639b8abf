"""Steps that move elements, or make tensors of sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from model_fuzzing.draw import Array
from model_fuzzing.growing import Graph
from model_fuzzing.steps import has_elements, is_float, is_numeric, of_rank


def reshaped(g: Graph) -> Any:
    """By a constant, with 0 and -1, or by another value's shape."""
    x = g.pick(is_numeric)
    if x is None:
        return None
    array = g.known()[x]
    other = g.pick(lambda y: y.size == array.size and y.shape != array.shape)
    if other and g.draw.chance(0.3):
        shape = g.add("Shape", [other])
        return shape and g.add("Reshape", [x, shape[0]])
    dims = list(array.shape)
    if dims and g.draw.chance() and len(dims) > 1:
        at = g.draw.random.randint(0, len(dims) - 2)
        dims[at : at + 2] = [dims[at] * dims[at + 1]]
    elif dims:
        at = g.draw.random.randint(0, len(dims) - 1)
        parts = [d for d in range(1, dims[at] + 1) if dims[at] % d == 0]
        part = g.draw.one_of(*parts) if parts else 1
        dims[at : at + 1] = [part, dims[at] // part]
    for i in range(min(len(dims), array.ndim)):
        if dims[i] == array.shape[i] and g.draw.chance(0.3):
            dims[i] = 0
    if dims and 0 not in array.shape and g.draw.chance(0.5):
        dims[g.draw.random.randint(0, len(dims) - 1)] = -1
    return g.add("Reshape", [x, g.constant(dims, np.int64)])


def axes_changed(g: Graph) -> Any:
    x = g.pick(is_numeric)
    if x is None:
        return None
    array = g.known()[x]
    op = g.draw.one_of("Transpose", "Transpose", "Unsqueeze", "Squeeze")
    if op == "Transpose":
        order = list(range(array.ndim))
        g.draw.random.shuffle(order)
        return g.add(op, [x], **({"perm": order} if order and g.draw.chance(0.8) else {}))
    if op == "Unsqueeze":
        axes = [g.draw.random.randint(-array.ndim - 1, array.ndim)]
    else:
        ones = [i for i, d in enumerate(array.shape) if d == 1]
        axes = ones[: g.draw.random.randint(0, len(ones))]
        if not axes:
            return None
    if g.opset < 13:
        return g.add(op, [x], axes=axes)
    return g.add(op, [x, g.constant(axes, np.int64)])


def cut(g: Graph) -> Any:
    """Slices with every kind of bound and step, splits, pads, tiles."""
    x = g.pick(of_rank(1))
    if x is None:
        return None
    shape, rank = g.known()[x].shape, g.known()[x].ndim
    op = g.draw.one_of("Slice", "Slice", "Split", "Pad", "Tile", "Expand", "Trilu", "Concat")
    axis = g.draw.random.randint(0, rank - 1)
    if op == "Slice":
        step = g.draw.one_of(1, 1, 2, 3, -1, -2)
        bounds = [g.draw.random.randint(-shape[axis] - 1, shape[axis] + 1) for _ in range(2)]
        parts = [[bounds[0]], [g.draw.one_of(bounds[1], 2**62 if step > 0 else -(2**62))], [axis], [step]]
        return g.add(op, [x, *(g.constant(p, np.int64) for p in parts)])
    if op == "Split":
        first = g.draw.random.randint(0, shape[axis])
        parts = [first, shape[axis] - first]
        if g.opset < 13:
            return g.add(op, [x], 2, axis=axis, split=parts)
        return g.add(op, [x, g.constant(parts, np.int64)], 2, axis=axis)
    if op == "Pad":
        mode = g.draw.one_of("constant", "constant", "reflect", "edge")
        pads = [g.draw.random.randint(0 if mode != "constant" else -1, 2) for _ in range(2 * rank)]
        value = [g.constant(0.5, np.float32)] if mode == "constant" and g.draw.chance() else []
        return g.add(op, [x, g.constant(pads, np.int64), *value], mode=mode)
    if op == "Tile":
        return g.add(op, [x, g.constant([g.draw.one_of(1, 1, 2, 0) for _ in shape], np.int64)])
    if op == "Expand":
        dims = [d if d != 1 else g.draw.one_of(1, 3) for d in shape]
        return g.add(op, [x, g.constant([2, *dims] if g.draw.chance(0.3) else dims, np.int64)])
    if op == "Trilu":
        return g.add(op, [x], upper=g.draw.one_of(0, 1))
    rest = (*shape[:axis], *shape[axis + 1 :])
    fits = [
        n
        for n, y in g.known().items()
        if is_float(y) and y.ndim == rank and (*y.shape[:axis], *y.shape[axis + 1 :]) == rest
    ]
    chosen = [g.draw.one_of(*fits) for _ in range(g.draw.one_of(1, 1, 2))]
    return g.add(op, [x, *chosen], axis=axis)


def indexed(g: Graph) -> Any:
    """Gathers and scatters; places are constants, and may be below 0."""
    x = g.pick(has_elements)
    if x is None:
        return None
    array = g.known()[x]
    axis = g.draw.random.randint(-array.ndim, array.ndim - 1)
    size = array.shape[axis]
    op = g.draw.one_of(
        "Gather", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot"
    )
    kind = g.draw.one_of(np.int64, np.int32)
    if op == "Gather":
        places = g.draw.integers(-size, size - 1, *g.draw.one_of((), (2,), (3, 2), (0,)), dtype=kind)
        return g.add(op, [x, g.constant(places, kind)], axis=axis)
    if op == "OneHot":
        places = g.draw.integers(-3, 3, *g.draw.shape(0, 2), dtype=np.int64)
        values = g.constant(g.draw.floats(2))
        return g.add(op, [g.constant(places), g.constant(4, np.int64), values], axis=g.draw.one_of(-1, 0))
    if op in ("GatherElements", "ScatterElements"):
        dims = list(array.shape)
        dims[axis] = g.draw.random.randint(1, size)
        if op == "GatherElements":
            return g.add(
                op, [x, g.constant(g.draw.integers(-size, size - 1, *dims, dtype=kind), kind)], axis=axis
            )
        places = g.draw.rng.permuted(np.broadcast_to(_line(size, axis, array.ndim), array.shape), axis=axis)
        places = places[tuple(slice(d) for d in dims)].astype(kind)
        return g.add(op, [x, g.constant(places), g.constant(g.draw.floats(*dims))], axis=axis)
    depth = g.draw.random.randint(1, array.ndim)
    rows = g.draw.random.sample(range(math.prod(array.shape[:depth])), k=1)
    places = np.stack(np.unravel_index(rows, array.shape[:depth]), -1).astype(np.int64)
    if op == "GatherND":
        return g.add(op, [x, g.constant(places)])
    return g.add(op, [x, g.constant(places), g.constant(g.draw.floats(1, *array.shape[depth:]))])


def _line(size: int, axis: int, rank: int) -> Array:
    return np.arange(size).reshape([size if i == axis % rank else 1 for i in range(rank)])


def of_sizes(g: Graph) -> Any:
    """Shapes, and tensors made by them."""
    x = g.pick(is_numeric)
    if x is None:
        return None
    shape = g.add("Shape", [x])
    kind = g.draw.one_of("filled", "size", "range", "part")
    if not shape or kind == "size":
        return g.add("Size", [x])
    if kind == "filled":
        return g.add("ConstantOfShape", shape)
    if g.known()[shape[0]].size == 0:
        return None
    place = g.draw.random.randint(0, g.known()[shape[0]].size - 1)
    scalar = g.add("Gather", [shape[0], g.constant(place, np.int64)])
    if kind == "part" or not scalar:
        return scalar
    bounds = [g.constant(0, np.int64), scalar[0], g.constant(g.draw.one_of(1, 2), np.int64)]
    return g.add("Range", bounds)


def image(g: Graph) -> Any:
    x = g.pick(lambda y: is_float(y) and y.ndim == 4 and y.size > 0)
    if x is None:
        return None
    shape = g.known()[x].shape
    op = g.draw.one_of("Resize", "Resize", "DepthToSpace", "SpaceToDepth")
    if op == "DepthToSpace":
        return g.add(op, [x], blocksize=2, mode=g.draw.one_of("DCR", "CRD")) if shape[1] % 4 == 0 else None
    if op == "SpaceToDepth":
        return g.add(op, [x], blocksize=2) if shape[2] % 2 == shape[3] % 2 == 0 else None
    mode = g.draw.one_of("nearest", "linear", "cubic")
    how = g.draw.one_of("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    scales = g.constant([1, 1, g.draw.one_of(2, 1.5, 0.5), g.draw.one_of(2, 1, 3)], np.float32)
    nearest = (
        {"nearest_mode": g.draw.one_of("floor", "ceil", "round_prefer_floor")} if mode == "nearest" else {}
    )
    return g.add(op, [x, "", scales], mode=mode, coordinate_transformation_mode=how, **nearest)
