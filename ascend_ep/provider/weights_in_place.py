"""A model without its weights, which onnxruntime then takes from the model's own file.

onnxruntime reads a whole .onnx file into memory, copies each weight out of that, and keeps the copies until
the session is ready; weights that are external data it maps instead. So it is given the model as bytes whose
large weights are external data, at their places in the .onnx file: nothing is copied until the provider packs
them. That is done only where every operator has a definition here, so that the provider is likely to take all
weights. Names, metadata, and what onnxruntime does to the graph stay the same.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ascend_ep import regular_file
from ascend_ep.provider import shared_options
from ascend_ep.provider.wire import delimited, fields, key, varint
from ascend_ep.runtime.session_calls import entry

#: Bytes from which on a weight is left in the file: mapping one takes as long as copying 64 KB.
LEAST_WEIGHT = 64 << 10
#: Bytes of such weights for which it pays.
LEAST_BYTES = 8 << 20

_MODEL_GRAPH, _GRAPH_INITIALIZER = 7, 5
_TYPE, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 2, 9, 13, 14
_OTHER_DATA = frozenset((3, 4, 5, 6, 7, 10, 11, _EXTERNAL_DATA, _DATA_LOCATION))
_TYPES = frozenset((1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16))  # whole bytes, and no strings
_EXTERNAL = 1

_paths: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def lend(session: Any, session_options: Any) -> bool:
    """Lets the session read its model's weights from their file, where that is possible and pays."""
    if session_options.optimized_model_filepath or entry(session_options, "ep.context_enable") == "1":
        return False  # what is written then would refer to the file, too
    path = Path(os.path.realpath(session._model_path))
    model = without_weights(str(path), str(path.relative_to(path.anchor)))
    # The root: other threads may use the options for models in other folders at the same time.
    if model is None or not shared_options.enter_rooted(session, session_options, path.anchor):
        return False
    _paths[session] = session._model_path
    session._model_path, session._model_bytes = None, model
    return True


def give_back(session: Any) -> None:
    """The session is of its file again, for when it is created anew."""
    path = _paths.pop(session, None)
    if path is not None:
        session._model_path, session._model_bytes = path, None


def without_weights(path: str, location: str) -> bytes | None:
    """The model with its large weights as external data at `location`; None where that doesn't pay."""
    left: list[int] = []
    try:
        place = _external("location", location)
        with regular_file.opened(path) as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

        def tensor(start: int, end: int) -> bytes | None:
            thin = _without_data(view, start, end, place) if end - start >= LEAST_WEIGHT else None
            left.extend([end - start] if thin is not None else [])
            return thin

        def graph(start: int, end: int) -> bytes:
            return _replaced(view, start, end, _GRAPH_INITIALIZER, tensor)

        model = _replaced(view, 0, len(view), _MODEL_GRAPH, graph)
    except (OSError, ValueError):
        return None
    # What lies in other files is looked for beside the path given, perhaps a link; below the root, a model
    # could name any file. The word alone counts, however its length is written.
    if model.count(b"location") != len(left) * place.count(b"location"):
        return None
    return model if sum(left) >= LEAST_BYTES else None


def _without_data(view: memoryview, start: int, end: int, location: bytes) -> bytes | None:
    """A TensorProto whose raw data stays where it is; None for one that has other data, or little."""
    found = list(fields(view, start, end))
    raw = [(a, b) for number, a, b in found if number == _RAW_DATA and b >= 0]
    types = [a for number, a, b in found if number == _TYPE and b < 0]
    if len(raw) != 1 or len(types) != 1 or types[0] not in _TYPES or any(f[0] in _OTHER_DATA for f in found):
        return None
    ((first, last),) = raw
    begin = _header(view, _RAW_DATA, first, last)
    if begin is None or last - first < LEAST_WEIGHT:
        return None
    place = _external("offset", str(first)) + _external("length", str(last - first))
    said = location + place + key(_DATA_LOCATION, 0) + varint(_EXTERNAL)
    return bytes(view[start:begin]) + bytes(view[last:end]) + said


def _external(name: str, value: str) -> bytes:
    """One of external_data. ValueError for what isn't Unicode."""
    return delimited(_EXTERNAL_DATA, delimited(1, name.encode()) + delimited(2, value.encode()))


def _replaced(
    view: memoryview, start: int, end: int, number: int, change: Callable[[int, int], bytes | None]
) -> bytes:
    """A message, with other contents for those of its fields for which `change` has any."""
    pieces: list[bytes | memoryview] = []
    kept = start
    for found, a, b in fields(view, start, end):
        header = _header(view, number, a, b) if found == number and b >= 0 else None
        content = None if header is None else change(a, b)
        if content is not None:
            pieces += [view[kept:header], delimited(number, content)]
            kept = b
    pieces.append(view[kept:end])
    return b"".join(pieces)


def _header(view: memoryview, number: int, start: int, end: int) -> int | None:
    """Where a field begins whose content is this; None where that isn't written as everybody writes it."""
    header = key(number, 2) + varint(end - start)
    begin = start - len(header)
    return begin if begin >= 0 and view[begin:start] == header else None
