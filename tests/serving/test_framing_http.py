"""Requests are what they are however the network cuts their bytes: beside each other, in pieces, repeated."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.serving.http.connection import Connection
from ascend_ep.serving.http.message import Request, Response, Send
from ascend_ep.serving.http.server import HttpServer
from ascend_ep.serving.settings import Limits


class Pipe(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def echo(request: Request, send: Send) -> None:
    told = {
        "method": request.method,
        "path": request.path,
        "mark": request.headers.get("x-mark", ""),
        "body": bytes(request.body).decode("latin-1"),
    }
    send(Response(200, (), (json.dumps(told).encode(),)))


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    mark: str
    body: bytes
    chunks: int  # 0: of known length
    around: bytes

    def told(self) -> dict[str, str]:
        body = self.body.decode("latin-1")
        return {"method": self.method, "path": self.path, "mark": self.mark, "body": body}

    def encoded(self) -> bytes:
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: x\r\nX-Mark: {self.mark}\r\n".encode()
        if not self.chunks:
            return head + b"Content-Length: %d\r\n\r\n" % len(self.body) + self.body + self.around
        step = max(1, len(self.body) // self.chunks)
        pieces = [self.body[i : i + step] for i in range(0, len(self.body), step)]
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked + b"0\r\n\r\n" + self.around


BODIES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n"]),
    st.tuples(st.binary(min_size=1, max_size=9), st.sampled_from([2000, 7000])).map(lambda t: t[0] * t[1]),
)
ASKED = st.builds(
    Asked,
    st.sampled_from(["POST", "PUT"]),
    st.sampled_from(["/a", "/a/b%20c"]),
    st.sampled_from(["", "1"]),
    BODIES,
    st.sampled_from([0, 0, 0, 1, 3]),
    st.sampled_from([b"", b"", b"\r\n"]),
)


def answers(written: bytes) -> list[dict[str, str]]:
    found = []
    while written:
        head, _, written = written.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        found.append(json.loads(written[:length]))
        written = written[length:]
    return found


@given(st.lists(ASKED, min_size=1, max_size=6), st.lists(st.integers(1, 30_000), max_size=12), st.data())
@settings(deadline=None, max_examples=150)
def test_any_cut(asked: list[Asked], cuts: list[int], data: st.DataObject) -> None:
    """Cut anywhere, or between requests, as clients that wait do."""
    if data.draw(st.booleans(), "repeated"):
        asked = [a for a in asked for _ in range(3)]
    pieces = [a.encoded() for a in asked]
    if not data.draw(st.booleans(), "request by request"):
        whole, pieces = b"".join(pieces), []
        for cut in [*cuts, len(whole)]:
            pieces.append(whole[:cut])
            whole = whole[cut:]
    server = HttpServer(echo, Limits())
    pipe = Pipe()
    connection = Connection(server)
    connection.connection_made(pipe)
    for piece in pieces:
        while piece:
            buffer = connection.get_buffer(-1)
            taken = min(len(buffer), len(piece))
            buffer[:taken] = piece[:taken]
            connection.buffer_updated(taken)
            piece = piece[taken:]
    assert answers(bytes(pipe.written)) == [a.told() for a in asked]
    assert not pipe.closed
    assert server.budget.held == 0
