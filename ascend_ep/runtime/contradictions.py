"""What the sizes of a feed contradict of what a model declares, where a bundle has a plan made without it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ascend_ep.errors import AscendError

from .binding import Model, ffi, lib, new_status
from .bundle import Bundle
from .bundle_records import Edge

#: Answers that are kept.
MOST = 64


class Contradiction:
    def __init__(self, model: Model, why: Any) -> None:
        self._model = model
        self._why = why

    def say(self) -> None:
        """Warns of it, the first time in the life of the open bundle."""
        lib.asc_model_say_apart(self._model.pointer, self._why)


def contradiction_of(bundle: Bundle, error: AscendError) -> Contradiction:
    """What `error` says, after which the plan made without what the model declares has run."""
    why = new_status()
    text = f"{error.where}: {error.text}".encode()
    why.text = text[: ffi.sizeof(why.text) - 1]
    return Contradiction(bundle.model, why)


class Contradictions:
    """Asked with a model's inputs: what their sizes contradict. None without a plan made without names."""

    def __init__(self, bundle: Bundle, inputs: Sequence[Edge]) -> None:
        self._model = bundle.model if bundle.apart is not None else None
        self._are_tensors = [edge.dtype != 0 for edge in inputs]
        self._known: dict[tuple[tuple[int, ...], ...], Contradiction | None] = {}
        self._lock = threading.Lock()

    def __call__(self, arrays: Sequence[Any]) -> Contradiction | None:
        if self._model is None:
            return None
        shapes = tuple([a.shape if t else () for a, t in zip(arrays, self._are_tensors, strict=True)])
        try:
            return self._known[shapes]
        except KeyError:
            return self._look(self._model, shapes)

    def _look(self, model: Model, shapes: tuple[tuple[int, ...], ...]) -> Contradiction | None:
        tensors = ffi.new("asc_tensor[]", len(shapes) or 1)
        for tensor, shape in zip(tensors, shapes, strict=False):
            tensor.rank = len(shape)
            tensor.dims[0 : len(shape)] = shape
        why = new_status()
        hold = lib.asc_model_names_hold(model.pointer, tensors, len(shapes), why)
        found = None if hold else Contradiction(model, why)
        with self._lock:
            while len(self._known) >= MOST:
                self._known.pop(next(iter(self._known)))
            self._known[shapes] = found
        return found
