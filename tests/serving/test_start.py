"""The start of a server: it is live before its models are loaded, and ready behind them."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import socket
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_client import Client as GrpcClient
from grpc_client import request

from ascend_ep.errors import AscendError
from ascend_ep.serving.http.server import HttpServer
from ascend_ep.serving.repository.loading import Loader
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Limits, Settings

X = np.ones((3, 8), np.float32)
BODY = json.dumps({"inputs": [{"name": "x", "shape": [3, 8], "datatype": "FP32", "data": X.tolist()}]})
PATHS = ("health/live", "health/ready", "models/rows/ready")


def statuses(port: int) -> list[int]:
    """Of PATHS, and of a request to the model."""
    found = []
    for method, path, body in (*(("GET", p, None) for p in PATHS), ("POST", "models/rows/infer", BODY)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request(method, f"/v2/{path}", body)
        found.append(connection.getresponse().status)
        connection.close()
    return found


def grpc_code(port: int) -> grpc.StatusCode:
    """Of a request to the model."""
    with GrpcClient(port) as client:
        try:
            client.call("ModelInfer", request("rows", {"x": X}))
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """No model is loaded before it is set."""
    go, load = asyncio.Event(), Loader.load

    async def hold(*arguments: Any) -> LoadedVersion:
        await go.wait()
        return await load(*arguments)

    monkeypatch.setattr(Loader, "load", hold)
    return go


def test_live_while_models_are_loaded(repository: Path, held: asyncio.Event) -> None:
    async def run() -> None:
        server = Server(Settings(repository, http_port=0, grpc_port=0))
        starting = asyncio.create_task(server.start())
        while not (server.grpc_port and "rows" in server.repository.models):
            await asyncio.sleep(0.01)
        assert await asyncio.to_thread(statuses, server.http_port) == [200, 503, 503, 503]
        assert await asyncio.to_thread(grpc_code, server.grpc_port) == grpc.StatusCode.UNAVAILABLE
        held.set()
        await starting
        assert await asyncio.to_thread(statuses, server.http_port) == [200, 200, 200, 200]
        assert await asyncio.to_thread(grpc_code, server.grpc_port) == grpc.StatusCode.OK
        await server.close()

    asyncio.run(run())


def test_a_port_in_use_is_said_before_models_are_loaded(repository: Path, held: asyncio.Event) -> None:
    async def run() -> None:
        first = Server(Settings(repository, http_port=0))
        starting = asyncio.create_task(first.start())
        while not first.http_port:
            await asyncio.sleep(0.01)
        second = Server(Settings(repository, http_port=first.http_port))
        with pytest.raises(AscendError, match="E50019"):
            await asyncio.wait_for(second.start(), 20)
        held.set()
        await starting
        await first.close()

    asyncio.run(run())


@pytest.mark.parametrize("broken", ["socket", "getsockname"])
def test_a_port_that_the_system_does_not_give(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """asyncio goes on without a socket that can't be made."""
    given = socket.socket

    class Failing(socket.socket):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            if broken == "socket" and arguments[:1] == (socket.AF_INET,):
                raise OSError(errno.EMFILE, "Too many open files")
            super().__init__(*arguments, **named)

        def getsockname(self) -> Any:
            raise OSError(errno.EIO, "Input/output error")

    async def listen() -> None:
        server = HttpServer(lambda request, send: None, Limits())
        monkeypatch.setattr(socket, "socket", Failing)
        with pytest.raises(AscendError, match="E50019"):
            await server.listen("127.0.0.1", 0)
        monkeypatch.setattr(socket, "socket", given)
        await server.close(0)

    asyncio.run(listen())
