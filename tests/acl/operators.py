"""Calls functions aclnn<Name> of libascendcl in this process: arguments are numpy's."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import ascend_ep

TYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "int64": 9,
    "float64": 11,
    "bool": 12,
    "bfloat16": 27,
    "int4": 29,
}
DTYPES = {
    name: np.dtype(getattr(ml_dtypes, name) if name in ("bfloat16", "int4") else name) for name in TYPES
}
ND, TO_DEVICE, TO_HOST = 2, 1, 2


class Failed(Exception):
    """`phase` 1 or 2, or 3: the stream reported it."""

    def __init__(self, phase: int, code: int, text: str) -> None:
        super().__init__(f"phase {phase}: {code} {text}")
        self.phase, self.code, self.text = phase, code, text


@dataclass(frozen=True)
class Scalar:
    value: float | int | bool

    def dtype(self) -> np.dtype[Any]:
        kinds = {bool: "bool", int: "int64", float: "float64"}
        return np.dtype(kinds[type(self.value)])


@dataclass
class View:
    """Part of an array, in its strides, which a tensor is given as; or all of it. `result` holds what the
    device has of the whole afterwards."""

    whole: np.ndarray[Any, Any]
    part: np.ndarray[Any, Any]
    result: np.ndarray[Any, Any] = field(init=False)

    def after(self) -> np.ndarray[Any, Any]:
        """The part as the operator left it."""
        item = self.whole.itemsize
        offset = self.part.__array_interface__["data"][0] - self.whole.__array_interface__["data"][0]
        flat = self.result.reshape(-1)[offset // item :]
        return np.lib.stride_tricks.as_strided(flat, self.part.shape, self.part.strides)


def some(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray[Any, Any]:
    """Normally distributed numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype(DTYPES[dtype])


def whole(array: np.ndarray[Any, Any]) -> View:
    kept = np.ascontiguousarray(array).reshape(array.shape)
    return View(kept, kept)


def empty(*shape: int, dtype: Any = np.float32) -> View:
    """Of an output: filled with a number that it should not keep."""
    return whole(np.full(shape, 77, dtype))


