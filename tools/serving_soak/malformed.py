"""Traffic that is wrong: it must be refused with a sentence or left, and nobody else may feel it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable

from .connection import Connection, Gone, post
from .models import Asked
from .tally import Tally
from .valid import encoded

Client = Callable[[Connection, bytes, random.Random], Awaitable[None]]
PATH = "/v2/models/mlp/infer"
#: What makes a tensor wrong.
WRONG_TENSORS: tuple[dict[str, object], ...] = (
    {"shape": [2**31, 2**33]},
    {"shape": [-1, 64]},
    {"shape": [1, 63]},
    {"shape": [1] * 100},
    {"shape": "64"},
    {"datatype": "FP31"},
    {"datatype": "INT64"},
    {"data": [0.5] * 63},
    {"data": [[0.5] * 32, [0.5] * 31]},
    {"data": ["a"] * 64},
    {"data": [1e400] * 64},
    {"name": "z"},
    {"name": "x" * 10000},
    {"parameters": {"binary_data_size": 10**12}},
    {"parameters": {"binary_data_size": True}},
    {"parameters": {"shared_memory_region": "/etc/passwd"}},
)


async def random_bytes(connection: Connection, data: bytes, choice: random.Random) -> None:
    await connection.send(choice.randbytes(choice.randrange(1, 5000)) + b"\r\n\r\n")


async def mutated(connection: Connection, data: bytes, choice: random.Random) -> None:
    """A valid request with some of its bytes changed."""
    bad = bytearray(data[: 1 << 16])
    for _ in range(choice.randrange(1, 6)):
        bad[choice.randrange(min(len(bad), 600))] = choice.randrange(256)
    await connection.send(bytes(bad))
    connection.half_close()


async def truncated(connection: Connection, data: bytes, choice: random.Random) -> None:
    await connection.send(data[: choice.randrange(1, len(data))])
    connection.half_close()


async def wrong_length(connection: Connection, data: bytes, choice: random.Random) -> None:
    head, _, body = data.partition(b"\r\n\r\n")
    claimed = choice.choice([b"0", b"5", b"-1", b"1e3", b"%d" % (len(body) + 7), b"9" * 30, b"99999999999"])
    lines = [
        b"Content-Length: " + claimed if x.startswith(b"Content-Length") else x for x in head.split(b"\r\n")
    ]
    await connection.send(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    connection.half_close()


async def wrong_header_length(connection: Connection, data: bytes, choice: random.Random) -> None:
    claimed = choice.choice(["-1", "0", "999999", "4", "x", "1" * 40])
    body = b'{"inputs":[{"name":"x","shape":[1,64],"datatype":"FP32","parameters":{"binary_data_size":256}}]}'
    await connection.send(post(PATH, body + bytes(256), f"Inference-Header-Content-Length: {claimed}"))


async def wrong_tensor(connection: Connection, data: bytes, choice: random.Random) -> None:
    tensor: dict[str, object] = {"name": "x", "shape": [1, 64], "datatype": "FP32", "data": [0.5] * 64}
    tensor |= choice.choice(WRONG_TENSORS)
    body = {"inputs": [tensor] * choice.choice([1, 1, 2, 1000])}
    await connection.send(post(PATH, json.dumps(body).encode()))


async def wrong_json(connection: Connection, data: bytes, choice: random.Random) -> None:
    nested = b"[" * 50_000
    body = choice.choice([b"", b"{", b"null", b"[]", b'{"inputs":{}}', b"\xff\xfe", nested, b'{"a":' * 9000])
    await connection.send(post(PATH, body))


async def huge_header(connection: Connection, data: bytes, choice: random.Random) -> None:
    size = choice.choice([20_000, 300_000])
    line = choice.choice([b"X: " + b"a" * size, b"X: a\r\n" * (size // 6), b"X" * size])
    await connection.send(b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\n")


async def slow_sender(connection: Connection, data: bytes, choice: random.Random) -> None:
    """The valid request in small pieces; it has a right to its answer."""
    at = 0
    while at < len(data):
        step = choice.randrange(1, 1 + max(200, len(data) // 10))
        await connection.send(data[at : at + step])
        at += step
        await asyncio.sleep(choice.random() * 0.05)


async def early_close(connection: Connection, data: bytes, choice: random.Random) -> None:
    await connection.send(data)
    raise Gone("by us")


async def wrong_place(connection: Connection, data: bytes, choice: random.Random) -> None:
    path = choice.choice(
        [
            "/v2/models/none/infer",
            "/v2/models/mlp/versions/9/infer",
            "/v2/models/mlp/versions/x/infer",
            "/v2/models/../../etc/passwd/infer",
            "/v2/models/%00/infer",
            "/v2/" + "a" * 9000,
            "/",
            "//",
            "*",
        ]
    )
    method = choice.choice(["POST", "GET", "DELETE", "PATCH", "OPTIONS", "BREW"])
    await connection.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}".encode())


async def wrong_chunks(connection: Connection, data: bytes, choice: random.Random) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n".encode()
    smuggled = choice.choice([b"", b"Content-Length: 5\r\n", b"Transfer-Encoding: identity\r\n"])
    chunks = choice.choice(
        [b"zz\r\n", b"5\r\nab", b"fffffffffffffffff\r\na", b"1\r\na\r\n" * 3000, b"-1\r\n"]
    )
    await connection.send(head + smuggled + b"\r\n" + chunks)
    connection.half_close()


CLIENTS: tuple[Client, ...] = (
    random_bytes,
    mutated,
    truncated,
    wrong_length,
    wrong_header_length,
    wrong_tensor,
    wrong_json,
    huge_header,
    slow_sender,
    early_close,
    wrong_place,
    wrong_chunks,
)


async def misbehave(port: int, questions: list[Asked], choice: random.Random, tally: Tally) -> None:
    """One of CLIENTS, on a connection of its own."""
    client = choice.choice(CLIENTS)
    name = client.__name__.replace("_", " ")
    _, data = encoded(choice.choice(questions), choice)
    try:
        async with Connection(port) as connection:
            await client(connection, data, choice)
            tally.refusal(name, await connection.answer())
    except Gone:
        tally.counts[f"{name}: left"] += 1
        if client is slow_sender:
            tally.late("a slow sender got no answer")
    except TimeoutError:
        tally.late(f"{name}: neither answered nor left")
