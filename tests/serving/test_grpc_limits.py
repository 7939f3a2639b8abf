"""What the gRPC port refuses for its size or number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_client import Client, refusal, request
from held_jobs import finish, held
from running import Running

from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Limits, Settings

X = np.zeros((3, 8), np.float32)


@pytest.fixture(scope="module")
def small(repository: Path) -> Iterator[Running]:
    """A server with low limits."""
    limits = Limits(body=1 << 20, bodies=1 << 20, header=4096, rpcs=3)
    with Running(Settings(repository, http_port=None, grpc_port=0, limits=limits)) as server:
        yield server


def test_a_message_that_is_too_large(small: Running) -> None:
    with Client(small.grpc_port) as client:
        zeros = np.zeros((1 << 15, 9), np.float32)
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            call = client.begin("ModelInfer", request("rows", {"x": zeros}), compression=compression)
            code, details = refusal(call)
            assert code == "RESOURCE_EXHAUSTED"
            assert "larger than max" in details
        assert client.call("ModelInfer", request("rows", {"x": X}), compression=grpc.Compression.Gzip)


def test_metadata_that_is_too_large(small: Running) -> None:
    with Client(small.grpc_port) as client:
        call = client.begin("ModelInfer", request("rows", {"x": X}), metadata=[("a", "b" * 5000)])
        assert refusal(call)[0] == "RESOURCE_EXHAUSTED"
        assert client.call("ModelInfer", request("rows", {"x": X}))


def test_too_many_requests_at_once(small: Running) -> None:
    with held(small) as scheduler, Client(small.grpc_port) as client:
        calls = [client.begin("ModelInfer", request("rows", {"x": X})) for _ in range(3)]
        scheduler.wait(3)
        assert refusal(client.begin("ModelInfer", request("rows", {"x": X})))[0] == "RESOURCE_EXHAUSTED"
        for job in scheduler.jobs:
            finish(small, job, 1)
        for call in calls:
            call.result()


def test_too_many_bytes_at_once(small: Running) -> None:
    large = request("rows", {"x": np.zeros((20_000, 8), np.float32)})  # 640 kB
    with held(small) as scheduler, Client(small.grpc_port) as client:
        first = client.begin("ModelInfer", large)
        scheduler.wait(1)
        code, details = refusal(client.begin("ModelInfer", large))
        assert code == "RESOURCE_EXHAUSTED"
        assert "bytes of requests" in details
        [answer] = client.stream("ModelStreamInfer", [large])
        assert "bytes of requests" in answer.error_message
        finish(small, scheduler.jobs[0], 1)
        first.result()
    with Client(small.grpc_port) as client:
        client.call("ModelInfer", large)


def test_a_port_in_use_is_an_error(running: Running, repository: Path) -> None:
    with pytest.raises(AscendError, match="E50019"):
        Running(Settings(repository, http_port=None, grpc_port=running.grpc_port))
