"""The servers, each in a virtual environment and a process group of its own on a port of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cases import CASES, Served
from .launch import RIVALS, Launch
from .triton_server import triton

#: Seconds within which a server must be ready, and gone.
PATIENCE = 60.0


@dataclass(frozen=True)
class Server:
    """One server and the forms of requests that it is measured with.

    `launch` takes a python and a port; `distribution` is what the version is read of, `environment` the name
    of the virtual environment (empty: this process's).
    """

    name: str
    title: str
    forms: tuple[str, ...]
    launch: Callable[[str, int, Served, Path], Launch]
    distribution: str
    environment: str = ""
    runtime: str = "onnxruntime"


def _ascend(python: str, port: int, served: Served, work: Path) -> Launch:
    flags = [f"--model-repository={served.repository.resolve()}", f"--http-port={port}"]
    flags += ["--grpc-port=0", "--metrics-port=0"]
    return Launch([python, "-P", "-m", "ascend_ep.cli.serve", *flags], work)


def _fastapi(workers: int) -> Callable[[str, int, Served, Path], Launch]:
    def launch(python: str, port: int, served: Served, work: Path) -> Launch:
        command = [python, "-m", "uvicorn", "fastapi_server:app", "--app-dir", str(RIVALS)]
        command += ["--port", str(port), "--loop", "uvloop", "--http", "httptools", "--workers", str(workers)]
        return Launch([*command, "--no-access-log", "--log-level", "warning"], served.onnx)

    return launch


def _mlserver(python: str, port: int, served: Served, work: Path) -> Launch:
    """Without what can be switched off: worker processes (they cost more than these models), gzip, debug."""
    folder = work / "mlserver"
    for case in CASES:
        (folder / case.name).mkdir(parents=True, exist_ok=True)
        model = {
            "name": case.name,
            "implementation": "mlserver_model.OnnxModel",
            "parameters": {"uri": str((served.onnx / f"{case.name}.onnx").resolve())},
        }
        (folder / case.name / "model-settings.json").write_text(json.dumps(model))
    settings: dict[str, Any] = {
        "host": "127.0.0.1",
        "http_port": port,
        "grpc_port": port + 1,
        "metrics_port": port + 2,
    }
    settings |= {"parallel_workers": 0, "gzip_enabled": False, "debug": False, "metrics_endpoint": None}
    settings |= {"logging_settings": {"version": 1, "disable_existing_loggers": True}}
    (folder / "settings.json").write_text(json.dumps(settings))
    return Launch([python, "-m", "mlserver.cli.main", "start", "."], folder, {"PYTHONPATH": str(RIVALS)})


SERVERS = (
    Server("ascend", "ascend-serve", ("v2 binary", "v2 json"), _ascend, "ascend-ep", runtime="ascend_ep"),
    Server("fastapi", "FastAPI", ("raw", "v2 json"), _fastapi(1), "fastapi", "fastapi"),
    Server("fastapi2", "FastAPI, 2 workers", ("raw", "v2 json"), _fastapi(2), "fastapi", "fastapi"),
    Server("mlserver", "MLServer", ("v2 json", "v2 base64"), _mlserver, "mlserver", "mlserver"),
    Server("triton", "Triton, Python backend", ("v2 binary", "v2 json"), triton, "nvidia-pytriton", "triton"),
)


class Running:
    """A server as a process; leaving the context ends it."""

    def __init__(self, server: Server, python: str, served: Served, work: Path) -> None:
        self.server, self.port = server, _free_ports()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = work / f"{server.name}.log"
        launch = server.launch(python, self.port, served, work)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                launch.command,
                cwd=launch.folder,
                env={**os.environ, **launch.variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def __enter__(self) -> Running:
        """Waits until all models are ready. Raises RuntimeError when they don't become so."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/v2/health/ready", timeout=1).close()
                return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        self.__exit__()
        tail = self.log.read_text(errors="replace").strip().splitlines()[-3:]
        raise RuntimeError(f"{self.server.title} doesn't start: {' / '.join(tail)}")

    def cpu(self) -> float:
        """Seconds of processor time that its processes have used."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # one that has just ended
                fields = path.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.process.pid:  # its session
                    ticks += sum(map(int, fields[11:15]))  # of itself, and of children that have ended
        return ticks / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(PATIENCE / 4)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def python_of(server: Server, environments: Path) -> str:
    """The interpreter that has the server."""
    if not server.environment:
        return sys.executable
    return str((environments / f".venv-serving-{server.environment}" / "bin" / "python").absolute())


def version(server: Server, environments: Path) -> str:
    """Of the server's distribution, or nothing when it is not installed."""
    code = f"import importlib.metadata as m; print(m.version({server.distribution!r}))"
    try:
        done = subprocess.run(
            [python_of(server, environments), "-c", code], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _free_ports() -> int:
    """A port that is free and whose two successors are."""
    while True:
        sockets = [socket.socket() for _ in range(3)]
        try:
            sockets[0].bind(("127.0.0.1", 0))
            port = int(sockets[0].getsockname()[1])
            for i in (1, 2):
                sockets[i].bind(("127.0.0.1", port + i))
            return port
        except (OSError, OverflowError):
            continue
        finally:
            for s in sockets:
                s.close()
