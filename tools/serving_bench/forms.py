"""The forms of a tensor in an HTTP request, and how the answer of each is read."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
HEADER_LENGTH = "Inference-Header-Content-Length"


@dataclass(frozen=True)
class Request:
    """A POST."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def request(form: str, model: str, x: Array) -> Request:
    """`x` for `model` in a form of READERS."""
    if form == "raw":
        return Request(f"/raw/{model}", {"Content-Type": "application/octet-stream"}, x.tobytes())
    path = f"/v2/models/{model}/infer"
    if form == "v2 binary":
        given = _tensor(x) | {"parameters": {"binary_data_size": x.nbytes}}
        header = _text({"inputs": [given], "parameters": {"binary_data_output": True}})
        headers = {"Content-Type": "application/octet-stream", HEADER_LENGTH: str(len(header))}
        return Request(path, headers, header + x.tobytes())
    if form == "v2 base64":
        given = _tensor(x) | {"shape": [1], "datatype": "BYTES", "parameters": {"content_type": "base64"}}
        given["data"] = [base64.b64encode(x.tobytes()).decode()]
    else:
        given = _tensor(x) | {"data": x.ravel().tolist()}
    return Request(path, {"Content-Type": "application/json"}, _text({"inputs": [given]}))


def answer(form: str, headers: Mapping[str, str], body: bytes) -> Array:
    """The one output in the body of a response to a request of this form."""
    if form == "raw":
        return np.frombuffer(body, np.float32)
    length = int(headers.get(HEADER_LENGTH.lower(), len(body)))
    output = json.loads(body[:length])["outputs"][0]
    if "data" not in output:
        return np.frombuffer(body[length:], np.float32).reshape(output["shape"])
    return np.asarray(output["data"], np.float32).reshape(output["shape"])


def _tensor(x: Array) -> dict[str, Any]:
    return {"name": "x", "shape": list(x.shape), "datatype": "FP32"}


def _text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
