"""Clients of one server: an inference request that was encoded once is sent again and again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Tensor:
    """An input as the server describes it; sizes of -1 are free."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ServerTimes:
    """The server's own counters: requests, rows, runs of the model, and nanoseconds in each part."""

    count: int
    inferences: int
    executions: int
    total: int
    queue: int
    compute_input: int
    compute_infer: int
    compute_output: int

    def __sub__(self, before: ServerTimes) -> ServerTimes:
        return ServerTimes(*(a - b for a, b in zip(_values(self), _values(before), strict=True)))


def _values(times: ServerTimes) -> tuple[int, ...]:
    return tuple(getattr(times, name) for name in ServerTimes.__dataclass_fields__)


class Connection(Protocol):
    """`infer` returns once the whole answer is there. Raises Refused."""

    async def infer(self) -> None: ...

    async def close(self) -> None: ...


class Refused(Exception):
    """The server answered with an error, or not at all."""


class Client(Protocol):
    """What is known of the model, and connections to it."""

    async def inputs(self) -> list[Tensor]: ...

    async def statistics(self) -> ServerTimes: ...

    def encode(self, arrays: dict[str, Array], tensors: list[Tensor]) -> None:
        """What all connections send from now on."""

    async def connect(self) -> Connection: ...

    async def close(self) -> None: ...


def address(url: str, usual: int) -> tuple[str, int]:
    """Host and port of HOST[:PORT] or a URL. Raises AscendError E10001."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError:  # of a port, or of brackets around a host
        host, port = None, None
    if not host:
        raise AscendError("E10001", url, "-u", "It is HOST:PORT, as localhost:8000.")
    return host, port or usual


class HttpClient:
    """HTTP/1.1 with binary tensors; a connection is kept open."""

    def __init__(self, url: str, model: str, version: str = "") -> None:
        self._host, self._port = address(url, 8000)
        self._base = f"/v2/models/{quote(model)}" + (f"/versions/{quote(version)}" if version else "")
        self._request = b""

    async def inputs(self) -> list[Tensor]:
        found = await self._get(self._base)
        return [Tensor(i["name"], i["datatype"], tuple(i["shape"])) for i in found["inputs"]]

    async def statistics(self) -> ServerTimes:
        return server_times((await self._get(f"{self._base}/stats"))["model_stats"])

    def encode(self, arrays: dict[str, Array], tensors: list[Tensor]) -> None:
        given = [
            {
                "name": t.name,
                "shape": list(arrays[t.name].shape),
                "datatype": t.datatype,
                "parameters": {"binary_data_size": arrays[t.name].nbytes},
            }
            for t in tensors
        ]
        text = json.dumps({"inputs": given, "parameters": {"binary_data_output": True}}).encode()
        body = text + b"".join(arrays[t.name].tobytes() for t in tensors)
        head = (
            f"POST {self._base}/infer HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/octet-stream\r\nInference-Header-Content-Length: {len(text)}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._request = head.encode() + body

    async def connect(self) -> Connection:
        return _HttpConnection(*await self._open(), self._request)

    async def close(self) -> None:
        """Connections are the callers'."""

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            raise _unreachable(f"{self._host}:{self._port}", error) from error

    async def _get(self, path: str) -> Any:
        reader, writer = await self._open()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        try:
            status, body = await _answer(reader)
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            raise _unreachable(f"{self._host}:{self._port}", error) from error
        finally:
            writer.close()
        if status != 200:
            raise _said(body.decode(errors="replace"))
        return json.loads(body)


class _HttpConnection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        self._reader, self._writer, self._request = reader, writer, request

    async def infer(self) -> None:
        try:
            self._writer.write(self._request)
            await self._writer.drain()
            status, body = await _answer(self._reader)
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            raise Refused(f"the connection broke: {error}") from error
        if status != 200:
            raise Refused(f"{status}: {body[:300].decode(errors='replace')}")

    async def close(self) -> None:
        self._writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of one response, whose length its head gives."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    length = next(
        (int(v) for k, _, v in (x.partition(":") for x in lines[1:]) if k.lower() == "content-length"), 0
    )
    return int(lines[0].split()[1]), await reader.readexactly(length)


