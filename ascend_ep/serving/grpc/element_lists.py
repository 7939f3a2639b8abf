"""Tensors as lists of elements in InferTensorContents, for clients that don't send raw bytes.

What is made element by element is limited in number: it keeps the event loop from everything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.request import Array
from ascend_ep.serving.tensors import check_texts, element_count, text_of

from .wire import LENGTH_DELIMITED, read_varint, varint

#: Where the elements of a datatype are when they aren't raw. FP16 and BF16 have no such list.
LISTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    BYTES: "bytes_contents",
}
#: Datatypes whose packed list is their raw bytes.
_PACKED = frozenset(("BOOL", "FP32", "FP64"))
_MOST_OTHERS = 1 << 20
#: Types of list elements that are wider than the tensor's.
_WIDE = {"INT8": np.int32, "INT16": np.int32, "UINT8": np.uint32, "UINT16": np.uint32}


def fits_list(array: Array, datatype: str) -> bool:
    """Whether it can be given as a list of elements."""
    return datatype in LISTS and (datatype in _PACKED or array.size <= _MOST_OTHERS)


def array_from_list(tensor: Any) -> Array:
    """Raises AscendError E50004 unless the one list of the datatype holds all elements of the shape."""
    name, datatype = tensor.name, tensor.datatype
    wanted = LISTS.get(datatype)
    if wanted is None:
        if datatype in DTYPES:
            raise AscendError("E50004", name, f"{datatype} goes in raw_input_contents only")
        raise AscendError("E50004", name, f"[{datatype}] is no datatype ({', '.join(DTYPES)})")
    shape = list(tensor.shape)
    count = element_count(shape, name)
    given = [field.name for field, _ in tensor.contents.ListFields()]
    if given and given != [wanted]:
        raise AscendError("E50004", name, f"elements of {datatype} go in {wanted}, not in {', '.join(given)}")
    values = getattr(tensor.contents, wanted)
    if len(values) != count:
        raise AscendError(
            "E50004", name, f"{datatype}{shape} takes {count} elements; {len(values)} were sent"
        )
    if datatype in _PACKED:
        return _packed(tensor.contents, wanted, datatype, count).reshape(shape)
    if datatype == BYTES:
        check_texts(name, count)
        texts = np.empty(count, object)
        texts[:] = [text_of(value, name) for value in values]
        return texts.reshape(shape)
    if count > _MOST_OTHERS:
        raise AscendError("E50004", name, f"more than {_MOST_OTHERS} elements go in raw_input_contents")
    return _narrowed(np.array(values, _WIDE.get(datatype, DTYPES[datatype])), datatype, name).reshape(shape)


def put_list(tensor: Any, array: Array, datatype: str) -> None:
    """Adds all elements of an array that fits."""
    field = LISTS[datatype]
    if datatype in _PACKED and array.size:
        raw = np.ascontiguousarray(array).tobytes()
        tensor.contents.MergeFromString(b"".join((_tag(tensor.contents, field), varint(len(raw)), raw)))
    else:
        getattr(tensor.contents, field).extend(_elements(array, datatype))


def _packed(contents: Any, field: str, datatype: str, count: int) -> Array:
    """The only known field of the message, so its bytes are the first."""
    dtype = DTYPES[datatype]
    if not count:
        return np.empty(0, dtype)
    data = contents.SerializeToString()
    _, at = read_varint(data, len(_tag(contents, field)))
    return np.frombuffer(data, dtype, count, at).copy()


def _tag(contents: Any, field: str) -> bytes:
    return varint(contents.DESCRIPTOR.fields_by_name[field].number << 3 | LENGTH_DELIMITED)


def _narrowed(array: Array, datatype: str, name: str) -> Array:
    made = array.astype(DTYPES[datatype], copy=False)
    if made is not array and not np.array_equal(made, array):
        raise AscendError("E50004", name, f"an element is out of the range of {datatype}")
    return made


def _elements(array: Array, datatype: str) -> Iterable[object]:
    elements: list[object] = array.ravel().tolist()
    if datatype == BYTES:
        return [e if isinstance(e, bytes) else str(e).encode() for e in elements]
    return elements
