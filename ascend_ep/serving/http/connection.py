"""One client's connection: bytes in, requests to the handler, answers out in order.

httptools parses heads and small bodies. A large body of known length is received straight into the memory
it stays in, so that its tensors are views of it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import httptools
import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal

from .message import Body, Request, Response, Send, head
from .refused import refused

if TYPE_CHECKING:
    from .server import HttpServer

#: Bodies from this size on are received into their place.
_DIRECT = 16 << 10
_SCRATCH = 64 << 10
#: Requests of one connection that wait for the one before.
_PIPELINE = 16
#: Tensors behind the JSON of a binary request begin at a multiple of this.
_ALIGNMENT = 64

Handler = Callable[[Request, Send], None]


class Connection(asyncio.BufferedProtocol):
    """Refuses by closing behind an answer: what follows an error of the protocol can't be trusted."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._limits = server.limits
        self._parser = httptools.HttpRequestParser(self)
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._busy: Request | None = None
        self._closing = False
        self._peer = ""
        self.deadline = time.monotonic() + self._limits.header_seconds
        self._reset()

    # --- the transport's side ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""
        if not self._server.opened(self):
            self._refuse(AscendError("E50006", f"{self._limits.connections} connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.closed(self)
        self._release_body()
        self._closing = True
        self._waiting.clear()
        if self._busy is not None and self._busy.on_gone is not None:
            self._busy.on_gone()
        self._transport = None

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._direct is not None:
            return self._direct[self._filled :]
        return self._scratch

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        self._server.received += nbytes
        if self._direct is not None:
            self._filled += nbytes
            self.deadline = time.monotonic() + self._limits.body_seconds
            if self._filled == len(self._direct):
                self._complete(self._direct)
                self._parser = httptools.HttpRequestParser(self)
            return
        try:
            self._parser.feed_data(self._scratch[:nbytes])
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, AscendError) else internal(cause or error))
        except httptools.HttpParserUpgrade:
            self._refuse(AscendError("E50001", "the connection can't be upgraded"))
        except httptools.HttpParserError as error:
            self._refuse(AscendError("E50001", f"this is no HTTP request ({error})"))
        else:
            self._take_over_body()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    # --- the parser's side --------------------------------------------------------------------

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._pieces: list[bytes] = []
        self._received = 0
        self._length = 0
        self._in_body = False
        self._direct: memoryview | None = None
        self._filled = 0
        self._counted = 0

    def on_message_begin(self) -> None:
        self._reset()
        self.deadline = time.monotonic() + self._limits.header_seconds

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_header(len(name) + len(value) + 4)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in self._headers:
            if key in ("content-length", "host", "inference-header-content-length"):
                raise AscendError("E50001", f"the header {key} is there twice")
            text = f"{self._headers[key]}, {text}"
        self._headers[key] = text

    def on_headers_complete(self) -> None:
        self._in_body = True
        declared = self._headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdigit()):
            raise AscendError("E50001", "the content-length is no number")
        self._length = int(declared)
        if self._length > self._limits.body:
            raise AscendError("E50005", self._length, self._limits.body)
        self._counted = self._length
        self._server.count_body(self._counted)
        self.deadline = time.monotonic() + self._limits.body_seconds
        if self._headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, piece: bytes) -> None:
        self._received += len(piece)
        if self._received > self._limits.body:
            raise AscendError("E50005", self._received, self._limits.body)
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        self._complete(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces))

    # --- requests and answers -----------------------------------------------------------------

    def _take_over_body(self) -> None:
        """What is left of a large body goes straight into its place."""
        if not self._in_body or self._length < _DIRECT or self._received >= self._length:
            return
        json_size = self._headers.get("inference-header-content-length", "0")
        lead = -int(json_size) % _ALIGNMENT if json_size.isdecimal() and len(json_size) < 10 else 0
        place = np.empty(lead + self._length + _ALIGNMENT, np.uint8)
        lead += -place.ctypes.data % _ALIGNMENT
        self._direct = memoryview(place.data)[lead : lead + self._length]
        for piece in self._pieces:
            self._direct[self._filled : self._filled + len(piece)] = piece
            self._filled += len(piece)
        self._pieces.clear()

    def _complete(self, body: Body) -> None:
        path, _, query = self._url.decode("latin-1").partition("?")
        method = self._parser.get_method().decode()
        keep_alive = self._parser.should_keep_alive()
        request = Request(method, path, query, self._headers, body, self._peer)
        self._release_body()
        self._reset()
        self.deadline = time.monotonic() + self._limits.idle_seconds
        if self._busy is None:
            self._handle(request, keep_alive)
        elif len(self._waiting) < _PIPELINE:
            self._waiting.append((request, keep_alive))
        else:
            raise AscendError("E50001", f"more than {_PIPELINE} requests without waiting for an answer")

    def _handle(self, request: Request, keep_alive: bool) -> None:
        self._busy = request

        def send(response: Response) -> None:
            self._answer(request, response, keep_alive)

        try:
            self._server.handler(request, send)
        except Exception as failure:
            send(refused(internal(failure)))

    def _answer(self, request: Request, response: Response, keep_alive: bool) -> None:
        if self._transport is None or self._busy is not request:
            return
        self._busy = None
        keep_alive = keep_alive and not response.close and not self._server.draining
        self._write(response, keep_alive, request.method == "HEAD")
        if not keep_alive:
            self._close()
        elif self._waiting:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        if self._busy is None and self._waiting:
            self._handle(*self._waiting.popleft())

    def _write(self, response: Response, keep_alive: bool, bodiless: bool = False) -> None:
        assert self._transport is not None
        length = sum(map(len, response.body))
        pieces: list[Any] = [head(response, keep_alive, length)]
        self._server.answered[response.status] += 1
        self._server.sent += len(pieces[0]) + length
        if not bodiless:
            pieces += response.body
        if length < _DIRECT:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    def _refuse(self, error: AscendError) -> None:
        """An answer to what can't be understood, and the end of the connection."""
        if self._transport is not None and not self._closing:
            if self._busy is None:
                self._write(refused(error), keep_alive=False)
            self._close()

    def _close(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def _count_header(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > self._limits.header:
            raise AscendError("E50012", self._limits.header)

    def _release_body(self) -> None:
        self._server.count_body(-self._counted)
        self._counted = 0

    # --- the server's side --------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._busy is not None or bool(self._waiting)

    def expire(self) -> None:
        """Its deadline has passed: a client that stopped half-way is told; one that is idle is not."""
        if self.busy:
            return
        if self._in_body or self._url or self._header_bytes:
            self._refuse(AscendError("E50017"))
        else:
            self._close()

    def finish(self) -> None:
        """The server is going down: closed at once when idle, behind its answer otherwise."""
        if not self.busy and not self._in_body:
            self._close()
