"""Trials of models: each step in a process of its own, with a limit of time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model_zoo.model import Model
from model_zoo.outcome import LEAST_RATIO, Outcome
from model_zoo.speed import WorkerFailed, measure

TOOLS = Path(__file__).resolve().parents[1]
#: Seconds that a step may take.
LIMIT = 600
#: In this order; a step that needs one that failed is left out.
STEPS = {
    "reference": "",
    "spread": "reference",
    "float64": "reference",
    "convert": "reference",
    "own": "convert",
    "inside": "reference",
    "convert_default": "reference",
    "own_default": "convert_default",
}


def run_trial(
    model: Model,
    path: Path,
    work: Path,
    steps: Sequence[str] = tuple(STEPS),
    rounds: int = 0,
    known: Outcome | None = None,
) -> Outcome:
    """These steps, and `rounds` of measuring the speed; `known` is what other steps found before. `work` is
    left empty."""
    outcome = known or Outcome(model)
    with tempfile.TemporaryDirectory(dir=work, prefix="trial-") as folder:
        Path(folder, "trial.json").write_text(json.dumps({"path": str(path), "name": model.name}))
        for step in steps:
            needed = STEPS[step]
            if not needed or "error" not in outcome.steps.get(needed, {"error": ""}):
                outcome.steps[step] = run_step(step, Path(folder))
        if rounds and outcome.errors("inside"):
            try:
                feeds = sorted(Path(folder).glob("feeds_*.npz"))
                outcome.ratios = measure(path, feeds, Path(folder), rounds, lambda r: r.value >= LEAST_RATIO)
            except WorkerFailed as error:
                outcome.steps["speed"] = {"error": str(error)}
    return outcome


def run_step(step: str, folder: Path) -> dict[str, Any]:
    """The answer of one step; `error` says what went wrong, also when the process died."""
    paths = [str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "model_zoo.trial", step, str(folder)],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {LIMIT} s"}
    said = done.stderr.strip().splitlines()
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": f"the process ended with {done.returncode}: {' '.join(said[-2:])[:300]}"}
    told = [line for line in said if "E1" in line or "E4" in line or "[E" in line or "ERROR" in line]
    if "error" in answer and told:
        answer["error"] += f"; {told[0].strip()[:300]}"
    return answer