class GrpcClient:
    """gRPC with raw tensors; a channel for each connection."""

    def __init__(self, url: str, model: str, version: str = "") -> None:
        import grpc.aio

        from ascend_ep.serving.protocol import messages

        address(url, 8001)
        self._grpc, self._messages = grpc, messages
        self._url, self._model, self._version = url, model, version
        self._request = b""

    async def inputs(self) -> list[Tensor]:
        found = await self._ask("ModelMetadata", name=self._model, version=self._version)
        return [Tensor(i.name, i.datatype, tuple(i.shape)) for i in found.inputs]

    async def statistics(self) -> ServerTimes:
        found = await self._ask("ModelStatistics", name=self._model, version=self._version)
        from google.protobuf.json_format import MessageToDict

        listed = MessageToDict(found, preserving_proto_field_name=True)["model_stats"]
        return server_times(listed)

    def encode(self, arrays: dict[str, Array], tensors: list[Tensor]) -> None:
        request = self._messages.message_class("inference.ModelInferRequest")(
            model_name=self._model, model_version=self._version
        )
        for t in tensors:
            array = arrays[t.name]
            request.inputs.add(name=t.name, datatype=t.datatype, shape=array.shape)
            request.raw_input_contents.append(array.tobytes())
        self._request = request.SerializeToString()

    async def connect(self) -> Connection:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        channel = self._grpc.aio.insecure_channel(self._url, options=options)
        call = channel.unary_unary(f"/{self._messages.INFERENCE_SERVICE}/ModelInfer")
        return _GrpcConnection(channel, call, self._request, self._grpc.RpcError)

    async def close(self) -> None:
        """Channels are the callers'."""

    async def _ask(self, method: str, **fields: Any) -> Any:
        made = self._messages.message_class(f"inference.{method}Request")(**fields)
        answer = self._messages.message_class(f"inference.{method}Response")
        async with self._grpc.aio.insecure_channel(self._url) as channel:
            call = channel.unary_unary(f"/{self._messages.INFERENCE_SERVICE}/{method}")
            try:
                return answer.FromString(await call(made.SerializeToString(), timeout=30))
            except self._grpc.RpcError as error:
                if error.code() == self._grpc.StatusCode.UNAVAILABLE:
                    raise _unreachable(self._url, error.details()) from error
                raise _said(error.details()) from error


class _GrpcConnection:
    def __init__(self, channel: Any, call: Any, request: bytes, error: type[Exception]) -> None:
        self._channel, self._call, self._request, self._error = channel, call, request, error

    async def infer(self) -> None:
        try:
            await self._call(self._request)
        except self._error as error:
            raise Refused(str(error)) from error

    async def close(self) -> None:
        await self._channel.close()


def server_times(listed: Any) -> ServerTimes:
    """The counters of all versions in a model_stats list, as JSON has it."""
    sums = dict.fromkeys(ServerTimes.__dataclass_fields__, 0)
    for model in listed:
        parts = model.get("inference_stats", {})
        ns = {name: int(part.get("ns", 0)) for name, part in parts.items()}
        sums["count"] += int(parts.get("success", {}).get("count", 0))
        sums["inferences"] += int(model.get("inference_count", 0))
        sums["executions"] += int(model.get("execution_count", 0))
        sums["total"] += ns.get("success", 0)
        for name in ("queue", "compute_input", "compute_infer", "compute_output"):
            sums[name] += ns.get(name, 0)
    return ServerTimes(**sums)


def _unreachable(where: str, error: object) -> AscendError:
    fix = "Start ascend-serve, or give -u HOST:PORT as it prints them; -i grpc is for the gRPC port."
    return AscendError("E40001", f"no server answers at [{where}]: {error}", fix=fix)


def _said(text: str | None) -> AscendError:
    return AscendError("E40001", f"the server says: {text}", fix="Check -m and the model's version.")
