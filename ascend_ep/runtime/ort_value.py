"""OrtValue with onnxruntime's method names. Memory is the CPU's; there is no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, number_of, numpy_dtype, type_name
from ascend_ep.errors import AscendError

from . import refused_members

Array = NDArray[Any]


@refused_members.refuse(refused_members.VALUE)
class OrtValue:
    """A tensor in CPU memory; shares the array it was made from."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Array, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        check_device(device_type, device_id)
        return OrtValue(numpy_obj)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Array, onnx_element_type: int) -> OrtValue:
        """The same memory with elements of another type of the same size, as bfloat16 in uint16."""
        dtype = numpy_dtype(int(onnx_element_type))
        if dtype.itemsize != data.dtype.itemsize:
            raise AscendError("E40001", f"elements of {data.dtype} can't be read as {dtype}")
        return OrtValue(data.view(dtype))

    @staticmethod
    def from_dlpack(data: Any) -> OrtValue:
        """Shares the memory of a CPU tensor of another library."""
        return OrtValue(np.from_dlpack(data))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The memory itself, unless another type or a copy is asked for."""
        same = dtype is None or np.dtype(dtype) == self._array.dtype
        if copy is False and not same:
            raise ValueError(f"elements of {self._array.dtype} can't become {dtype} without a copy")
        return self._array if same and not copy else np.array(self._array, dtype=dtype)

    def __dlpack__(self, **named: Any) -> Any:
        return self._array.__dlpack__(**named)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Uninitialised memory. element_type: a numpy type or an ONNX number."""
        check_device(device_type, device_id)
        return OrtValue(np.empty(tuple(shape), dtype_of(element_type)))

    def numpy(self) -> Array:
        return self._array

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return type_name(self.element_type())

    def element_type(self) -> int:
        return number_of(self._array.dtype)

    def data_ptr(self) -> int:
        return self._array.ctypes.data

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def tensor_size_in_bytes(self) -> int:
        return self._array.nbytes

    def update_inplace(self, np_arr: Array) -> None:
        """Copies an array of the same shape and type into this value's memory."""
        if np_arr.shape != self._array.shape or np_arr.dtype != self._array.dtype:
            raise AscendError(
                "E40001",
                f"can't put {np_arr.dtype}{list(np_arr.shape)} into {self._array.dtype}{self.shape()}",
            )
        np.copyto(self._array, np_arr)


def dtype_of(element_type: Any) -> np.dtype[Any]:
    if isinstance(element_type, int | np.integer):
        return numpy_dtype(int(element_type))
    named = getattr(element_type, "__name__", "") == "bfloat16"
    return numpy_dtype(BFLOAT16) if named else np.dtype(element_type)


def check_device(device_type: str, device_id: int) -> None:
    if device_type not in ("cpu", "npu", "ascend") or device_id != 0:
        raise AscendError(
            "E40001", f"there is no device [{device_type}:{device_id}]", fix='Use device type "cpu", id 0.'
        )
