"""Products whose right operand is a dequantised constant read the integers themselves.

    dequantize(W) -> T;  matmul(A, T)     becomes     matmul(A, W in panels of int8, .., scales, zero points)

W stays int8 in the bundle and is dequantised in registers, to the very float32 that T would hold. Done for a
matrix with one scale, one for each column, or one for each column of a block of K; otherwise T is made each
run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import FLOAT32, INT8, UINT8
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import MATMUL, QUANTIZE
from ascend_ep.plan.plan import WEIGHT, Insn, NativePartition, Ref, Weight
from ascend_ep.plan.value_uses import ValueUses, read_values

from .packed_integers import Int8Matrix

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Quantised:
    """int8 weights [K, N]; for each `block` rows a row of scales, and of zero points unless all are 0."""

    weights: Ref
    scale: Ref
    zero: Ref | None
    block: int

    @staticmethod
    def of(matrix: Int8Matrix, dims: tuple[int, int], scale: Floats, zero: Floats, block: int) -> Quantised:
        """scale and zero: [ceil(K / block), N], zero in terms of the int8 matrix."""
        some = None if not zero.any() else _table(zero)
        layout = "nibbles32" if block % 2 == 0 and _fit_nibbles(matrix) else "bytes32"
        weights = Ref("", INT8, dims, WEIGHT, weight=Weight(matrix, layout))
        return Quantised(weights, _table(scale), some, block)

    def operands(self) -> list[Ref]:
        return [r for r in (self.weights, self.scale, self.zero) if r is not None]

    def product(self, insn: Insn) -> Insn:
        """A product with these weights for its right operand."""
        left, _, bias, residual = (*insn.ins, None, None)[:4]
        ins = (left, self.weights, bias, residual, self.scale, self.zero)
        return replace(insn, ins=ins, ints=MATMUL.put(insn.ints, trans_b=0, block=self.block))


def quantise_products(part: NativePartition) -> int:
    """Changes the partition in place; the number of products that now read integers."""
    uses = ValueUses.of(part)
    found: dict[tuple[int, bool], Quantised | None] = {}
    changed = 0
    for at, insn in enumerate(part.insns):
        right = insn.ins[1] if insn.kernel == "matmul" else None
        copy = None if right is None else _made_by(uses, right, "copy")
        right = right if copy is None else copy.ins[0]
        transposed = None if right is None else _orientation(right)
        source = None if right is None else _made_by(uses, right.base or right, "dequantize")
        if source is None or transposed is None:
            continue
        transposed ^= bool(MATMUL.get(insn.ints, "trans_b"))
        key = (id(source), transposed)
        if key not in found:
            found[key] = _quantised(source, transposed)
            made = found[key]
            part.values += made.operands() if made is not None else []
        made = found[key]
        if made is not None:
            part.insns[at] = made.product(insn)
            changed += 1
    if changed:
        _drop_unread(part, "copy")
        _drop_unread(part, "dequantize")
    return changed


def _orientation(ref: Ref) -> bool | None:
    """Whether a matrix is seen transposed; None when it is no plain matrix or transpose of one."""
    whole = ref.dims if ref.base is None else ref.base.dims
    if len(whole) != 2 or ref.rank != 2 or ref.offset != 0:
        return None
    if ref.dims == whole and ref.strides is None:
        return False
    if ref.dims == whole[::-1] and ref.strides == (1, whole[1]):
        return True
    return None


def _quantised(insn: Insn, transposed: bool) -> Quantised | None:
    """The operand that `insn` dequantises, transposed if asked; None when a product can't read it so."""
    x, scale, zero = (*insn.ins, None)[:3]
    axis, block = (int(str(QUANTIZE.get(insn.ints, name))) for name in ("axis", "block"))
    if x is None or scale is None or x.dtype not in (INT8, UINT8):
        return None
    if not all(r is None or (r.weight is not None and r.weight.layout == "plain") for r in (x, scale, zero)):
        return None
    assert x.weight is not None
    rows, columns = (static(d) for d in x.dims)
    if rows is None or columns is None:
        return None
    k, n = (columns, rows) if transposed else (rows, columns)
    along_k = axis == (1 if transposed else 0)
    shift = 128 if x.dtype == UINT8 else 0
    scales = _elements(scale)
    zeros = (np.zeros_like(scales) if zero is None else _elements(zero)) - np.float32(shift)
    if scales.size == 1:
        tables, block = [np.full((1, n), t.item(), np.float32) for t in (scales, zeros)], max(k, 1)
    elif block and along_k:
        tables = [t.T if transposed else t for t in (scales, zeros)]
    elif not block and not along_k:
        tables, block = [t.reshape(1, n) for t in (scales, zeros)], max(k, 1)
    else:
        return None
    return Quantised.of(Int8Matrix(x.weight.source, transposed), (k, n), tables[0], tables[1], block)


def _fit_nibbles(matrix: Int8Matrix) -> bool:
    """Whether 4 bits hold the weights, as they do where a quantiser of 4 bits made blocks."""
    values = matrix.numpy()
    return bool(values.size and values.min() >= -8 and values.max() <= 7)


def _elements(ref: Ref) -> Floats:
    assert ref.weight is not None
    return np.asarray(ref.weight.load(), np.float32)


def _table(array: Floats) -> Ref:
    return Ref("", FLOAT32, array.shape, WEIGHT, weight=Weight(np.ascontiguousarray(array), "panel32"))


def _made_by(uses: ValueUses, value: Ref, kernel: str) -> Insn | None:
    """The instruction that makes a value, if it is one of this kernel."""
    maker = uses.maker(value)
    return maker if maker is not None and maker.kernel == kernel else None


def _drop_unread(part: NativePartition, kernel: str) -> None:
    """Removes the instructions of a kernel whose values nothing reads, and these values."""
    unread = {id(i.outs[0]) for i in part.insns if i.kernel == kernel} - read_values(part)
    part.insns[:] = [i for i in part.insns if id(i.outs[0]) not in unread]
    part.values[:] = [r for r in part.values if id(r) not in unread and id(r.base) not in unread]
