"""Element types at the rim of a session: ONNX numbers, onnxruntime's type names, numpy's dtypes."""

from __future__ import annotations

from functools import cache

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
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}

#: Types that numpy lacks: their names in ml_dtypes, and the bits of an element.
_EXTENDED = {
    16: ("bfloat16", 16),
    17: ("float8_e4m3fn", 8),
    18: ("float8_e4m3fnuz", 8),
    19: ("float8_e5m2", 8),
    20: ("float8_e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4_e2m1fn", 4),
    24: ("float8_e8m0fnu", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
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
    """numpy's dtype of an ONNX element type. What numpy lacks is that of ml_dtypes, where narrow types take a
    byte each; without ml_dtypes, unsigned integers of that size."""
    return _extended_dtype(dtype) if dtype in _EXTENDED else _NUMPY[dtype]


def extended_bits(dtype: int) -> int:
    """The bits of an element of a type that numpy lacks; 0 for other types."""
    return _EXTENDED[dtype][1] if dtype in _EXTENDED else 0


def matches(array: NDArray[np.generic], dtype: int) -> bool:
    """Whether an array's elements are of this ONNX type, whatever their byte order. Bit patterns of types
    that numpy lacks may come as unsigned integers of their size."""
    given = array.dtype
    if dtype in _EXTENDED:
        name, bits = _EXTENDED[dtype]
        return given.name == name or (given.kind == "u" and 8 * given.itemsize == bits)
    if dtype == STRING:
        return given.kind in "OUST"
    wanted = _NUMPY.get(dtype)
    return wanted is not None and given.kind == wanted.kind and given.itemsize == wanted.itemsize


@cache
def _extended_dtype(dtype: int) -> np.dtype[np.generic]:
    name, bits = _EXTENDED[dtype]
    try:
        import ml_dtypes

        found: np.dtype[np.generic] = np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return np.dtype(np.uint16 if bits == 16 else np.uint8)
    return found


def number_of(dtype: np.dtype[np.generic]) -> int:
    """The ONNX element type of a numpy dtype."""
    extended = next((number for number, (name, _) in _EXTENDED.items() if name == dtype.name), 0)
    if extended:
        return extended
    if dtype.kind in "UST":
        return STRING
    return next(number for number, known in _NUMPY.items() if known == dtype)


def number_of_name(name: str) -> int:
    """The ONNX element type of `tensor(float)` and so on; 0 for what is no tensor."""
    return next((n for n, known in NAMES.items() if name == f"tensor({known})"), 0)


def dtype_of_name(name: str) -> np.dtype[np.generic] | None:
    """numpy's dtype of `tensor(float)` and so on; None for types that hold no numbers."""
    number = number_of_name(name)
    return numpy_dtype(number) if number == BFLOAT16 or (number in _NUMPY and number != STRING) else None
