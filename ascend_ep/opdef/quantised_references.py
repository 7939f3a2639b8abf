"""References of onnxruntime's operators on integers of 8 bits: exact sums, float64 beyond; they saturate and
round as the operators do. An 8-bit result has the type that its zero point has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.opdef.recurrence import Direction, recurrence

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]


def given(inputs: Inputs, index: int) -> Array | None:
    """The input at a position; None for one that is absent."""
    return inputs[index] if index < len(inputs) else None


def _exact(x: Array, zero: Array | None) -> Array:
    """The integers less their zero point; a zero point of a vector belongs to the last axis."""
    shift = np.zeros(1) if zero is None else zero.astype(np.float64)
    return np.asarray(x.astype(np.float64) - (shift.reshape(()) if shift.size == 1 else shift))


def quantise(x: Array, scale: Array, zero: Array) -> Array:
    """saturate(round(x / scale) + zero) in the type of `zero`, half to even."""
    limits = np.iinfo(zero.dtype) if zero.dtype.kind in "iu" else np.iinfo(np.uint8)
    q: Array = np.clip(np.rint(x / scale) + zero.astype(np.float64), limits.min, limits.max)
    return q.astype(limits.dtype)


def matmul_integer_to_float(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """(A - a_zero_point) @ (B - b_zero_point) * a_scale * b_scale + bias."""
    a, b, a_scale, b_scale = (np.asarray(inputs[i]) for i in range(4))
    y = _exact(a, given(inputs, 4)) @ _exact(b, given(inputs, 5)) * (a_scale.reshape(()) * b_scale)
    bias = given(inputs, 6)
    return [y if bias is None else y + bias]


def dynamic_quantize_matmul(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """matmul_integer_to_float of A as DynamicQuantizeLinear quantises it, in float32."""
    x = np.asarray(inputs[0]).astype(np.float32)
    low, high = (np.float32(f(x, initial=0)) for f in (np.min, np.max))
    scale = (high - low) / np.float32(255) or np.float32(1)
    zero = np.asarray(np.clip(np.rint(-low / scale), 0, 255)).astype(np.uint8)
    q = quantise(x, np.asarray(scale), zero)
    rest = [given(inputs, i) for i in range(1, 5)]
    operands = [q, rest[0], np.asarray(scale, np.float64), rest[1], zero, rest[2], rest[3]]
    return matmul_integer_to_float(operands, attributes)


def qgemm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """alpha a_scale b_scale (op(A - a_zero_point) @ op(B - b_zero_point) + C), quantised with y_scale."""
    a, a_scale, a_zero, b, b_scale, b_zero = (np.asarray(inputs[i]) for i in range(6))
    left = _exact(a, a_zero).T if attributes["transA"] else _exact(a, a_zero)
    right = _exact(b.T if attributes["transB"] else b, b_zero)
    bias, y_scale, y_zero = (given(inputs, i) for i in (6, 7, 8))
    y = (left @ right + (0 if bias is None else bias)) * (attributes["alpha"] * a_scale.reshape(()) * b_scale)
    return [np.asarray(y) if y_scale is None or y_zero is None else quantise(y, y_scale, y_zero)]


#: Activations that have no parameters.
_ACTIVATIONS = ("sigmoid", "tanh", "relu")


def dynamic_quantize_lstm(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """ONNX's LSTM, with X as a whole and the states of every step quantised as DynamicQuantizeLinear does it.

    Raises ValueError, which `reference` turns into E42005, for activations with parameters.
    """
    x, w, r = (np.asarray(inputs[i]) for i in range(3))
    unknown = [n for n in map(str, attributes["activations"]) if n.lower() not in _ACTIVATIONS]
    if unknown:
        raise ValueError(f"there is no reference of the activation {unknown[0].lower()}")
    bias, lengths, h0, c0, peepholes = (given(inputs, i) for i in range(3, 8))
    scales = [np.asarray(inputs[i]) for i in range(8, 12)]
    directions = [
        Direction(
            partial(_dynamic, weights=w[d], scale=scales[0][d], zero=scales[1][d]),
            partial(_dynamic, weights=r[d], scale=scales[2][d], zero=scales[3][d]),
            None if bias is None else bias[d],
            None if peepholes is None else peepholes[d],
        )
        for d in range(w.shape[0])
    ]
    return [*recurrence("LSTM", x, r.shape[1], directions, attributes, lengths, h0, c0)]


def _dynamic(x: Array, weights: Array, scale: Array, zero: Array) -> Array:
    """The product of a matrix, quantised as a whole, and integer weights."""
    return dynamic_quantize_matmul([x, weights, np.asarray(scale), np.asarray(zero)], {})[0]


def unpack_bits(rows: Array, bits: int) -> npt.NDArray[np.uint8]:
    """Integers of 2, 4 or 8 bits in rows of bytes, the lowest first: [N, bytes] -> [N, bytes*8/bits]."""
    each = np.arange(0, 8, bits, dtype=np.uint8)
    unpacked = np.asarray(rows).astype(np.uint8)[..., None] >> each & np.uint8((1 << bits) - 1)
    return np.asarray(unpacked.reshape(len(rows), -1), dtype=np.uint8)


def matmul_nbits(inputs: Inputs, attributes: Mapping[str, Any]) -> list[Array]:
    """A @ w + bias, w[k, n] = (q[n, k] - zero point)*scale with both for each block of K, or for the block
    that g_idx names."""
    a, packed, scales = (np.asarray(inputs[i]) for i in range(3))
    a, scales = a.astype(np.float64), scales.astype(np.float64)
    points, order, bias = (given(inputs, i) for i in (3, 4, 5))
    if points is not None and order is not None:
        raise ValueError("there is no reference of zero points with g_idx")
    k, n, bits, block = (int(attributes[name]) for name in ("K", "N", "bits", "block_size"))
    blocks = -(-k // block)
    if a.shape[-1] != k or packed.shape != (n, blocks, block * bits // 8) or scales.size != n * blocks:
        raise ValueError(f"A {a.shape}, B {packed.shape} and scales {scales.shape} don't fit K={k}, N={n}")
    if points is None:
        zero = np.full((n, blocks), 1 << bits >> 1, np.float64)
    elif points.dtype == np.uint8:
        zero = unpack_bits(points.reshape(n, -1), bits)[:, :blocks].astype(np.float64)
    else:
        zero = points.reshape(n, blocks).astype(np.float64)
    q = unpack_bits(packed.reshape(n, -1), bits)[:, :k].astype(np.float64)
    block_of = (np.arange(k) // block if order is None else np.asarray(order[:k])).astype(np.int64)
    y = a @ ((q - zero[:, block_of]) * scales.reshape(n, blocks)[:, block_of]).T
    return [y if bias is None else y + bias]


QUANTISED_REFERENCES = {
    "dynamic_quantize_lstm": dynamic_quantize_lstm,
    "dynamic_quantize_matmul": dynamic_quantize_matmul,
    "matmul_integer_to_float": matmul_integer_to_float,
    "matmul_nbits": matmul_nbits,
    "qgemm": qgemm,
}
