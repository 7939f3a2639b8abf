"""A server on a thread of the test's process, with an event loop of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Settings

T = TypeVar("T")
NewLoop = Callable[[], asyncio.AbstractEventLoop]


#: No answer for so long is a hang. Conversions are at the lowest priority, and starve on a busy machine.
_SECONDS = 400


class Running:
    """Listens once it is made; `close` (or the end of `with`) ends it as SIGTERM does. Its event loop is the
    command's, unless another is given."""

    def __init__(self, settings: Settings, new_event_loop: NewLoop = uvloop.new_event_loop) -> None:
        self.loop = new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.server = self.call(self._start(settings))
        self.port = self.server.http_port
        self.grpc_port = self.server.grpc_port

    @staticmethod
    async def _start(settings: Settings) -> Server:
        server = Server(settings)
        await server.start()
        return server

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs it on the server's loop and waits for what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(_SECONDS)

    def close(self) -> None:
        if self._thread.is_alive():
            self.call(self.server.close())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(10)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] = b"",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request on a connection of its own: status, headers (lower case), body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = json.dumps(body).encode() if isinstance(body, dict) else body
        connection.request(method, path, sent, headers or {})
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, read

    def get(self, path: str) -> Any:
        """The JSON at a path, which must answer 200."""
        status, _, body = self.ask("GET", path)
        assert status == 200, (status, body)
        return json.loads(body)
