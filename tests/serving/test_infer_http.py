"""Inference over HTTP: JSON and binary tensors, beside a session's own results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from running import Running

import ascend_ep

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


def expected(repository: Path) -> np.ndarray:
    session = ascend_ep.InferenceSession(str(repository / "rows" / "2" / "model.om"))
    return session.run(None, {"x": X})[0]


def test_json(running: Running, repository: Path) -> None:
    tensor = {"name": "x", "shape": [3, 8], "datatype": "FP32", "data": X.tolist()}
    status, _, body = running.ask("POST", "/v2/models/rows/infer", {"id": "a", "inputs": [tensor]})
    assert status == 200, body
    answer = json.loads(body)
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("a", "rows", "2")
    made = np.array(answer["outputs"][0]["data"], np.float32).reshape(answer["outputs"][0]["shape"])
    np.testing.assert_array_equal(made, expected(repository))


def test_binary(running: Running, repository: Path) -> None:
    tensor = {"name": "x", "shape": [3, 8], "datatype": "FP32", "parameters": {"binary_data_size": 96}}
    text = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    path = "/v2/models/rows/versions/1/infer"
    status, received, body = running.ask("POST", path, text + X.tobytes(), headers)
    assert status == 200, body
    size = int(received["inference-header-content-length"])
    assert json.loads(body[:size])["outputs"][0]["parameters"] == {"binary_data_size": 48}
    made = np.frombuffer(body[size:], np.float32).reshape(3, 4)
    np.testing.assert_array_equal(made, expected(repository))


def test_wrong_shape(running: Running) -> None:
    tensor = {"name": "x", "shape": [3, 7], "datatype": "FP32", "data": [0.0] * 21}
    status, _, body = running.ask("POST", "/v2/models/rows/infer", {"inputs": [tensor]})
    assert status == 400
    assert "the model takes ['N', 8]; [3, 7] was sent" in json.loads(body)["error"]


def test_a_refusal_names_types_as_the_protocol_does(running: Running) -> None:
    sent = {"name": "x", "shape": [1, 8], "datatype": "FP16", "data": [0] * 8}
    _, _, body = running.ask("POST", "/v2/models/rows/infer", {"inputs": [sent]})
    assert "the model takes FP32; FP16 was sent" in json.loads(body)["error"]
