"""A server whose memory a container bounds: what clients send never takes more than there is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_client import Client, request
from http2_frames import DATA, Hostile, call, frame
from raw_http import GOOD, Raw
from running import Running
from served_models import put, rows

from ascend_ep.errors import AscendError
from ascend_ep.serving.grpc import room
from ascend_ep.serving.memory_limit import memory_bytes
from ascend_ep.serving.settings import Limits, Settings

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MB = 1 << 20
SECOND, FIRST = "memory.max", "memory.limit_in_bytes"


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {SECOND: 300 * MB}, 300 * MB),
        ("0::/\n", {SECOND: "max"}, MACHINE),
        ("0::/a.slice/b\n", {f"a.slice/b/{SECOND}": 200 * MB, f"a.slice/{SECOND}": "max"}, 200 * MB),
        ("0::/a.slice/b\n", {f"a.slice/b/{SECOND}": "max", f"a.slice/{SECOND}": 100 * MB}, 100 * MB),
        ("0::/../other\n", {SECOND: 50 * MB}, 50 * MB),
        ("4:memory:/docker/0a\n0::/\n", {f"memory/{FIRST}": 70 * MB}, 70 * MB),
        ("4:cpu,memory:/a\n", {f"memory/a/{FIRST}": 60 * MB, f"memory/{FIRST}": 2**63 - 4096}, 60 * MB),
        ("", {f"memory/{FIRST}": 90 * MB}, 90 * MB),
        ("no line of it", {}, MACHINE),
        ("1:name=systemd:/x:y\n", {SECOND: "99999 MB"}, MACHINE),
    ],
    ids=range(10),
)  # fmt: skip
def test_limits_are_found(tmp_path: Path, own: str, files: dict[str, object], expected: int) -> None:
    for name, value in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    (tmp_path / "own").write_text(own)
    assert memory_bytes(tmp_path / "groups", tmp_path / "own") == expected


def test_bodies_take_a_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_ep.serving.memory_limit.memory_bytes", lambda: 100 * MB)
    limits = Limits()
    assert (limits.bodies, limits.body) == (25 * MB, 25 * MB)
    assert Limits(bodies=10 * MB).body == 10 * MB
    monkeypatch.setattr("ascend_ep.serving.memory_limit.memory_bytes", lambda: 2**40)
    assert (Limits().bodies, Limits().body) == (2**30, 64 * MB)


def parameters(size: int) -> bytes:
    """JSON that becomes many small objects."""
    many = ",".join(f'"{i:x}":0' for i in range(size // 12))
    return b'{"parameters":{%s},' % many.encode() + GOOD[1:]


def test_what_becomes_more_than_it_is_has_a_bound(repository: Path) -> None:
    limits = Limits(bodies=16 * MB)
    with Running(Settings(repository, http_port=0, grpc_port=0, limits=limits)) as running:
        status, _, body = running.ask("POST", "/v2/models/rows/infer", parameters(2 * MB))
        assert (status, "Send tensors in binary" in json.loads(body)["error"]) == (400, True)
        status, _, body = running.ask("POST", "/v2/repository/index", parameters(2 * MB))
        assert (status, "are the most here" in json.loads(body)["error"]) == (400, True)
        listed = request("rows", {})
        listed.inputs.add(name="x", datatype="FP32", shape=[MB // 8, 8]).contents.fp32_contents.extend(
            [0.5] * MB
        )
        with Client(running.grpc_port) as client:
            with pytest.raises(grpc.RpcError) as refused:
                client.call("ModelInfer", listed)
            assert refused.value.code().name == "INVALID_ARGUMENT"
            raw = client.call("ModelInfer", request("rows", {"x": np.zeros((MB // 8, 8), np.float32)}))
        assert len(raw.raw_output_contents[0]) > 0
        assert running.ask("POST", "/v2/models/rows/infer", GOOD)[0] == 200


def test_places_for_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there is memory for; who is slow is broken off when others wait, and who gives up waits no
    more."""
    own = 40 * MB
    monkeypatch.setattr(room, "memory_bytes", lambda: 400 * MB)
    monkeypatch.setattr(room, "own_bytes", lambda: own)
    monkeypatch.setattr(room, "_PATIENCE", 0.1)
    places = room.Room(64 * MB)
    assert 30 * MB < places.largest < 40 * MB
    cut: list[int] = []

    async def attack() -> None:
        nonlocal own
        cuts = [partial(cut.append, n) for n in range(10)]
        waiting = [asyncio.ensure_future(places.enter(c)) for c in cuts]
        await asyncio.sleep(0)
        entered = sum(task.done() for task in waiting)
        assert entered == 7
        with pytest.raises(AscendError, match="E50006"):
            places.hold(places.largest)
        places.hold(1000)
        waiting[7].cancel()
        await asyncio.sleep(0.3)
        assert set(cut) == set(range(7))
        for each in range(6):
            places.leave(cuts[each])
        await asyncio.gather(*waiting[8:])
        for each in (6, 8, 9):
            places.leave(cuts[each])
        places.hold(places.largest)
        own = 300 * MB  # though little is counted
        with pytest.raises(AscendError, match="E50006"):
            places.hold(places.largest + 1)
        assert places.is_short()
        places.release(places.largest)
        own = 90 * MB
        await places.enter(cuts[0])
        places.leave(cuts[0])
        assert not places.is_short()

    asyncio.run(attack())


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of 400 MB, of either version; its file `procs` takes processes."""
    root = Path("/sys/fs/cgroup")
    first = (root / "memory" / FIRST).exists()
    folder = (root / "memory" if first else root) / f"ascend-ep-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        (folder / (FIRST if first else SECOND)).write_text(str(400 * MB))
    except OSError as error:
        folder.rmdir()
        pytest.skip(f"no limit of memory can be set here: {error}")
    yield folder
    folder.rmdir()


@pytest.fixture
def ports(group: Path, tmp_path: Path, flags: list[str]) -> Iterator[tuple[int, int]]:
    """Of a server in the group, HTTP and gRPC; it must be alive at the end."""
    root = tmp_path / "models"
    root.mkdir()
    put(root, "rows", 1, rows)
    command = [sys.executable, "-P", "-m", "ascend_ep.cli.serve", f"--model-repository={root}"]
    enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
    server = subprocess.Popen(
        ["sh", "-c", enter, "sh", *command, "--http-port=0", "--grpc-port=0", "--metrics-port=0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    said = server.stdout.readline()
    while "metrics" not in said:
        said += server.stdout.readline()
    found = dict(re.findall(r"(HTTP|gRPC) on [^\n;]*:(\d+)", said))
    try:
        yield int(found["HTTP"]), int(found["gRPC"])
        assert server.poll() is None, "it was killed"
        with Raw(int(found["HTTP"])) as raw:
            raw.send(b"GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = raw.answer()
        assert answer is not None
        assert answer.status == 200
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _slow_bodies(http: int, _: int) -> None:
    """More than there is, each but its last byte."""
    clients = [Raw(http) for _ in range(12)]
    for client in clients:
        client.send(
            b"POST /v2/models/rows/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (60 * MB)
        )
        for _ in range(59):
            client.send(bytes(MB))
    for client in clients:
        client.socket.close()


def _json(http: int, _: int) -> None:
    for body in (parameters(44 * MB), GOOD[:-1] + b',"id":[' + b"[]," * (14 * MB) + b"[]]}"):
        with Raw(http, 60) as raw:
            raw.send(
                b"POST /v2/models/rows/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            raw.send(body)
            answer = raw.answer()
        assert answer is not None
        assert answer.status in (400, 413, 503)


def _messages(_: int, port: int) -> None:
    """Whole ones of gRPC, which keeps what came of them outside of our count. The answers are as large."""
    for size in (34, 20):
        _sixteen(port, size)


def _sixteen(port: int, size: int) -> None:
    sent = request("rows", {"x": np.zeros((MB * size // 32, 8), np.float32)}).SerializeToString()

    def send() -> None:
        with Client(port) as client:
            client.begin("ModelInfer", sent, timeout=60).code()

    threads = [threading.Thread(target=send) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _slow_messages(_: int, port: int) -> None:
    """More than there is, of clients that keep to HTTP/2's windows, each but its last byte."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Hostile(port)) for _ in range(24)]
        threads = [threading.Thread(target=_one_slow_message, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _one_slow_message(client: Hostile) -> None:
    size = 30 * MB
    with contextlib.suppress(OSError):  # it is refused
        client.send(call("/inference.GRPCInferenceService/ModelInfer", 1))
        client.send(frame(DATA, b"\0" + size.to_bytes(4, "big"), stream=1))
        client.pour(1, size - 1, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "flags"),
    [
        (_slow_bodies, []),
        (_json, []),
        (_slow_messages, []),
        (_messages, []),
    ],
)
def test_no_client_has_a_server_killed(
    ports: tuple[int, int], attack: Callable[[int, int], None], flags: list[str]
) -> None:
    attack(*ports)
