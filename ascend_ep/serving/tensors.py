"""Tensors on the wire: raw little-endian elements; of BYTES, each behind its length in four bytes.

In arrays the elements of BYTES are text (`str`), as sessions take and give them: onnxruntime would make the
text "b'...'" of a bytes object.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

import numpy as np

from ascend_ep.errors import AscendError

from .datatypes import BYTES, DTYPES
from .request import Array

MAX_RANK = 8
#: Elements of BYTES in one tensor: each is an object, which takes its time to make.
MAX_TEXTS = 1 << 18
#: Bytes that are copied in less time than numpy needs to make another view of them.
_COPIED = 4096
Buffer = memoryview | bytes


def element_count(shape: Sequence[object], name: str) -> int:
    """The number of elements of a claimed shape. Raises AscendError E50004 unless it is at most MAX_RANK
    sizes of 0 or more, with a product below 2^40."""
    if len(shape) > MAX_RANK:
        raise AscendError("E50004", name, f"it has {len(shape)} dimensions; {MAX_RANK} are the most")
    for size in shape:
        if type(size) is not int or not 0 <= size < 2**40:
            raise AscendError("E50004", name, f"its shape {list(shape)} has a size that is no count")
    count = math.prod(shape)  # type: ignore[arg-type]
    if count >= 2**40:
        raise AscendError("E50004", name, f"its shape {list(shape)} has too many elements")
    return count


def array_from_raw(name: str, datatype: str, shape: Sequence[int], raw: Buffer) -> Array:
    """The bytes as an aligned array of that type and shape: a view of them where they are aligned (BYTES: a
    new array of str). Raises AscendError E50004 when they don't fit each other."""
    dtype = DTYPES.get(datatype)
    if dtype is None:
        raise AscendError("E50004", name, f"[{datatype}] is no datatype ({', '.join(DTYPES)})")
    count = element_count(shape, name)
    if datatype == BYTES:
        return _bytes_elements(name, raw, count).reshape(shape)
    if len(raw) != count * dtype.itemsize:
        raise AscendError(
            "E50004",
            name,
            f"{datatype}{list(shape)} takes {count * dtype.itemsize} bytes; {len(raw)} were sent",
        )
    array = np.frombuffer(raw, dtype, count)
    if not array.flags.aligned:  # a small tensor, behind JSON of any length: native code takes aligned ones
        array = array.copy()
    return array.reshape(shape)


def raw_from_array(array: Array, datatype: str) -> memoryview:
    """The elements of an array as they go onto the wire; without a copy where it is contiguous and large."""
    if datatype == BYTES:
        return memoryview(_joined(array.ravel().tolist()))
    if array.nbytes <= _COPIED:
        return memoryview(array.tobytes())
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def text_of(element: Buffer, name: str) -> str:
    """An element of BYTES. Raises AscendError E50004 when it is no text."""
    try:
        return str(element, "utf-8")
    except UnicodeDecodeError as error:
        raise AscendError("E50004", name, f"an element of BYTES is no UTF-8 ({error.reason})") from None


def check_texts(name: str, count: int) -> None:
    """Raises AscendError E50004 for more elements of BYTES than a tensor may have."""
    if count > MAX_TEXTS:
        raise AscendError("E50004", name, f"it has {count} elements of BYTES; {MAX_TEXTS} are the most")


def _bytes_elements(name: str, raw: Buffer, count: int) -> Array:
    check_texts(name, count)
    if 4 * count > len(raw):
        raise AscendError("E50004", name, f"{count} BYTES elements take at least {4 * count} bytes")
    elements = np.empty(count, object)
    at = 0
    for i in range(count):
        if at + 4 > len(raw):
            raise AscendError("E50004", name, f"its bytes end before element {i} of {count}")
        (size,) = struct.unpack_from("<I", raw, at)
        at += 4
        if at + size > len(raw):
            raise AscendError("E50004", name, f"element {i} of {count} is longer than what was sent")
        elements[i] = text_of(raw[at : at + size], name)
        at += size
    if at != len(raw):
        raise AscendError("E50004", name, f"{len(raw) - at} bytes follow its last element")
    return elements


def _joined(elements: Iterable[object]) -> bytes:
    encoded = (e if isinstance(e, bytes) else str(e).encode() for e in elements)
    return b"".join(struct.pack("<I", len(e)) + e for e in encoded)
