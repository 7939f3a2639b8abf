"""The command ascend-serve as a process of its own, as a user starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: What Python is told to run.
MODULE = ("-m", "ascend_ep.cli.serve")


class Served:
    """Started with free ports; `ports` has those it printed, by name (HTTP, metrics, ...). run: what
    Python is told to run, with the server's flags behind it."""

    def __init__(self, repository: Path, *flags: str, run: Sequence[str] = MODULE) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                *run,
                f"--model-repository={repository}",
                "--http-port=0",
                "--grpc-port=0",
                "--metrics-port=0",
                *flags,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.ports: dict[str, int] = {}
        while "metrics" not in self.ports:  # it is printed last
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            name, _, where = line.partition(" on ")
            self.ports[name] = int(where.rpartition(":")[2])

    def end(self, number: int = signal.SIGTERM, seconds: float = 20) -> tuple[int, str]:
        """The exit status after a signal, and what it logged."""
        self.process.send_signal(number)
        log = self.process.communicate(timeout=seconds)[1]
        return self.process.returncode, log
