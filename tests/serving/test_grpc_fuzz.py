"""Malformed gRPC: every message is answered, or refused with a sentence that blames it."""

from __future__ import annotations

import contextlib
import random
import re
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from grpc_client import Client, request
from running import Running

from ascend_ep.serving.protocol import messages

#: What a client may be told. INTERNAL and UNKNOWN would be the server's failure.
BLAMED = {"INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED", "PERMISSION_DENIED"}
COUNT, MANY = 800, 40_000

SIZES = [
    -(2**63),
    -(2**31),
    -1,
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    24,
    2**20,
    2**31 - 1,
    2**31,
    2**32,
    2**40,
    2**62,
    2**63 - 1,
]
NAMES = [
    "",
    "x",
    "a",
    "b",
    "X",
    "y",
    "x\0",
    "../x",
    "ü" * 200,
    "in_BYTES",
    "in_FP16",
    "%s%n",
    "{x}",
    "\n",
    "x" * 5000,
]
DATATYPES = [
    "",
    "FP32",
    "fp32",
    "FP16",
    "BF16",
    "BYTES",
    "BOOL",
    "INT8",
    "UINT64",
    "FP8",
    "STRING",
    "TYPE_FP32",
]


def valid() -> list[Any]:
    """Requests that are answered."""
    x = np.ones((3, 8), np.float32)
    columns = {name: np.ones((2, 3), np.float32) for name in "ab"}
    typed = messages.ModelInferRequest(model_name="rows")
    typed.inputs.add(name="x", datatype="FP32", shape=[1, 8]).contents.fp32_contents.extend([1.0] * 8)
    large = request("rows", {"x": np.ones((200, 8), np.float32)}, id="large")
    named = request("columns", columns, id="n", model_version="1")
    named.outputs.add(name="sum")
    named.parameters["timeout"].int64_param = 5_000_000
    every = messages.ModelInferRequest(model_name="every_type")
    for datatype in DATATYPES_OF_MODEL:
        tensor = every.inputs.add(name=f"in_{datatype}", datatype=datatype, shape=[1, 2])
        width = {"BYTES": 4, "BOOL": 1, "FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8}.get(datatype)
        every.raw_input_contents.append(bytes(2 * (width or int(re.sub(r"\D", "", datatype)) // 8)))
        tensor.parameters["a"].string_param = "b"
    return [request("rows", {"x": x}), typed, large, named, every]


DATATYPES_OF_MODEL = [
    "BOOL",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "FP16",
    "FP32",
    "FP64",
    "BF16",
    "BYTES",
]


def garbage(choose: random.Random) -> bytes:
    return choose.randbytes(choose.randrange(200))


def broken_bytes(choose: random.Random) -> bytes:
    """The bytes of a request with some flipped, taken away, put in, repeated."""
    data = bytearray(choose.choice(valid()).SerializeToString())
    for _ in range(choose.choice([1, 1, 2, 8])):
        at = choose.randrange(len(data) + 1)
        end = min(len(data), at + choose.choice([1, 2, 8, 100]))
        change = choose.randrange(4)
        if change == 0 and at < len(data):
            data[at] ^= 1 << choose.randrange(8)
        elif change == 1:
            del data[at:end]
        elif change == 2:
            data[at:at] = choose.randbytes(end - at)
        else:
            data[at:at] = data[at:end]
        if not data:
            break
    return bytes(data)


def broken_fields(choose: random.Random) -> bytes:
    """A request with some fields that are none of what they should be."""
    made = choose.choice(valid())
    for _ in range(choose.choice([1, 1, 2, 5])):
        if not made.inputs:
            break
        tensor = choose.choice(made.inputs)
        change = choose.randrange(12)
        if change == 0:
            tensor.shape[:] = [choose.choice(SIZES) for _ in range(choose.randrange(12))]
        elif change == 1 and tensor.shape:
            tensor.shape[choose.randrange(len(tensor.shape))] = choose.choice(SIZES)
        elif change == 2:
            tensor.name = choose.choice(NAMES)
        elif change == 3:
            tensor.datatype = choose.choice(DATATYPES)
        elif change == 4:
            made.inputs.append(tensor)
        elif change == 5:
            made.raw_input_contents.append(choose.randbytes(choose.randrange(40)))
        elif change == 6 and made.raw_input_contents:
            made.raw_input_contents[choose.randrange(len(made.raw_input_contents))] = garbage(choose)
        elif change == 7:
            tensor.contents.int_contents.extend(
                [choose.randrange(-(2**31), 2**31)] * choose.choice([1, 8, 5000])
            )
        elif change == 8:
            tensor.contents.bytes_contents.append(garbage(choose))
        elif change == 9:
            parameters = choose.choice([made.parameters, tensor.parameters])
            name = choose.choice(
                ["timeout", "priority", "sequence_id", "shared_memory_region", "binary_data_size"]
            )
            parameters[name].int64_param = choose.choice(SIZES)
        elif change == 10:
            made.outputs.add(name=choose.choice(NAMES))
        else:
            field = choose.choice(["model_name", "model_version", "id"])
            setattr(made, field, choose.choice(NAMES))
    return bytes(made.SerializeToString())


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Client]:
    with Client(running.grpc_port) as made:
        yield made


def outcome(call: Any) -> str:
    """The status of a call, whose sentence is checked."""
    status = call.code().name
    if status != "OK":
        details = call.details() or ""
        assert re.match(r"E[45]\d{4}: \w", details), (status, details)
        assert not re.search(r"Traceback|File \"|/work|/tmp|0x[0-9a-f]{6}", details), details
    return status


@pytest.mark.parametrize("make", [garbage, broken_bytes, broken_fields])
def test_malformed_requests_are_blamed(client: Client, make: Any, pytestconfig: pytest.Config) -> None:
    count = (MANY if pytestconfig.getoption("--slow") else COUNT) // 3
    seen: Counter[str] = Counter()
    for seed in range(0, count, 40):
        sent = [make(random.Random(n)) for n in range(seed, seed + 40)]
        calls = [client.begin("ModelInfer", data) for data in sent]
        for data, call in zip(sent, calls, strict=True):
            status = outcome(call)
            # a changed parameter may be a timeout of microseconds
            assert status in {"OK", "DEADLINE_EXCEEDED"} | BLAMED, (status, data)
            seen[status] += 1
    assert seen["INVALID_ARGUMENT"] > count // 4, seen


def test_garbage_in_every_method(client: Client) -> None:
    service = messages.POOL.FindServiceByName(messages.INFERENCE_SERVICE)
    for name, method in service.methods_by_name.items():
        if method.client_streaming:
            continue
        for seed in range(10):
            status = outcome(client.begin(name, garbage(random.Random(seed)) + b"\xff"))
            assert status in BLAMED, (name, status)


def test_garbage_in_a_stream_leaves_it_open(client: Client) -> None:
    good = request("rows", {"x": np.ones((1, 8), np.float32)}, id="good")
    sent = [
        data for seed in range(60) for data in (broken_bytes(random.Random(seed)), good.SerializeToString())
    ]
    answers = list(client.stream("ModelStreamInfer", sent))
    assert len(answers) == len(sent)
    assert all(a.infer_response.id == "good" and not a.error_message for a in answers[1::2])


def test_garbage_on_the_socket(running: Running, client: Client) -> None:
    for data in (
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(range(256)) * 64,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 999,
    ):
        # the server may have hung up before everything is sent
        with (
            socket.create_connection(("127.0.0.1", running.grpc_port), timeout=10) as connection,
            contextlib.suppress(ConnectionError),
        ):
            connection.sendall(data)
            while connection.recv(4096):
                pass
    assert client.call("ServerLive").live
