"""The live worker processes of a round, one per backend, and talking to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

TOOLS = Path(__file__).resolve().parents[1]


class WorkerFailed(Exception):
    """What the worker said was wrong, or that it died."""


class WorkerProcess:
    """A worker process; `ask` is one request and its answer."""

    def __init__(self, backend: str, threads: int, python: str, folder: Path) -> None:
        command = [python, "-P", "-m", "benchmark.worker", backend, str(threads)]
        paths = [str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.backend = backend
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    def ask(self, do: str, **arguments: object) -> Any:
        """The worker's answer. Raises WorkerFailed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerFailed(f"the process of {self.backend} ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(next(filter(None, answer["error"].splitlines())))
        return answer["ok"]

    def end(self) -> None:
        """Lets the process finish, or ends it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@dataclass(frozen=True)
class Setting:
    """How workers are started: threads, the folder they work in, the interpreter of the peers."""

    threads: int
    folder: Path
    peers_python: str = sys.executable

    def start(self, backend: str) -> WorkerProcess:
        peer = backend.startswith(("ort", "openvino"))
        python = self.peers_python if peer else sys.executable
        return WorkerProcess(backend, self.threads, python, self.folder)


class Fleet:
    """Workers for all backends whose library is installed; `missing` says why the others have none."""

    def __init__(self, setting: Setting, backends: Sequence[str]) -> None:
        self.setting = setting
        self.workers: dict[str, WorkerProcess] = {}
        self.versions: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        for backend in backends:
            worker = setting.start(backend)
            try:
                self.versions[backend] = worker.ask("version")
                self.workers[backend] = worker
            except WorkerFailed as error:
                self.missing[backend] = str(error)
                worker.end()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers.values():
            worker.end()

    def restart(self, backend: str) -> None:
        """A new process in the place of one that failed."""
        self.workers[backend].end()
        self.workers[backend] = self.setting.start(backend)


def rotated(backends: Mapping[str, object] | Sequence[str], round_number: int) -> list[str]:
    """The order of a round: another first each time, every second one backwards, so that nobody always
    follows the same neighbour."""
    names = list(backends)
    start = round_number % len(names) if names else 0
    order = names[start:] + names[:start]
    return order[::-1] if round_number % 2 else order
