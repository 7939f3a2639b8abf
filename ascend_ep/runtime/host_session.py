"""An onnxruntime session that also takes and gives what its numpy interface can't: bfloat16, float8, and
types of less than a byte, as ml_dtypes has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import extended_bits, number_of_name, numpy_dtype
from ascend_ep.errors import AscendError

from .binding import ffi
from .options import onnxruntime

Array = NDArray[Any]


class HostSession:
    """Runs an onnxruntime InferenceSession on any values; sequences are lists, an absent optional is None."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self._types = {a.name: number_of_name(a.type) for a in session.get_inputs()}
        outputs = {a.name: number_of_name(a.type) for a in session.get_outputs()}
        self._names = list(outputs)
        self._extended = any(map(extended_bits, (*self._types.values(), *outputs.values())))

    def run(self, names: Sequence[str] | None, feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """As onnxruntime's `run`. Raises what that raises, and AscendError E40010 for a value that is no
        tensor beside one of a type that numpy lacks."""
        given = {n: v if type(v) is np.ndarray else _plain(v) for n, v in feed.items()}
        if not self._extended:
            results: list[Any] = self.session.run(names, given, run_options)
            return results
        values = {name: _to_value(name, value, self._types.get(name, 0)) for name, value in given.items()}
        found = self.session.run_with_ort_values(names or self._names, values, run_options)
        return [_from_value(value) for value in found]


def _plain(value: Any) -> Any:
    """numpy's scalars as arrays, also within sequences."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return np.asarray(value) if isinstance(value, np.generic) else value


def _to_value(name: str, value: Any, dtype: int) -> Any:
    """onnxruntime's own value with an array's elements."""
    if not isinstance(value, np.ndarray):
        text = f"[{name}] is no tensor; beside types that numpy lacks, onnxruntime takes tensors only"
        raise AscendError("E40010", text)
    kind, bits = onnxruntime().OrtValue, extended_bits(dtype)
    if not bits:
        return kind.ortvalue_from_numpy(value)
    made = kind.ortvalue_from_shape_and_type(list(value.shape), dtype)
    raw = np.ascontiguousarray(value).reshape(-1).view(f"u{value.dtype.itemsize}")
    body = (raw if bits >= 8 else _pack(raw, bits)).tobytes()
    if body:
        ffi.memmove(ffi.cast("char *", made.data_ptr()), body, len(body))
    return made


def _from_value(value: Any) -> Any:
    bits = extended_bits(value.element_type()) if value.is_tensor() else 0
    if not bits:
        return value.numpy()
    shape, dtype = tuple(value.shape()), numpy_dtype(value.element_type())
    count = int(np.prod(shape))
    if not count:
        return np.empty(shape, dtype)
    body = ffi.buffer(ffi.cast("char *", value.data_ptr()), -(-count * bits // 8))[:]
    raw = np.frombuffer(body, np.uint16 if bits == 16 else np.uint8)
    unpacked = raw if bits >= 8 else _unpack(raw, bits, count, signed=dtype.name.startswith("int"))
    return unpacked.copy().view(dtype).reshape(shape)


def _pack(raw: Array, bits: int) -> Array:
    """Elements of a byte each, of which `bits` count, as ONNX packs them: the first in the low bits."""
    per = 8 // bits
    padded = np.zeros(-(-len(raw) // per) * per, np.uint8)
    padded[: len(raw)] = raw & ((1 << bits) - 1)
    shifts = np.arange(per, dtype=np.uint8) * np.uint8(bits)
    packed: Array = np.bitwise_or.reduce(padded.reshape(-1, per) << shifts, axis=1)
    return packed.astype(np.uint8)


def _unpack(packed: Array, bits: int, count: int, signed: bool) -> Array:
    """The reverse; signed elements get their sign in the byte's upper bits."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
    found: Array = ((packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)[:count]
    sign = np.uint8(1 << (bits - 1))
    return np.subtract(found ^ sign, sign) if signed else found
