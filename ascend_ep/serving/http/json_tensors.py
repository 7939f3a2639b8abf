"""Tensors as JSON arrays, flat or nested, row-major.

msgspec checks each element's type and range as it decodes: no text among numbers, no fractions among
integers, nothing that its datatype can't hold. Long flat arrays are decoded in blocks, so that Python's
objects never take many times the body's size.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

import msgspec
import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.request import Array
from ascend_ep.serving.tensors import MAX_RANK, check_texts, element_count

_BLOCK = 1 << 20
#: Elements that are written at once.
_MANY = 1 << 16
#: Data that can't be cut into blocks (nested, or text) may have so many bytes.
_WHOLE = 16 << 20
LARGEST = {
    "FP16": 65504.0,
    "BF16": (2 - 2.0**-7) * 2.0**127,
    "FP32": (2 - 2.0**-23) * 2.0**127,
    "FP64": sys.float_info.max,
}
_OPENING = re.compile(rb"[\s\[]*")


def array_from_json(name: str, datatype: str, shape: list[int], data: msgspec.Raw) -> Array:
    """Raises AscendError E50004 unless data are the elements of that datatype and shape."""
    dtype = DTYPES.get(datatype)
    if dtype is None:
        raise AscendError("E50004", name, f"[{datatype}] is no datatype ({', '.join(DTYPES)})")
    count = element_count(shape, name)
    if datatype == BYTES:
        check_texts(name, count)
    text = memoryview(data)
    opening = _OPENING.match(text)
    depth = opening[0].count(b"[") if opening else 0
    if not 1 <= depth <= MAX_RANK:
        raise AscendError("E50004", name, f"its data is no array nested at most {MAX_RANK} deep")
    try:
        array = _decoded(text, datatype, dtype, depth, name)
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError) as error:
        raise AscendError("E50004", name, f"its data isn't all {datatype}: {error}") from None
    if len(array) != count:
        raise AscendError("E50004", name, f"its shape {shape} takes {count} elements; {len(array)} were sent")
    return array.reshape(shape)


def json_from_array(array: Array, datatype: str, name: str) -> list[Any] | msgspec.Raw:
    """All elements in a row. Raises AscendError E50020 for what JSON can't hold."""
    flat = array.ravel()
    if datatype == BYTES:
        return [e if isinstance(e, str) else _as_text(e, name) for e in flat.tolist()]
    if datatype in ("FP16", "BF16"):
        flat = flat.astype(np.float32)
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise AscendError("E50020", name, str(flat[~np.isfinite(flat)][0]))
    if flat.size <= _MANY:
        values: list[Any] = flat.tolist()
        return values
    pieces = (msgspec.json.encode(flat[at : at + _MANY].tolist())[1:-1] for at in range(0, flat.size, _MANY))
    return msgspec.Raw(b"[" + b",".join(pieces) + b"]")


def _decoded(text: memoryview, datatype: str, dtype: np.dtype[np.generic], depth: int, name: str) -> Array:
    decoder = _decoder(datatype, depth)
    if len(text) <= _BLOCK:
        return _array(decoder.decode(text), dtype, depth)
    if depth == 1 and datatype != BYTES:
        return np.concatenate([_array(decoder.decode(block), dtype, 1) for block in _blocks(text)])
    if len(text) > _WHOLE:
        raise AscendError("E50004", name, "so much data has to be sent in binary, or numbers unnested")
    return _array(decoder.decode(text), dtype, depth)


def _array(values: list[Any], dtype: np.dtype[np.generic], depth: int) -> Array:
    for _ in range(depth - 1):
        values = list(itertools.chain.from_iterable(values))
    if dtype.kind != "O":
        return np.array(values, dtype)
    elements = np.empty(len(values), object)
    elements[:] = values
    return elements


def _blocks(text: memoryview) -> Iterator[bytes]:
    """An array of numbers as several; between two of its commas nothing but a number can be valid."""
    whole = bytes(text).strip()
    if not whole.endswith(b"]"):
        raise msgspec.DecodeError("the array doesn't end")
    at, last = 1, len(whole) - 1
    while at <= last:
        comma = whole.find(b",", at + _BLOCK, last)
        end = comma if comma >= 0 else last
        block = whole[at:end]
        if not block.strip() and (at > 1 or comma >= 0):
            raise msgspec.DecodeError("an element is missing")
        yield b"[" + block + b"]"
        at = end + 1


@cache
def _decoder(datatype: str, depth: int) -> msgspec.json.Decoder[Any]:
    element: Any = _element_type(datatype)
    for _ in range(depth):
        element = list[element]
    return msgspec.json.Decoder(element)


def _element_type(datatype: str) -> Any:
    dtype = DTYPES[datatype]
    if datatype == BYTES:
        return str
    if dtype.kind == "b":
        return bool
    if datatype == "UINT64":  # numpy refuses what is beyond: bounds of msgspec are those of INT64
        return Annotated[int, msgspec.Meta(ge=0)]
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        low, high = (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return Annotated[int, msgspec.Meta(ge=low, le=high)]
    largest = LARGEST[datatype]
    return Annotated[float, msgspec.Meta(ge=-largest, le=largest)]


def _as_text(element: object, name: str) -> str:
    try:
        return element.decode() if isinstance(element, bytes) else str(element)
    except UnicodeDecodeError:
        raise AscendError("E50020", name, "bytes that are no text") from None
