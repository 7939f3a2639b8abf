"""Connections: slow and silent clients, pipelines, limits, and what is odd but well formed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from pathlib import Path

import numpy as np
import pytest
from raw_http import GOOD, HOST, IMPATIENT, INFER, LIVE, TENSOR, Raw, chunk, chunked, post
from running import Running

from ascend_ep.serving.settings import Limits, Settings


@pytest.mark.parametrize(
    "part",
    [LIVE[:10], LIVE[:-2], post(GOOD)[:-5], chunked(b"5\r\nab"), post(bytes(100000))[:-5]],
    ids=["line", "header", "body", "chunk", "large body"],
)
def test_slow_senders(impatient: Running, part: bytes) -> None:
    began = time.monotonic()
    with Raw(impatient.port) as raw:
        raw.send(part)
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 408
        assert raw.closed()
    assert time.monotonic() - began < 4


def test_a_drip_is_no_progress(impatient: Running) -> None:
    with Raw(impatient.port) as raw:
        began = time.monotonic()
        for byte in (LIVE[:-2] * 100)[: 20 * 100]:
            raw.send(bytes([byte]))
            raw.socket.settimeout(0.02)
            try:
                if raw.answer() is not None:
                    break
            except TimeoutError:
                continue
        assert time.monotonic() - began < 3


def test_idle_connections_end(impatient: Running) -> None:
    with Raw(impatient.port) as silent, Raw(impatient.port) as idle:
        idle.send(LIVE)
        assert idle.answer() is not None
        began = time.monotonic()
        assert silent.closed()
        assert idle.closed()
        assert time.monotonic() - began < 4


def test_early_close(impatient: Running) -> None:
    for data in (
        b"",
        LIVE[:20],
        LIVE,
        post(GOOD)[:-5],
        post(GOOD),
        chunked(b"5\r\nab"),
        post(bytes(1 << 20)),
    ):
        with Raw(impatient.port) as raw:
            raw.send(data)
    assert impatient.get("/v2/health/live") == {"live": True}


def test_pipelined_flood_is_answered_in_order(impatient: Running) -> None:
    paths = [b"/v2/health/live", b"/v2/models/rows/ready", b"/nowhere"] * 400
    flood = b"".join(b"GET %s HTTP/1.1\r\n" % path + HOST + b"\r\n" for path in paths)
    with Raw(impatient.port) as raw:
        raw.send(flood)
        for path in paths:
            answer = raw.answer()
            assert answer is not None
            assert (answer.status == 404) == (path == b"/nowhere")


def test_a_refusal_waits_its_turn(impatient: Running) -> None:
    with Raw(impatient.port) as raw:
        raw.send(post(GOOD) + LIVE + b"nonsense\r\n\r\n" + LIVE)
        statuses = [answer.status for answer in iter(raw.answer, None)]
    assert statuses == [200, 200, 400]


def test_a_client_that_does_not_read_is_left(repository: Path) -> None:
    """It asks for more than the system's buffers take: answers are made no faster than they are read."""
    rows = 4000
    tensor = {
        "name": "x",
        "shape": [rows, 8],
        "datatype": "FP32",
        "parameters": {"binary_data_size": rows * 32},
    }
    text = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    one = post(text + bytes(rows * 32), b"Inference-Header-Content-Length: %d" % len(text))
    with Running(Settings(repository, http_port=0, limits=IMPATIENT)) as running:
        before = running.get("/v2/models/rows/versions/2/stats")["model_stats"][0]["inference_count"]
        with Raw(running.port, timeout=0.5) as raw:
            with contextlib.suppress(TimeoutError):
                for _ in range(1000):
                    raw.socket.sendall(one)
            after = running.get("/v2/models/rows/versions/2/stats")["model_stats"][0]["inference_count"]
            assert (after - before) / rows < 900
            time.sleep(1.5)
            assert not running.server.http._connections
        assert running.server.http.budget.held == 0


