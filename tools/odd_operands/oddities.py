"""What a stranger may feed a node: each input in turn longer, shorter, empty, or of odd values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

Feed = dict[str, Any]

#: Values of floats and of whole numbers; those of integers are cut to what the type holds.
FLOATS = (float("nan"), float("inf"), float("-inf"), 1e15, -1e15, -1.0, 0.0, 0.5)
INTEGERS = (-1, 0, 1, 2, 7, -3, 1 << 15, 1 << 31, -(1 << 31), 1 << 40, (1 << 63) - 1, -(1 << 63))
#: Inputs of more elements get odd values at one place alone.
SMALL = 8


def with_free_dims(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model whose inputs have any length along every axis, and whose outputs have no known shape."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    free = 0
    for value in made.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            free += 1
            dim.Clear()
            dim.dim_param = f"d{free}"
    for value in made.graph.output:
        value.type.tensor_type.ClearField("shape")
    return made


def feeds(feed: Feed) -> Iterator[tuple[str, Feed]]:
    """What is odd, and the inputs with that one changed; first the inputs as they are. Values of the first
    input are data, and stay."""
    yield "as it is", feed
    for place, (name, array) in enumerate(feed.items()):
        for what, odd in (*lengths(array), *(values(array) if place else ())):
            yield f"{name} {what}", {**feed, name: odd}


def lengths(array: Any) -> Iterator[tuple[str, Any]]:
    for axis in range(array.ndim):
        n = array.shape[axis]
        at = (slice(None),) * axis
        if n:
            yield f"one more along {axis}", np.concatenate([array, array[(*at, slice(0, 1))]], axis)
            yield f"one less along {axis}", array[(*at, slice(0, n - 1))]
            yield f"empty along {axis}", array[(*at, slice(0, 0))]
        if n > 1:
            yield f"twice along {axis}", np.concatenate([array, array], axis)
            yield f"one along {axis}", array[(*at, slice(0, 1))]


def values(array: Any) -> Iterator[tuple[str, Any]]:
    if not array.size:
        return
    if array.dtype.kind == "f":
        odd: list[Any] = [v for v in FLOATS if abs(v) < 1e5 or array.dtype.itemsize > 2 or v != v]
    elif array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        odd = [v for v in INTEGERS if limits.min <= v <= limits.max] + [limits.min, limits.max]
    elif array.dtype == np.bool_:
        odd = [True, False]
    else:
        return
    for value in dict.fromkeys(odd):
        if array.size <= SMALL:
            yield f"all {value}", np.full_like(array, value)
        changed = array.copy()
        changed.reshape(-1)[-1] = value
        yield f"ending in {value}", changed
