"""MatMulNBits, as quantisers of language models write it: a product whose weights are packed integers.

Those of 8 bits are stored as int8 in panels (ASC_LAYOUT_BYTES32), those of fewer as 4 bits (NIBBLES32).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.matmul import Activation, require_float
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.element_types import FLOAT32, INT8
from ascend_ep.opdef.quantised_references import unpack_bits
from ascend_ep.plan.kernel_params import MATMUL, MATMUL_FLOATS
from ascend_ep.plan.plan import TensorSource


@dataclass(eq=False)
class PackedMatrix:
    """The int8 matrix [K, N] that packed bits [N, blocks, bytes] hold, less half their range."""

    source: NDArray[np.generic] | TensorSource
    bits: int
    k: int

    def numpy(self) -> NDArray[np.generic]:
        array = self.source if isinstance(self.source, np.ndarray) else self.source.numpy()
        rows = unpack_bits(array.reshape(len(array), -1), self.bits)[:, : self.k]
        return (rows - np.uint8(1 << self.bits >> 1)).view(np.int8).T


@lowers("matmul_nbits")
def lower_matmul_nbits(node: NodeView, b: PlanBuilder) -> None:
    left, weights, scales = (needed(node.inputs, i) for i in range(3))
    bias = operand(node.inputs, 5)
    require_float(left, scales, bias)
    if operand(node.inputs, 4) is not None:
        raise Unsupported("its rows are ordered by g_idx, which has no native product")
    k, n, bits, block = (int(node.attr(name)) for name in ("K", "N", "bits", "block_size"))
    if bits not in (2, 4, 8) or block < 8 // bits or block % (8 // bits):
        raise Unsupported(f"weights of {bits} bits in blocks of {block} have no native product")
    blocks = -(-k // block)
    if weights.dims != (n, blocks, block * bits // 8) or weights.constant is None:
        raise Unsupported(
            f"its weights are no constant of {n} x {blocks} blocks of {block} times {bits} bits"
        )
    matrix = b.packed(
        PackedMatrix(weights.constant, bits, k), (k, n), INT8, "bytes32" if bits == 8 else "nibbles32"
    )
    zero = _zero_points(node, bits, n, blocks)
    tables = [_table(scales, n, blocks), zero]
    refs = [None if t is None else b.constant(np.ascontiguousarray(t.T), "panel32") for t in tables]
    addend = None if bias is None else b.ref(bias)
    ins = [b.ref(left), matrix, addend, None, *refs]
    out = b.out(needed(node.outputs, 0))
    ints = MATMUL.pack(trans_a=0, trans_b=0, activation=int(Activation.NONE), block=block)
    b.emit("matmul", ins, [out], ints, MATMUL_FLOATS.pack(alpha=1.0, beta=1.0, low=0.0, high=0.0))


def _table(given: Operand, n: int, blocks: int) -> NDArray[np.float32]:
    """Scales, or zero points given as floats, as [N, blocks]."""
    array = given.const
    if array is None or array.size != n * blocks:
        raise Unsupported(f"its input {given.name!r} is no constant of {n} x {blocks} elements")
    return array.reshape(n, blocks).astype(np.float32)


def _zero_points(node: NodeView, bits: int, n: int, blocks: int) -> NDArray[np.float32] | None:
    """[N, blocks], less half the range of the integers; None when they are all there."""
    given, half = operand(node.inputs, 3), np.float32(1 << bits >> 1)
    if given is None:
        return None
    if given.dtype == FLOAT32:
        points = _table(given, n, blocks)
    else:
        array, row = given.const, -(-blocks * bits // 8)
        if array is None or array.size != n * row:
            raise Unsupported(f"its zero points are no constant of {n} rows of {row} bytes")
        points = unpack_bits(array.reshape(n, row), bits)[:, :blocks].astype(np.float32)
    return points - half if (points != half).any() else None
