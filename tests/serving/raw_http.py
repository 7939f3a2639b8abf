"""HTTP by hand on a socket, for what no client would send."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass


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
