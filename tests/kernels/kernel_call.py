"""Runs one native kernel on numpy arrays: the way every kernel test reaches the library.

`call("softmax", [x], [(np.float32, x.shape)], ints=[1])` returns the outputs. Inputs are handed over as
they are, strides included; `None` is an absent operand. Outputs are filled with a pattern first, so an
element a kernel forgets to write shows up, and lie between guard zones that are checked after the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from other_cpu import GUARD, other_cpu, reached

from ascend_ep.runtime._rt import ffi, lib
from ascend_ep.runtime.layouts import LAYOUTS

#: numpy type -> ONNX number
DTYPES: dict[np.dtype[Any], int] = {
    np.dtype(kind): number
    for kind, number in [
        (np.float32, 1), (np.uint8, 2), (np.int8, 3), (np.uint16, 4), (np.int16, 5), (np.int32, 6),
        (np.int64, 7), (np.bool_, 9), (np.float16, 10), (np.float64, 11), (np.uint32, 12), (np.uint64, 13),
        (ml_dtypes.bfloat16, 16), (ml_dtypes.float8_e4m3fn, 17), (ml_dtypes.float8_e4m3fnuz, 18),
        (ml_dtypes.float8_e5m2, 19), (ml_dtypes.float8_e5m2fnuz, 20), (ml_dtypes.uint4, 21),
        (ml_dtypes.int4, 22), (ml_dtypes.uint2, 25), (ml_dtypes.int2, 26),
    ]
}  # fmt: skip
NUMPY = {number: kind for kind, number in DTYPES.items()}
PATTERN = 0xA5


class KernelError(Exception):
    """A kernel refused: `code` is the ASC_E_... number."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


class Packed:
    """A weight [..., K, N] that a kernel receives in a layout of panels."""

    layout = ""

    def __init__(self, matrices: np.ndarray) -> None:
        self.kind = LAYOUTS[self.layout]
        self.shape = matrices.shape
        *_, k, n = matrices.shape
        assert matrices.dtype == NUMPY[self.kind.source]
        stack = matrices.reshape(int(np.prod(matrices.shape[:-2])), k, n)
        number = self.kind.number
        self.packed = np.empty((len(stack), lib.asc_packed_bytes(number, k, n)), np.uint8)
        for matrix, packed in zip(stack, self.packed, strict=True):
            row, col = (s // matrix.itemsize for s in matrix.strides)
            source, target = (ffi.cast("void *", a.ctypes.data) for a in (matrix, packed))
            lib.asc_pack(number, source, k, n, row, col, target)


class Panel32(Packed):
    layout = "panel32"


class Pairs32(Packed):
    """Of a float32 weight, which is rounded to bfloat16."""

    layout = "vnni2_32"


class Halves32(Packed):
    layout = "fp16_32"


class Bytes32(Packed):
    layout = "bytes32"


class Nibbles32(Packed):
    """The low four bits of an int8 weight."""

    layout = "nibbles32"


class Quads32(Packed):
    layout = "vnni4_32"


Operand = np.ndarray | Packed | None


def _describe(tensor: Any, array: Operand) -> None:
    if array is None:
        return
    if not isinstance(array, np.ndarray):
        _describe(tensor, np.empty(array.shape, NUMPY[array.kind.dtype]))
        tensor.data = ffi.cast("void *", array.packed.ctypes.data)
        tensor.layout = array.kind.number
        return
    tensor.data = ffi.cast("void *", array.ctypes.data)
    tensor.dtype = DTYPES[array.dtype]
    tensor.rank = array.ndim
    tensor.dims[0 : array.ndim] = list(array.shape)
    tensor.strides[0 : array.ndim] = [s // array.itemsize for s in array.strides]


def _guarded(dtype: Any, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.full(size + 3 * GUARD, PATTERN, np.uint8)
    start = GUARD + (-memory.ctypes.data) % GUARD
    return memory, memory[start : start + size].view(dtype).reshape(shape)


def _surrounded(memory: np.ndarray, array: np.ndarray) -> np.ndarray:
    """The bytes of an output and of the guards beside it."""
    start = array.ctypes.data - memory.ctypes.data
    return memory[start - GUARD : start + array.nbytes + GUARD]


def call(
    op: str,
    inputs: Sequence[Operand],
    outputs: Sequence[tuple[Any, Sequence[int]]],
    ints: Sequence[int] = (),
    floats: Sequence[float] = (),
    isa: int | None = None,
    threads: int = 2,
    constants: Sequence[int] = (),
) -> list[np.ndarray]:
    """Outputs of kernel `op`; raises KernelError when it refuses. isa None means the current level. Inputs
    numbered in `constants` are weights, which a kernel may look at before it runs."""
    c_in = ffi.new("asc_tensor[]", max(len(inputs), 1))
    c_out = ffi.new("asc_tensor[]", max(len(outputs), 1))
    for tensor, array in zip(c_in, inputs, strict=False):
        _describe(tensor, array)
    for index in constants:
        c_in[index].flags |= lib.ASC_T_CONST
    guarded = [_guarded(*output) for output in outputs]
    for tensor, (_, array) in zip(c_out, guarded, strict=False):
        _describe(tensor, array)
    status = ffi.new("asc_status *")
    c_ints, c_floats = ffi.new("int64_t[]", list(ints)), ffi.new("double[]", list(floats))
    number = -1 if isa is None else isa
    if (other := other_cpu()) is not None:
        shown = [_surrounded(memory, array) for memory, array in guarded]
        memories = [(0, b"") if x is None else reached(getattr(x, "packed", x)) for x in inputs]
        code = other.call(
            op, (c_in, c_out), memories, shown, list(c_ints), list(c_floats), number, threads, status
        )
    else:
        code = lib.asc_kernel_call(
            number, op.encode(), c_in, len(inputs), c_out, len(outputs),
            c_ints, len(ints), c_floats, len(floats), threads, status,
        )  # fmt: skip
    for memory, array in guarded:
        start = array.ctypes.data - memory.ctypes.data
        outside = np.concatenate([memory[:start], memory[start + array.nbytes :]])
        assert (outside == PATTERN).all(), f"{op} wrote outside its output"
    if code != lib.ASC_OK:
        raise KernelError(code, ffi.string(status.text).decode())
    return [array for _, array in guarded]
