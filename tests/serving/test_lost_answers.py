"""Every request has one answer, and gives back what it held, whatever fails or leaves on the way."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from held_jobs import held, until
from raw_http import Raw
from running import Running
from served_models import put, rows

from ascend_ep.errors import AscendError
from ascend_ep.serving.request import InferRequest, InferResponse
from ascend_ep.serving.settings import Limits, Settings

PATH = "/v2/models/rows/infer"


def _infer(x: np.ndarray, **more: object) -> bytes:
    tensor = {"name": "x", "datatype": "FP32", "shape": list(x.shape), "data": x.ravel().tolist()}
    return json.dumps({"inputs": [tensor], **more}).encode()


def _post(body: bytes, *headers: str) -> bytes:
    lines = [f"POST {PATH} HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("lost")
    put(root, "rows", 2, rows)
    limits = Limits(connections=64)
    with Running(Settings(root, http_port=0, limits=limits)) as running:
        yield running


def test_a_reply_that_raises_is_followed_by_one_that_says_so(server: Running) -> None:
    """And neither the others of its batch nor the end of the version are held up."""
    answers: dict[str, list[InferResponse | AscendError]] = {"bad": [], "good": []}
    x = np.ones((1, 8), np.float32)

    async def submit() -> None:
        def bad(result: InferResponse | AscendError) -> None:
            answers["bad"].append(result)
            if isinstance(result, InferResponse):
                raise RuntimeError("of a front end")

        for name, reply in (("bad", bad), ("good", answers["good"].append)):
            server.server.service.submit(InferRequest("rows", "", {"x": x}, id=name), reply)

    with held(server) as jobs:
        server.call(submit())
        jobs.wait(2)

        async def batch() -> None:
            for job in jobs.jobs:
                job.finish([np.zeros((1, 4), np.float32)])

        server.call(batch())
    (good,) = answers["good"]
    assert isinstance(good, InferResponse)
    assert len(answers["bad"]) == 2
    assert isinstance(answers["bad"][1], AscendError)
    assert answers["bad"][1].code == "E50010"


def test_an_observer_that_raises_changes_no_answer(server: Running) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the log's disk is full")

    observers = server.server.service.observers
    observers.append(broken)
    try:
        status, _, _ = server.ask("POST", PATH, _infer(np.ones((1, 8))))
        assert status == 200
        assert server.ask("POST", PATH, _infer(np.ones((1, 7))))[0] == 400
    finally:
        observers.remove(broken)


def test_classes_of_no_rows(server: Running) -> None:
    wanted = [{"name": "y", "parameters": {"classification": 2}}]
    status, _, body = server.ask("POST", PATH, _infer(np.ones((0, 8)), outputs=wanted))
    assert status == 200, body
    assert json.loads(body)["outputs"][0]["shape"] == [0, 2]


def test_who_leaves_while_its_body_is_inflated_holds_nothing(server: Running) -> None:
    body = gzip.compress(_infer(np.random.default_rng(0).random((2000, 8))))
    budget = server.server.http.budget
    for _ in range(3):
        with Raw(server.port) as raw:
            raw.send(_post(body, "Content-Encoding: gzip"))
    until(lambda: not server.server.http.connections)
    server.ask("POST", PATH, body, {"Content-Encoding": "gzip"})  # behind theirs, on the same threads
    until(lambda: budget.held == 0)


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize("split", [False, True], ids=["at once", "in pieces"])
def test_a_body_behind_an_upgrade_to_http2_is_read(server: Running, chunked: bool, split: bool) -> None:
    """As Java's client and curl --http2 send it: who doesn't upgrade answers as if it weren't there."""
    body = _infer(np.ones((1, 8)))
    sent, length = body, f"Content-Length: {len(body)}"
    if chunked:
        sent = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        length = "Transfer-Encoding: chunked"
    head = "\r\n".join(
        (
            f"POST {PATH} HTTP/1.1",
            "Connection: Upgrade, HTTP2-Settings",
            "Host: a",
            length,
            "Upgrade: h2c",
            "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA",
        )
    ).encode()
    with Raw(server.port) as raw:
        for _ in range(2):
            whole = head + b"\r\n\r\n" + sent
            for piece in (whole[:250], whole[250:-20], whole[-20:]) if split else (whole,):
                raw.send(piece)
                time.sleep(0.01 if split else 0)
            answer = raw.answer()
            assert answer is not None
            assert answer.status == 200, answer.body
    until(lambda: server.server.http.budget.held == 0)


def test_requests_in_one_piece_behind_an_upgrade(server: Running) -> None:
    live = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n"
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with Raw(server.port) as raw:
        raw.send(live + upgrade + live + upgrade + live + b"\r\n")
        for _ in range(3):
            answer = raw.answer()
            assert answer is not None
            assert answer.status == 200
