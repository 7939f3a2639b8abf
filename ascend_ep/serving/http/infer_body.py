"""Inference requests in HTTP: JSON, with tensors in it or in binary behind it."""

from __future__ import annotations

import msgspec

from ascend_ep.errors import AscendError
from ascend_ep.serving.parameters import PROFILE, take_parameters, wants_profile
from ascend_ep.serving.request import Array, InferRequest
from ascend_ep.serving.settings import Limits
from ascend_ep.serving.tensors import array_from_raw

from .json_numbers import CutJson
from .message import Body, Request

HEADER_LENGTH = "inference-header-content-length"

_Parameters = dict[str, bool | int | float | str | None]
_ABSENT = msgspec.Raw(b"")
_NULL = msgspec.Raw(b"null")


class Tensor(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    shape: list[int]
    datatype: str
    parameters: _Parameters | None = None
    data: msgspec.Raw = _ABSENT


class Wanted(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    parameters: _Parameters | None = None


class InferBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """model_name and model_version are in what some clients send; the path is what counts."""

    inputs: list[Tensor]
    id: str | None = None
    parameters: _Parameters | None = None
    outputs: list[Wanted] | None = None
    model_name: str | None = None
    model_version: str | None = None


class Parsed(msgspec.Struct):
    """binary: whether each output goes in binary; binary_by_default: what holds for outputs that aren't
    named; classes: how many best classes of an output are wanted in the place of its values."""

    request: InferRequest
    binary: dict[str, bool]
    binary_by_default: bool
    classes: dict[str, int]


_decoder = msgspec.json.Decoder(InferBody)
_NONE: _Parameters = {}


def json_size(request: Request, body: int) -> int:
    """How much of a body of that size is JSON; the rest are binary tensors. Raises AscendError E50001."""
    declared = request.headers.get(HEADER_LENGTH)
    if declared is None:
        return body
    if not (declared.isascii() and declared.isdecimal() and len(declared) < 12):
        raise AscendError("E50001", "Inference-Header-Content-Length is no number")
    return int(declared)


def parse(request: Request, body: Body, model: str, version: str, limits: Limits) -> Parsed:
    """`body`: the request's, without its compression. Raises AscendError E50001 or E50004 when it isn't an
    inference request."""
    size = json_size(request, len(body))
    if size > len(body):
        raise AscendError("E50001", f"Inference-Header-Content-Length is {size} of {len(body)} bytes")
    limits.check_text(size)
    whole = memoryview(body)
    cut = CutJson(whole[:size])
    try:
        decoded = _decoded(cut)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AscendError("E50001", f"the inference request is no valid JSON of its kind: {error}") from None
    wanted = decoded.outputs or ()
    if len(decoded.inputs) > limits.tensors or len(wanted) > limits.tensors:
        raise AscendError("E50001", f"there are more than {limits.tensors} tensors")
    parameters = decoded.parameters or _NONE
    by_default = _flag(parameters, "binary_data_output", False)
    made = InferRequest(
        model,
        version,
        _inputs(decoded.inputs, cut, whole[size:]),
        tuple([tensor.name for tensor in wanted]),
        decoded.id or "",
        {k: v for k, v in parameters.items() if v is not None},
        key=request.headers.get("x-ascend-key", ""),
        traceparent=request.headers.get("traceparent", ""),
        profile=wants_profile(request.headers.get(PROFILE, "")),
    )
    if parameters:
        take_parameters(made)
    parsed = Parsed(made, {}, by_default, {})
    for tensor in wanted:
        _take_wanted(tensor, parsed)
    return parsed


def _decoded(cut: CutJson) -> InferBody:
    try:
        return _decoder.decode(cut.text)
    except msgspec.MsgspecError:
        if not cut.undo():
            raise
        return _decoder.decode(cut.text)  # its error has the places of what was sent


def _inputs(tensors: list[Tensor], cut: CutJson, rest: memoryview) -> dict[str, Array]:
    inputs: dict[str, Array] = {}
    at = 0
    for tensor in tensors:
        name = tensor.name
        if name in inputs:
            raise AscendError("E50004", name, "this input is there twice")
        parameters = tensor.parameters or _NONE
        size = parameters.get("binary_data_size")
        has_data = tensor.data is not _ABSENT and tensor.data != _NULL
        if size is None:
            if not has_data or "shared_memory_region" in parameters:
                _refuse_absent(name, parameters)
            inputs[name] = cut.array(name, tensor.datatype, tensor.shape, tensor.data)
            continue
        if type(size) is not int or not 0 <= size <= len(rest) - at:
            raise AscendError("E50004", name, f"binary_data_size is {size}; {len(rest) - at} bytes are left")
        if has_data:
            raise AscendError("E50004", name, "it has both data and binary_data_size")
        inputs[name] = array_from_raw(name, tensor.datatype, tensor.shape, rest[at : at + size])
        at += size
    if at != len(rest):
        raise AscendError("E50001", f"{len(rest) - at} bytes follow the last binary tensor")
    return inputs


def _refuse_absent(name: str, parameters: _Parameters) -> None:
    if "shared_memory_region" in parameters:
        raise AscendError("E50004", name, "shared memory isn't supported; send its data")
    raise AscendError("E50004", name, "it has neither data nor binary_data_size")


def _take_wanted(tensor: Wanted, parsed: Parsed) -> None:
    parameters = tensor.parameters or _NONE
    if "shared_memory_region" in parameters:
        raise AscendError("E50004", tensor.name, "shared memory isn't supported; it is sent in the answer")
    parsed.binary[tensor.name] = _flag(parameters, "binary_data", parsed.binary_by_default)
    classes = parameters.get("classification")
    if classes is not None:
        if type(classes) is not int or not 1 <= classes < 2**31:
            raise AscendError("E50004", tensor.name, "classification is no count of classes")
        parsed.classes[tensor.name] = classes


def _flag(parameters: _Parameters, name: str, default: bool) -> bool:
    value = parameters.get(name, default)
    if value is True or value is False:
        return value
    if value is None:
        return default
    raise AscendError("E50001", f"parameter [{name}] is neither true nor false")
