"""Tensors of a device: arrays that remember where they are, since only those of the host can be read."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import data_types
from .devices import check_device
from .failure import Failure
from .memory_summary import MemorySummary

HOST = -1


class Tensor:
    """A copy of `array` on the host, until to_device."""

    def __init__(self, array: Any) -> None:
        self._array: NDArray[Any] = np.array(array, order="C")
        self._device = HOST

    @classmethod
    def owning(cls, array: NDArray[Any], device: int) -> Tensor:
        """This very array, as a tensor of the device."""
        made = cls.__new__(cls)
        made._array, made._device = array, device
        return made

    @property
    def memory(self) -> NDArray[Any]:
        """The elements, wherever they are: for sessions, not for programs."""
        return self._array

    def to_device(self, device: int) -> None:
        """Moves it to a device. Raises Failure E45006 for one that isn't there."""
        began = time.perf_counter_ns()
        self._device = check_device(int(device))
        MemorySummary.H2D_time_list.append((time.perf_counter_ns() - began) / 1e6)

    to_dvpp = to_device

    def to_host(self) -> None:
        """Moves it to the host, where it can be read."""
        began = time.perf_counter_ns()
        self._device = HOST
        MemorySummary.D2H_time_list.append((time.perf_counter_ns() - began) / 1e6)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if self._device != HOST:
            text = "tensor is in npu. can't convert to numpy array"
            raise Failure("E45003", "tensor", text, fix="Call to_host() first.")
        if dtype is not None and self._array.dtype != dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    @property
    def shape(self) -> list[int]:
        return list(self._array.shape)

    @property
    def dtype(self) -> Any:
        return data_types.of_array(self._array.dtype)

    @property
    def device(self) -> int:
        """The device's number; -1 on the host."""
        return self._device

    @property
    def type(self) -> Any:
        on_host = self._device == HOST
        return data_types.memory_type.memory_host if on_host else data_types.memory_type.memory_device

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self._array.shape))
        return f"<Tensor>\nshape:\t({shape})\ndtype:\t{self.dtype.name}\ndevice:\t{self._device}"


class BaseTensor:
    """`size` bytes of the host at the address `buf`, which the caller keeps."""

    def __init__(self, buf: int, size: int) -> None:
        self.buf, self.size = int(buf), int(size)

    @property
    def memory(self) -> NDArray[Any]:
        """The bytes."""
        if self.buf <= 0 or self.size < 0:
            raise Failure("E45003", "BaseTensor", f"{self.buf:#x} isn't an address of {self.size} bytes")
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.size).from_address(self.buf))


def batch(inputs: Sequence[Tensor], keep_dims: bool = False) -> Tensor:
    """Tensors, which are alike, behind one another: along the first axis, or a new one without keep_dims."""
    arrays = [tensor.memory for tensor in inputs]
    if not arrays or any(a.shape != arrays[0].shape or a.dtype != arrays[0].dtype for a in arrays):
        raise Failure("E45003", "inputs", "a batch takes tensors of one shape and type")
    return Tensor(np.concatenate(arrays) if keep_dims else np.stack(arrays))
