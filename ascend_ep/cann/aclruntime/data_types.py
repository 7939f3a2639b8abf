"""Element types and places of memory, by the numbers that ACL gives them."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from ascend_ep.element_types import BFLOAT16, ELEMENT_TYPES, FLOAT64, numpy_dtype


class _Shown(IntEnum):
    """An enum that prints as `dtype.float32`."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"

    def __format__(self, form: str) -> str:
        return format(str(self), form)


#: ONNX's numbers of the types that a tensor may have, by name.
_ONNX = {
    "double" if number == FLOAT64 else row.name: number
    for number, row in ELEMENT_TYPES.items()
    if row.acl >= 0 and (row.is_numpy or number == BFLOAT16)
}

make_enum: Any = _Shown
dtype = make_enum("dtype", {name: ELEMENT_TYPES[number].acl for name, number in _ONNX.items()})
memory_type = make_enum("type", {"memory_host": 0, "memory_device": 1, "memory_dvpp": 2})


@cache
def array_type(which: int) -> np.dtype[np.generic]:
    """numpy's type of elements with this number of ACL's."""
    return numpy_dtype(_ONNX[dtype(which).name])


@cache
def of_onnx(number: int) -> Any:
    """The dtype with this number of ONNX's. KeyError where ACL has none."""
    return dtype[next((name for name, onnx in _ONNX.items() if onnx == number), str(number))]


@cache
def of_array(kind: np.dtype[np.generic]) -> Any:
    """The dtype of an array's elements; uint8, bytes, for what ACL has no number of."""
    return next((d for d in dtype if array_type(d) == kind), dtype.uint8)
