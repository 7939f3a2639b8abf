"""The protocol's routes that describe models and control them, and those that aren't here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Running
from served_models import put, rows

from ascend_ep.serving.settings import Settings


@pytest.fixture(scope="module")
def explicit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root = tmp_path_factory.mktemp("explicit")
    put(root, "rows", 1, rows)
    with Running(Settings(root, http_port=0, model_control_mode="explicit")) as server:
        yield server


def test_server(running: Running) -> None:
    metadata = running.get("/v2")
    assert metadata["name"] == "ascend-serve"
    assert {"binary_tensor_data", "statistics", "model_repository"} <= set(metadata["extensions"])
    assert running.get("/v2/health/live") == {"live": True}
    assert running.get("/v2/health/ready/") == {"ready": True}


def test_model(running: Running) -> None:
    assert running.get("/v2/models/rows/ready")["ready"] is True
    metadata = running.get("/v2/models/%72ows/versions/1")
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 8]}]
    config = running.get("/v2/models/rows/config")
    assert config["name"] == "rows"
    assert config["input"][0]["data_type"] == "TYPE_FP32"
    assert config["input"][0]["dims"][-1] == 8


def test_statistics(running: Running) -> None:
    before = running.get("/v2/models/rows/versions/2/stats")["model_stats"][0]
    tensor = {"name": "x", "shape": [3, 8], "datatype": "FP32", "data": [0.0] * 24}
    for _ in range(3):
        assert running.ask("POST", "/v2/models/rows/infer", {"inputs": [tensor]})[0] == 200
    after = running.get("/v2/models/rows/versions/2/stats")["model_stats"][0]
    counted = [s["inference_stats"]["success"] for s in (before, after)]
    assert counted[1]["count"] - counted[0]["count"] == 3
    assert counted[1]["ns"] > counted[0]["ns"]
    assert {(s["name"], s["version"]) for s in running.get("/v2/models/stats")["model_stats"]} >= {
        ("rows", "1"),
        ("rows", "2"),
        ("every_type", "1"),
    }


def test_control(explicit: Running) -> None:
    index = "/v2/repository/index"
    assert json.loads(explicit.ask("POST", index, {"ready": True})[2]) == []
    assert explicit.ask("GET", "/v2/models/rows")[0] == 404
    status, _, body = explicit.ask("POST", "/v2/repository/models/rows/load")
    assert (status, body) == (200, b"")
    entries = json.loads(explicit.ask("POST", index)[2])
    assert entries == [{"name": "rows", "version": "1", "state": "READY", "reason": ""}]
    foreign = explicit.ask("POST", "/v2/repository/models/rows/unload", b"", {"Sec-Fetch-Site": "cross-site"})
    assert foreign[0] == 403
    asked = {"parameters": {"unload_dependents": True}}
    assert explicit.ask("POST", "/v2/repository/models/rows/unload", asked)[0] == 200
    assert explicit.ask("GET", "/v2/models/rows/ready")[0] in (404, 503)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("models/none/load", b"", 404),
        ("models/..%2f..%2fetc/load", b"", 404),
        ("models/%00/load", b"", 404),
        ("models/rows/load", b'{"parameters": {"config": "{}"}}', 403),
        ("models/rows/load", b'{"parameters": []}', 400),
        ("models/rows/unload", b'{"parameters": {"unload": true}}', 400),
        ("models/none/unload", b"", 404),
        ("index", b'{"ready": "yes"}', 400),
        ("index", b"[" * 100000, 400),
    ],
)
def test_control_refused(explicit: Running, path: str, body: bytes, status: int) -> None:
    found, _, answered = explicit.ask("POST", f"/v2/repository/{path}", body)
    assert found == status, answered
    assert json.loads(answered)["error"].startswith("E500")


def test_control_is_off_by_default(running: Running, repository: Path) -> None:
    status, _, body = running.ask("POST", "/v2/repository/models/rows/unload")
    assert status == 403
    assert str(repository) not in body.decode()
    assert running.get("/v2/models/rows/ready")["ready"] is True


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/v2/systemsharedmemory/status", 404, "shared memory"),
        ("POST", "/v2/cudasharedmemory/region/a/register", 404, "shared memory"),
        ("GET", "/v2/trace/setting", 200, "{}"),
        ("POST", "/v2/logging", 404, "settings"),
        ("GET", "/v3", 404, "nothing at"),
        ("GET", "/metrics", 404, "--metrics-port"),
        ("GET", "/v2/models/rowz", 404, "rows"),
        ("GET", "/v2/models/rows/versions/9", 404, "version 9"),
        ("GET", "/v2/models/rows/versions/-1", 404, "version -1"),
        ("GET", "/v2/models/rows/versions/" + "9" * 5000, 404, "version"),
        ("GET", "/v2/models/" + "%2e%2e%2f" * 4 + "etc%2fpasswd", 404, "no model"),
        ("DELETE", "/v2/models/rows", 405, "DELETE"),
        ("GET", "/v2/models/rows/infer", 405, "not allowed here. POST is."),
    ],
)
def test_other_paths(running: Running, method: str, path: str, status: int, says: str) -> None:
    found, headers, body = running.ask(method, path)
    assert (found, says in body.decode()) == (status, True), body[:500]
    assert len(body) < 1200
    assert ("allow" in headers) == (status == 405)


def test_head(running: Running) -> None:
    status, headers, body = running.ask("HEAD", "/v2/health/live")
    assert (status, body, int(headers["content-length"])) == (200, b"", len(b'{"live":true}'))
