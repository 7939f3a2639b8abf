"""What a request for inference over HTTP can ask for: forms, deadlines, compression, classes."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import numpy as np
import pytest
from running import Running

PATH = "/v2/models/rows/infer"
X = np.random.default_rng(3).standard_normal((2, 8)).astype(np.float32)
TENSOR = {"name": "x", "shape": [2, 8], "datatype": "FP32", "data": X.tolist()}


def asked(**more: Any) -> dict[str, Any]:
    return {"inputs": [TENSOR]} | more


def values(running: Running) -> np.ndarray:
    _, _, body = running.ask("POST", PATH, asked())
    return np.array(json.loads(body)["outputs"][0]["data"]).reshape(2, 4)


def refusal(running: Running, body: dict[str, Any], status: int = 400) -> str:
    found, _, answered = running.ask("POST", PATH, body)
    assert found == status, answered
    return str(json.loads(answered)["error"])


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compression_both_ways(running: Running, encoding: str) -> None:
    compress = gzip.compress if encoding == "gzip" else zlib.compress
    expand = gzip.decompress if encoding == "gzip" else zlib.decompress
    text = json.dumps(asked(parameters={"binary_data_output": True})).encode()
    headers = {"Content-Encoding": encoding, "Accept-Encoding": encoding}
    status, received, body = running.ask("POST", PATH, compress(text), headers)
    assert status == 200, body
    assert received["content-encoding"] == encoding
    size = int(received["inference-header-content-length"])
    made = np.frombuffer(expand(body)[size:], np.float32).reshape(2, 4)
    np.testing.assert_array_equal(made, values(running).astype(np.float32))


def test_large_bodies_compressed(running: Running) -> None:
    """Through the threads beside the event loop, and long JSON in blocks."""
    rows = np.random.default_rng(4).integers(0, 99, (20000, 8)).astype(np.float32)
    tensor = TENSOR | {"shape": [20000, 8], "data": rows.ravel().tolist()}
    text = json.dumps({"inputs": [tensor]}).encode()
    _, _, plain = running.ask("POST", PATH, text)
    headers = {"Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
    status, _, packed = running.ask("POST", PATH, gzip.compress(text), headers)
    assert status == 200
    assert json.loads(gzip.decompress(packed)) == json.loads(plain)
    assert len(json.loads(plain)["outputs"][0]["data"]) == 80000


@pytest.mark.parametrize("broken", ["cut", "behind", "other", "bomb"])
def test_bad_compression(running: Running, broken: str) -> None:
    text = gzip.compress(json.dumps(asked()).encode())
    body = {
        "cut": text[:-9],
        "behind": text + b"x",
        "other": b"{}",
        "bomb": gzip.compress(bytes(100 << 20), 1),
    }[broken]
    status, _, answered = running.ask("POST", PATH, body, {"Content-Encoding": "gzip"})
    expected = (413, "E50005") if broken == "bomb" else (400, "E50001")
    assert (status, json.loads(answered)["error"][:6]) == expected


def test_unknown_compression(running: Running) -> None:
    status, _, body = running.ask("POST", PATH, asked(), {"Content-Encoding": "br"})
    assert status == 415
    assert "gzip or deflate" in json.loads(body)["error"]


def test_several_encodings_are_a_default(running: Running) -> None:
    _, headers, _ = running.ask("POST", PATH, asked(), {"Accept-Encoding": "gzip, deflate, br"})
    assert "content-encoding" not in headers


def test_classification(running: Running) -> None:
    wanted = [{"name": "y", "parameters": {"classification": 2}}]
    _, _, body = running.ask("POST", PATH, asked(outputs=wanted))
    output = json.loads(body)["outputs"][0]
    assert (output["datatype"], output["shape"]) == ("BYTES", [2, 2])
    best = np.argsort(-values(running), axis=1)[:, :2]
    assert [int(text.split(":")[1]) for text in output["data"]] == best.ravel().tolist()


def test_server_timing(running: Running) -> None:
    _, headers, _ = running.ask("POST", PATH, asked())
    queue, compute = (float(part.split("=")[1]) for part in headers["server-timing"].split(", "))
    assert queue >= 0
    assert 0 < compute < 1000


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"parameters": {"sequence_id": 5}}, "keep no state"),
        ({"parameters": {"timeout": -1}}, "timeout"),
        ({"parameters": {"timeout": 1.5}}, "timeout"),
        ({"parameters": {"timeout": True}}, "timeout"),
        ({"parameters": {"priority": "high"}}, "priority"),
        ({"parameters": {"binary_data_output": 1}}, "neither true nor false"),
        ({"parameters": {"nested": {}}}, "parameters"),
        ({"outputs": [{"name": "z"}]}, "no such output"),
        ({"outputs": [{"name": "y"}, {"name": "y"}]}, "twice"),
        ({"outputs": [{"name": "y", "parameters": {"shared_memory_region": "r"}}]}, "shared memory"),
        ({"outputs": [{"name": "y", "parameters": {"classification": 0}}]}, "classification"),
        ({"output": []}, "unknown field `output`"),
        ({"inputs": [TENSOR, TENSOR]}, "twice"),
        ({"inputs": [TENSOR | {"name": f"x{i}"} for i in range(65)]}, "more than 64"),
        ({"inputs": [TENSOR | {"data": None}]}, "neither data nor"),
        ({"inputs": [TENSOR | {"data": None, "parameters": {"shared_memory_region": "r"}}]}, "shared memory"),
        ({"inputs": [TENSOR | {"parameters": {"binary_data_size": 0}}]}, "both data and"),
        ({"inputs": [TENSOR | {"data": X.tolist()[:1]}]}, "takes 16 elements; 8 were sent"),
        ({"inputs": [TENSOR | {"data": [[1.0], 2.0]}]}, "Expected `array`"),
        ({"inputs": [TENSOR | {"datatype": "FP31"}]}, "[FP31] is no datatype"),
        ({"inputs": [TENSOR | {"datatype": "FP64"}]}, "the model takes FP32"),
        ({"inputs": [TENSOR | {"shape": [2, -8]}]}, "no count"),
        ({"inputs": [TENSOR | {"shape": [2**62, 2**62]}]}, "no count"),
        ({"inputs": [TENSOR | {"shape": [2**39, 2**39]}]}, "too many elements"),
        ({"inputs": [TENSOR | {"shape": [1] * 9}]}, "8 are the most"),
    ],
)
def test_refused(running: Running, more: dict[str, Any], says: str) -> None:
    assert says in refusal(running, asked(**more))


def test_a_deadline_that_has_passed(running: Running) -> None:
    """A model that runs at once may answer before anybody looks at a microsecond's deadline."""
    status, _, body = running.ask("POST", PATH, asked(parameters={"timeout": 1}))
    assert status in (200, 504), body


