"""Initializers that `SessionOptions.add_initializer` replaces.

onnxruntime puts these values into its own tensors after it has partitioned the graph, so a group compiled
before has the model's. Here they are put into the graph that a group is compiled from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError
from ascend_ep.runtime import session_calls
from ascend_ep.runtime.binding import ffi

if TYPE_CHECKING:
    import onnx

#: onnxruntime's node for a part that was compiled before.
_COMPILED = "EPContext"


def of(session_options: Any) -> dict[str, Any]:
    """By name the OrtValue that the options give an initializer; the last of a name counts."""
    return {args[0]: args[1] for name, args in session_calls.of(session_options) if name == "add_initializer"}


def check(overridden: Mapping[str, Any], operators: set[tuple[str, str]]) -> None:
    """Raises AscendError E40001 where parts were compiled before: their initializers are constants."""
    if overridden and any(name == _COMPILED for _, name in operators):
        raise AscendError(
            "E40001",
            f"the initializer [{next(iter(overridden))}] can't be replaced: the model's compiled parts "
            f"({_COMPILED}) have theirs as constants",
            where="SessionOptions.add_initializer",
            fix="Create the session from the original model.",
        )


def apply(graph: onnx.GraphProto, overridden: Mapping[str, Any]) -> None:
    """Puts the values into the graph's initializers of these names.

    Raises AscendError E40001 for a value of another type or shape, which onnxruntime doesn't check.
    """
    for tensor in graph.initializer if overridden else ():
        value = overridden.get(tensor.name)
        if value is None:
            continue
        if (value.element_type(), list(value.shape())) != (tensor.data_type, list(tensor.dims)):
            raise AscendError(
                "E40001",
                f"the initializer [{tensor.name}] has element type {tensor.data_type} and shape "
                f"{list(tensor.dims)}, its new value {value.element_type()} and {list(value.shape())}",
                where="SessionOptions.add_initializer",
                fix="Give a value of the initializer's type and shape.",
            )
        for field in ("external_data", "data_location", "float_data", "int32_data", "int64_data"):
            tensor.ClearField(field)
        for field in ("double_data", "uint64_data", "string_data"):
            tensor.ClearField(field)
        _fill(tensor, value)


def _fill(tensor: onnx.TensorProto, value: Any) -> None:
    if value.data_type() == "tensor(string)":
        tensor.ClearField("raw_data")
        tensor.string_data.extend(str(text).encode() for text in value.numpy().reshape(-1))
        return
    size = value.tensor_size_in_bytes()
    tensor.raw_data = bytes(ffi.buffer(ffi.cast("char *", value.data_ptr()), size)) if size else b""
