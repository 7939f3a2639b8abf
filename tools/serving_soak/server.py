"""ascend-serve as a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

#: Seconds within which a server must be gone, whatever it was doing.
EXIT = 10.0


class Server:
    """Started on free ports; `ports` has those it printed, by name."""

    def __init__(self, repository: Path, log: Path, *flags: str) -> None:
        self._log = log
        command = [sys.executable, "-P", "-m", "ascend_ep.cli.serve", f"--model-repository={repository}"]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [*command, "--http-port=0", "--grpc-port=0", "--metrics-port=0", *flags],
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        self.ports: dict[str, int] = {}
        assert self.process.stdout is not None
        while "metrics" not in self.ports:  # it is printed last
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"ascend-serve doesn't start: {self.tail()}")
            name, _, where = line.partition(" on ")
            self.ports[name] = int(where.rpartition(":")[2])

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> tuple[int | None, float]:
        """The exit status after a signal (None: it had to be killed), and the seconds it took."""
        began = time.monotonic()
        try:
            status: int | None = self.process.wait(EXIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = None
        return status, time.monotonic() - began

    def tail(self, lines: int = 5) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])
