"""Element types at the rim of a session: ONNX numbers, onnxruntime's type names, numpy's dtypes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRING = 8
BFLOAT16 = 16

#: onnxruntime's name of tensor(...) for each ONNX element type.
NAMES = {
    1: "float",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "double",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
}

_NUMPY: dict[int, np.dtype[np.generic]] = {
    number: np.dtype(name)
    for number, name in {
        1: "float32",
        2: "uint8",
        3: "int8",
        4: "uint16",
        5: "int16",
        6: "int32",
        7: "int64",
        8: "object",
        9: "bool",
        10: "float16",
        11: "float64",
        12: "uint32",
        13: "uint64",
    }.items()
}


def type_name(dtype: int) -> str:
    """`tensor(float)` and so on, as onnxruntime writes it."""
    return f"tensor({NAMES.get(dtype, 'undefined')})" if dtype else "undefined"


def numpy_dtype(dtype: int) -> np.dtype[np.generic]:
    """numpy's dtype of an ONNX element type; bfloat16 is that of ml_dtypes, or uint16 without it."""
    if dtype == BFLOAT16:
        return _bfloat16()
    return _NUMPY[dtype]


def matches(array: NDArray[np.generic], dtype: int) -> bool:
    """Whether an array's elements are of this ONNX type, whatever their byte order. Bit patterns of
    bfloat16 may come as uint16."""
    given = array.dtype
    if dtype == BFLOAT16:
        return given.name == "bfloat16" or (given.kind == "u" and given.itemsize == 2)
    if dtype == STRING:
        return given.kind in "OUS"
    wanted = _NUMPY.get(dtype)
    return wanted is not None and given.kind == wanted.kind and given.itemsize == wanted.itemsize


def _bfloat16() -> np.dtype[np.generic]:
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    found: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
    return found


def number_of(dtype: np.dtype[np.generic]) -> int:
    """The ONNX element type of a numpy dtype."""
    if dtype.name == "bfloat16":
        return BFLOAT16
    if dtype.kind in "US":
        return STRING
    return next(number for number, known in _NUMPY.items() if known == dtype)


def dtype_of_name(name: str) -> np.dtype[np.generic] | None:
    """numpy's dtype of `tensor(float)` and so on; None for types that hold no numbers."""
    number = next((n for n, known in NAMES.items() if name == f"tensor({known})"), 0)
    return numpy_dtype(number) if number == BFLOAT16 or (number in _NUMPY and number != STRING) else None
