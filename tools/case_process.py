"""A process that runs cases one after the other: a name goes in, a line of JSON comes back."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
from typing import Any


class CaseProcess:
    """Begun again when a case ends it; one that ends itself after its answer says so: "ends".

    A case that has no answer after `seconds` fails.
    """

    def __init__(self, command: list[str], environment: dict[str, str], seconds: float) -> None:
        self._command = command
        self._environment = environment
        self._seconds = seconds
        self._place = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, name: str) -> dict[str, Any]:
        """What the process answers; where it has none, result "fails" and why."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,  # a line that waits in a buffer is none that select sees
                cwd=self._place.name,
                env=self._environment,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n".encode())
        said = ""
        while select.select([process.stdout], [], [], self._seconds)[0]:
            line = process.stdout.readline().decode(errors="replace")
            if not line:
                why = f"the process ended with {process.wait()}; {said}"
                return {"name": name, "result": "fails", "why": why}
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                if found.pop("ends", False):
                    process.wait()
                return {**found, "why": said or found["why"]} if found["result"] == "fails" else found
            if " failed with " in line:  # of the library's log, whose texts programs drop
                said = line.partition(" failed with ")[2].strip()
        process.kill()
        process.wait()
        return {"name": name, "result": "fails", "why": f"no answer in {self._seconds:g} s"}


def toolkit_environment(toolkit: str) -> dict[str, str]:
    """As set_env.sh of a toolkit makes it."""
    script = f". {toolkit}/set_env.sh && env -0"
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in printed.split("\0") if line)
