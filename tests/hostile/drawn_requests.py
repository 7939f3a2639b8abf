"""Requests to a server, and surroundings of a process, as an attacker would make them, drawn by seed."""

from __future__ import annotations

import json
import random
from typing import Any

from drawn_values import NAMES, WHOLE


def request(seed: int, good: bytes) -> bytes:
    """What is sent to a server, of which `good` is a body that it takes."""
    chance = random.Random(seed)
    body = json.loads(good)
    tensor = body["inputs"][0]
    match chance.randrange(10):
        case 0:
            tensor["shape"] = chance.choice(
                [[n] for n in WHOLE] + [[2**32, 2**32], [1] * 3000, [1.5], ["8"], [None], {}]
            )
        case 1:
            tensor["datatype"] = chance.choice([*NAMES, "BYTES", "INT64", "FP64", "BOOL", 7, None, ["FP32"]])
        case 2:
            tensor["data"] = chance.choice(
                [[10**400] * 8, [1e999] * 8, [[[[1]]]] * 8, "x" * 8, [None] * 8, [{}] * 8, [True] * 8]
            )
        case 3:
            tensor["name"] = chance.choice(NAMES)
        case 4:
            tensor["parameters"] = chance.choice(
                [{"binary_data_size": n} for n in WHOLE] + [{"shared_memory_region": "/x"}, [], 7]
            )
        case 5:
            body[chance.choice(["id", "outputs", "parameters", "inputs", "x"])] = chance.choice(
                [*WHOLE, *NAMES, [], {}, None, [[]] * 99]
            )
        case 6:
            body["inputs"] = body["inputs"] * chance.choice([0, 2, 3000])
        case 7:
            body["outputs"] = [
                {"name": chance.choice([*NAMES, "y"]), "parameters": {"classification": chance.choice(WHOLE)}}
            ]
    text = json.dumps(body).encode()
    if chance.random() < 0.15:
        text = chance.choice(
            [
                b"[" * 100_000,
                b'{"a":' * 9999,
                text[:-5],
                text + text,
                b"\xff" + text,
                b'{"inputs":' * 2 + text,
            ]
        )
    head = chance.choice(
        [b"POST /v2/models/rows/infer HTTP/1.1"] * 6
        + [
            b"POST /v2/models/%2e%2e/infer HTTP/1.1",
            b"POST /v2/models/rows/versions/99999999999999999999/infer HTTP/1.1",
            b"GET /v2/models/rows/infer HTTP/1.1",
            b"POST http://other/v2/models/rows/infer HTTP/1.1",
            b"PRI * HTTP/2.0",
            b"POST /v2/models/" + b"a" * 9000 + b"/infer HTTP/1.1",
            b"POST /v2/models/rows\x00/infer HTTP/1.1",
            b"POST /v2/repository/models/..%2f..%2fetc/load HTTP/1.1",
            b"\x16\x03\x01\x02\x00\x01",
            b"POST /v2/models/rows/infer HTTP/9.9",
        ]
    )
    lines = [b"Host: x", b"Content-Length: %d" % len(text)]
    lines += chance.sample(
        [
            b"Content-Length: 5",
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: \x0bchunked",
            b"Connection: keep-alive, close",
            b"Content-Encoding: gzip",
            b"Inference-Header-Content-Length: 99999999999",
            b"Expect: 100-continue",
            b" folded: x",
            b"X: " + b"y" * 20_000,
            b"X-A: a\x00b",
            b"Authorization: Bearer " + b"a" * 5000,
            b"Host: y",
            b"Upgrade: h2c",
            b"Triton-Request-Timeout: -1",
            b"Content-Length: +5",
            b"Content-Length: 0x10",
            b"Range: bytes=0-1",
            b"Content-Type: text/x",
        ],
        chance.choice([0, 0, 1, 1, 2]),
    )
    return b"\r\n".join([head, *lines]) + b"\r\n\r\n" + text


#: What a process may lack: limits of the system, by name, variables, folders and streams.
LIMITS = (
    ("NOFILE", 3, 24),
    ("NOFILE", 6, 64),
    ("AS", 1 << 26, 3 << 28),
    ("DATA", 1 << 24, 1 << 28),
    ("FSIZE", 0, 4096),
    ("STACK", 1 << 16, 1 << 20),
    ("NPROC", 0, 1),
    ("CPU", 1, 1),
    ("MEMLOCK", 0, 0),
)
VARIABLES = {
    "HOME": ("", "/nowhere", "/dev/null", "relative", "/proc"),
    "TMPDIR": ("", "/nowhere", "/dev/full", "/proc"),
    "XDG_CACHE_HOME": ("", "/nowhere", "/dev/null", "/proc"),
    "LANG": ("C", "xx_YY", ""),
    "TERM": ("", "\x1b"),
    "COLUMNS": ("0", "-1", "9" * 30, "x"),
    "ASCEND_EP_THREADS": ("0", "-1", "x", "9" * 30),
    "TZ": ("../../x",),
    "PATH": ("", "/nowhere"),
    "ASCEND_EP_CPU": ("x", ""),
    "PYTHONIOENCODING": ("ascii", "utf-16"),
    "ASCEND_CUSTOM_OPP_PATH": ("/nowhere", "/dev/null", ":::"),
    "OMP_NUM_THREADS": ("x",),
    "ASCEND_EP_SYNC": ("x",),
}


def surroundings(seed: int) -> dict[str, Any]:
    """limits: of the system, with what each is. variables: set. closed: streams. gone, readonly: the working
    folder."""
    chance = random.Random(seed)
    limits = [
        (name, chance.randint(low, high))
        for name, low, high in chance.sample(LIMITS, chance.choice([0, 1, 1, 2]))
    ]
    names = chance.sample(sorted(VARIABLES), chance.choice([0, 1, 2]))
    return {
        "limits": limits,
        "variables": {name: chance.choice(VARIABLES[name]) for name in names},
        "closed": chance.sample([0, 1, 2], chance.choice([0, 0, 1, 3])),
        "gone": chance.random() < 0.15,
        "readonly": chance.random() < 0.15,
    }
