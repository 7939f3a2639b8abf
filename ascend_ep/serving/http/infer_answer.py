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


def answer(response: InferResponse, parsed: Parsed) -> Response:
    """Raises AscendError E50004 and E50020 as the forms of outputs do."""
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
    timing = ("server-timing", server_timing(response.timings))
    if not raws:
        return Response(200, (timing,), (text,))
    length = ("inference-header-content-length", str(len(text)))
    return Response(200, (length, timing), (text, *raws), content_type="application/octet-stream")


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
