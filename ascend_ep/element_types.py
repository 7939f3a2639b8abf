"""Element types: one row each, with every name that something here has for it.

ONNX's numbers say which type is meant everywhere, in the files of bundles too (ascend_rt.h, ASC_FLOAT32..).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

FLOAT32, UINT8, INT8, UINT16, INT16, INT32, INT64 = 1, 2, 3, 4, 5, 6, 7
STRING, BOOL, FLOAT16, FLOAT64, UINT32, UINT64 = 8, 9, 10, 11, 12, 13
COMPLEX64, COMPLEX128, BFLOAT16 = 14, 15, 16
FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ = 17, 18, 19, 20
UINT4, INT4, FLOAT4E2M1, FLOAT8E8M0, UINT2, INT2 = 21, 22, 23, 24, 25, 26


@dataclass(frozen=True)
class ElementType:
    """number: ONNX's. name: in definitions of operators. ort: in onnxruntime's tensor(...). array: numpy's
    name of it, or that of ml_dtypes; "" where no array holds it. bits: of an element, 0 where they vary.

    Names elsewhere, "" where it has none: protocol (Open Inference Protocol), atc (its --output_type), ge
    (the graph engine), c (Ascend C), short (in generated functions). ge_number, acl: its numbers in ge.proto
    and in aclDataType; -1 where it has none."""

    number: int
    name: str
    ort: str
    array: str
    bits: int
    protocol: str
    atc: str
    ge: str
    ge_number: int
    acl: int
    c: str
    short: str

    @property
    def is_numpy(self) -> bool:
        """Whether numpy itself has it."""
        return bool(self.array) and self.number <= UINT64


#: The columns as the fields of ElementType; "-" is none.
_TABLE = """
 # name           ort            array           bits protocol atc    ge            no. acl c          short
 1 float32        float          float32           32 FP32     FP32   DT_FLOAT        1   0 float      f32
 2 uint8          uint8          uint8              8 UINT8    UINT8  DT_UINT8        4   4 uint8_t    u8
 3 int8           int8           int8               8 INT8     INT8   DT_INT8         3   2 int8_t     i8
 4 uint16         uint16         uint16            16 UINT16   UINT16 DT_UINT16       6   7 uint16_t   u16
 5 int16          int16          int16             16 INT16    INT16  DT_INT16        5   6 int16_t    i16
 6 int32          int32          int32             32 INT32    INT32  DT_INT32        7   3 int32_t    i32
 7 int64          int64          int64             64 INT64    INT64  DT_INT64        8   9 int64_t    i64
 8 string         string         object             0 BYTES    -      DT_STRING      13   - -          -
 9 bool           bool           bool               8 BOOL     -      DT_BOOL        11  12 uint8_t    b8
