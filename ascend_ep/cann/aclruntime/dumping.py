"""Dumps of tensors: the same feeds, run by AscendCL under an acl.json that asks for them."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.cann.pyacl.modules import make

from .failure import Failure
from .shape_choice import Shape, ShapeChoice

Array = NDArray[Any]
TO_DEVICE = 1
INITIALIZED = 100002  # before: counted
RUNS_WITHOUT = "Without [dump] in the settings the model runs."


class Dumper:
    """A model in AscendCL, beside the session that gives results. A call that fails is a Failure E45003.

    Any thread may run it: AscendCL's context is the dumper's for a run, and then again what it was.
    """

    def __init__(self, model_path: str, settings: str | os.PathLike[str], device: int, shapes: ShapeChoice):
        self._acl, self._shapes = make(), shapes
        with ExitStack() as ends:
            self._open(ends, model_path, str(settings), device)
            self._end = weakref.finalize(self, ends.pop_all().close)

    def _open(self, ends: ExitStack, model_path: str, settings: str, device: int) -> None:
        acl = self._acl
        code = acl.init()
        self._done("init", 0 if code == INITIALIZED else code)
        ends.callback(acl.finalize)
        before, none = acl.rt.get_context()
        self._done("rt.set_device", acl.rt.set_device(device))
        ends.callback(acl.rt.reset_device, device)
        self._context, code = acl.rt.get_context()
        self._done("rt.get_context", code)
        try:
            self._done("mdl.init_dump", acl.mdl.init_dump(), f"Take [dump] out of {settings}.")
            try:
                self._done("mdl.set_dump", acl.mdl.set_dump(settings), f"Correct [dump] in {settings}.")
                self._model, code = acl.mdl.load_from_file(model_path)
                self._done("mdl.load_from_file", code)
            finally:
                acl.mdl.finalize_dump()  # what is loaded stays dumped
            ends.callback(acl.mdl.unload, self._model)
            self._desc = acl.mdl.create_desc()
            ends.callback(acl.mdl.destroy_desc, self._desc)
            self._done("mdl.get_desc", acl.mdl.get_desc(self._desc, self._model))
        finally:
            if not none:
                acl.rt.set_context(before)

    def _done(self, call: str, code: int, fix: str = RUNS_WITHOUT) -> None:
        if code:
            text = str(self._acl.get_recent_err_msg()).strip()
            raise Failure("E45003", f"acl.{call}", f"{code}: {text.removesuffix('.')}", fix=fix)

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        """This thread's context is the dumper's."""
        before, none = self._acl.rt.get_context()
        self._done("rt.set_context", self._acl.rt.set_context(self._context))
        try:
            yield
        finally:
            if not none:
                self._acl.rt.set_context(before)

    def run(self, feed: Mapping[str, Array], shapes: Sequence[Shape]) -> None:
        """One execution, whose results are dropped: what it dumps is in files."""
        mdl = self._acl.mdl
        with self._on_device(), ExitStack() as ends:
            inputs, outputs = self._dataset(ends), self._dataset(ends)
            for i in range(mdl.get_num_inputs(self._desc)):
                self._add_input(ends, inputs, i, feed)
            for _ in range(mdl.get_num_outputs(self._desc)):
                self._add_output(ends, outputs)
            self._choose(ends, inputs, shapes)
            self._done("mdl.execute", mdl.execute(self._model, inputs, outputs))

    def _dataset(self, ends: ExitStack) -> int:
        made: int = self._acl.mdl.create_dataset()
        ends.callback(self._acl.mdl.destroy_dataset, made)
        return made

    def _add_input(self, ends: ExitStack, inputs: int, i: int, feed: Mapping[str, Array]) -> None:
        acl = self._acl
        size = acl.mdl.get_input_size_by_index(self._desc, i)
        name = acl.mdl.get_input_name_by_index(self._desc, i)
        data = np.ascontiguousarray(feed[name]).tobytes() if name in feed else b""
        address, code = acl.rt.malloc(max(size, len(data), 1), 0)
        self._done("rt.malloc", code)
        ends.callback(acl.rt.free, address)
        if data:
            source = acl.util.bytes_to_ptr(data)
            self._done("rt.memcpy", acl.rt.memcpy(address, len(data), source, len(data), TO_DEVICE))
        buffer = acl.create_data_buffer(address, max(size, len(data)))
        ends.callback(acl.destroy_data_buffer, buffer)
        acl.mdl.add_dataset_buffer(inputs, buffer)

    def _add_output(self, ends: ExitStack, outputs: int) -> None:
        """One for which the runtime brings memory."""
        buffer = self._acl.create_data_buffer(0, 0)
        acl = self._acl

        def free() -> None:
            if address := acl.get_data_buffer_addr(buffer):
                acl.rt.free(address)
            acl.destroy_data_buffer(buffer)

        ends.callback(free)
        acl.mdl.add_dataset_buffer(outputs, buffer)

    def _choose(self, ends: ExitStack, inputs: int, shapes: Sequence[Shape]) -> None:
        """The profile, or the sizes within ranges."""
        acl, mdl, kind = self._acl, self._acl.mdl, self._shapes.kind
        if kind == "static":
            return
        if kind == "dymshape":
            for i, (edge, shape) in enumerate(zip(self._shapes.inputs, shapes, strict=True)):
                desc = acl.create_tensor_desc(mdl.get_input_data_type(self._desc, i), list(shape), 2)
                ends.callback(acl.destroy_tensor_desc, desc)
                _, code = mdl.set_dataset_tensor_desc(inputs, desc, i)
                self._done(f"mdl.set_dataset_tensor_desc [{edge.name}]", code)
            return
        index, code = mdl.get_input_index_by_name(self._desc, "ascend_mbatch_shape_data")
        self._done("mdl.get_input_index_by_name", code)
        numbers = self._shapes.numbers_of(shapes)
        if kind == "dymbatch":
            code = mdl.set_dynamic_batch_size(self._model, inputs, index, *numbers)
        elif kind == "dymhw":
            code = mdl.set_dynamic_hw_size(self._model, inputs, index, *numbers)
        else:
            dims = list(itertools.chain.from_iterable(shapes))
            given = {"name": "", "dimCount": len(dims), "dims": dims}
            code = mdl.set_input_dynamic_dims(self._model, inputs, index, given)
        self._done(f"mdl: the profile of {shapes}", code)

    def end(self) -> None:
        """Unloads the model, and ends AscendCL if it isn't used otherwise; so does the end of the dumper."""
        self._end()
