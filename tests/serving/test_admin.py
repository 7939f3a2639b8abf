"""The admin socket: who may open it, and what can be done there only."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Running
from served_models import put, rows

from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Settings

BODY = {"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.1] * 8}]}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("models")
    for version in (1, 2):
        put(root, "rows", version, rows)
    (root / "rows" / "config.pbtxt").write_text("version_policy { all {} }\n")
    path = tmp_path_factory.mktemp("admin") / "socket"
    with Running(Settings(root, http_port=0, admin_socket=path)) as running:
        yield running
    assert not path.exists()


def admin(running: Running, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    assert running.server.settings.admin_socket is not None
    connection = UnixConnection(running.server.settings.admin_socket)
    connection.request(method, path, None if body is None else json.dumps(body))
    answer = connection.getresponse()
    read = answer.read()
    connection.close()
    return answer.status, json.loads(read) if read else None


def test_only_its_owner_may_open_it(served: Running) -> None:
    assert served.server.settings.admin_socket is not None
    mode = served.server.settings.admin_socket.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_nothing_of_it_is_public(served: Running) -> None:
    assert served.ask("GET", "/admin")[0] == 404
    assert served.ask("PUT", "/admin/drain")[0] == 404
    assert served.ask("POST", "/v2/repository/models/rows/unload")[0] == 403


def test_state(served: Running) -> None:
    status, state = admin(served, "GET", "/admin")
    assert status == 200
    assert state == {"ready": True, "draining": False, "models": {"rows": {"versions": [1, 2]}}}


def test_split_and_shadow(served: Running) -> None:
    status, shown = admin(served, "PUT", "/admin/models/rows/split", {"weights": {"1": 1, "2": 0}})
    assert (status, shown["split"]) == (200, {"1": 1, "2": 0})
    assert admin(served, "PUT", "/admin/models/rows/shadow", {"version": 2})[0] == 200
    _, _, body = served.ask("POST", "/v2/models/rows/infer", BODY)
    assert json.loads(body)["model_version"] == "1"
    for _ in range(200):
        comparison = admin(served, "GET", "/admin/models/rows")[1]["shadow"]["comparison"]
        if comparison["compared"]:
            break
    assert (comparison["compared"], comparison["mismatched"]) == (1, 0)
    assert admin(served, "DELETE", "/admin/models/rows/shadow")[1].keys() == {"versions", "split"}
    assert admin(served, "DELETE", "/admin/models/rows/split")[1].keys() == {"versions"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("models/none/split", {"weights": {"1": 1}}, 404),
        ("models/rows/split", {"weights": {"7": 1}}, 404),
        ("models/rows/split", {"weights": {"1": -1}}, 400),
        ("models/rows/split", {"weight": {"1": 1}}, 400),
        ("models/rows/split", {"weights": {"one": 1}}, 400),
        ("models/rows/shadow", {"version": 1, "share": 2}, 400),
        ("models/rows/shadow", {"version": 9}, 404),
        ("log", {"level": "loud"}, 400),
    ],
)
def test_refusals(served: Running, path: str, body: Any, status: int) -> None:
    found, answer = admin(served, "PUT", f"/admin/{path}", body)
    assert found == status, answer
    assert answer["error"].startswith("E500")


def test_unload_and_load(served: Running) -> None:
    assert admin(served, "POST", "/v2/repository/models/rows/unload")[0] == 200
    assert served.ask("POST", "/v2/models/rows/infer", BODY)[0] in (404, 503)
    assert admin(served, "POST", "/v2/repository/models/rows/load")[0] == 200
    assert served.ask("POST", "/v2/models/rows/infer", BODY)[0] == 200


def test_drain_and_back(served: Running) -> None:
    assert admin(served, "PUT", "/admin/drain")[1] == {"draining": True}
    assert served.ask("GET", "/v2/health/ready")[0] == 503
    assert served.ask("POST", "/v2/models/rows/infer", BODY)[0] == 200
    assert admin(served, "DELETE", "/admin/drain")[1] == {"draining": False}
    status, headers, _ = served.ask("GET", "/v2/health/ready")
    assert (status, "connection" in headers) == (200, False)


def test_level_of_the_log(served: Running) -> None:
    root = logging.getLogger()
    before = root.level
    try:
        assert admin(served, "PUT", "/admin/log", {"level": "error"})[0] == 200
        assert root.level == logging.ERROR
    finally:
        root.setLevel(before)


def test_a_socket_that_was_left_behind(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with Running(Settings(repository, http_port=0, admin_socket=path)) as running:
        assert admin(running, "GET", "/admin")[0] == 200
        with pytest.raises(AscendError) as refused:
            Running(Settings(repository, http_port=0, admin_socket=path))
        assert refused.value.code == "E50019"
        assert admin(running, "GET", "/admin")[0] == 200
    path.write_text("something else")
    with pytest.raises(AscendError, match="E50019"):
        Running(Settings(repository, http_port=0, admin_socket=path))
    assert path.read_text() == "something else"
    other = tmp_path / "other"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(AscendError, match="E50019"):
            Running(Settings(repository, http_port=taken.getsockname()[1], admin_socket=other))
    assert not other.exists()
