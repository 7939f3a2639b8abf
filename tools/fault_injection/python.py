"""Conversion, the own session, onnxruntime and the server, while system calls, or allocations of our
libraries, fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .outcome import Campaign, Outcome, title

SCENARIOS = ("convert", "load", "onnxruntime", "serve")
#: What fails, how, and whether all from there on.
KINDS = (
    ("alloc", "EIO", False), ("alloc", "EIO", True), ("calls", "EIO", False), ("calls", "EINTR", False),
    ("calls", "short", False), ("calls", "ENOSPC", True), ("calls", "EMFILE", True),
)  # fmt: skip
TOOLS = Path(__file__).resolve().parents[1]


def sweep(
    library: Path,
    folder: Path,
    scenario: str,
    what: str,
    kind: str,
    every: int,
    first: int = 1,
    on: bool = False,
) -> Campaign:
    """Each `every`-th call from the `first` on fails, or with `on` all from there.

    Allocations are those of our libraries alone: Python, and what others write in C++, end on theirs as they
    please."""
    path = os.pathsep.join(filter(None, [str(TOOLS), os.environ.get("PYTHONPATH", "")]))
    environment = os.environ | {"LD_PRELOAD": str(library), "ASC_FAULTS": what, "ASC_FAULTS_KIND": kind}
    environment |= {"PYTHONPATH": path, "ASCEND_EP_THREADS": "1"}
    if what == "alloc":
        environment["ASC_FAULTS_OF"] = "ascend_ep/"
    if on:
        environment["ASC_FAULTS_ON"] = "1"
    command = [
        sys.executable,
        "-m",
        "fault_injection.scenarios",
        str(folder),
        scenario,
        str(every),
        str(first),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    calls, found = json.loads(done.stdout.splitlines()[-1])
    return Campaign(title(scenario, what, kind, on), calls, [Outcome(*each) for each in found])
