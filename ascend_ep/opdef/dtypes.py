"""Element types by name: ONNX's numbers, the names that definitions may use, and msopgen's type sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FLOAT32, UINT8, INT8, UINT16, INT16, INT32, INT64 = 1, 2, 3, 4, 5, 6, 7
STRING, BOOL, FLOAT16, FLOAT64, UINT32, UINT64 = 8, 9, 10, 11, 12, 13
COMPLEX64, COMPLEX128, BFLOAT16 = 14, 15, 16
FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ = 17, 18, 19, 20
UINT4, INT4, UINT2, INT2 = 21, 22, 25, 26

#: The canonical name of each element type.
NAMES: dict[int, str] = {
    FLOAT32: "float32",
    UINT8: "uint8",
    INT8: "int8",
    UINT16: "uint16",
    INT16: "int16",
    INT32: "int32",
    INT64: "int64",
    STRING: "string",
    BOOL: "bool",
    FLOAT16: "float16",
    FLOAT64: "float64",
    UINT32: "uint32",
    UINT64: "uint64",
    COMPLEX64: "complex64",
    COMPLEX128: "complex128",
    BFLOAT16: "bfloat16",
}

#: Types that no definition names: they are stored, moved and cast, never computed with.
STORED: dict[int, str] = {
    FLOAT8E4M3FN: "float8e4m3fn",
    FLOAT8E4M3FNUZ: "float8e4m3fnuz",
    FLOAT8E5M2: "float8e5m2",
    FLOAT8E5M2FNUZ: "float8e5m2fnuz",
    UINT4: "uint4",
    INT4: "int4",
    UINT2: "uint2",
    INT2: "int2",
}

#: The largest finite number of each float8.
FLOAT8_LARGEST = {FLOAT8E4M3FN: 448.0, FLOAT8E4M3FNUZ: 240.0, FLOAT8E5M2: 57344.0, FLOAT8E5M2FNUZ: 57344.0}
#: Types of less than a byte: here an element takes the low bits of one; onnxruntime packs them.
SUB_BYTE = frozenset({UINT4, INT4, UINT2, INT2})

#: Every accepted name of one element type: the canonical ones and msopgen's synonyms.
NUMBERS: dict[str, int] = {name: number for number, name in NAMES.items()} | {
    "float": FLOAT32,
    "fp32": FLOAT32,
    "half": FLOAT16,
    "fp16": FLOAT16,
    "bf16": BFLOAT16,
    "double": FLOAT64,
}

FLOATS = frozenset({FLOAT16, BFLOAT16, FLOAT32, FLOAT64})
#: The types a kernel written for one of them serves after casts: atc's precision modes choose among these.
COMPUTE_FLOATS = (FLOAT32, FLOAT16, BFLOAT16)
SIGNED = (INT8, INT16, INT32, INT64)
UNSIGNED = (UINT8, UINT16, UINT32, UINT64)
INTEGERS = frozenset({*SIGNED, *UNSIGNED})

_REAL = (FLOAT32, FLOAT16, BFLOAT16, FLOAT64, *SIGNED, *UNSIGNED)

#: Names that stand for several element types.
SETS: dict[str, tuple[int, ...]] = {
    "all": (*_REAL, BOOL, STRING, COMPLEX64, COMPLEX128),
    "BasicType": (*_REAL, BOOL, COMPLEX64, COMPLEX128),
    "numbertype": (*_REAL, COMPLEX64, COMPLEX128),
    "realnumbertype": _REAL,
    "quantizedtype": (),
    "IndexNumberType": (INT32, INT64),
}

#: numpy's type of each element type that numpy itself has.
NUMPY: dict[int, npt.DTypeLike] = {
    FLOAT32: np.float32,
    UINT8: np.uint8,
    INT8: np.int8,
    UINT16: np.uint16,
    INT16: np.int16,
    INT32: np.int32,
    INT64: np.int64,
    BOOL: np.bool_,
    FLOAT16: np.float16,
    FLOAT64: np.float64,
    UINT32: np.uint32,
    UINT64: np.uint64,
}


def name(dtype: int) -> str:
    """The canonical name of an element type number."""
    return NAMES.get(dtype) or STORED.get(dtype, f"type {dtype}")
