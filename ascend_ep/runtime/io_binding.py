"""IOBinding with onnxruntime's method names."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ascend_ep.errors import AscendError

from . import refused_members
from .ort_value import Array, OrtValue, check_device, dtype_of


class Bound(Protocol):
    """A session, as far as a binding needs one: its inputs and outputs, which have names."""

    def get_inputs(self) -> Sequence[Any]: ...

    def get_outputs(self) -> Sequence[Any]: ...


@refused_members.refuse(refused_members.BINDING)
class IOBinding:
    """Inputs and outputs of a session bound to memory, for `run_with_iobinding`."""

    def __init__(self, session: Bound) -> None:
        self._inputs = {arg.name: arg for arg in session.get_inputs()}
        self._outputs = {arg.name: arg for arg in session.get_outputs()}
        self.feed: dict[str, Any] = {}
        self._targets: dict[str, Array | None] = {}
        self._results: dict[str, Any] = {}
        self._places: list[Array | None] | None = None
        self._wanted: list[tuple[str, int]] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        self._check(name, self._inputs, "input")
        self.feed[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: Any) -> None:
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Binds memory of the caller, who keeps it alive."""
        check_device(device_type, device_id)
        self.bind_cpu_input(name, _array_at(buffer_ptr, shape, element_type))

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds an output to memory of the caller, or to new memory of each run when no pointer is given."""
        check_device(device_type, device_id)
        self._check(name, self._outputs, "output")
        self._places = None
        if buffer_ptr is None:
            self._targets[name] = None
        elif element_type is None or shape is None:
            raise AscendError("E40001", f"output [{name}] has a pointer but no element type or shape")
        else:
            self._targets[name] = _array_at(buffer_ptr, shape, element_type)

    def bind_ortvalue_output(self, name: str, ortvalue: Any) -> None:
        """Binds an output to the memory of an OrtValue, ours or onnxruntime's."""
        self._check(name, self._outputs, "output")
        self._places = None
        if isinstance(ortvalue, OrtValue):
            self._targets[name] = ortvalue.numpy()
        else:
            self._targets[name] = _array_at(ortvalue.data_ptr(), ortvalue.shape(), ortvalue.element_type())

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: inputs are in CPU memory."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: a run returns when its outputs are written."""

    def get_outputs(self) -> list[OrtValue]:
        """The bound outputs of the last run, in the order they were bound."""
        return [OrtValue(self._results[name]) for name in self._targets if name in self._results]

    def copy_outputs_to_cpu(self) -> list[Array]:
        """Copies of the bound outputs of the last run, in the order they were bound."""
        return [np.array(self._results[name]) for name in self._targets if name in self._results]

    def clear_binding_inputs(self) -> None:
        self.feed.clear()

    def clear_binding_outputs(self) -> None:
        self._places = None
        self._targets.clear()
        self._results.clear()

    def targets(self) -> Mapping[str, Array | None]:
        """Where each bound output goes; None: new memory."""
        return dict(self._targets)

    def places(self) -> list[Array | None]:
        """Per output of the model the memory it goes to; None: new memory. Raises AscendError E40001 when no
        output is bound."""
        if self._places is None:
            if not self._targets:
                fix = "Call bind_output for every wanted output."
                raise AscendError("E40001", "no output is bound", fix=fix)
            self._wanted = [(name, i) for i, name in enumerate(self._outputs) if name in self._targets]
            self._places = [self._targets.get(name) for name in self._outputs]
        return self._places

    def receive(self, results: Mapping[str, Any]) -> None:
        """Takes the results of a run."""
        self._results = dict(results)

    def receive_all(self, results: list[Any]) -> None:
        """Takes all outputs of a run to `places`."""
        self._results = {name: results[i] for name, i in self._wanted}

    def _check(self, name: str, known: Mapping[str, Any], kind: str) -> None:
        if name not in known:
            raise AscendError("E40001", f"[{name}] is no {kind}", fix=f"The {kind}s are {', '.join(known)}.")


def _array_at(pointer: int, shape: Sequence[int], element_type: Any) -> Array:
    dtype = dtype_of(element_type)
    count = int(np.prod(shape, dtype=np.int64))
    if count < 0 or (count and not pointer):
        raise AscendError("E40001", f"no buffer of shape {list(shape)} is at {pointer:#x}")
    if not count:
        return np.empty(tuple(shape), dtype)
    raw = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(pointer)
    return np.asarray(memoryview(raw)).view(dtype).reshape(tuple(shape))
