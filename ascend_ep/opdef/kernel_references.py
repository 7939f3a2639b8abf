"""float64 references of operators that a native kernel computes and no formula says whole, by kernel name.

Each takes the inputs as float64 arrays (None: absent) and the bound attributes, and gives the outputs.
ValueError says which shape is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.opdef.contributed_references import CONTRIBUTED_REFERENCES
from ascend_ep.opdef.quantised_references import QUANTISED_REFERENCES, given

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]
Reference = Callable[[Inputs, Mapping[str, Any]], list[Array]]


def _required(inputs: Inputs, index: int) -> Array:
    array = given(inputs, index)
    if array is None:
        raise ValueError(f"input {index} is not given")
    return array


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank


def rope(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """Rotates pairs of x's last axis by angles given as cosines and sines, as attention/RoPE.json says."""
    x, cos, sin = (_required(inputs, i) for i in range(3))
    positions = given(inputs, 3)
    if positions is not None:
        cos, sin = (_at_positions(table, positions.astype(np.int64), x.ndim) for table in (cos, sin))
    half = x.shape[-1] // 2
    if x.shape[-1] % 2 or cos.shape[-1] not in (half, 2 * half) or cos.shape != sin.shape:
        raise ValueError(f"x {x.shape}, cos {cos.shape} and sin {sin.shape} don't fit")
    evens, halves = (slice(0, None, 2), slice(1, None, 2)), (slice(0, half), slice(half, None))
    pairs = evens if attributes["interleaved"] == 1 else halves
    first, second = (x[..., p] for p in (evens if attributes["interleaved"] else halves))
    (cos1, cos2), (sin1, sin2) = (
        (t, t) if t.shape[-1] == half else (t[..., pairs[0]], t[..., pairs[1]]) for t in (cos, sin)
    )
    y = np.empty_like(x)
    y[..., pairs[0]] = first * cos1 - second * sin1
    y[..., pairs[1]] = second * cos2 + first * sin2
    return [y]


def _at_positions(table: Array, positions: Array, rank: int) -> Array:
    """Rows of [P, W] at positions [S] or [B, S], with axes between B and S so that they broadcast to x."""
    if table.ndim != 2 or positions.ndim not in (1, 2) or positions.ndim >= rank:
        raise ValueError(f"cos {table.shape} and position_ids {positions.shape} don't fit x of rank {rank}")
    if positions.size and not 0 <= positions.min() <= positions.max() < table.shape[0]:
        raise ValueError(f"a position is outside the {table.shape[0]} rows of cos and sin")
    rows = table[positions]
    if positions.ndim == 1:
        return rows
    batch, length, width = rows.shape
    return rows.reshape(batch, *([1] * (rank - 3)), length, width)


def contributed_rotary_embedding(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """onnxruntime's RotaryEmbedding, as attention/RotaryEmbedding.json says."""
    x, positions, cos, sin = (_required(inputs, i) for i in range(4))
    heads = x
    if x.ndim == 3:
        width = x.shape[-1] // attributes["num_heads"] if attributes["num_heads"] else 2 * cos.shape[-1]
        heads = x.reshape(*x.shape[:2], -1, width).swapaxes(1, 2)
    rotary = attributes["rotary_embedding_dim"] or heads.shape[-1]
    rows = positions.astype(np.int64)
    if positions.ndim == 1:
        rows = rows[0] + np.arange(heads.shape[2])[None]
    chosen = {"interleaved": attributes["interleaved"]}
    rotated = rope([heads[..., :rotary], cos, sin, rows], chosen)[0]
    y = np.concatenate([rotated, heads[..., rotary:]], axis=-1)
    return [y.swapaxes(1, 2).reshape(x.shape) if x.ndim == 3 else y]


def topk(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """Values and indices of the k largest or smallest; equal ones by index, NaN above every number."""
    x, count = _required(inputs, 0), given(inputs, 1)
    k = int(attributes["k"] if count is None else count.reshape(-1)[0])
    axis = _axis(attributes["axis"], x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"k is {k}, but axis {axis} has {x.shape[axis]} elements")
    keys = np.moveaxis(x, axis, -1)
    rank = np.where(np.isnan(keys), np.inf, keys)
    order = (np.isnan(keys), rank) if not attributes["largest"] else (~np.isnan(keys), -rank)
    index = np.lexsort((np.broadcast_to(np.arange(x.shape[axis]), keys.shape), order[1], order[0]), axis=-1)
    index = index[..., :k]
    values = np.take_along_axis(keys, index, axis=-1)
    return [np.moveaxis(values, -1, axis), np.moveaxis(index, -1, axis)]


def aipp(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """Bytes with channels last into an image, as image/AIPP.json says."""
    x = _required(inputs, 0)
    if attributes["format"] == 1:
        rows = x.shape[1] // 3 * 2
        pairs = x[:, rows:, :, 0].reshape(x.shape[0], rows // 2, x.shape[2] // 2, 2)
        colours = np.repeat(np.repeat(pairs, 2, axis=1), 2, axis=2)
        x = np.concatenate([x[:, :rows], colours], axis=3)
    left, top, width, height = attributes["crop"] or (0, 0, x.shape[2], x.shape[1])
    channels, out_rows, out_columns = (*attributes["size"], height, width)[:3]
    image = x[:, top : top + height, left : left + width].transpose(0, 3, 1, 2)
    image = image[:, [c for c in attributes["order"] if c < image.shape[1]][: image.shape[1]]]
    if attributes["matrix"]:
        matrix = np.array(attributes["matrix"], float).reshape(3, 3)
        before, after = (np.reshape(attributes[f"{side}_bias"], (3, 1, 1)) for side in ("input", "output"))
        converted = np.floor(np.einsum("ij,njhw->nihw", matrix, image[:, :3] - before) / 256) + after
        image = np.concatenate([np.clip(converted, 0, 255), image[:, 3:]], axis=1)
    shift, scale = (np.reshape(attributes[name][:channels], (-1, 1, 1)) for name in ("shift", "scale"))
    y = np.full((x.shape[0], channels, out_rows, out_columns), float(attributes["padding_value"]))
    first, above = attributes["padding"]
    y[:, :, above : above + height, first : first + width] = (image[:, :channels] - shift) * scale
    return [y]


KERNEL_REFERENCES: dict[str, Reference] = {
    **CONTRIBUTED_REFERENCES,
    **QUANTISED_REFERENCES,
    "aipp": aipp,
    "contributed_rotary_embedding": contributed_rotary_embedding,
    "rope": rope,
    "topk": topk,
}
