"""gRPC besides inference: states, descriptions, health, reflection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
from google.protobuf import descriptor_pb2
from grpc_client import Client, message, refusal, request
from running import Running

from ascend_ep.serving.protocol.messages import (
    HEALTH_SERVICE,
    INFERENCE_SERVICE,
    REFLECTION_SERVICE,
    message_class,
)
from ascend_ep.serving.settings import Settings


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Client]:
    with Client(running.grpc_port) as made:
        yield made


def test_states(client: Client) -> None:
    assert client.call("ServerLive").live
    assert client.call("ServerReady").ready
    assert client.call("ModelReady", message("inference.ModelReadyRequest", name="rows", version="1")).ready
    for name, version in (("rows", "3"), ("nothing", "")):
        asked = message("inference.ModelReadyRequest", name=name, version=version)
        assert not client.call("ModelReady", asked).ready


def test_descriptions(client: Client) -> None:
    assert "statistics" in client.call("ServerMetadata").extensions
    shown = client.call("ModelMetadata", message("inference.ModelMetadataRequest", name="columns"))
    assert list(shown.versions) == ["1"]
    assert [(t.name, t.datatype, list(t.shape)) for t in shown.outputs] == [
        ("sum", "FP32", [-1, 3]),
        ("scaled", "FP64", [-1, 3]),
    ]
    config = client.call("ModelConfig", message("inference.ModelConfigRequest", name="every_type")).config
    assert config.name == "every_type"
    assert len(config.input) == 14
    assert {t.data_type for t in config.input} == set(range(1, 15))


def test_statistics_count(client: Client) -> None:
    asked = message("inference.ModelStatisticsRequest", name="rows", version="1")
    [before] = client.call("ModelStatistics", asked).model_stats
    sent = request("rows", {"x": np.zeros((1, 8), np.float32)}, model_version="1")
    client.call("ModelInfer", sent)
    [after] = client.call("ModelStatistics", asked).model_stats
    assert after.inference_stats.success.count == before.inference_stats.success.count + 1
    assert after.inference_stats.success.ns > before.inference_stats.success.ns
    named = client.call("ModelStatistics", message("inference.ModelStatisticsRequest", name="rows"))
    assert [s.version for s in named.model_stats] == ["1", "2"]
    every = client.call("ModelStatistics").model_stats
    assert {s.name for s in every} == {"rows", "columns", "every_type"}


@pytest.mark.parametrize("method", ["SystemSharedMemoryStatus", "TraceSetting", "LogSettings"])
def test_what_is_not_supported_says_so(client: Client, method: str) -> None:
    sent = message(f"inference.{method}Request")
    if method.endswith(("Setting", "Settings")):
        assert not client.call(method, sent).settings
        sent.settings["trace_level"].SetInParent()
    code, details = refusal(client.begin(method, sent))
    assert code == "UNIMPLEMENTED"
    assert "extension of the protocol isn't here" in details


def test_health(client: Client) -> None:
    serving = message("grpc.health.v1.HealthCheckResponse").SERVING
    for name in ("", INFERENCE_SERVICE, "rows", "rows/2"):
        asked = message("grpc.health.v1.HealthCheckRequest", service=name)
        assert client.call("Check", asked, HEALTH_SERVICE).status == serving, name
    for name in ("rowz", "rows/9", "rows/x", "/"):
        asked = message("grpc.health.v1.HealthCheckRequest", service=name)
        assert refusal(client.begin("Check", asked, HEALTH_SERVICE))[0] == "NOT_FOUND", name


def test_watched_health_tells_the_end(repository: Path) -> None:
    server = Running(Settings(repository, http_port=None, grpc_port=0))
    states = message("grpc.health.v1.HealthCheckResponse")
    shown = asyncio.run(_states_until_the_end(server, ("", "rows", "rowz")))
    assert shown == [
        [states.SERVING, states.NOT_SERVING, "UNAVAILABLE"],
        [states.SERVING, states.NOT_SERVING, "UNAVAILABLE"],
        [states.SERVICE_UNKNOWN, "UNAVAILABLE"],
    ]


async def _states_until_the_end(server: Running, services: tuple[str, ...]) -> list[list[int | str]]:
    """What the watches of `services` show while the server ends, and the status each of them ends with.

    By grpc's asyncio client: its other one raises the error that a stream ends with instead of messages that
    came before and that nobody was waiting for."""
    asked = [message("grpc.health.v1.HealthCheckRequest", service=name) for name in services]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        method = channel.unary_stream(
            f"/{HEALTH_SERVICE}/Watch",
            lambda request: request.SerializeToString(),
            message_class("grpc.health.v1.HealthCheckResponse").FromString,
        )
        watches = [method(request, timeout=30) for request in asked]
        shown: list[list[int | str]] = [[(await watch.read()).status] for watch in watches]
        await asyncio.to_thread(server.close)
        for seen, watch in zip(shown, watches, strict=True):
            try:
                while True:
                    seen.append((await watch.read()).status)
            except grpc.aio.AioRpcError as error:
                seen.append(error.code().name)
    return shown


@pytest.mark.parametrize("package", ["v1", "v1alpha"])
def test_reflection(client: Client, package: str) -> None:
    asked = [
        {"list_services": ""},
        {"file_containing_symbol": INFERENCE_SERVICE},
        {"file_by_filename": "model_config.proto"},
        {"file_containing_symbol": "inference.Nothing"},
        {"all_extension_numbers_of_type": "inference.ModelConfig"},
    ]
    sent = [message("grpc.reflection.v1.ServerReflectionRequest", **one) for one in asked]
    service = REFLECTION_SERVICE.replace("v1", package)
    listed, symbol, file, nothing, extensions = client.stream("ServerReflectionInfo", sent, service)
    assert [s.name for s in listed.list_services_response.service] == [
        INFERENCE_SERVICE,
        HEALTH_SERVICE,
        REFLECTION_SERVICE,
    ]
    files = [
        descriptor_pb2.FileDescriptorProto.FromString(f).name
        for f in symbol.file_descriptor_response.file_descriptor_proto
    ]
    assert files == ["model_config.proto", "inference.proto"]
    assert len(file.file_descriptor_response.file_descriptor_proto) == 1
    assert nothing.error_response.error_code == 5  # NOT_FOUND
    assert extensions.all_extension_numbers_response.base_type_name == "inference.ModelConfig"
    assert not extensions.all_extension_numbers_response.extension_number
