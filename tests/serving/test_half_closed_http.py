"""Clients that close their sending side behind their requests, as `nc -N` does: they get every answer, at
once or late, and the connection ends behind the last. Those that are gone leave nothing."""

from __future__ import annotations

import json
import socket
import time

import pytest
from held_jobs import finish, held, until
from raw_http import GOOD, LIVE, Raw, chunk, chunked, post
from running import Running

#: uvloop's event loop, and asyncio's.
BOTH = pytest.mark.parametrize("server", ["running", "impatient"], indirect=True)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Running:
    found: Running = request.getfixturevalue(request.param)
    return found


def half_close(raw: Raw) -> None:
    raw.socket.shutdown(socket.SHUT_WR)


def connections(server: Running) -> int:
    async def count() -> int:
        return server.server.http.connections

    return server.call(count())


@BOTH
@pytest.mark.parametrize(
    "whole", [post(GOOD), chunked(chunk(GOOD[:9]), chunk(GOOD[9:]), b"0\r\n\r\n")], ids=["length", "chunks"]
)
def test_an_answer_that_is_late(server: Running, whole: bytes) -> None:
    with held(server) as scheduler, Raw(server.port) as raw:
        raw.send(whole)
        half_close(raw)
        scheduler.wait(1)
        time.sleep(0.1)  # the end of what is sent is seen by now
        assert not scheduler.jobs[0].finished
        finish(server, scheduler.jobs[0], 0.5)
        answer = raw.answer()
        assert answer is not None
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert json.loads(answer.body)["outputs"][0]["data"] == [0.5] * 12
        assert raw.closed()


@BOTH
def test_all_of_a_pipeline(server: Running) -> None:
    """More than wait at once: reading stops and goes on between them."""
    with held(server) as scheduler, Raw(server.port) as raw:
        raw.send(post(GOOD) + LIVE * 100 + post(GOOD) + b"nonsense\r\n\r\n")
        half_close(raw)
        scheduler.wait(1)
        time.sleep(0.1)
        finish(server, scheduler.jobs[0], 0.5)
        scheduler.wait(2)
        finish(server, scheduler.jobs[1], 0.25)
        statuses = [answer.status for answer in iter(raw.answer, None)]
    assert statuses == [200] * 102 + [400]


@BOTH
def test_a_large_answer(server: Running) -> None:
    """It is read late, and doesn't fit what the system holds."""
    rows = 20_000
    tensor = {
        "name": "x",
        "shape": [rows, 8],
        "datatype": "FP32",
        "parameters": {"binary_data_size": rows * 32},
    }
    text = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    with Raw(server.port) as raw:
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.send(post(text + bytes(rows * 32), b"Inference-Header-Content-Length: %d" % len(text)))
        half_close(raw)
        time.sleep(0.3)
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # or the rest comes for seconds
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 200
        assert len(answer.body) > rows * 16
        assert raw.closed()


@BOTH
@pytest.mark.parametrize(
    "part", [b"", LIVE[:10], LIVE[:-2], post(GOOD)[:-5], post(bytes(100000))[:-5], chunked(b"5\r\nab")]
)
def test_a_request_that_never_ends(server: Running, part: bytes) -> None:
    """What came before it is answered."""
    with held(server) as scheduler, Raw(server.port) as raw:
        raw.send(post(GOOD) + part)
        half_close(raw)
        scheduler.wait(1)
        finish(server, scheduler.jobs[0], 0.5)
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 200
        assert raw.closed()
    with Raw(server.port) as raw:
        raw.send(part)
        half_close(raw)
        assert raw.closed()
    assert server.server.http.budget.held == 0


@BOTH
def test_a_client_that_is_gone(server: Running) -> None:
    """Its job is answered into nothing, and the connection ends."""
    until(lambda: not connections(server))
    with held(server) as scheduler:
        with Raw(server.port) as raw:
            raw.send(post(GOOD))
            scheduler.wait(1)
        finish(server, scheduler.jobs[0], 0.5)
        until(lambda: not connections(server))
    assert server.get("/v2/health/live") == {"live": True}


@BOTH
def test_a_client_that_resets(server: Running) -> None:
    """That it is gone shows at once: its job is cancelled."""
    with held(server) as scheduler:
        with Raw(server.port) as raw:
            raw.send(post(GOOD))
            scheduler.wait(1)
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        until(lambda: scheduler.jobs[0].finished)