def test_what_other_clients_send(running: Running) -> None:
    more = {"id": None, "parameters": None, "outputs": None, "model_name": "rows", "model_version": "1"}
    status, _, body = running.ask("POST", PATH, asked(**more))
    assert status == 200, body
    assert "id" not in json.loads(body)


def test_binary_answers_of_changing_forms(running: Running) -> None:
    """Their JSON is kept by form: model, version, outputs, shapes, sizes."""
    for rows, version in [(1, 1), (2, 1), (1, 1), (1, 2), (2, 2), (1, 1)] * 2:
        body = {
            "inputs": [TENSOR | {"shape": [rows, 8], "data": X.tolist()[:rows]}],
            "parameters": {"binary_data_output": True},
        }
        status, headers, answered = running.ask("POST", f"/v2/models/rows/versions/{version}/infer", body)
        assert status == 200
        size = int(headers["inference-header-content-length"])
        text = json.loads(answered[:size])
        assert (text["model_version"], text["outputs"][0]["shape"]) == (str(version), [rows, 4])
        assert text["outputs"][0]["parameters"] == {"binary_data_size": len(answered) - size}
        _, headers, named = running.ask("POST", PATH, body | {"id": "7"})
        assert json.loads(named[: int(headers["inference-header-content-length"])])["id"] == "7"
