"""Element types by name: ONNX's numbers, the names that definitions may use, and msopgen's type sets."""

from __future__ import annotations

import numpy.typing as npt

from ascend_ep.element_types import (
    BFLOAT16,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    ELEMENT_TYPES,
    FLOAT8E4M3FN,
    FLOAT8E4M3FNUZ,
    FLOAT8E5M2,
    FLOAT8E5M2FNUZ,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT2,
    INT4,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT2,
    UINT4,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    numpy_dtype,
)

__all__ = [
    "BFLOAT16",
    "BOOL",
    "COMPLEX64",
    "COMPLEX128",
    "COMPUTE_FLOATS",
    "FLOAT8E4M3FN",
    "FLOAT8E4M3FNUZ",
    "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ",
    "FLOAT8_LARGEST",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "FLOATS",
    "INT2",
    "INT4",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "INTEGERS",
    "NAMES",
    "NUMBERS",
    "NUMPY",
    "SETS",
    "SIGNED",
    "STORED",
    "STRING",
    "SUB_BYTE",
    "UINT2",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "UNSIGNED",
    "name",
]

#: The canonical name of each element type that definitions name.
NAMES: dict[int, str] = {n: row.name for n, row in ELEMENT_TYPES.items() if n <= BFLOAT16}

#: Types that no definition names: they are stored, moved and cast, never computed with.
STORED: dict[int, str] = {
    n: ELEMENT_TYPES[n].name
    for n in (FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ, UINT4, INT4, UINT2, INT2)
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
    n: numpy_dtype(n) for n, row in ELEMENT_TYPES.items() if row.is_numpy and n != STRING
}


def name(dtype: int) -> str:
    """The canonical name of an element type number."""
    return NAMES.get(dtype) or STORED.get(dtype, f"type {dtype}")
