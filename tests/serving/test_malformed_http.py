"""Malformed HTTP on a socket: the classes of what has broken other servers. Each gets a 4xx with a sentence,
or is closed; nothing of the inside is told; the server lives on and loses neither memory nor sockets."""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import time
from itertools import pairwise
from pathlib import Path

import pytest
from raw_http import GOOD, HOST, INFER, Raw, chunk, chunked, post
from running import Running

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
def test_refused_with_a_sentence(impatient: Running, name: str) -> None:
    data = {**SMUGGLING, **CHUNKS, **LINES, **BODIES}[name]
    with Raw(impatient.port) as raw:
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
    assert impatient.get("/v2/health/live") == {"live": True}


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
def test_sizes(impatient: Running, name: str, binary: bool) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": SIZES[name]}
    tensor |= {"parameters": {"binary_data_size": 32}} if binary else {"data": [0.5] * 8}
    text = json.dumps({"inputs": [tensor]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))} if binary else {}
    body = text + bytes(32) if binary else text
    status, _, answered = impatient.ask("POST", "/v2/models/rows/infer", body, headers)
    assert status == 400, answered
    assert json.loads(answered)["error"].startswith(("E50001", "E50004"))


@pytest.mark.parametrize("size", [-1, 31, 33, 2**31, 2**63, 2**64, 1.0, "32", True])
def test_binary_sizes(impatient: Running, size: object) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 8], "parameters": {"binary_data_size": size}}
    text = json.dumps({"inputs": [tensor]}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    status, _, answered = impatient.ask("POST", "/v2/models/rows/infer", text + bytes(32), headers)
    assert status == 400, answered


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


def test_nothing_is_lost(impatient: Running, request: pytest.FixtureRequest) -> None:
    """Sockets and memory of this process, in which the server runs, before and after floods of it all."""
    everything = [*SMUGGLING.values(), *CHUNKS.values(), *LINES.values(), *BODIES.values()]

    def flood() -> None:
        for data in everything:
            with Raw(impatient.port) as raw:
                raw.send(data)
        time.sleep(0.2)
        impatient.get("/v2/health/live")
        gc.collect()

    flood()
    sockets, pages = len(os.listdir("/proc/self/fd")), [resident_pages()]
    for _ in range(40 if request.config.getoption("--slow") else 4):
        flood()
        pages.append(resident_pages())
    assert impatient.server.http.budget.held == 0
    assert len(os.listdir("/proc/self/fd")) <= sockets + 2
    # What is lost is lost in every flood; a process of 1 GB may grow once for reasons of its own.
    assert statistics.median(b - a for a, b in pairwise(pages)) * 4096 < 2 << 20
