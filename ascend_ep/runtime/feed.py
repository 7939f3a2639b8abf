"""What a caller feeds to a session, checked and brought into the form that native code reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, STRING, matches, numpy_dtype, type_name
from ascend_ep.errors import AscendError

from .bundle_records import Edge
from .options import NodeArg

Array = NDArray[Any]
CARRAY = 0x101  # NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED


def check_names(feed: Mapping[str, Any], inputs: Sequence[Edge], where: str) -> None:
    """Raises AscendError E40001 when a name is missing or unknown."""
    if not isinstance(feed, Mapping):
        raise AscendError(
            "E40001", f"the feed is of type {type(feed).__name__}", where=where, fix="Give a dict."
        )
    names = [edge.name for edge in inputs]
    missing = [n for n in names if n not in feed]
    unknown = [str(n) for n in feed if n not in names]
    if missing or unknown:
        what = [f"input [{n}] is missing" for n in missing] + [f"[{n}] is no input" for n in unknown]
        raise AscendError(
            "E40001",
            "; ".join(what),
            where=where,
            fix=f"Feed {', '.join(names)}." if names else "Feed an empty dict.",
        )


def normalise(value: Any, edge: Edge, declared: NodeArg, where: str) -> Any:
    """A contiguous, aligned, native-endian array of the edge's type and rank; anything else is refused.

    bfloat16 comes back as uint16 bit patterns. A value that is no tensor (edge dtype 0) passes as it is.
    """
    if edge.dtype == 0:
        return value
    if not isinstance(value, np.ndarray):
        value = value.numpy() if hasattr(value, "numpy") else _array_of(value, edge, where)
    if not matches(value, edge.dtype):
        raise AscendError(
            "E40001",
            f"input [{edge.name}] has type {value.dtype}; the model takes {type_name(edge.dtype)}",
            where=where,
            fix=f"Convert it: .astype({numpy_dtype(edge.dtype).name!r}).",
        )
    _check_shape(value.shape, edge, declared, where)
    if edge.dtype == STRING:
        return value
    try:
        if value.dtype.byteorder == ">":
            value = value.astype(value.dtype.newbyteorder("="))
        if value.flags.num & CARRAY != CARRAY:
            value = np.array(value, order="C", ndmin=value.ndim)
    except MemoryError as error:
        raise AscendError("E40008", f"input [{edge.name}] can't be copied: {error}", where=where) from error
    return value.view(np.uint16) if edge.dtype == BFLOAT16 else value


def _array_of(value: Any, edge: Edge, where: str) -> Array:
    """Lists and numbers of Python as the model's type, if it holds them; else what numpy makes of them."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise AscendError("E40001", f"input [{edge.name}] is no tensor: {error}", where=where) from error
    if not isinstance(value, list | tuple | int | float | bool) or edge.dtype == STRING:
        return array
    wanted = numpy_dtype(edge.dtype)
    whole = array.dtype.kind in "iub" and wanted.kind in "iu"
    fits = (whole and (array.size == 0 or _holds(wanted, array))) or wanted.kind not in "iub"
    return array.astype(wanted) if fits and array.dtype.kind in "iufb" else array


def _holds(wanted: np.dtype[Any], array: Array) -> bool:
    limits = np.iinfo(wanted)
    return bool(array.min() >= limits.min and array.max() <= limits.max)


def _check_shape(shape: tuple[int, ...], edge: Edge, declared: NodeArg, where: str) -> None:
    fits = len(shape) == len(edge.dims) and all(
        not isinstance(want, int) or want == have for want, have in zip(edge.dims, shape, strict=True)
    )
    if not fits:
        raise AscendError(
            "E40007",
            f"input [{edge.name}] has shape {list(shape)}; the model takes {declared.shape}",
            where=where,
        )