def test_heads_that_are_known(impatient: Running) -> None:
    """A request whose head a connection has seen isn't parsed again; empty lines around it don't shift it."""
    with Raw(impatient.port) as raw:
        for around in (b"", b"\r\n", b"\r\n\r\n"):
            for value in (1, 2, 3):
                tensor = TENSOR | {"data": [value] * 8}
                text = json.dumps({"inputs": [tensor], "id": str(value)}).encode()
                raw.send(post(text) + around)
                answer = raw.answer()
                assert answer is not None
                assert answer.status == 200
                assert json.loads(answer.body)["id"] == str(value)
        binary = TENSOR | {"parameters": {"binary_data_size": 32}}
        del binary["data"]
        text = b"\r\n" + json.dumps({"inputs": [binary]}).encode()
        length = b"Inference-Header-Content-Length: %d" % len(text)
        for value in (b"\0\0\x80\x3f", b"\0\0\0\x40"):
            raw.send(post(text + value * 8, length) + b"\r\n")
            answer = raw.answer()
            assert answer is not None
            plain = {"inputs": [TENSOR | {"data": np.frombuffer(value * 8, "f").tolist()}]}
            alone = impatient.ask("POST", "/v2/models/rows/infer", plain)[2]
            assert json.loads(answer.body)["outputs"] == json.loads(alone)["outputs"]


def test_connections_have_a_limit(impatient: Running) -> None:
    held = [Raw(impatient.port) for _ in range(IMPATIENT.connections)]
    try:
        for raw in held[:5]:
            raw.send(LIVE)
            assert raw.answer() is not None
        with Raw(impatient.port) as one_more:
            answer = one_more.answer()
            assert answer is not None
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    finally:
        for raw in held:
            raw.socket.close()
    time.sleep(0.1)
    assert impatient.get("/v2/health/live") == {"live": True}


def test_bodies_have_a_budget(repository: Path) -> None:
    limits = dataclasses.replace(Limits(), bodies=300_000, body_seconds=5.0)
    with Running(Settings(repository, http_port=0, limits=limits)) as running:
        with Raw(running.port) as first, Raw(running.port) as second:
            first.send(INFER + b"Content-Length: 200000\r\n\r\n")
            time.sleep(0.1)
            second.send(INFER + b"Content-Length: 200000\r\n\r\n")
            refused = second.answer()
            assert refused is not None
            assert refused.status == 503
        time.sleep(0.1)
        with Raw(running.port) as third:
            third.send(post(GOOD + b" " * 200000))
            answer = third.answer()
            assert answer is not None
            assert answer.status == 200
        assert running.server.http.budget.held == 0


def test_well_formed_oddities(impatient: Running) -> None:
    with Raw(impatient.port) as raw:
        raw.send(b"\r\n\r\n" + LIVE.replace(b"/v2", b"http://x/v2"))
        raw.send(chunked(chunk(GOOD[:7]), chunk(GOOD[7:]), b"0\r\nX-Trailer: 1\r\n\r\n"))
        raw.send(b"HEAD /v2 HTTP/1.1\r\n" + HOST + b"\r\n")
        assert [answer.status for answer in (raw.answer(), raw.answer()) if answer] == [200, 200]
        headed = raw.answer(bodiless=True)
        assert headed is not None
        assert int(headed.headers["content-length"]) > 0
        raw.send(INFER + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(GOOD))
        interim = raw.answer()
        assert interim is not None
        assert interim.status == 100
        raw.send(GOOD)
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 200
        raw.send(b"GET /v2 HTTP/1.0\r\n\r\n")
        last = raw.answer()
        assert last is not None
        assert last.headers["connection"] == "close"
        assert raw.closed()


def test_an_upgrade_is_declined(impatient: Running) -> None:
    upgrade = LIVE[:-2] + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"
    with Raw(impatient.port) as raw:
        raw.send(upgrade)
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 200
        raw.send(LIVE)
        assert raw.answer() is not None
