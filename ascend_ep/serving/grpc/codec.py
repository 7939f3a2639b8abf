"""Inference requests and answers between the protocol's messages and what the service takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.classification import best_classes
from ascend_ep.serving.datatypes import BYTES
from ascend_ep.serving.parameters import take_parameters
from ascend_ep.serving.protocol.messages import ModelInferResponse
from ascend_ep.serving.request import Array, InferRequest, InferResponse, Parameter
from ascend_ep.serving.settings import Limits
from ascend_ep.serving.tensors import Buffer, array_from_raw, raw_from_array

from .element_lists import array_from_list, fits_list, put_list
from .wire import write_response

#: Asks for the mark of the last answer of a request in a stream; here every answer is.
_ASKS_FINAL, _FINAL = "triton_enable_empty_final_response", "triton_final_response"


@dataclass(slots=True)
class Parsed:
    """typed: the inputs came as lists of elements, and so do the outputs go where they can. classes: how many
    of its best classes take an output's place, by its name."""

    request: InferRequest
    typed: bool
    classes: dict[str, int]


def decode(message: Any, raws: Sequence[Buffer], limits: Limits) -> Parsed:
    """The request in a ModelInferRequest, whose raw_input_contents are given apart. Raises AscendError E50001
    or E50004."""
    if len(message.inputs) > limits.tensors or len(message.outputs) > limits.tensors:
        raise AscendError("E50001", f"there are more than {limits.tensors} tensors")
    if raws and len(raws) != len(message.inputs):
        raise AscendError(
            "E50001", f"raw_input_contents has {len(raws)} entries for {len(message.inputs)} inputs"
        )
    inputs: dict[str, Array] = {}
    for i, tensor in enumerate(message.inputs):
        name = tensor.name
        if name in inputs:
            raise AscendError("E50004", name, "this input is there twice")
        if tensor.parameters:
            _refuse_shared_memory(tensor)
        if not raws:
            inputs[name] = array_from_list(tensor)
        elif tensor.HasField("contents"):
            raise AscendError("E50004", name, "it has both contents and raw_input_contents")
        else:
            inputs[name] = array_from_raw(name, tensor.datatype, list(tensor.shape), raws[i])
    classes: dict[str, int] = {}
    for output in message.outputs:
        if output.parameters:
            _take_classes(output, classes)
    request = InferRequest(
        message.model_name,
        message.model_version,
        inputs,
        tuple(output.name for output in message.outputs),
        message.id,
        _values(message.parameters) if message.parameters else {},
    )
    if request.parameters:
        take_parameters(request)
    return Parsed(request, not raws and bool(inputs), classes)


def encode(response: InferResponse, parsed: Parsed) -> bytes:
    """The bytes of a ModelInferResponse. Raises AscendError E50004 for an output that has no classes."""
    message = ModelInferResponse(model_name=response.model, model_version=response.version, id=response.id)
    _put_parameters(message.parameters, response.parameters)
    if parsed.request.parameters.get(_ASKS_FINAL) is True:
        message.parameters[_FINAL].bool_param = True
    typed = parsed.typed and all(fits_list(array, datatype) for _, datatype, array in response.outputs)
    raws: list[memoryview] = []
    for name, datatype, array in response.outputs:
        if name in parsed.classes:
            datatype, array = BYTES, best_classes(array, parsed.classes[name], name)
        tensor = message.outputs.add(name=name, datatype=datatype, shape=array.shape)
        if typed:
            put_list(tensor, array, datatype)
        else:
            raws.append(raw_from_array(array, datatype))
    return write_response(message, raws)


def _values(parameters: Mapping[str, Any]) -> dict[str, Parameter]:
    """Raises AscendError E50001 for a parameter without a value."""
    made: dict[str, Parameter] = {}
    for name, parameter in parameters.items():
        which = parameter.WhichOneof("parameter_choice")
        if which is None:
            raise AscendError("E50001", f"parameter [{name[:100]}] has no value")
        made[name] = getattr(parameter, which)
    return made


def _put_parameters(message: Any, parameters: Mapping[str, Parameter]) -> None:
    for name, value in parameters.items():
        if isinstance(value, bool):
            message[name].bool_param = value
        elif isinstance(value, int):
            message[name].int64_param = value
        elif isinstance(value, float):
            message[name].double_param = value
        else:
            message[name].string_param = value


def _take_classes(output: Any, classes: dict[str, int]) -> None:
    _refuse_shared_memory(output)
    if "classification" in output.parameters:
        count = output.parameters["classification"].int64_param
        if not 1 <= count < 2**31:
            raise AscendError("E50004", output.name, "classification is no count of classes")
        classes[output.name] = count


def _refuse_shared_memory(tensor: Any) -> None:
    if "shared_memory_region" in tensor.parameters:
        raise AscendError("E50004", tensor.name, "shared memory isn't supported; it is sent in the message")
