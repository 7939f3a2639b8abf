"""A parsed request and the answer to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from ascend_ep.errors import AscendError

from .budget import Budget

Body = bytes | memoryview


@dataclass(slots=True)
class Request:
    """headers: names in lower case; one that is there twice has both values, by comma. path: without the
    query, still percent-encoded. budget, held: what its body counts against, and with how many bytes.
    peer: the client's address, "" on a Unix socket. on_gone: what an exchange in flight wants called when
    the client leaves."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Body
    keep_alive: bool
    budget: Budget
    held: int = 0
    released: bool = False
    peer: str = ""
    on_gone: Callable[[], None] | None = None

    def hold(self, size: int) -> None:
        """So many bytes more belong to it until it is answered. Raises AscendError E50006; E50018 when it was
        released by now: the client is gone."""
        if self.released:
            raise AscendError("E50018")
        self.budget.take(size)
        self.held += size

    def release(self) -> None:
        self.released = True
        if self.held:
            self.budget.take(-self.held)
            self.held = 0


@dataclass(slots=True)
class Response:
    """body: pieces, sent as they are, one after another."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    body: Sequence[Body] = ()
    content_type: str = "application/json"
    close: bool = False


#: Sends the one answer to a request.
Send = Callable[[Response], None]
#: Answers a request by the second argument, once, maybe later.
Handler = Callable[[Request, Send], None]

_LINES: dict[int, bytes] = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}


def head(response: Response, keep_alive: bool, length: int) -> bytes:
    """The bytes before the body. Header values are ours: none may hold a line break."""
    parts = [
        _LINES.get(response.status) or f"HTTP/1.1 {response.status} Refused\r\n".encode(),
        b"content-length: %d\r\n" % length,
    ]
    if length:
        parts.append(f"content-type: {response.content_type}\r\n".encode())
    for name, value in response.headers:
        if "\r" in value or "\n" in value:
            raise ValueError(f"the header {name} has a line break")
        parts.append(f"{name}: {value}\r\n".encode("latin-1", "replace"))
    parts.append(b"\r\n" if keep_alive else b"connection: close\r\n\r\n")
    return b"".join(parts)