10 float16        float16        float16           16 FP16     FP16   DT_FLOAT16      2   1 half       f16
11 float64        double         float64           64 FP64     DOUBLE DT_DOUBLE      12  11 -          f64
12 uint32         uint32         uint32            32 UINT32   UINT32 DT_UINT32       9   8 uint32_t   u32
13 uint64         uint64         uint64            64 UINT64   UINT64 DT_UINT64      10  10 uint64_t   u64
14 complex64      complex64      -                 64 -        -      DT_COMPLEX64   16   - -          -
15 complex128     complex128     -                128 -        -      DT_COMPLEX128  17   - -          -
16 bfloat16       bfloat16       bfloat16          16 BF16     -      DT_BF16        27  27 bfloat16_t bf16
17 float8e4m3fn   float8e4m3fn   float8_e4m3fn      8 -        -      -               -   - -          -
18 float8e4m3fnuz float8e4m3fnuz float8_e4m3fnuz    8 -        -      -               -   - -          -
19 float8e5m2     float8e5m2     float8_e5m2        8 -        -      -               -   - -          -
20 float8e5m2fnuz float8e5m2fnuz float8_e5m2fnuz    8 -        -      -               -   - -          -
21 uint4          uint4          uint4              4 -        -      -               -   - -          -
22 int4           int4           int4               4 -        -      -               -   - -          -
23 float4e2m1     float4e2m1     float4_e2m1fn      4 -        -      -               -   - -          -
24 float8e8m0     float8e8m0     float8_e8m0fnu     8 -        -      -               -   - -          -
25 uint2          uint2          uint2              2 -        -      -               -   - -          -
26 int2           int2           int2               2 -        -      -               -   - -          -
"""


def _row(line: str) -> ElementType:
    number, name, ort, array, bits, protocol, atc, ge, ge_number, acl, c, short = (
        "" if word == "-" else word for word in line.split()
    )
    numbers = int(ge_number or -1), int(acl or -1)
    return ElementType(int(number), name, ort, array, int(bits), protocol, atc, ge, *numbers, c, short)


#: Every type, by number.
ELEMENT_TYPES = {row.number: row for row in map(_row, _TABLE.strip().splitlines()[1:])}


def type_name(dtype: int) -> str:
    """`tensor(float)` and so on, as onnxruntime writes it."""
    return f"tensor({element_name(dtype)})" if dtype else "undefined"


def element_name(dtype: int) -> str:
    """`float` and so on."""
    return ELEMENT_TYPES[dtype].ort if dtype in ELEMENT_TYPES else "undefined"


def numpy_dtype(dtype: int) -> np.dtype[np.generic]:
    """numpy's dtype of an ONNX element type. What numpy lacks is that of ml_dtypes, where narrow types take a
    byte each; without ml_dtypes, unsigned integers of that size."""
    row = ELEMENT_TYPES[dtype]
    if not row.array:
        raise KeyError(dtype)
    return _numpy_dtype(row)


def extended_bits(dtype: int) -> int:
    """The bits of an element of a type that numpy lacks; 0 for other types."""
    return ELEMENT_TYPES[dtype].bits if _is_extended(dtype) else 0


def _is_extended(dtype: int) -> bool:
    row = ELEMENT_TYPES.get(dtype)
    return row is not None and bool(row.array) and not row.is_numpy


def matches(array: NDArray[np.generic], dtype: int) -> bool:
    """Whether an array's elements are of this ONNX type, whatever their byte order. Bit patterns of types
    that numpy lacks may come as unsigned integers of their size."""
    given = array.dtype
    row = ELEMENT_TYPES.get(dtype)
    if row is None or not row.array:
        return False
    if not row.is_numpy:
        return given.name == row.array or (given.kind == "u" and 8 * given.itemsize == row.bits)
    if dtype == STRING:
        return given.kind in "OUST"
    wanted = _numpy_dtype(row)
    return given.kind == wanted.kind and given.itemsize == wanted.itemsize


@cache
def _numpy_dtype(row: ElementType) -> np.dtype[np.generic]:
    if row.is_numpy:
        return np.dtype(row.array)
    try:
        import ml_dtypes

        found: np.dtype[np.generic] = np.dtype(getattr(ml_dtypes, row.array))
    except (ImportError, AttributeError):
        return np.dtype(np.uint16 if row.bits == 16 else np.uint8)
    return found


def number_of(dtype: np.dtype[np.generic]) -> int:
    """The ONNX element type of a numpy dtype. Raises TypeError where no tensor has it."""
    if dtype.kind in "UST":
        return STRING
    found = {row.array: row.number for row in ELEMENT_TYPES.values() if row.array and row.bits}
    if dtype.name not in found:
        raise TypeError(f"no tensor has the type {dtype.name}")
    return found[dtype.name]


def number_of_name(name: str) -> int:
    """The ONNX element type of `tensor(float)` and so on; 0 for what is no tensor."""
    return next((row.number for row in ELEMENT_TYPES.values() if name == f"tensor({row.ort})"), 0)


def dtype_of_name(name: str) -> np.dtype[np.generic] | None:
    """numpy's dtype of `tensor(float)` and so on; None for types that hold no numbers."""
    number = number_of_name(name)
    holds = number == BFLOAT16 or (number != STRING and number != 0 and ELEMENT_TYPES[number].is_numpy)
    return numpy_dtype(number) if holds else None
