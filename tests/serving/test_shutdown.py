"""The end of a server: what it accepted is answered, and it is quick."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path

import grpc
import numpy as np
import pytest
from command import Served
from grpc_client import Client as GrpcClient
from grpc_client import request
from running import Running

from ascend_ep.serving.repository.repository import Repository
from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Settings

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
TENSOR = {"name": "x", "shape": [3, 8], "datatype": "FP32", "data": X.tolist()}
BODY = json.dumps({"inputs": [TENSOR]}).encode()


class Caller(threading.Thread):
    """Asks until the server takes no more; `lost` has what went wrong otherwise."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.answered = 0
        self.lost: list[str] = []
        self.start()


class Client(Caller):
    """Until a connection is refused; whatever happens to a request that was begun is a loss."""

    def run(self) -> None:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                connection.connect()
            except OSError:
                return
            try:
                self.ask_on(connection)
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                return

    def ask_on(self, connection: http.client.HTTPConnection) -> None:
        while True:
            connection.request("POST", "/v2/models/rows/infer", BODY)
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status == 200, read
            self.answered += 1
            if answer.will_close:
                return


class GrpcCaller(Caller):
    """Until a request is refused."""

    def run(self) -> None:
        message = request("rows", {"x": X})
        with GrpcClient(self.port) as client:
            while True:
                try:
                    client.call("ModelInfer", message)
                except grpc.RpcError as error:
                    if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                        self.lost.append(f"{error.code()} {error.details()}")
                    return
                self.answered += 1


def test_sigterm_under_load(repository: Path) -> None:
    served = Served(repository)
    clients: list[Caller] = [Client(served.ports["HTTP"]) for _ in range(6)]
    clients += [GrpcCaller(served.ports["gRPC"]) for _ in range(4)]
    time.sleep(0.7)
    status, log = served.end()
    for client in clients:
        client.join(10)
    assert status == 0, log
    assert [c.lost for c in clients] == [[]] * len(clients)
    assert all(c.answered for c in clients)
    assert f"ended: {sum(c.answered for c in clients)} requests answered" in log


def test_an_idle_server_ends_at_once(repository: Path) -> None:
    served = Served(repository)
    began = time.monotonic()
    status, log = served.end(signal.SIGINT)
    assert (status, time.monotonic() - began < 5) == (0, True), log


def test_the_second_signal_ends_at_once(repository: Path) -> None:
    served = Served(repository, "--drain-delay-secs=60")
    served.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert served.process.poll() is None
    assert served.end()[0] == 128 + signal.SIGTERM


def test_two_signals_at_once_are_one(repository: Path) -> None:
    served = Served(repository, "--drain-delay-secs=0.3")
    served.process.send_signal(signal.SIGINT)
    time.sleep(0.02)
    status, log = served.end(signal.SIGTERM)
    assert status == 0, log


def test_draining_is_not_ready_and_serves(repository: Path) -> None:
    with Running(Settings(repository, http_port=0, drain_delay=0.5)) as running:
        assert running.ask("GET", "/v2/health/ready")[0] == 200
        ending = threading.Thread(target=running.close)
        ending.start()
        time.sleep(0.1)
        status, headers, body = running.ask("GET", "/v2/health/ready")
        assert status == 503
        assert b"shutting down" in body
        assert headers["connection"] == "close"
        assert running.ask("GET", "/v2/health/live")[0] == 200
        assert running.ask("POST", "/v2/models/rows/infer", BODY)[0] == 200
        ending.join(10)


def test_a_request_on_its_way_is_answered(repository: Path) -> None:
    """On a connection that was idle when the end began, and on one whose body was half received."""
    with Running(Settings(repository, http_port=0)) as running:
        idle = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        idle.request("GET", "/v2/health/live")
        idle.getresponse().read()
        half = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        half.putrequest("POST", "/v2/models/rows/infer")
        half.putheader("content-length", str(len(BODY)))
        half.endheaders(BODY[:10])
        time.sleep(0.1)
        ending = threading.Thread(target=running.close)
        ending.start()
        time.sleep(0.1)
        idle.request("POST", "/v2/models/rows/infer", BODY)
        assert idle.getresponse().status == 200
        time.sleep(0.4)
        half.send(BODY[10:])
        assert half.getresponse().status == 200
        ending.join(10)


#: The command, with versions whose runs don't end.
ENDLESS = """
import asyncio, sys
from ascend_ep.cli import serve
from ascend_ep.serving import server
from ascend_ep.serving.repository.version import LoadedVersion

async def close(self):
    await asyncio.sleep(60)

LoadedVersion.close, server._CLOSING_SECONDS = close, 0.3
sys.exit(serve.main())
"""


def test_a_run_without_end_ends_with_the_process(repository: Path) -> None:
    served = Served(repository, "--exit-timeout-secs=0.3", run=("-c", ENDLESS))
    status, log = served.end()
    assert status == 1
    assert "outlasts --exit-timeout-secs" in log


def test_a_signal_while_models_are_loaded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def load_all(self: Repository) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(Repository, "load_all", load_all)

    async def run() -> None:
        server = Server(Settings(repository, http_port=0, metrics_port=0))
        asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGTERM)
        await server.run(lambda _: pytest.fail("it says that it has started"))

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 5
