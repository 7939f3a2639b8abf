"""Arrays from and to files: .npy, and .bin with a type and a shape; and how two differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import array_file, atomic_file, regular_file
from ascend_ep.element_types import BFLOAT16, number_of, numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes

Array = NDArray[Any]
_BINARY = re.compile(r"(?P<file>.+?):(?P<type>\w+)(?::\[?(?P<dims>[\d, ]*)\]?)?")
#: rtol and atol of a comparison by element type, where none are given: some units in the last place, which a
#: kernel's intermediate roundings need.
TOLERANCES: dict[int, tuple[float, float]] = {
    dtypes.FLOAT32: (1e-4, 1e-4),
    dtypes.FLOAT16: (1e-3, 1e-3),
    dtypes.BFLOAT16: (1e-2, 1e-2),
    dtypes.FLOAT64: (1e-4, 1e-4),
}


def read_array(text: str, flag: str) -> Array:
    """`x.npy`, or `x.bin:float16:[8,2048]` (without a shape: one dimension). Raises AscendError E41010,
    E43103."""
    match = _BINARY.fullmatch(text)
    name = match["file"] if match and not Path(text).exists() else text
    path = Path(name)
    regular_file.need(path)
    if path.suffix == ".npy":
        return _read_npy(path)
    if match is None:
        fix = f"Write {name}:float16:[8,2048]."
        raise AscendError("E43103", text, flag, "a file of bytes needs its element type and shape", fix=fix)
    number = dtypes.NUMBERS.get(match["type"])
    if number is None:
        raise AscendError("E43103", text, flag, f"there is no type {match['type']}")
    values = np.frombuffer(regular_file.read(path), numpy_dtype(number))
    if match["dims"] is None:
        return values
    dims = [int(d) for d in match["dims"].split(",") if d.strip()]
    if int(np.prod(dims, dtype=np.int64)) != values.size:
        raise AscendError("E43103", text, flag, f"the file has {values.size} elements")
    return values.reshape(dims)


def _read_npy(path: Path) -> Array:
    try:
        array = array_file.load_one(path)
    except (OSError, ValueError) as error:
        raise AscendError("E41010", path, error) from None
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:  # numpy's way of writing bfloat16
        return array.view(numpy_dtype(BFLOAT16))
    try:
        number_of(array.dtype)
    except TypeError as error:
        raise AscendError("E41010", path, error) from None
    return np.ascontiguousarray(array)


def write_array(path: Path, array: Array) -> None:
    """A .npy or .bin file."""
    with atomic_file.replacing(path, synced=False) as file:
        if path.suffix == ".npy":
            np.save(file, array)
        else:
            file.write(array.tobytes())


@dataclass(frozen=True)
class Difference:
    """largest: distance, of the element `at`, which has `value` where `wanted` should be. beyond: elements
    that differ by more than the tolerance."""

    largest: float
    at: tuple[int, ...]
    value: float
    wanted: float
    beyond: int
    rtol: float
    atol: float

    def __str__(self) -> str:
        place = f" at {list(self.at)}: {self.value:g}, expected {self.wanted:g}" if self.largest else ""
        text = f"largest difference {self.largest:.3g}{place} (rtol {self.rtol:g}, atol {self.atol:g})"
        return f"{self.beyond} elements differ; {text}" if self.beyond else text


def difference(
    made: Array, wanted: Array, rtol: float | None = None, atol: float | None = None
) -> Difference:
    """How far two arrays of one shape differ; NaN equals NaN."""
    number = next(
        (n for n in dtypes.NAMES if n in (*dtypes.NUMPY, BFLOAT16) and numpy_dtype(n) == made.dtype), 0
    )
    usual = TOLERANCES.get(number, (0.0, 0.0))
    rtol, atol = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    a, b = np.asarray(made, np.float64), np.asarray(wanted, np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        far = np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))
        beyond = int(np.sum(far > atol + rtol * np.abs(np.nan_to_num(b))))
    if not far.size:
        return Difference(0.0, (), 0.0, 0.0, 0, rtol, atol)
    at = np.unravel_index(int(np.argmax(far)), far.shape)
    place = tuple(int(i) for i in at)
    return Difference(float(far[at]), place, float(a[at]), float(b[at]), beyond, rtol, atol)
