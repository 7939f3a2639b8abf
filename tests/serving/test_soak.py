"""tools/soak: a sample of it, and that what it looks for it would find."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from serving_soak.connection import Answer
from serving_soak.models import Asked
from serving_soak.soak import Plan, soak
from serving_soak.tally import Tally
from serving_soak.valid import check
from serving_soak.volume import Client, Exchange, Wrong
from serving_soak.watch import MIB, Watch


@pytest.mark.parametrize(
    "minutes", [pytest.param(0.1, id="sample"), pytest.param(3.0, id="minutes", marks=pytest.mark.slow)]
)
def test_mixed_traffic_leaves_nothing_behind(minutes: float, tmp_path: Path) -> None:
    outcome = asyncio.run(soak(Plan(minutes, workers=4, reload_seconds=1.0), tmp_path))
    assert outcome.good, (outcome.tally.wrongs, outcome.notes)
    assert outcome.tally.counts["mlp, v2 binary: 200"] > 20
    assert sum(n for name, n in outcome.tally.counts.items() if name.endswith(": 400")) > 5


def test_requests_by_the_thousand_are_compared(tmp_path: Path) -> None:
    outcome = asyncio.run(soak(Plan(3.0, workers=1, reload_seconds=1.0, requests=3000), tmp_path))
    assert outcome.good, (outcome.tally.wrongs, outcome.notes)
    many = {name: n for name, n in outcome.tally.counts.items() if name.startswith("many: ")}
    assert sum(many.values()) >= 3000
    assert min(many[f"many: {name}"] for name in ("mlp, v2 json", "wrong JSON", "a question")) > 50


KNOWN = Exchange("one", b"GET / HTTP/1.1\r\n\r\n", b"200", b"body")


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody", None),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbodY", "one"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nbody2", "one"),
        (b"HTTP/1.1 400 No\r\ncontent-length: 4\r\n\r\nbody", "one"),
        (b"HTTP/1.1 503 No\r\ncontent-length: 1\r\nretry-after: 1\r\n\r\nx", None),
        (b"HTTP/1.1 503 No\r\ncontent-length: 1\r\n\r\nx", "one"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbodymore", "an answer to no request"),
        (b"HTTP/1.1 200 OK\r\ncontent-le", "the connection ended"),
    ],
)
def test_one_changed_byte_among_many_is_found(said: bytes, wrong: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(listener.getsockname()[1])
        client.ask([KNOWN])
        with listener.accept()[0] as server:
            server.sendall(said)
        counts: Counter[str] = Counter()
        if wrong is None:
            client.compare(counts)
            assert counts.total() == 1
        else:
            with pytest.raises(Wrong, match=wrong):
                client.compare(counts)


def test_only_a_suspension_excuses_what_is_late() -> None:
    tally = Tally()
    tally.late("no answer")
    assert tally.wrongs == ["no answer"]
    tally.suspended()
    tally.late("no answer")
    tally.wrong("other bits")
    assert tally.wrongs == ["no answer", "other bits"]


@pytest.mark.parametrize(
    ("status", "headers", "body", "wrong"),
    [
        (400, {}, b'{"error": "this is no HTTP request"}', False),
        (503, {"retry-after": "1"}, b'{"error": "256 requests are waiting"}', False),
        (503, {}, b'{"error": "256 requests are waiting"}', True),
        (500, {}, b'{"error": "something happened here"}', True),
        (400, {}, b"no JSON", True),
        (400, {}, b'{"error": "in /home/me/server.py, line 3"}', True),
        (200, {}, b"", False),
    ],
)
def test_refusals_are_judged(status: int, headers: dict[str, str], body: bytes, wrong: bool) -> None:
    tally = Tally()
    tally.refusal("some client", Answer(status, headers, body))
    assert bool(tally.wrongs) == wrong


def test_one_changed_bit_is_found() -> None:
    y = np.array([[0.25, 0.75]], np.float32)
    off = np.array([[0.25, np.nextafter(np.float32(0.75), np.float32(1))]], np.float32)
    asked = Asked("m", "1", y, y)
    for sent, wrong in ((y, False), (off, True)):
        tally = Tally()
        header = b'{"outputs":[{"name":"y","shape":[1,2],"datatype":"FP32"}]}'
        headers = {"inference-header-content-length": str(len(header))}
        check(asked, "v2 binary", Answer(200, headers, header + sent.tobytes()), tally)
        assert bool(tally.wrongs) == wrong


@pytest.mark.parametrize(("mib_per_minute", "leaks"), [(0.0, False), (0.3, False), (2.0, True)])
def test_a_leak_is_a_slope(mib_per_minute: float, leaks: bool) -> None:
    noise = np.random.default_rng(0)
    seconds = np.arange(0.0, 1800.0, 3.0)
    memory = [(float(t), int((90 + mib_per_minute * t / 60 + noise.normal()) * MIB)) for t in seconds]
    growth, bound = Watch(0, memory).growth()
    assert (growth > bound) == leaks
