"""Clients that break the rules of HTTP/2, or keep them and hold what they were given."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from grpc_client import Client, refusal, request
from held_jobs import until
from http2_frames import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_STREAM,
    HEADERS,
    PING,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Hostile,
    call,
    frame,
    head,
)
from running import Running

from ascend_ep.serving.settings import Limits, Settings

INFER = "/inference.GRPCInferenceService/ModelInfer"
SENT = request("rows", {"x": np.zeros((1, 8), np.float32)})
LIMITS = Limits(
    body=1 << 20, body_seconds=0.4, header_seconds=0.4, connections=40, rpcs=8, rpcs_of_connection=6
)


@pytest.fixture(scope="module")
def server(repository: Path) -> Iterator[Running]:
    with Running(Settings(repository, http_port=None, grpc_port=0, limits=LIMITS)) as running:
        yield running


@pytest.fixture(autouse=True)
def alive(server: Running) -> Iterator[None]:
    """Behind every attack another client is answered, and what was sent isn't kept. gRPC reads ahead by
    some 50 MB, once, which the heaps of its threads don't give back."""
    before = resident()
    yield
    with Client(server.grpc_port) as client:
        until(lambda: client.begin("ModelInfer", SENT, timeout=5).code().name == "OK")
    assert resident() - before < 128 << 20


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_cve_2023_44487_calls_that_are_reset_at_once(server: Running) -> None:
    with Hostile(server.grpc_port) as client:
        for begin in range(1, 20_001, 400):
            data = b"".join(
                call(INFER, stream) + frame(RST_STREAM, CANCEL, stream=stream)
                for stream in range(begin, begin + 400, 2)
            )
            if not client.send(data):
                break


def test_cve_2024_27316_a_head_without_end(server: Running) -> None:
    with Hostile(server.grpc_port) as client:
        client.send(frame(HEADERS, head(INFER), 0, 1))
        field = b"\x00\x01a\x7f" + b"\x80\x3f" + b"b" * 8191  # a value of 127 + 8064 bytes
        for _ in range(30_000):  # 240 MB, which must not stay
            if not client.send(frame(CONTINUATION, field, 0, 1)):
                break


def sent(stream: int) -> bytes:
    """The message of a right call, without its end."""
    message = SENT.SerializeToString()
    return frame(DATA, b"\0" + len(message).to_bytes(4, "big") + message, 0, stream)


#: What a stream's rules forbid, so that the server is the one who resets it.
BROKEN = {
    "a window that grows by nothing": lambda stream: frame(WINDOW_UPDATE, bytes(4), 0, stream),
    "a window beyond 2^31": lambda stream: frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff", 0, stream) * 2,
    "a priority of 4 bytes": lambda stream: frame(PRIORITY, bytes(4), 0, stream),
    "a stream before itself": lambda stream: frame(PRIORITY, stream.to_bytes(4, "big") + b"\x01", 0, stream),
    "data behind the end": lambda stream: frame(DATA, b"", END_STREAM, stream) * 2,
    "a second head": lambda stream: call(INFER, stream),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_cve_2025_8671_calls_that_the_server_resets(server: Running, broken: str) -> None:
    """As rapid resets, which the client has the server send. What was begun for them ends, too."""
    with Hostile(server.grpc_port) as client:
        for begin in range(1, 4_001, 200):
            data = (call(INFER, n) + sent(n) + BROKEN[broken](n) for n in range(begin, begin + 200, 2))
            if not client.send(b"".join(data)):
                break
    until(lambda: server.server.grpc.inference._held == 0)


@pytest.mark.parametrize("kind", [PING, SETTINGS])
def test_floods_of_control(server: Running, kind: int) -> None:
    with Hostile(server.grpc_port) as client:
        data = frame(kind, bytes(8) if kind == PING else b"") * 1000
        took = sum(client.send(data) for _ in range(30))
        if kind == PING:
            assert took < 30 or client.hears(b"too_many_pings")


def test_a_message_that_claims_four_gigabytes(server: Running) -> None:
    with Hostile(server.grpc_port) as client:
        claimed = b"\x00" + (2**32 - 1).to_bytes(4, "big")
        client.send(call(INFER, 1) + frame(DATA, claimed + bytes(100), 0, 1))
        assert client.hears(b"larger than max")


def test_calls_without_a_message_lose_their_places(server: Running) -> None:
    attackers = [Hostile(server.grpc_port) for _ in range(2)]
    for attacker in attackers:
        attacker.send(b"".join(call(INFER, stream) for stream in range(1, 9, 2)))
    with Client(server.grpc_port) as client:
        until(lambda: client.begin("ModelInfer", SENT).code().name == "RESOURCE_EXHAUSTED")
        began = time.monotonic()
        until(lambda: client.begin("ModelInfer", SENT).code().name == "OK")
        assert time.monotonic() - began < 3
    for attacker in attackers:
        assert attacker.hears(b"E50017", 4)
        attacker.socket.close()


def test_a_call_that_ends_without_a_message(server: Running) -> None:
    with Hostile(server.grpc_port) as client:
        client.send(call(INFER, 1) + frame(DATA, b"", END_STREAM, 1))
        assert client.hears(b"the call has no message")


def test_streams_leave_room_for_requests(server: Running) -> None:
    with Client(server.grpc_port) as client:
        ends = [iter(lambda: time.sleep(3) or None, None) for _ in range(4)]
        streams = [client.stream("ModelStreamInfer", end) for end in ends]
        until(lambda: len(server.server.grpc.inference._readers) == 4)
        code, details = refusal(lambda: list(client.stream("ModelStreamInfer", [SENT])))
        assert code == "RESOURCE_EXHAUSTED"
        assert "4 streams" in details
        assert client.call("ModelInfer", SENT)
        for stream in streams:
            stream.cancel()


def test_connections_beyond_the_limit(server: Running) -> None:
    silent = [socket.create_connection(("127.0.0.1", server.grpc_port), timeout=5) for _ in range(60)]
    try:
        for connection in silent:
            connection.settimeout(0.02)
        refused = 0
        for connection in silent:
            with contextlib.suppress(TimeoutError, ConnectionError):
                refused += connection.recv(100) == b""
        assert refused >= 20
    finally:
        for connection in silent:
            connection.close()
