"""Answers to inference requests in HTTP: JSON, each output in it or in binary behind it, as was asked."""

from __future__ import annotations

from typing import Any

import msgspec

from ascend_ep.serving.classification import best_classes
from ascend_ep.serving.datatypes import BYTES
from ascend_ep.serving.request import InferResponse, Timings
from ascend_ep.serving.tensors import raw_from_array

from .infer_body import Parsed
from .json_tensors import json_from_array
from .message import Response

_encoder = msgspec.json.Encoder()


#: The JSON before binary outputs is the same for answers of one form: kept with its length, for so many.
_texts: dict[tuple[object, ...], tuple[bytes, str]] = {}
_KEPT_TEXTS = 512


def answer(response: InferResponse, parsed: Parsed) -> Response:
    """Raises AscendError E50004 and E50020 as the forms of outputs do."""
    all_binary = all(parsed.binary.values()) if parsed.binary else parsed.binary_by_default
    if all_binary and not parsed.classes and not response.id and not response.parameters:
        return _in_binary(response)
    outputs: list[dict[str, Any]] = []
    raws: list[memoryview] = []
    for name, datatype, array in response.outputs:
        if name in parsed.classes:
            datatype, array = BYTES, best_classes(array, parsed.classes[name], name)
        shown: dict[str, Any] = {"name": name, "datatype": datatype, "shape": array.shape}
        if parsed.binary.get(name, parsed.binary_by_default):
            raw = raw_from_array(array, datatype)
            shown["parameters"] = {"binary_data_size": len(raw)}
            raws.append(raw)
        else:
            shown["data"] = json_from_array(array, datatype, name)
        outputs.append(shown)
    text = _text(response, outputs)
    timing = ("server-timing", server_timing(response.timings))
    if not raws:
        return Response(200, (timing,), (text,))
    return _with_raws(text, str(len(text)), raws, timing)


def _in_binary(response: InferResponse) -> Response:
    raws: list[memoryview] = []
    form: list[object] = [response.model, response.version]
    for name, datatype, array in response.outputs:
        raw = raw_from_array(array, datatype)
        raws.append(raw)
        form += (name, datatype, array.shape, len(raw))
    key = tuple(form)
    known = _texts.get(key)
    if known is None:
        outputs = [
            {"name": n, "datatype": d, "shape": a.shape, "parameters": {"binary_data_size": len(raw)}}
            for (n, d, a), raw in zip(response.outputs, raws, strict=True)
        ]
        text = _text(response, outputs)
        if len(_texts) >= _KEPT_TEXTS:
            _texts.clear()
        known = _texts[key] = text, str(len(text))
    return _with_raws(*known, raws, ("server-timing", server_timing(response.timings)))


def _text(response: InferResponse, outputs: list[dict[str, Any]]) -> bytes:
    body: dict[str, Any] = {
        "model_name": response.model,
        "model_version": response.version,
        "outputs": outputs,
    }
    if response.id:
        body["id"] = response.id
    if response.parameters:
        body["parameters"] = response.parameters
    return _encoder.encode(body)


def _with_raws(text: bytes, length: str, raws: list[memoryview], timing: tuple[str, str]) -> Response:
    headers = (("inference-header-content-length", length), timing)
    return Response(200, headers, (text, *raws), content_type="application/octet-stream")


def server_timing(timings: Timings) -> str:
    """The value of Server-Timing: milliseconds waiting and computing. Whole microseconds with an exponent
    are three times as fast to write as decimals, for every answer has this."""
    compute = timings.compute_input + timings.compute_infer + timings.compute_output
    return f"queue;dur={timings.queue // 1000}e-3, compute;dur={compute // 1000}e-3"


def json_elements(response: InferResponse, parsed: Parsed) -> int:
    """How many elements have to be written as JSON."""
    if parsed.binary_by_default and not parsed.binary:
        return 0
    return sum(
        array.size
        for name, _, array in response.outputs
        if not parsed.binary.get(name, parsed.binary_by_default)
    )
