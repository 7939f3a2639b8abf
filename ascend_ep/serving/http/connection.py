"""One client's connection: requests to the handler, answers out in order."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Protocol, cast

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.security.tokens import Tokens
from ascend_ep.serving.settings import Limits

from .budget import Budget
from .message import Handler, Request, Response, head
from .receiving import Receiver
from .refused import refused

#: Answers from this size on are written in pieces.
_LARGE = 16 << 10
#: Requests of one connection that wait for the one before; reading stops until there are fewer.
_PIPELINE = 16
#: Seconds for a client to read why it was refused, before the connection is reset.
_LINGER = 2.0


class Shared(Protocol):
    """What the connections of a server have in common: its handler and limits, the memory that requests are
    read to, and what it counts."""

    handler: Handler
    tokens: Tokens | None
    note: Callable[[AscendError, str], None] | None
    limits: Limits
    budget: Budget
    scratch: memoryview
    draining: bool
    received: int
    sent: int
    answered: Counter[int]

    def opened(self, connection: Connection) -> bool:
        """Whether there is room for one more."""
        ...

    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """Refuses by closing behind an answer: what follows an error of the protocol can't be trusted."""

    def __init__(self, server: Shared) -> None:
        self._server = server
        self._limits = server.limits
        self._receiver = Receiver(
            server.limits, server.scratch, server.budget, self._received, self._write_interim, server.tokens
        )
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[Request | AscendError] = deque()
        self._busy: Request | None = None
        self._last = False  # nothing more is read
        self._half_closed = False  # the client sends nothing more, but may read
        self._closing = False
        self._write_paused = False
        self._paused_since = 0.0
        self._peer = ""
        self._idle_since = 0.0

    # --- the transport's side ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""
        if not self._server.opened(self):
            self._refuse(AscendError("E50006", f"{self._limits.connections} connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.closed(self)
        self._last = self._closing = True
        self._transport = None
        self._receiver.close()
        for waiting in self._waiting:
            if isinstance(waiting, Request):
                waiting.release()
        self._waiting.clear()
        if self._busy is not None:
            self._busy.release()
            if self._busy.on_gone is not None:
                self._busy.on_gone()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._last:
            return
        self._server.received += nbytes
        try:
            self._receiver.received(nbytes)
        except AscendError as error:
            self._refuse(error)

    def eof_received(self) -> bool:
        """A client may close its sending side behind its requests, and gets their answers: whether it went
        away instead shows only when one is written. TLS has no half that closes."""
        self._half_closed = True
        answered = self._closing or not self.busy
        return not answered and self._transport is not None and self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._write_paused = True
        self._paused_since = time.monotonic()
        self._regulate()

    def resume_writing(self) -> None:
        self._write_paused = False
        self._regulate()
        if self._waiting and self._busy is None:
            asyncio.get_running_loop().call_soon(self._next)

    def _regulate(self) -> None:
        """Reads no faster than answers are made and taken."""
        if self._transport is None or self._closing or self._half_closed:
            return
        if self._write_paused or len(self._waiting) >= _PIPELINE:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # --- requests and answers -----------------------------------------------------------------

    def _received(self, request: Request) -> None:
        if self._last:
            request.release()
            return
        request.peer = self._peer
        self._last = not request.keep_alive
        if self._busy is None and not self._waiting and not self._write_paused:
            self._handle(request)
        else:
            self._waiting.append(request)
            self._regulate()

    def _handle(self, request: Request) -> None:
        self._busy = request

        def send(response: Response) -> None:
            self._answer(request, response)

        try:
            self._server.handler(request, send)
        except Exception as failure:
            send(self._refused(internal(failure), request.path))

    def _answer(self, request: Request, response: Response) -> None:
        if self._transport is None or self._busy is not request:
            return
        self._busy = None
        if request.held:
            request.release()
        keep_alive = request.keep_alive and not response.close
        if (self._server.draining or self._half_closed) and not self._waiting:
            keep_alive = False
        self._write(response, keep_alive, request.method == "HEAD")
        if not keep_alive:
            self._close()
        elif self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
        else:
            self._idle_since = time.monotonic()

    def _next(self) -> None:
        if self._busy is not None or self._write_paused or not self._waiting:
            return
        waiting = self._waiting.popleft()
        if isinstance(waiting, AscendError):
            self._refuse(waiting)
        else:
            self._handle(waiting)
            self._regulate()

    def _write(self, response: Response, keep_alive: bool, bodiless: bool = False) -> None:
        assert self._transport is not None
        length = sum(map(len, response.body))
        pieces: list[Any] = [head(response, keep_alive, length)]
        self._server.answered[response.status] += 1
        self._server.sent += len(pieces[0]) + length
        if not bodiless:
            pieces += response.body
        if length < _LARGE:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    def _write_interim(self, data: bytes) -> None:
        if self._transport is not None and self._busy is None and not self._waiting:
            self._transport.write(data)

    def _refuse(self, error: AscendError) -> None:
        """An answer to what can't be understood, behind those to what came before, and the end."""
        self._last = True
        self._receiver.release()
        if self._transport is None or self._closing:
            return
        if self._busy is not None or self._waiting:
            self._waiting.append(error)
            return
        self._write(self._refused(error), keep_alive=False)
        # Closing with bytes unread would reset the connection, maybe before the client has read why.
        self._closing = True
        self._idle_since = time.monotonic()
        try:
            self._transport.write_eof()
        except (OSError, NotImplementedError):  # the client has gone; TLS has no half that closes
            self._transport.close()

    def _refused(self, error: AscendError, path: str = "") -> Response:
        if self._server.note is not None:
            self._server.note(error, path)
        return refused(error)

    def _close(self) -> None:
        self._closing = self._last = True
        self._idle_since = time.monotonic()
        if self._transport is not None:
            self._transport.close()

    # --- the server's side --------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._busy is not None or bool(self._waiting)

    def sweep(self, now: float) -> None:
        """Called now and then: a client that stopped half-way is told and left; one that is idle, or
        doesn't take its answer, is left."""
        if self._transport is None:
            return
        if self._write_paused:
            if now > self._paused_since + self._limits.body_seconds:
                self._transport.abort()
        elif self.busy:
            return
        elif self._closing:
            unread = self._transport.get_write_buffer_size()
            if now > self._idle_since + (self._limits.body_seconds if unread else _LINGER):
                self._transport.abort()
        elif self._receiver.begun:
            if now > self._receiver.deadline:
                self._refuse(AscendError("E50017"))
        elif self._idle_since:
            if now > self._idle_since + self._limits.idle_seconds:
                self._close()
        elif now > self._receiver.deadline:
            self._close()

    def finish(self) -> None:
        """The server is going down: closed at once when idle, behind its answer otherwise."""
        if not self.busy and not self._receiver.begun:
            self._close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
