"""Heads that a connection has seen before mean what they meant, however the bytes arrive."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.serving.http.message import Request
from ascend_ep.serving.http.receiving import SCRATCH, Receiver
from ascend_ep.serving.settings import Limits


class Budget:
    held = 0

    def take(self, size: int) -> None:
        self.held += size


class Fed:
    """A receiver and what it made of its bytes."""

    def __init__(self) -> None:
        self.made: list[Request] = []
        self.budget = Budget()
        scratch = memoryview(bytearray(SCRATCH))
        self.receiver = Receiver(Limits(), scratch, self.budget, self.made.append, lambda data: None)

    def feed(self, data: bytes) -> None:
        while data:
            place = self.receiver.buffer()
            count = min(len(place), len(data))
            place[:count] = data[:count]
            self.receiver.received(count)
            data = data[count:]


def meaning(request: Request) -> tuple[Any, ...]:
    r = request
    return r.method, r.path, r.query, r.headers, bytes(r.body), r.keep_alive, r.held


def requests(choice: random.Random) -> list[bytes]:
    """Many with one of few heads, and others that differ in a byte, a length or their framing."""
    made = []
    for _ in range(30):
        body = choice.randbytes(choice.choice([0, 5, 5, 5, 5, 7, 20_000]))
        path = choice.choice([b"/a", b"/a", b"/a", b"/b?c=d"])
        head = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\n"
        kind = choice.random()
        if kind < 0.1:
            made.append(head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        elif kind < 0.15:
            made.append(b"\r\n" + head + b"Content-Length: 0\r\n\r\n")
        elif kind < 0.2:
            made.append(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        elif kind < 0.25:
            made.append(head + b"Content-Length: 2\r\n\r\n\r\n")  # a body that looks like the end of a head
        else:
            made.append(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_a_connection_is_as_many_connections(seed: int) -> None:
    choice = random.Random(seed)
    sent = requests(choice)
    alone = []
    for data in sent:
        single = Fed()
        single.feed(data)
        alone += [meaning(r) for r in single.made]
    together = Fed()
    if seed % 2:
        for data in sent:
            together.feed(data)
    else:
        stream = b"".join(sent)
        while stream:
            size = choice.choice([1, 10, 50, 70, 500, 30_000])
            together.feed(stream[:size])
            stream = stream[size:]
    assert [meaning(r) for r in together.made] == alone
    assert together.budget.held == sum(r.held for r in together.made)


def test_a_known_head_is_known_to_the_byte() -> None:
    good = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    fed = Fed()
    fed.feed(good)
    fed.feed(good)
    assert fed.receiver._known is not None
    for bad in (good.replace(b"HTTP", b"HTTQ"), good.replace(b": 3", b": x"), b"\x00" + good[1:]):
        with pytest.raises(AscendError):
            fed.feed(bad)
        fed = Fed()
        fed.feed(good)
    assert all(bytes(r.body) == b"abc" for r in fed.made)


def test_bodies_are_not_kept() -> None:
    fed = Fed()
    fed.feed(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n" + bytes(40000))
    fed.feed(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd")
    assert fed.receiver._finished == []
