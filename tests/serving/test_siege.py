"""The server under siege: bombs, exhausted descriptors, kill -9, full disks, clocks, thousands of clients."""

from __future__ import annotations

import ast
import contextlib
import http.client
import json
import resource
import signal
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Served
from raw_http import GOOD, Raw, chunked
from reloading import answer, place
from running import Running
from served_models import scaled

import ascend_ep.serving
from ascend_ep.serving.settings import Limits, Settings

PATH = "/v2/models/rows/infer"


def ask(port: int, body: bytes = GOOD) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", PATH, body)
        return connection.getresponse().status


def bomb(megabytes: int, window: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, window)
    block = b" " * (1 << 20)
    return b"".join([*(stream.compress(block) for _ in range(megabytes)), stream.flush()])


def peak_kilobytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


@pytest.mark.parametrize(("encoding", "window"), [("gzip", 31), ("deflate", 15)])
def test_compression_bombs(running: Running, encoding: str, window: int) -> None:
    """300 MB in 300 KB, of which no more is inflated than a body may have."""
    packed = bomb(300, window)
    assert len(packed) < 1 << 20
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_kilobytes()
    status, _, text = running.ask("POST", PATH, packed, {"Content-Encoding": encoding})
    assert status == 413, text
    assert peak_kilobytes() - before < (Limits().body >> 10) * 2 + (50 << 10)
    assert running.ask("POST", PATH, GOOD)[0] == 200


def test_extensions_of_chunks_hide_nothing(running: Running) -> None:
    """What is behind a chunk's size is no part of the next request, whatever it looks like."""
    hidden = b'x="\\r\\nGET /smuggled HTTP/1.1"'
    body = b"%x;%s\r\n%s\r\n" % (len(GOOD), hidden, GOOD)
    with Raw(running.port) as raw:
        raw.send(chunked(body, b"0;a=b\r\n\r\n") + b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        first, second = raw.answer(), raw.answer()
    assert first is not None
    assert first.status in (200, 400)
    assert second is None or json.loads(second.body) == {"live": True}


def test_no_descriptor_left(repository: Path) -> None:
    """Clients take every descriptor that there is. When they go, the server serves."""
    served = Served(repository)
    taken: list[socket.socket] = []
    try:
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (60, 60))
        for _ in range(80):
            one = socket.create_connection(("127.0.0.1", served.ports["HTTP"]), timeout=5)
            one.sendall(b"GET /v2 HTTP/1.1\r\nHost: x\r\nX")
            taken.append(one)
        time.sleep(0.5)
        assert served.process.poll() is None
        for one in taken:
            one.close()
        end = time.monotonic() + 20
        status = 0
        while status != 200 and time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                status = ask(served.ports["HTTP"])
        assert status == 200
    finally:
        for one in taken:
            one.close()
        code, log = served.end()
    assert code == 0, log
    assert "Traceback" not in log


def test_killed_and_started_again(repository: Path, tmp_path: Path) -> None:
    """With what a killed server leaves: its socket of the administration, its ports, its connections."""
    flags = [f"--admin-socket={tmp_path / 'admin'}"]
    served = Served(repository, *flags)
    port = served.ports["HTTP"]
    with Raw(port) as raw:
        raw.send(b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
        assert ask(port) == 200
        assert served.end(signal.SIGKILL)[0] == -signal.SIGKILL
        again = Served(repository, *flags, f"--http-port={port}")
        try:
            assert ask(again.ports["HTTP"]) == 200
        finally:
            code, log = again.end()
    assert code == 0, log


def test_deadlines_take_no_notice_of_clocks_that_jump() -> None:
    """The clock of the wall is shown, and tells the age of files; nothing waits by it."""
    allowed = {"page/recent.py", "repository/conversion.py"}
    folder = Path(ascend_ep.serving.__file__).parent
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("time.time", "datetime.now", "datetime.datetime.now", "datetime.utcnow"):
                found.add(str(path.relative_to(folder)))
    assert found <= allowed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


@pytest.mark.slow
def test_a_full_disk(small_disk: Path, tmp_path: Path, bundles: dict[float, bytes]) -> None:
    """The cache of conversions, and the log, lie on a full disk; what can be served is."""
    root = tmp_path / "models"
    place(root, "good", 1, bundles[1.0])
    (root / "made" / "1").mkdir(parents=True)
    (root / "made" / "1" / "model.onnx").write_bytes(scaled(2.0).SerializeToString())
    with contextlib.suppress(OSError), open(small_disk / "filling", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    settings = Settings(root, http_port=0, exit_on_error=False, conversion_cache=small_disk / "cache")
    with Running(settings) as server:
        assert answer(server, "good") == 1.0
        index = {e.name: e for e in server.server.repository.index()}
        assert index["made"].state == "UNAVAILABLE"
        assert index["made"].reason.startswith("E")
        (small_disk / "filling").unlink()
        server.call(server.server.repository.load_model("made"))
        assert answer(server, "made") == 2.0


@pytest.mark.slow
def test_thousands_of_idle_clients(repository: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    limits = Limits(connections=6000, header_seconds=60, idle_seconds=60)
    try:
        with (
            Running(Settings(repository, http_port=0, limits=limits)) as server,
            contextlib.ExitStack() as idle,
        ):
            for _ in range(5000):
                one = idle.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                one.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(100):
                assert server.ask("POST", PATH, GOOD)[0] == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_a_storm_of_reloads(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    """Fifty at once, and files replaced meanwhile: every answer is of one of the bundles."""
    place(tmp_path, "m", 1, bundles[1.0])
    with Running(
        Settings(tmp_path, http_port=0, model_control_mode="explicit", load_models=("m",))
    ) as server:
        stop = threading.Event()

        def storm() -> None:
            while not stop.is_set():
                server.ask("POST", "/v2/repository/models/m/load", {})

        threads = [threading.Thread(target=storm) for _ in range(50)]
        for thread in threads:
            thread.start()
        for i in range(300):
            place(tmp_path, "m", 1, bundles[float(i % 3 + 1)])
            assert answer(server, "m") in (1.0, 2.0, 3.0)
        stop.set()
        for thread in threads:
            thread.join()
        assert answer(server, "m") in (1.0, 2.0, 3.0)
