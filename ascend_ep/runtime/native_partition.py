"""Running a native partition on numpy arrays: one C call per run once its shapes were seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, numpy_dtype
from ascend_ep.errors import AscendError

from ._call import MOST, Call, check_layout
from .binding import fail, ffi, lib, new_status
from .bundle import Bundle
from .bundle_records import Partition
from .output_memory import allocator

MAX_BOUND = 16
Array = NDArray[Any]
_NULL = ffi.NULL
_from_buffer = ffi.from_buffer


def _layout_is_known() -> bool:
    probe = np.empty((2, 3), np.float32)
    return bool(check_layout(np.ndarray, probe, probe.ctypes.data, np.dtype(np.float32)))


#: Whether Call can read the arrays of this numpy.
HAS_CALL = _layout_is_known()


class Bound:
    """The partition at one set of shapes: the asc_bound and the outputs to allocate.

    `call` runs it on a feed by name; None where it can't (bfloat16 at the boundary, many operands).
    """

    __slots__ = ("call", "outputs", "pointer", "renamed")

    def __init__(self, pointer: Any) -> None:
        self.pointer = ffi.gc(pointer, lib.asc_bound_release)
        self.call: Call | None = None
        tensors = ffi.new("asc_tensor const **")
        count = lib.asc_bound_outputs(pointer, tensors)
        #: per output what allocates it, and the dtype shown when that isn't the memory's
        self.outputs = [_allocation(tensors[0][i]) for i in range(count)]
        self.renamed = any(seen is not None for _, seen in self.outputs)


class Slot:
    """The pointer arrays and status of one call in flight."""

    __slots__ = ("ins", "outs", "status")

    def __init__(self, n_in: int, n_out: int) -> None:
        self.ins = ffi.new("void const *[]", max(n_in, 1))
        self.outs = ffi.new("void *[]", max(n_out, 1))
        self.status = new_status()


class NativePartition:
    """Any number of threads may call it at once."""

    def __init__(self, bundle: Bundle, partition: Partition) -> None:
        self.name = partition.name
        self.info = partition
        self._bundle = bundle
        self._index = partition.index
        self._inputs = [bundle.edges[i] for i in partition.inputs]
        self._n_out = len(partition.outputs)
        self.bounds: dict[tuple[tuple[int, ...], ...], Bound] = {}
        self._slots: list[Slot] = []
        self._lock = threading.Lock()

    def bind(self, shapes: tuple[tuple[int, ...], ...]) -> Bound:
        """The partition for these input shapes. Raises AscendError E40007 or E40008 when they don't fit."""
        found = self.bounds.get(shapes)
        return found if found is not None else self._bind(shapes)

    def arena_bytes(self) -> int:
        """Memory of one run, for a partition whose shapes are all fixed."""
        shapes = tuple(tuple(d for d in edge.dims if isinstance(d, int)) for edge in self._inputs)
        return int(lib.asc_bound_arena_bytes(self.bind(shapes).pointer))

    def execute(
        self, bound: Bound, arrays: Sequence[Array], results: Sequence[Array], ns: Any = _NULL
    ) -> None:
        """Runs on contiguous, aligned, native-endian arrays of the bound shapes; writes `results`."""
        try:
            slot = self._slots.pop()
        except IndexError:
            slot = Slot(len(self._inputs), self._n_out)
        ins, outs = slot.ins, slot.outs
        for i, array in enumerate(arrays):  # the caller's lists keep the memory alive
            ins[i] = _from_buffer(array)
        for i, array in enumerate(results):
            outs[i] = _from_buffer(array)
        code = lib.asc_execute(bound.pointer, ins, outs, ns, slot.status)
        if code:
            raise fail(slot.status, self.name)
        self._slots.append(slot)

    def allocate(self, bound: Bound) -> tuple[list[Array], list[Array]]:
        """New output arrays: as the library writes them, and as the caller sees them."""
        raw = [new() for new, _ in bound.outputs]
        if not bound.renamed:
            return raw, list(raw)
        seen = (dtype for _, dtype in bound.outputs)
        return raw, [a if dtype is None else a.view(dtype) for a, dtype in zip(raw, seen, strict=True)]

    def _bind(self, shapes: tuple[tuple[int, ...], ...]) -> Bound:
        tensors = ffi.new("asc_tensor[]", len(shapes) or 1)
        for tensor, edge, shape in zip(tensors, self._inputs, shapes, strict=False):
            tensor.dtype = edge.dtype
            tensor.rank = len(shape)
            step = 1
            for axis in range(len(shape) - 1, -1, -1):
                tensor.dims[axis] = shape[axis]
                tensor.strides[axis] = step
                step *= max(shape[axis], 1)
        out = ffi.new("asc_bound **")
        status = new_status()
        model = self._bundle.model
        if lib.asc_bind(model.pointer, self._index, tensors, len(shapes), out, status):
            raise fail(status, f"{model.where} [{self.name}]")
        bound = Bound(out[0])
        bound.call = self._call(bound, shapes)
        with self._lock:
            while len(self.bounds) >= MAX_BOUND:
                self.bounds.pop(next(iter(self.bounds)), None)
            self.bounds[shapes] = bound
        return bound

    def _call(self, bound: Bound, shapes: tuple[tuple[int, ...], ...]) -> Call | None:
        known = all(edge.dtype not in (0, BFLOAT16) for edge in self._inputs)
        if not HAS_CALL or bound.renamed or not known or max(len(shapes), self._n_out) > MOST:
            return None
        inputs = tuple(
            (edge.name, numpy_dtype(edge.dtype), shape)
            for edge, shape in zip(self._inputs, shapes, strict=True)
        )
        outputs = tuple((maker, (a := maker()).dtype, a.shape) for maker, _ in bound.outputs)
        address = int(ffi.cast("uintptr_t", bound.pointer))
        return Call(address, bound.pointer, inputs, outputs, partial(_failure, self.name))


def _failure(name: str, address: int) -> AscendError:
    return fail(ffi.cast("asc_status *", address), name)


def _allocation(tensor: Any) -> tuple[Callable[[], Array], np.dtype[Any] | None]:
    shape = tuple(tensor.dims[i] for i in range(tensor.rank))
    if tensor.dtype == BFLOAT16:
        return allocator(shape, np.dtype(np.uint16)), numpy_dtype(BFLOAT16)
    return allocator(shape, numpy_dtype(tensor.dtype)), None
