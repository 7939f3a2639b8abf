"""Every datatype there and back over HTTP, in JSON and in binary; what a datatype can't hold is refused."""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from running import Running
from served_models import TYPES

from ascend_ep.serving.datatypes import DTYPES
from ascend_ep.serving.tensors import raw_from_array

PATH = "/v2/models/every_type/infer"


def extremes(datatype: str) -> np.ndarray:
    dtype = DTYPES[datatype]
    if datatype == "BYTES":
        return np.array([["é\0", "b'x'"], ["", "\U0001f600"]], object)
    if datatype == "BOOL":
        return np.array([[True, False], [False, True]])
    info = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    smallest = 1 if dtype.kind in "iu" else info.smallest_subnormal
    return np.array([[info.max, info.min], [0, smallest]], dtype)


def as_json(datatype: str, values: list[Any]) -> dict[str, Any]:
    return {"name": f"in_{datatype}", "datatype": datatype, "shape": [2, 2], "data": values}


def request(**changed: Any) -> dict[str, Any]:
    inputs = []
    for name in TYPES:
        array = extremes(name)
        values = array.astype(np.float64) if name in ("FP16", "BF16", "FP32") else array
        inputs.append(as_json(name, values.tolist()) | changed.get(name, {}))
    return {"inputs": inputs}


def test_json_there_and_back(running: Running) -> None:
    asked = request()
    status, _, body = running.ask("POST", PATH, asked)
    assert status == 200, body
    outputs = {output["datatype"]: output for output in json.loads(body)["outputs"]}
    for tensor in asked["inputs"]:
        found = outputs[tensor["datatype"]]
        assert found["shape"] == [2, 2]
        assert found["data"] == [e for row in tensor["data"] for e in row], tensor["datatype"]


def test_binary_there_and_back(running: Running) -> None:
    raws = {name: bytes(raw_from_array(extremes(name), name)) for name in TYPES}
    inputs = [
        {
            "name": f"in_{n}",
            "datatype": n,
            "shape": [2, 2],
            "parameters": {"binary_data_size": len(raws[n])},
        }
        for n in TYPES
    ]
    text = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    status, received, body = running.ask("POST", PATH, text + b"".join(raws.values()), headers)
    assert status == 200, body
    size = int(received["inference-header-content-length"])
    assert body[size:] == b"".join(raws.values())
    for output in json.loads(body[:size])["outputs"]:
        assert output["parameters"] == {"binary_data_size": len(raws[output["datatype"]])}


def test_mixed_forms_and_order(running: Running) -> None:
    wanted = [
        {"name": "out_INT8", "parameters": {"binary_data": True}},
        {"name": "out_BYTES"},
        {"name": "out_FP32", "parameters": {"binary_data": True}},
    ]
    status, received, body = running.ask("POST", PATH, request() | {"outputs": wanted})
    assert status == 200, body
    size = int(received["inference-header-content-length"])
    outputs = json.loads(body[:size])["outputs"]
    assert [o["name"] for o in outputs] == ["out_INT8", "out_BYTES", "out_FP32"]
    assert outputs[1]["data"] == ["é\0", "b'x'", "", "\U0001f600"]
    assert body[size:] == extremes("INT8").tobytes() + extremes("FP32").tobytes()


@pytest.mark.parametrize(
    ("datatype", "element"),
    [
        ("UINT8", "256"), ("UINT8", "-1"), ("INT8", "128"), ("UINT64", "18446744073709551616"),
        ("UINT64", "-1"), ("INT64", "9223372036854775808"), ("INT64", "9" * 500), ("INT32", "1.0"),
        ("INT32", "1e2"), ("INT32", "true"), ("INT32", '"1"'), ("INT32", "null"), ("BOOL", "1"),
        ("BOOL", '"true"'), ("FP32", "NaN"), ("FP32", "Infinity"), ("FP32", "1e39"), ("FP16", "65520"),
        ("BF16", "-3.4e38"), ("FP64", "1e400"), ("FP32", "true"), ("FP32", '"1"'), ("BYTES", "1"),
        ("BYTES", '"\\ud800"'), ("FP32", "{}"), ("FP32", "[[]]"), ("FP32", "[" * 5000 + "]" * 5000),
    ],
)  # fmt: skip
def test_what_a_datatype_cannot_hold(running: Running, datatype: str, element: str) -> None:
    text = json.dumps(request(**{datatype: {"data": "HERE"}}))
    good = "[false, false, false, " if datatype == "BOOL" else "[0, 0, 0, "
    if datatype == "BYTES":
        good = '["", "", "", '
    body = text.replace('"HERE"', f"{good}{element}]").encode()
    status, _, answered = running.ask("POST", PATH, body)
    assert status == 400, answered
    error = json.loads(answered)["error"]
    assert error.startswith(("E50004", "E50001"))
    assert len(error) < 400


def test_not_a_number_in_an_output(running: Running) -> None:
    array = np.array([[1, np.nan], [np.inf, 0]], np.float32)
    asked = request(FP32={"parameters": {"binary_data_size": 16}})
    del next(t for t in asked["inputs"] if t["datatype"] == "FP32")["data"]
    text = json.dumps(asked).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    status, _, body = running.ask("POST", PATH, text + array.tobytes(), headers)
    assert status == 400
    assert "E50020" in json.loads(body)["error"]


def test_bytes_that_are_no_text(running: Running) -> None:
    asked = request(BYTES={"parameters": {"binary_data_size": 17}})
    del asked["inputs"][-1]["data"]
    text = json.dumps(asked).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    raw = b"\x01\0\0\0\xff" + b"\0\0\0\0" * 3
    status, _, body = running.ask("POST", PATH, text + raw, headers)
    assert status == 400
    assert "no UTF-8" in json.loads(body)["error"]
