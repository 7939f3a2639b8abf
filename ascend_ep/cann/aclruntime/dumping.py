"""Dumps of tensors: the same feeds, run by AscendCL under an acl.json that asks for them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.cann.pyacl.modules import make

from .failure import Failure
from .shape_choice import Shape, ShapeChoice

Array = NDArray[Any]
TO_DEVICE = 1
INITIALIZED = 100002  # before: counted


class Dumper:
    """A model in AscendCL, beside the session that gives results. A call that fails is a Failure E45003."""

    def __init__(self, model_path: str, settings: str | os.PathLike[str], device: int, shapes: ShapeChoice):
        self._acl, self._device, self._shapes = make(), device, shapes
        code = self._acl.init()
        self._done("init", 0 if code == INITIALIZED else code)
        self._done("rt.set_device", self._acl.rt.set_device(device))
        self._done("mdl.init_dump", self._acl.mdl.init_dump())
        try:
            self._done("mdl.set_dump", self._acl.mdl.set_dump(str(settings)))
            self._model, code = self._acl.mdl.load_from_file(model_path)
            self._done("mdl.load_from_file", code)
        finally:
            self._acl.mdl.finalize_dump()  # what is loaded stays dumped
        self._desc = self._acl.mdl.create_desc()
        self._done("mdl.get_desc", self._acl.mdl.get_desc(self._desc, self._model))

    def _done(self, call: str, code: int) -> None:
        if code:
            raise Failure("E45003", f"acl.{call}", f"{code}: {self._acl.get_recent_err_msg()}")

    def run(self, feed: Mapping[str, Array], shapes: Sequence[Shape]) -> None:
        """One execution, whose results are dropped: what it dumps is in files."""
        acl = self._acl
        inputs, outputs = acl.mdl.create_dataset(), acl.mdl.create_dataset()
        made = []
        for i in range(acl.mdl.get_num_inputs(self._desc)):
            size = acl.mdl.get_input_size_by_index(self._desc, i)
            name = acl.mdl.get_input_name_by_index(self._desc, i)
            data = np.ascontiguousarray(feed[name]).tobytes() if name in feed else b""
            address, code = acl.rt.malloc(max(size, len(data), 1), 0)
            self._done("rt.malloc", code)
            if data:
                source = acl.util.bytes_to_ptr(data)
                self._done("rt.memcpy", acl.rt.memcpy(address, len(data), source, len(data), TO_DEVICE))
            buffer = acl.create_data_buffer(address, max(size, len(data)))
            acl.mdl.add_dataset_buffer(inputs, buffer)
            made.append((address, buffer))
        for _ in range(acl.mdl.get_num_outputs(self._desc)):  # the runtime brings their memory
            buffer = acl.create_data_buffer(0, 0)
            acl.mdl.add_dataset_buffer(outputs, buffer)
        try:
            self._choose(inputs, shapes, feed)
            self._done("mdl.execute", acl.mdl.execute(self._model, inputs, outputs))
        finally:
            for i in range(acl.mdl.get_dataset_num_buffers(outputs)):
                buffer = acl.mdl.get_dataset_buffer(outputs, i)
                made.append((acl.get_data_buffer_addr(buffer), buffer))
            for address, buffer in made:
                if address:
                    acl.rt.free(address)
                acl.destroy_data_buffer(buffer)
            acl.mdl.destroy_dataset(inputs)
            acl.mdl.destroy_dataset(outputs)

    def _choose(self, inputs: int, shapes: Sequence[Shape], feed: Mapping[str, Array]) -> None:
        """The profile, or the sizes within ranges."""
        mdl, kind = self._acl.mdl, self._shapes.kind
        edges = self._shapes.inputs
        if kind == "static":
            return
        if kind == "dymshape":
            for i, (edge, shape) in enumerate(zip(edges, shapes, strict=True)):
                number = self._acl.mdl.get_input_data_type(self._desc, i)
                desc = self._acl.create_tensor_desc(number, list(shape), 2)
                _, code = mdl.set_dataset_tensor_desc(inputs, desc, i)
                self._done(f"mdl.set_dataset_tensor_desc [{edge.name}]", code)
            return
        index, code = mdl.get_input_index_by_name(self._desc, "ascend_mbatch_shape_data")
        self._done("mdl.get_input_index_by_name", code)
        free = [
            size
            for edge, shape in zip(edges, shapes, strict=True)
            for dim, size in zip(edge.dims, shape, strict=True)
            if not isinstance(dim, int)
        ]
        if kind == "dymbatch":
            code = mdl.set_dynamic_batch_size(self._model, inputs, index, free[0])
        elif kind == "dymhw":
            code = mdl.set_dynamic_hw_size(self._model, inputs, index, *free[:2])
        else:
            dims = list(itertools.chain.from_iterable(shapes))
            given = {"name": "", "dimCount": len(dims), "dims": dims}
            code = mdl.set_input_dynamic_dims(self._model, inputs, index, given)
        self._done(f"mdl: the profile of {shapes}", code)

    def end(self) -> None:
        """Unloads the model, and ends AscendCL if it isn't used otherwise."""
        self._acl.mdl.destroy_desc(self._desc)
        self._acl.mdl.unload(self._model)
        self._acl.rt.reset_device(self._device)
        self._acl.finalize()
