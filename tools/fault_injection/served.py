"""A server in this process, asked twice while calls fail, and once more when they don't."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Settings


class Loop:
    """An event loop on a thread of its own, made anew in each process."""

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(100)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()


LOOP = Loop()


async def _start(repository: Path) -> Server:
    server = Server(Settings(repository, http_port=0))
    await server.start()
    return server


def _ask(port: int, x: Any) -> tuple[int, Any]:
    tensor = {"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/v2/models/m/infer", json.dumps({"inputs": [tensor]}))
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    return answer.status, json.loads(body)


def serve_once(repository: Path, x: Any, expected: Any, disarm: Callable[[], Any]) -> None:
    """Raises what the start of the server raises, and AssertionError where an answer is wrong."""
    server = LOOP.call(_start(repository))
    for attempt in range(2):
        if attempt:
            disarm()
        try:
            status, body = _ask(server.http_port, x)
        except (OSError, http.client.HTTPException):
            assert not attempt, "no answer after the failure was over"
            continue
        if status == 200:
            got = np.array(body["outputs"][0]["data"], np.float32).reshape(expected.shape)
            np.testing.assert_allclose(got, expected, rtol=1e-6)
        assert status in ((200,) if attempt else (200, 400, 404, 500, 503)), body
    LOOP.call(server.close())
