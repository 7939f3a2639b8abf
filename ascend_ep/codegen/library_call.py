"""Calling a library of operators on arrays, on this thread: what proofs and tests compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.plan.plan import AttrValue
from ascend_ep.runtime.binding import fail, ffi, lib, new_status, text_of

Array = NDArray[Any]


def run_library(
    path: Path,
    op_type: str,
    inputs: Sequence[Array | None],
    n_outputs: int = 1,
    attributes: Mapping[str, AttrValue] | None = None,
) -> list[Array]:
    """The outputs of the operator. A bfloat16 array is of ml_dtypes.bfloat16. Raises AscendError E40007 for
    inputs that the library refuses, and what loading it gives."""
    status = new_status()
    op = lib.asc_custom_op_load(str(path).encode(), op_type.encode(), status)
    if op == ffi.NULL:
        raise fail(status, str(path))
    arrays = [None if x is None else np.asarray(x, order="C") for x in inputs]
    ins = ffi.new("asc_tensor[]", max(len(arrays), 1))
    held = [_describe(ins[i], a) for i, a in enumerate(arrays) if a is not None]
    outs = ffi.new("asc_tensor[]", n_outputs)
    keep: list[Any] = []
    records = attribute_records(attributes or {}, keep)
    error = ffi.new("char[384]")
    call = ffi.new("asc_custom_call *", {"in": ins, "out": outs, "n_in": len(arrays), "n_out": n_outputs})
    call.attrs, call.n_attrs = records, len(attributes or {})
    call.threads, call.error, call.error_bytes = 1, error, 384
    if op.infer(call):
        raise AscendError("E40007", text_of(error), where=f"{path} [{op_type}]")
    results = []
    for out in outs:
        shape = tuple(out.dims[d] for d in range(out.rank))
        results.append(np.empty(shape, np.uint16 if out.dtype == BFLOAT16 else numpy_dtype(out.dtype)))
        out.data = ffi.cast("void *", results[-1].ctypes.data)
    call.workspace_bytes = op.workspace(call) if op.workspace != ffi.NULL else 0
    room = np.zeros(call.workspace_bytes // 8 + 16, np.int64)
    call.workspace = ffi.cast("void *", room.ctypes.data + -room.ctypes.data % 64)
    if op.compute(call):
        raise AscendError("E40007", text_of(error), where=f"{path} [{op_type}]")
    del held, keep
    return [_made(r, out) for r, out in zip(results, outs, strict=True)]


def _made(result: Array, out: Any) -> Array:
    """An output as compute left it: of the shape that it may have decided."""
    shape = tuple(out.dims[d] for d in range(out.rank))
    made = result if shape == result.shape else result.reshape(-1)[: math.prod(shape)].reshape(shape)
    return made.view(numpy_dtype(BFLOAT16)) if out.dtype == BFLOAT16 else made


def attribute_records(attributes: Mapping[str, AttrValue], keep: list[Any]) -> Any:
    """asc_attr records; what they point to goes into `keep`."""
    records = ffi.new("asc_attr[]", max(len(attributes), 1))
    keep.append(records)
    for record, (name, value) in zip(records, attributes.items(), strict=False):
        keep.append(ffi.new("char[]", name.encode()))
        record.name = keep[-1]
        if isinstance(value, str):
            keep.append(ffi.new("char[]", value.encode()))
            record.kind, record.string, record.count = lib.ASC_ATTR_STRING, keep[-1], 1
        elif any(isinstance(v, float) for v in value):
            keep.append(ffi.new("double[]", list(value)))
            record.kind, record.floats, record.count = lib.ASC_ATTR_FLOATS, keep[-1], len(value)
        else:
            keep.append(ffi.new("int64_t[]", list(value)))
            record.kind, record.ints, record.count = lib.ASC_ATTR_INTS, keep[-1], len(value)
    return records


def element_type(array: Array) -> int:
    """The ONNX number of an array's element type."""
    if array.dtype == numpy_dtype(BFLOAT16):
        return BFLOAT16
    return next(number for number, kind in dtypes.NUMPY.items() if np.dtype(kind) == array.dtype)


def _describe(tensor: Any, array: Array) -> Array:
    tensor.data = ffi.cast("void *", array.ctypes.data)
    tensor.dtype, tensor.rank = element_type(array), array.ndim
    step = 1
    for axis in range(array.ndim - 1, -1, -1):
        tensor.dims[axis], tensor.strides[axis] = array.shape[axis], step
        step *= max(array.shape[axis], 1)
    return array
