"""Malformed HTTP on a socket: the classes of what has broken other servers. Each gets a 4xx with a sentence,
or is closed; nothing of the inside is told; the server lives on and loses neither memory nor sockets."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from raw_http import Raw
from running import Running

from ascend_ep.serving.settings import Limits, Settings

LIMITS = Limits(header_seconds=0.6, body_seconds=0.6, idle_seconds=1.5, connections=40, body=1 << 20)
HOST = b"Host: x\r\n"
INFER = b"POST /v2/models/rows/infer HTTP/1.1\r\n" + HOST
LIVE = b"GET /v2/health/live HTTP/1.1\r\n" + HOST + b"\r\n"
TENSOR = {"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.5] * 8}
GOOD = json.dumps({"inputs": [TENSOR]}).encode()


@pytest.fixture(scope="module")
def server(repository: Path) -> Iterator[Running]:
    """On asyncio's own event loop, which serves where uvloop isn't installed."""
    with Running(Settings(repository, http_port=0, limits=LIMITS), asyncio.new_event_loop) as running:
        yield running


def post(body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return INFER + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*pieces: bytes) -> bytes:
    return INFER + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(pieces)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


SMUGGLING = {
    "length and chunks": INFER + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": INFER + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "two lengths": INFER + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "the same length twice": INFER + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "a list of lengths": INFER + b"Content-Length: 3, 3\r\n\r\nabc",
    "a signed length": INFER + b"Content-Length: +3\r\n\r\nabc",
    "a negative length": INFER + b"Content-Length: -1\r\n\r\n",
    "a hexadecimal length": INFER + b"Content-Length: 0x3\r\n\r\nabc",
    "a length beyond 64 bits": INFER + b"Content-Length: 18446744073709551617\r\n\r\na",
    "an empty length": INFER + b"Content-Length: \r\n\r\n",
    "a space before a colon": INFER + b"Content-Length : 3\r\n\r\nabc",
    "a tab in a name": INFER + b"Content\tLength: 3\r\n\r\nabc",
    "a folded header": INFER + b"X: a\r\n Transfer-Encoding: chunked\r\n\r\n",
    "a bare line feed": INFER[:-2] + b"\nContent-Length: 0\n\n",
    "a bare carriage return": INFER + b"X: a\rContent-Length: 3\r\n\r\nabc",
    "NUL in a value": INFER + b"X: a\0b\r\n\r\n",
    "NUL in a name": INFER + b"X\0: a\r\n\r\n",
    "an unknown coding": INFER + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a coding before chunks": INFER + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a coding after chunks": INFER + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks twice": INFER + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": chunked(b"0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "no host": b"GET /v2 HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /v2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
}
CHUNKS = {
    "no number": chunked(b"x\r\nabc\r\n0\r\n\r\n"),
    "negative": chunked(b"-3\r\nabc\r\n0\r\n\r\n"),
    "0x": chunked(b"0x3\r\nabc\r\n0\r\n\r\n"),
    "a space before": chunked(b" 3\r\nabc\r\n0\r\n\r\n"),
    "beyond 64 bits": chunked(b"10000000000000001\r\nabc\r\n0\r\n\r\n"),
    "too short": chunked(b"5\r\nabc\r\n0\r\n\r\n"),
    "too long": chunked(b"2\r\nabc\r\n0\r\n\r\n"),
    "line feeds": chunked(b"3\nabc\n0\n\n"),
    "one byte each": chunked(*[chunk(b" ")] * 60000),
    "a long extension": chunked(b"1;" + b"x" * 300000 + b"\r\n"),
    "endless trailers": chunked(b"0\r\n" + b"X: y\r\n" * 30000),
}
LINES = {
    "no method": b"/v2 HTTP/1.1\r\n\r\n",
    "an unknown method": b"FETCH /v2 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a small method": b"get /v2 HTTP/1.1\r\n" + HOST + b"\r\n",
    "NUL in the path": b"GET /v2\0 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a space in the path": b"GET /v2 /x HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes in the path": b"GET /v2/\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "no version": b"GET /v2\r\n\r\n",
    "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "CONNECT": b"CONNECT localhost:22 HTTP/1.1\r\n" + HOST + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    "a long path": b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path without an end": b"GET /" + b"a" * 300000,
    "100,000 headers": INFER + b"X: y\r\n" * 100000 + b"\r\n",
    "a long value": INFER + b"X: " + b"y" * 20000 + b"\r\n\r\n",
    "a value without an end": INFER + b"X: " + b"y" * 1000000,
    "a name without an end": INFER + b"x" * 1000000,
    "random bytes": random.Random(1).randbytes(5000),
    "an expectation": post(GOOD, b"Expect: the unexpected"),
}
BODIES = {
    "too many bytes": INFER + b"Content-Length: 1048577\r\n\r\n" + bytes(2000),
    "too many bytes in chunks": chunked(*[chunk(bytes(60000))] * 20),
    "no JSON": post(b"\xff\xfe{"),
    "nothing": post(b""),
    "cut JSON": post(GOOD[:-5]),
    "two JSONs": post(GOOD + GOOD),
    "deep arrays": post(b"[" * 200000),
    "deep objects": post(b'{"a":' * 100000),
    "deep data": post(GOOD.replace(b"[0.5", b"[" * 100000 + b"0.5")),
    "deep parameters": post(b'{"inputs":[],"parameters":{"a":' + b"[" * 100000),
    "a header longer than its body": post(GOOD, b"Inference-Header-Content-Length: 100000"),
    "a negative header": post(GOOD, b"Inference-Header-Content-Length: -1"),
    "a header that is no number": post(GOOD, b"Inference-Header-Content-Length: 1_0"),
    "a huge header": post(GOOD, b"Inference-Header-Content-Length: " + b"9" * 4000),
    "two headers": post(GOOD, b"Inference-Header-Content-Length: 1", b"Inference-Header-Content-Length: 1"),
    "bytes behind": post(GOOD + b"1234", b"Inference-Header-Content-Length: %d" % len(GOOD)),
    "no gzip": post(GOOD, b"Content-Encoding: gzip"),
    "an odd coding": post(GOOD, b"Content-Encoding: gzip, gzip"),
}


@pytest.mark.parametrize("name", [*SMUGGLING, *CHUNKS, *LINES, *BODIES])
def test_refused_with_a_sentence(server: Running, name: str) -> None:
    data = {**SMUGGLING, **CHUNKS, **LINES, **BODIES}[name]
    with Raw(server.port) as raw:
        raw.send(data + b"GET /smuggled HTTP/1.1\r\n")
        answer = raw.answer()
        assert answer is not None, "closed without an answer"
        assert 400 <= answer.status < 500
        error = json.loads(answer.body)["error"]
        assert error.startswith("E500")
        assert error.endswith(".")
        assert "/work" not in error
        assert "Traceback" not in error
        if name not in BODIES:  # what follows isn't understood as another request
            assert answer.headers["connection"] == "close"
            assert raw.closed()
    assert server.get("/v2/health/live") == {"live": True}


SIZES = {
    "negative": [1, -8],
    "all negative": [-1, -8],
    "zero of both": [0, 0],
    "beyond 32 bits": [2**31, 8],
    "product beyond 64 bits": [2**32, 2**32],
    "beyond 64 bits": [2**64 + 1, 8],
    "a fraction": [1.0, 8],
    "text": ["1", 8],
    "true": [True, 8],
    "null": [None, 8],
    "many": [1] * 100,
}


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("name", list(SIZES))
def test_sizes(server: Running, name: str, binary: bool) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": SIZES[name]}
    tensor |= {"parameters": {"binary_data_size": 32}} if binary else {"data": [0.5] * 8}
    text = json.dumps({"inputs": [tensor]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))} if binary else {}
    body = text + bytes(32) if binary else text
    status, _, answered = server.ask("POST", "/v2/models/rows/infer", body, headers)
    assert status == 400, answered
    assert json.loads(answered)["error"].startswith(("E50001", "E50004"))


@pytest.mark.parametrize("size", [-1, 31, 33, 2**31, 2**63, 2**64, 1.0, "32", True])
def test_binary_sizes(server: Running, size: object) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 8], "parameters": {"binary_data_size": size}}
    text = json.dumps({"inputs": [tensor]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    status, _, answered = server.ask("POST", "/v2/models/rows/infer", text + bytes(32), headers)
    assert status == 400, answered


@pytest.mark.parametrize(
    "part",
    [LIVE[:10], LIVE[:-2], post(GOOD)[:-5], chunked(b"5\r\nab"), post(bytes(100000))[:-5]],
    ids=["line", "header", "body", "chunk", "large body"],
)
def test_slow_senders(server: Running, part: bytes) -> None:
    began = time.monotonic()
    with Raw(server.port) as raw:
        raw.send(part)
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 408
        assert raw.closed()
    assert time.monotonic() - began < 4


def test_a_drip_is_no_progress(server: Running) -> None:
    with Raw(server.port) as raw:
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


def test_idle_connections_end(server: Running) -> None:
    with Raw(server.port) as silent, Raw(server.port) as idle:
        idle.send(LIVE)
        assert idle.answer() is not None
        began = time.monotonic()
        assert silent.closed()
        assert idle.closed()
        assert time.monotonic() - began < 4


def test_early_close(server: Running) -> None:
    for data in (
        b"",
        LIVE[:20],
        LIVE,
        post(GOOD)[:-5],
        post(GOOD),
        chunked(b"5\r\nab"),
        post(bytes(1 << 20)),
    ):
        with Raw(server.port) as raw:
            raw.send(data)
    assert server.get("/v2/health/live") == {"live": True}


def test_pipelined_flood_is_answered_in_order(server: Running) -> None:
    paths = [b"/v2/health/live", b"/v2/models/rows/ready", b"/nowhere"] * 400
    flood = b"".join(b"GET %s HTTP/1.1\r\n" % path + HOST + b"\r\n" for path in paths)
    with Raw(server.port) as raw:
        raw.send(flood)
        for path in paths:
            answer = raw.answer()
            assert answer is not None
            assert (answer.status == 404) == (path == b"/nowhere")


def test_a_refusal_waits_its_turn(server: Running) -> None:
    with Raw(server.port) as raw:
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
    with Running(Settings(repository, http_port=0, limits=LIMITS)) as running:
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


def test_heads_that_are_known(server: Running) -> None:
    """A request whose head a connection has seen isn't parsed again; empty lines around it don't shift it."""
    with Raw(server.port) as raw:
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
            alone = server.ask("POST", "/v2/models/rows/infer", plain)[2]
            assert json.loads(answer.body)["outputs"] == json.loads(alone)["outputs"]


def test_connections_have_a_limit(server: Running) -> None:
    held = [Raw(server.port) for _ in range(LIMITS.connections)]
    try:
        for raw in held[:5]:
            raw.send(LIVE)
            assert raw.answer() is not None
        with Raw(server.port) as one_more:
            answer = one_more.answer()
            assert answer is not None
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    finally:
        for raw in held:
            raw.socket.close()
    time.sleep(0.1)
    assert server.get("/v2/health/live") == {"live": True}


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


def test_well_formed_oddities(server: Running) -> None:
    with Raw(server.port) as raw:
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


def test_an_upgrade_is_declined(server: Running) -> None:
    upgrade = LIVE[:-2] + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"
    with Raw(server.port) as raw:
        raw.send(upgrade)
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 200
        raw.send(LIVE)
        assert raw.answer() is not None


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


def test_nothing_is_lost(server: Running, request: pytest.FixtureRequest) -> None:
    """Sockets and memory of this process, in which the server runs, before and after floods of it all."""
    everything = [*SMUGGLING.values(), *CHUNKS.values(), *LINES.values(), *BODIES.values()]

    def flood() -> None:
        for data in everything:
            with Raw(server.port) as raw:
                raw.send(data)
        time.sleep(0.2)
        server.get("/v2/health/live")
        gc.collect()

    flood()
    sockets, pages = len(os.listdir("/proc/self/fd")), resident_pages()
    for _ in range(40 if request.config.getoption("--slow") else 4):
        flood()
    assert server.server.http.budget.held == 0
    assert len(os.listdir("/proc/self/fd")) <= sockets + 2
    assert (resident_pages() - pages) * 4096 < 8 << 20
