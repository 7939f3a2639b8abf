"""Commands as scenarios: each runs in this process, and ends well, or with a code on the standard error."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path

from ascend_ep.cli import atc, ep, om, op
from ascend_ep.errors import AscendError


class Refused(AscendError):
    """What a command printed before it ended with a status that isn't 0."""


def run(main: Callable[[list[str]], int], *words: str | Path) -> None:
    """Raises Refused where the command said a code, and AssertionError where it ended without."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:  # msopgen's own codes
            status = int(end.code or 0)
    if status:
        assert re.search(r"\b[EW]\d{5}\b", said.getvalue()), (
            f"status {status} without a code: {said.getvalue()}"
        )
        raise Refused("E40002", said.getvalue()[-200:])


def convert(folder: Path) -> None:
    words = (
        "--framework=5",
        "--soc_version=Ascend910B3",
        "--self_check=0",
        f"--json={folder / 'table.json'}",
    )
    run(atc.main, f"--model={folder / 'model.onnx'}", f"--output={folder / 'm'}", *words)


def inspect(folder: Path) -> None:
    run(om.main, "inspect", "--json", folder / "kept.om")


def verify(folder: Path) -> None:
    run(om.main, "verify", folder / "kept.om")


def run_bundle(folder: Path) -> None:
    run(om.main, "run", folder / "kept.om", "--output", folder / "outputs.npz")


def trust(folder: Path) -> None:
    run(om.main, "trust", folder / "kept.om")


def explain(folder: Path) -> None:
    run(op.main, "explain", "Softmax", "--json")


def generate(folder: Path) -> None:
    """A project for the device, in a folder that isn't there yet."""
    project = folder / f"project-{os.getpid()}"
    words = ("-f", "onnx", "-c", "ai_core-Ascend910B3", "-lan", "cpp", "-out", project)
    run(op.main, "gen", "-i", folder / "operator.json", *words)


def toolkit(folder: Path) -> None:
    run(ep.main, "toolkit", folder / "toolkit")


COMMANDS: dict[str, Callable[[Path], None]] = {
    "ascend-atc": convert,
    "ascend-om inspect": inspect,
    "ascend-om verify": verify,
    "ascend-om run": run_bundle,
    "ascend-om trust": trust,
    "ascend-op explain": explain,
    "ascend-op gen": generate,
    "ascend-ep toolkit": toolkit,
}

#: A definition, as msopgen takes it.
OPERATOR = """[{"op": "WarmSwish",
"input_desc": [{"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp32"]}],
"output_desc": [{"name": "y", "param_type": "required", "format": ["ND"], "type": ["fp32"]}]}]"""
