"""Inference requests and answers in HTTP: JSON, with tensors in it or in binary behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.request import Array, InferRequest, InferResponse
from ascend_ep.serving.settings import Limits
from ascend_ep.serving.tensors import array_from_raw, element_count, raw_from_array

from .message import Body, Request, Response

HEADER_LENGTH = "inference-header-content-length"
_Parameters = dict[str, bool | int | float | str | None]


class InputTensor(msgspec.Struct):
    name: str
    shape: list[int]
    datatype: str
    parameters: _Parameters = {}
    data: list[Any] | None = None


class RequestedTensor(msgspec.Struct):
    name: str
    parameters: _Parameters = {}


class InferBody(msgspec.Struct):
    inputs: list[InputTensor]
    id: str = ""
    parameters: _Parameters = {}
    outputs: list[RequestedTensor] = []


class Parsed(msgspec.Struct):
    """binary: whether each output goes in binary; the second is what holds for outputs that aren't named."""

    request: InferRequest
    binary: dict[str, bool]
    binary_by_default: bool


_decoder = msgspec.json.Decoder(InferBody)
_encoder = msgspec.json.Encoder()


def parse(request: Request, model: str, version: str, limits: Limits) -> Parsed:
    """Raises AscendError E50001 or E50004 for a body that isn't an inference request."""
    text, rest = _split(request)
    try:
        body = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AscendError("E50001", f"the inference request is no valid JSON of its kind: {error}") from None
    if len(body.inputs) > limits.tensors or len(body.outputs) > limits.tensors:
        raise AscendError("E50001", f"there are more than {limits.tensors} tensors")
    inputs: dict[str, Array] = {}
    at = 0
    for tensor in body.inputs:
        if tensor.name in inputs:
            raise AscendError("E50004", tensor.name, "this input is there twice")
        size = tensor.parameters.get("binary_data_size")
        if size is None:
            inputs[tensor.name] = _from_json(tensor)
        else:
            if type(size) is not int or not 0 <= size <= len(rest) - at:
                raise AscendError(
                    "E50004", tensor.name, f"binary_data_size is {size}; {len(rest) - at} bytes are left"
                )
            if tensor.data is not None:
                raise AscendError("E50004", tensor.name, "it has both data and binary_data_size")
            inputs[tensor.name] = array_from_raw(
                tensor.name, tensor.datatype, tensor.shape, rest[at : at + size]
            )
            at += size
    if at != len(rest):
        raise AscendError("E50001", f"{len(rest) - at} bytes follow the last binary tensor")
    by_default = bool(body.parameters.get("binary_data_output", False))
    binary = {t.name: bool(t.parameters.get("binary_data", by_default)) for t in body.outputs}
    parameters = {k: v for k, v in body.parameters.items() if v is not None}
    made = InferRequest(model, version, inputs, tuple(t.name for t in body.outputs), body.id, parameters)
    return Parsed(made, binary, by_default)


def answer(response: InferResponse, parsed: Parsed) -> Response:
    """The answer, each output as was asked."""
    outputs: list[dict[str, Any]] = []
    raws: list[memoryview] = []
    for name, datatype, array in response.outputs:
        shown: dict[str, Any] = {"name": name, "datatype": datatype, "shape": array.shape}
        if parsed.binary.get(name, parsed.binary_by_default):
            raw = raw_from_array(array, datatype)
            shown["parameters"] = {"binary_data_size": len(raw)}
            raws.append(raw)
        else:
            shown["data"] = _to_json(array, datatype, name)
        outputs.append(shown)
    body: dict[str, Any] = {
        "model_name": response.model,
        "model_version": response.version,
        "outputs": outputs,
    }
    if response.id:
        body["id"] = response.id
    if response.parameters:
        body["parameters"] = response.parameters
    text = _encoder.encode(body)
    if not raws:
        return Response(200, (), (text,))
    headers = (("inference-header-content-length", str(len(text))),)
    return Response(200, headers, (text, *raws), content_type="application/octet-stream")


def _split(request: Request) -> tuple[Body, Body]:
    """The JSON, and what is behind it."""
    declared = request.headers.get(HEADER_LENGTH)
    if declared is None:
        return request.body, b""
    if not (declared.isascii() and declared.isdigit() and len(declared) < 12) or int(declared) > len(
        request.body
    ):
        raise AscendError("E50001", f"Inference-Header-Content-Length is no number up to {len(request.body)}")
    size = int(declared)
    body = memoryview(request.body)
    return body[:size], body[size:]


def _from_json(tensor: InputTensor) -> Array:
    """The elements of a JSON tensor, nested or flat."""
    dtype = DTYPES.get(tensor.datatype)
    if dtype is None:
        raise AscendError("E50004", tensor.name, f"[{tensor.datatype}] is no datatype ({', '.join(DTYPES)})")
    count = element_count(tensor.shape, tensor.name)
    if tensor.data is None:
        raise AscendError("E50004", tensor.name, "it has no data")
    flat = _flat(tensor.data, tensor.name)
    if len(flat) != count:
        raise AscendError(
            "E50004", tensor.name, f"its shape {tensor.shape} takes {count} elements; {len(flat)} were sent"
        )
    if tensor.datatype == BYTES:
        return _text_elements(flat, tensor)
    try:
        array = _checked(flat, dtype, tensor)
    except (OverflowError, TypeError, ValueError) as error:
        raise AscendError("E50004", tensor.name, f"an element is no {tensor.datatype} ({error})") from None
    return array.reshape(tensor.shape)


def _flat(data: list[Any], name: str) -> list[Any]:
    while data and isinstance(data[0], list):
        flat: list[Any] = []
        for piece in data:
            if not isinstance(piece, list):
                raise AscendError("E50004", name, "its data is nested unevenly")
            flat += piece
        data = flat
    if any(isinstance(e, list | dict) for e in data):
        raise AscendError("E50004", name, "its data is nested unevenly")
    return data


def _checked(flat: Sequence[Any], dtype: np.dtype[np.generic], tensor: InputTensor) -> Array:
    """Elements of the type that was named: no text, no fractions among integers, nothing out of range."""
    kinds = {type(e) for e in flat}
    if dtype.kind == "b":
        if not kinds <= {bool}:
            raise TypeError("only true and false are")
        return np.array(flat, dtype)
    if not kinds <= {int, float} or (dtype.kind in "iu" and float in kinds):
        raise TypeError("only numbers are" if dtype.kind not in "iu" else "only whole numbers are")
    return np.array(flat, dtype)


def _text_elements(flat: Sequence[Any], tensor: InputTensor) -> Array:
    if any(not isinstance(e, str) for e in flat):
        raise AscendError("E50004", tensor.name, "an element of BYTES is no text")
    elements = np.empty(len(flat), object)
    elements[:] = [e.encode() for e in flat]
    return elements.reshape(tensor.shape)


def _to_json(array: Array, datatype: str, name: str) -> list[Any]:
    if datatype == BYTES:
        try:
            return [e.decode() if isinstance(e, bytes) else str(e) for e in array.ravel().tolist()]
        except UnicodeDecodeError:
            raise AscendError("E50020", name, "bytes that are no text") from None
    if datatype in ("FP16", "BF16"):
        array = array.astype(np.float32)
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise AscendError("E50020", name, next(str(v) for v in values if not math.isfinite(v)))
    return list(values)
