"""The end of a server that gRPC's clients are using."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_client import Client, refusal, request
from held_jobs import finish, held, until
from http2_frames import Hostile, call
from running import Running

from ascend_ep.serving.settings import Settings

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


def test_under_load_every_request_is_answered_or_was_never_taken(repository: Path) -> None:
    server = Running(Settings(repository, http_port=None, grpc_port=0))
    sent = request("rows", {"x": X})
    seen: Counter[str] = Counter()

    def load(port: int) -> None:
        """One request after the other, until the server is gone."""
        with Client(port) as client:
            status = "OK"
            while status == "OK":
                status = client.begin("ModelInfer", sent).code().name
                seen[status] += 1

    threads = [threading.Thread(target=load, args=(server.grpc_port,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    until(lambda: seen["OK"] > 50)
    began = time.monotonic()
    server.close()
    for thread in threads:
        thread.join(20)
    assert time.monotonic() - began < 5
    # a client's last request didn't reach a handler: UNAVAILABLE says that it may be sent elsewhere
    assert seen["UNAVAILABLE"] == 12
    assert set(seen) == {"OK", "UNAVAILABLE"}
    assert server.server.grpc.inference.answered == {"OK": seen["OK"]}


def test_the_end_of_the_server_answers_what_was_read(repository: Path) -> None:
    server = Running(Settings(repository, http_port=None, grpc_port=0))
    open_stream: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with held(server) as scheduler, Client(server.grpc_port) as client:
        answers = client.stream("ModelStreamInfer", iter(open_stream.get, None))
        single = client.begin("ModelInfer", request("rows", {"x": X}))
        for sent in [request("rows", {"x": X}, id=str(i)) for i in range(2)]:
            open_stream.put(sent)
        scheduler.wait(3)
        closing = threading.Thread(target=server.close)
        closing.start()
        until(lambda: server.server.service.leaving)
        for job in scheduler.jobs:
            finish(server, job, 1)
        assert [next(answers).infer_response.id for _ in range(2)] == ["0", "1"]
        assert single.result().outputs[0].name == "y"
        assert refusal(lambda: next(answers))[0] == "UNAVAILABLE"
        closing.join(10)
        assert not closing.is_alive()
        with pytest.raises(grpc.RpcError):
            client.call("ServerLive", timeout=1)
        open_stream.put(None)


def test_clients_that_hold_their_connections_are_not_waited_for(repository: Path) -> None:
    server = Running(Settings(repository, http_port=None, grpc_port=0, exit_timeout=20))
    with Hostile(server.grpc_port) as idle, Hostile(server.grpc_port) as expired:
        refused = call("/inference.GRPCInferenceService/CudaSharedMemoryStatus", 1)
        assert expired.send(refused)
        assert expired.hears(b"E50024")
        assert idle.hears(b"\0")
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < 3
