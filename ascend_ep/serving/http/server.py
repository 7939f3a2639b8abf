"""A listening socket, its connections, and their end."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.security.tokens import Tokens
from ascend_ep.serving.settings import Limits

from . import page
from .budget import Budget
from .connection import Connection
from .listener import settle, unix_socket
from .message import Handler, Request, Send
from .receiving import SCRATCH

_SWEEP_SECONDS = 0.5
_BACKLOG = 1024
#: How long a connection without a request stays when the server goes down.
_LINGER_SECONDS = 0.25


class HttpServer:
    """Gives every request to `handler`, which answers by its second argument, once. `note` is told of what
    the handler raises, and of what can't be understood. tokens: who has none of them is let in to OPEN
    only, and no body is received."""

    def __init__(
        self,
        handler: Handler,
        limits: Limits,
        note: Callable[[AscendError, str], None] | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        self.handler = handler if tokens is None else Authorised(handler, tokens)
        self.tokens = tokens
        self.note = note
        self.limits = limits
        self.draining = False
        #: bytes that came and went, and answers by their status
        self.received = 0
        self.sent = 0
        self.answered: Counter[int] = Counter()
        self._connections: set[Connection] = set()
        self.budget = Budget(limits.bodies)
        #: where every connection reads to: what is read is taken over before the next one reads
        self.scratch = memoryview(bytearray(SCRATCH))
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._path: Path | None = None

    async def listen(self, address: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Begins to take connections and returns the port. Raises AscendError E50019 when it can't."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self), address, port, backlog=_BACKLOG, **_tls_options(tls)
            )
            found: int = self._server.sockets[0].getsockname()[1]
        except OSError as error:
            raise AscendError("E50019", f"{address}:{port}", error.strerror or error) from error
        except IndexError:  # asyncio goes on without the sockets that the system doesn't give
            raise AscendError("E50019", f"{address}:{port}", "there is no socket for it") from None
        self._sweeper = loop.create_task(self._sweep())
        return found

    async def listen_unix(self, path: Path) -> None:
        """As listen, on a socket in the file system that only its owner may use; one that a process left
        behind is replaced. Raises AscendError E50019."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_unix_server(lambda: Connection(self), sock=unix_socket(path))
        except OSError as error:
            raise AscendError("E50019", path, error.strerror or error) from error
        self._path = path
        self._sweeper = loop.create_task(self._sweep())

    def retire(self, begin: bool = True) -> None:
        """From now on every answer is the last of its connection; new connections are still taken. False
        takes that back."""
        self.draining = begin

    async def close(self, grace: float) -> None:
        """Takes no more connections and gives those there are `grace` seconds to be answered: one without a
        request is kept for a moment, for a request may be on its way."""
        self.draining = True
        if self._server is not None:
            await settle(s.fileno() for s in self._server.sockets)
            self._server.close()
        until = time.monotonic() + grace
        linger = time.monotonic() + min(grace, _LINGER_SECONDS)
        while self._connections and time.monotonic() < until:
            if time.monotonic() >= linger:
                for connection in list(self._connections):
                    connection.finish()
            await asyncio.sleep(0.01)
        for connection in list(self._connections):
            connection.abort()
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    # --- called by connections ----------------------------------------------------------------

    def opened(self, connection: Connection) -> bool:
        """Whether there is room for one more."""
        self._connections.add(connection)
        return len(self._connections) <= self.limits.connections

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._sweep_once(time.monotonic())

    def _sweep_once(self, now: float) -> None:
        """Apart from the loop, whose variables would keep a connection until the next round."""
        for connection in list(self._connections):
            connection.sweep(now)


def _tls_options(tls: ssl.SSLContext | None) -> dict[str, Any]:
    """A client that doesn't finish a handshake, or the end of one, isn't waited for long."""
    return {} if tls is None else {"ssl": tls, "ssl_handshake_timeout": 10.0, "ssl_shutdown_timeout": 1.0}


OPEN = page.OPEN | {"/v2/health/live", "/v2/health/ready"}


class Authorised:
    """Only requests with a token reach the handler. Health endpoints are open, for probes have none, and so
    are the page's files: the page asks for a token."""

    def __init__(self, handler: Handler, tokens: Tokens) -> None:
        self._handler = handler
        self._tokens = tokens

    def __call__(self, request: Request, send: Send) -> None:
        if request.path not in OPEN:
            self._tokens.require(request.headers.get("authorization", ""))
        self._handler(request, send)
