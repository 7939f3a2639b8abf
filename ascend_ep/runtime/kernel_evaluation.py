"""Results of kernels that are known when a model is converted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ascend_ep.runtime._rt import ffi, lib
from ascend_ep.runtime.binding import fail, new_status

Operand = tuple[int, NDArray[np.generic]]


def evaluate(
    kernel: str, given: Sequence[Operand], made: Operand, ints: Sequence[int], floats: Sequence[float]
) -> None:
    """Runs a kernel of one output on operands, each an ONNX type and an array of it, and writes `made`.

    At the baseline ISA level: what a bundle holds doesn't depend on the machine. Raises AscendError when the
    kernel refuses.
    """
    tensors, target = ffi.new("asc_tensor[]", len(given)), ffi.new("asc_tensor *")
    for tensor, operand in zip([*tensors, target[0]], [*given, made], strict=True):
        _describe(tensor, *operand)
    arguments = ffi.new("int64_t[]", list(ints)), len(ints), ffi.new("double[]", list(floats)), len(floats)
    status = new_status()
    baseline, name = lib.ASC_ISA_BASELINE, kernel.encode()
    if lib.asc_kernel_call(baseline, name, tensors, len(given), target, 1, *arguments, 1, status):
        raise fail(status, kernel)


def _describe(tensor: object, dtype: int, array: NDArray[np.generic]) -> None:
    tensor.data = ffi.cast("void *", array.ctypes.data)  # type: ignore[attr-defined]
    tensor.dtype, tensor.rank = dtype, array.ndim  # type: ignore[attr-defined]
    tensor.dims[0 : array.ndim] = list(array.shape)  # type: ignore[attr-defined]
    strides = [s // array.itemsize for s in array.strides]
    tensor.strides[0 : array.ndim] = strides  # type: ignore[attr-defined]