def packed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array on the device: two integers of 4 bits share one, the first in its lower half."""
    if array.dtype.name != "int4":
        return array
    flat = array.astype(np.int8).reshape(-1) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.int8)).view(np.uint8)
    return flat[::2] | flat[1::2] << 4


class Device:
    """Device 0, with the objects of one call at a time."""

    def __init__(self) -> None:
        self.acl = ctypes.CDLL(str(Path(ascend_ep.__file__).parent / "lib" / "libascendcl.so"))
        for name in ("aclCreateTensor", "aclCreateScalar", "aclCreateIntArray", "aclCreateBoolArray"):
            getattr(self.acl, name).restype = ctypes.c_void_p
        self.acl.aclCreateTensorList.restype = self.acl.aclCreateScalarList.restype = ctypes.c_void_p
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.first = self.acl.aclInit(None) == 0
        assert self.acl.aclrtSetDevice(0) == 0

    def close(self) -> None:
        self.acl.aclrtResetDevice(0)
        if self.first:
            self.acl.aclFinalize()

    def error(self) -> str:
        return (self.acl.aclGetRecentErrMsg() or b"").decode()

    def tensor(self, view: View, memory: list[tuple[ctypes.c_void_p, View]]) -> ctypes.c_void_p:
        held = packed(view.whole)
        at, bytes_ = ctypes.c_void_p(), held.nbytes
        assert self.acl.aclrtMalloc(ctypes.byref(at), ctypes.c_size_t(bytes_ + 32), 0) == 0
        memory.append((at, view))
        if bytes_:
            self.copy(at, held.ctypes.data, bytes_, TO_DEVICE)
        item, part = view.whole.itemsize, view.part
        offset = part.__array_interface__["data"][0] - view.whole.__array_interface__["data"][0]
        dims = (ctypes.c_int64 * max(part.ndim, 1))(*part.shape)
        strides = (ctypes.c_int64 * max(part.ndim, 1))(*(s // item for s in part.strides))
        storage = (ctypes.c_int64 * 1)(view.whole.size)
        rank, one = ctypes.c_uint64(part.ndim), ctypes.c_uint64(1)
        start = ctypes.c_int64(offset // item if bytes_ else 0)
        made = self.acl.aclCreateTensor(
            dims, rank, TYPES[part.dtype.name], strides, start, ND, storage, one, at
        )
        assert made, self.error()
        return ctypes.c_void_p(made)

    def copy(self, to: Any, source: Any, size: int, kind: int) -> None:
        bytes_ = ctypes.c_size_t(size)
        assert self.acl.aclrtMemcpy(to, bytes_, ctypes.c_void_p(source), bytes_, kind) == 0, self.error()

    def argument(self, value: Any, memory: list[tuple[ctypes.c_void_p, View]]) -> Any:
        if value is None:
            return ctypes.c_void_p()
        if isinstance(value, View):
            return self.tensor(value, memory)
        if isinstance(value, Scalar):
            held = np.array(value.value, value.dtype())
            made = self.acl.aclCreateScalar(ctypes.c_void_p(held.ctypes.data), TYPES[held.dtype.name])
            return ctypes.c_void_p(made)
        if isinstance(value, np.dtype):
            return ctypes.c_int(TYPES[value.name])
        if isinstance(value, list):
            items = [self.argument(v, memory) for v in value]
            array = (ctypes.c_void_p * len(items))(*(i.value for i in items))
            maker = "aclCreateTensorList" if isinstance(value[0], View) else "aclCreateScalarList"
            return ctypes.c_void_p(getattr(self.acl, maker)(array, ctypes.c_uint64(len(items))))
        if isinstance(value, tuple):
            bools = bool(value) and isinstance(value[0], bool)
            numbers = ((ctypes.c_bool if bools else ctypes.c_int64) * max(len(value), 1))(*value)
            maker = "aclCreateBoolArray" if bools else "aclCreateIntArray"
            return ctypes.c_void_p(getattr(self.acl, maker)(numbers, ctypes.c_uint64(len(value))))
        if isinstance(value, ctypes.c_float):
            return value
        if isinstance(value, str):
            return ctypes.c_char_p(value.encode())
        if isinstance(value, float):
            return ctypes.c_double(value)
        return ctypes.c_int64(value)

    def call(self, name: str, *arguments: Any) -> None:
        """Both phases, and the wait. Views of the arguments then have a `result`. Raises Failed."""
        memory: list[tuple[ctypes.c_void_p, View]] = []
        given = [self.argument(a, memory) for a in arguments]
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        prepare, launch = getattr(self.acl, f"aclnn{name}GetWorkspaceSize"), getattr(self.acl, f"aclnn{name}")
        try:
            self.check(1, prepare(*given, ctypes.byref(size), ctypes.byref(executor)))
            self.check(2, launch(ctypes.c_void_p(), size, executor, ctypes.c_void_p()))
            self.check(3, self.acl.aclrtSynchronizeStream(ctypes.c_void_p()))
            for at, view in memory:
                view.result = np.empty_like(packed(view.whole))
                if view.result.nbytes:
                    self.copy(ctypes.c_void_p(view.result.ctypes.data), at.value, view.result.nbytes, TO_HOST)
        finally:
            for at, _ in memory:
                self.acl.aclrtFree(at)

    def check(self, phase: int, code: int) -> None:
        if code:
            raise Failed(phase, code, self.error())


def views(array: np.ndarray[Any, Any]) -> Sequence[View]:
    """The array as it is given by itself, as every second element, as a transpose, and behind an offset."""
    shape = array.shape
    found = [whole(array)]
    if array.ndim:
        wider = np.zeros((*shape[:-1], 2 * shape[-1] + 1), array.dtype)
        wider[..., 1::2] = array
        found.append(View(wider, wider[..., 1::2]))
        turned = np.ascontiguousarray(array.T)
        found.append(View(turned, turned.T))
    longer = np.zeros((3, *shape), array.dtype)
    longer[1] = array
    return [*found, View(longer, longer[1])]
