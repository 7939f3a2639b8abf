"""Nodes that put elements elsewhere: the shapes they give, and what they do with an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.expression import Transpose
from ascend_ep.opdef.shape_rule import Inapplicable

Move = Transpose


def single_axis(axis: object, rank: int) -> int:
    """An axis of a specialized node, from the front. Raises Inapplicable."""
    assert isinstance(axis, int), "a specialized program has no attributes"
    if not -rank <= axis < rank:
        raise Inapplicable(f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank


def moved_shape(node: Move, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The shape of the result for an operand of `shape`. Raises Inapplicable."""
    first, second = (single_axis(a, len(shape)) for a in (node.first, node.second))
    dims = list(shape)
    dims[first], dims[second] = dims[second], dims[first]
    return tuple(dims)


def moved(node: Move, array: NDArray[Any]) -> NDArray[Any]:
    """The elements of an array where the node puts them. Raises Inapplicable."""
    moved_shape(node, array.shape)
    return np.swapaxes(array, node.first, node.second)  # type: ignore[arg-type]
