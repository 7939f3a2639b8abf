"""Conversion, the own session, onnxruntime and the server, while system calls, or allocations of our
libraries, fail; and what replaces files, while the power does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    environment = _environment(library, what) | {"ASC_FAULTS_KIND": kind}
    if what == "alloc":
        environment["ASC_FAULTS_OF"] = "ascend_ep/"
    if on:
        environment["ASC_FAULTS_ON"] = "1"
    calls, found = _said(environment, "scenarios", folder, scenario, every, first)
    return Campaign(title(scenario, what, kind, on), calls, [Outcome(*each) for each in found])


def power(library: Path, folder: Path, *sweeps: str, sync: bool = True) -> list[Campaign]:
    """The power fails before each call by which a file is replaced: these sweeps of `power`, or all."""
    environment = _environment(library, "power") | {"ASCEND_EP_SYNC": str(int(sync))}
    swept = _said(environment, "power", folder, *sweeps)
    return [
        Campaign(f"{name}, the power", calls, [Outcome(*each) for each in found])
        for name, calls, found in swept
    ]


def _environment(library: Path, what: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(TOOLS), os.environ.get("PYTHONPATH", "")]))
    below = {"LD_PRELOAD": str(library), "ASC_FAULTS": what, "PYTHONPATH": path, "ASCEND_EP_THREADS": "1"}
    return os.environ | below


def _said(environment: dict[str, str], module: str, *arguments: Any) -> Any:
    """What a module of this package prints last, below the library."""
    command = [sys.executable, "-m", f"fault_injection.{module}", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
