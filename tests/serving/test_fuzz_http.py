"""Valid requests for inference with a few bytes changed: answered, refused with a 4xx, or the connection is
closed; never a failure of the server's own."""

from __future__ import annotations

import json
import random
from collections import Counter

import numpy as np
import pytest
from raw_http import Raw
from running import Running
from served_models import TYPES

from ascend_ep.serving.datatypes import DTYPES
from ascend_ep.serving.tensors import raw_from_array

#: What parsers stumble over.
MORSELS = [
    *(
        b"\0",
        b"\xff",
        b"\r\n",
        b"\n",
        b": ",
        b",",
        b'"',
        b"{}",
        b"[]",
        b"[[[[",
        b"null",
        b"true",
        b"FP32",
        b"BYTES",
    ),
    *(b"-1", b"0", b"99999999999999999999", b"1e999", b"\\u0000", b"\\ud800", b"chunked", b"gzip"),
]


def json_request() -> bytes:
    inputs = []
    for name in TYPES:
        zero = {"BYTES": "a", "BOOL": True}.get(name, 1)
        inputs.append({"name": f"in_{name}", "datatype": name, "shape": [1, 2], "data": [[zero, zero]]})
    body = json.dumps({"id": "7", "inputs": inputs, "parameters": {"timeout": 9_000_000}}).encode()
    return (
        b"POST /v2/models/every_type/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
    )


def binary_request() -> bytes:
    raws = {}
    for name in TYPES:
        array = np.array([["a", "b"]], object) if name == "BYTES" else np.ones((1, 2), DTYPES[name])
        raws[name] = bytes(raw_from_array(array, name))
    inputs = [
        {"name": f"in_{n}", "datatype": n, "shape": [1, 2], "parameters": {"binary_data_size": len(raw)}}
        for n, raw in raws.items()
    ]
    outputs = [{"name": "out_FP16"}, {"name": "out_BYTES", "parameters": {"binary_data": True}}]
    text = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    body = text + b"".join(raws.values())
    head = b"POST /v2/models/every_type/versions/1/infer HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n"
    sizes = b"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (len(text), len(body))
    return head + sizes + body


def mutated(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(data))
        span = chance.choice([0, 1, 1, 4, 40])
        match chance.randrange(4):
            case 0:
                new = bytes([data[at] ^ (1 << chance.randrange(8))])
                span = 1
            case 1:
                new = chance.choice(MORSELS)
            case 2:
                new = data[at : at + span] * 2
            case _:
                new = b""
        data = data[:at] + new + data[at + span :]
    return data


def with_its_length(data: bytes) -> bytes:
    """The Content-Length put right, so that what was changed is looked at."""
    head, gap, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body)]) + gap + body


@pytest.mark.parametrize("make", [json_request, binary_request])
def test_mutations(running: Running, make: object, request: pytest.FixtureRequest) -> None:
    assert callable(make)
    whole = make()
    seen: Counter[int] = Counter()
    for seed in range(20000 if request.config.getoption("--slow") else 250):
        chance = random.Random(seed)
        data = mutated(whole, chance)
        if chance.random() < 0.8:
            data = with_its_length(data)
        with Raw(running.port) as raw:
            raw.send(data)
            raw.socket.shutdown(1)
            answer = raw.answer()
        seen[answer.status if answer else 0] += 1
        if answer is not None:
            assert answer.status < 500 or answer.status == 504, (seed, answer)
            if answer.status >= 400:
                assert json.loads(answer.body)["error"].startswith(("E500", "E400")), seed
    assert seen[200] > 5, seen
    assert seen[400] > 50, seen
