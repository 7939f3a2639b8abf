"""Long arrays of numbers in an inference request, read before the rest of its JSON and without a Python
object for each number (native/binding/numbers.c): faster, and other threads run meanwhile.

The arrays behind keys "data" are cut out, and `[0]`, `[1]` and so on stand in their places: what a client
wrote can't look like that, for it would have been cut out itself. A quote within a string has a backslash
before it, so a cut can't begin within one; a text with backslashes outside of the cuts isn't cut at all, as
it could write a key in another way.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
import numpy as np

from ascend_ep.serving._numbers import read
from ascend_ep.serving.datatypes import DTYPES
from ascend_ep.serving.request import Array
from ascend_ep.serving.tensors import element_count

from .json_tensors import LARGEST, array_from_json

#: JSON from this size on is searched for arrays; beyond the second, their values would take too much memory.
LONG, _TOO_LONG = 64 << 10, 16 << 20
#: A text with more keys "data" is no request that can be answered.
_MOST = 256
_DATA = re.compile(rb'"data"[ \t\r\n]*:[ \t\r\n]*(?=\[)')
_MARK = re.compile(rb"\[(\d+)\]")
_EXACT = 2.0**53  # integers up to here are what they were written as


class _Numbers(NamedTuple):
    """Where an array stands in the text, and its values; whole: all are written as integers."""

    start: int
    end: int
    values: np.ndarray[tuple[int], np.dtype[np.float64]]
    whole: bool


class CutJson:
    """`text` has marks in the place of its arrays of numbers."""

    def __init__(self, whole: memoryview) -> None:
        self._whole = whole
        self._numbers: list[_Numbers] = []
        self.text: memoryview | bytes = whole
        if LONG <= len(whole) <= _TOO_LONG:
            self._cut()

    def _cut(self) -> None:
        pieces: list[memoryview | bytes] = []
        at = keys = 0
        while found := _DATA.search(self._whole, at):
            keys += 1
            start = found.end()
            if keys > _MOST:
                self._numbers.clear()
                return
            array = read(self._whole, start)
            if array is None:
                pieces.append(self._whole[at:start])
                at = start
                continue
            values, end, written_whole = array
            pieces += [self._whole[at:start], b"[%d]" % len(self._numbers)]
            self._numbers.append(_Numbers(start, end, np.frombuffer(values), written_whole))
            at = end
        text = b"".join([*pieces, self._whole[at:]])
        if b"\\" in text:
            self._numbers.clear()
        else:
            self.text = text

    def undo(self) -> bool:
        """Makes `text` what was sent, and tells whether it was something else."""
        changed = bool(self._numbers)
        self._numbers.clear()
        self.text = self._whole
        return changed

    def array(self, name: str, datatype: str, shape: list[int], data: msgspec.Raw) -> Array:
        """As array_from_json, `data` being from `text`."""
        mark = _MARK.fullmatch(data) if self._numbers else None
        if mark is None:
            return array_from_json(name, datatype, shape, data)
        count = element_count(shape, name)
        numbers = self._numbers[int(mark[1])]
        array = _converted(numbers, datatype)
        if array is None or array.size != count:
            return array_from_json(
                name, datatype, shape, msgspec.Raw(self._whole[numbers.start : numbers.end])
            )
        return array.reshape(shape)


def _converted(numbers: _Numbers, datatype: str) -> Array | None:
    """None for what another datatype or more precision is needed for."""
    values, dtype = numbers.values, DTYPES.get(datatype)
    if dtype is None or not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    if dtype.kind == "f":
        return values.astype(dtype) if max(high, -low) <= LARGEST[datatype] else None
    if dtype.kind not in "iu" or not numbers.whole or max(high, -low) > _EXACT:
        return None
    array = values.astype(np.int64).astype(dtype)
    return array if int(array.min()) == low and int(array.max()) == high else None
