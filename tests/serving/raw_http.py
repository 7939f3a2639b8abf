"""HTTP by hand on a socket, for what no client would send."""

from __future__ import annotations

import contextlib
import json
import socket
from dataclasses import dataclass

from ascend_ep.serving.settings import Limits

#: Of a server that tests can wait for.
IMPATIENT = Limits(header_seconds=0.6, body_seconds=0.6, idle_seconds=1.5, connections=40, body=1 << 20)

HOST = b"Host: x\r\n"
INFER = b"POST /v2/models/rows/infer HTTP/1.1\r\n" + HOST
LIVE = b"GET /v2/health/live HTTP/1.1\r\n" + HOST + b"\r\n"
TENSOR = {"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.5] * 8}
GOOD = json.dumps({"inputs": [TENSOR]}).encode()


def post(body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return INFER + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*pieces: bytes) -> bytes:
    return INFER + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(pieces)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Raw:
    """A connection; what is sent is sent as it is."""

    def __init__(self, port: int, timeout: float = 10.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._rest = b""

    def send(self, data: bytes) -> None:
        """The server may have closed by now: it has refused then."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def answer(self, bodiless: bool = False) -> Answer | None:
        """The next one; None when the server closed instead."""
        while b"\r\n\r\n" not in self._rest:
            if not self._more():
                return None
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = 0 if bodiless else int(headers.get("content-length", 0))
        while len(self._rest) < length:
            if not self._more():
                return None
        body, self._rest = self._rest[:length], self._rest[length:]
        return Answer(int(first.split(" ")[1]), headers, body)

    def closed(self) -> bool:
        """Waits for the server to close; False when it sends something first."""
        return not self._rest and not self._more()

    def _more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._rest += data
        return bool(data)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
