"""The time of one inference: in a round every backend gets a short slot in turn.

The process of AscendEP inside onnxruntime opens the own runtime too and times both in turn: what it costs to
be inside is less than what two processes differ by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.runtime.comparison import compare

from .fleet import rotated
from .record import floors, verdicts
from .stage import Stage

SAME_BITS = "computes float32: its results have the same bits"
EMBEDDED = "ascend_in_ort"
#: Seconds of profiled runs, for a row that misses a goal.
PROFILE = 0.2

Arrays = list[NDArray[Any]]


def measure_runs(stage: Stage) -> None:
    opened = [b for b in stage.live(EMBEDDED, "own_bound") if _open(stage, b)]
    if stage.turn == 0:
        _check_results(stage, opened)
        opened = [b for b in opened if b not in stage.record.missing]
    for backend in rotated(opened, stage.turn):
        if backend == EMBEDDED:
            if pair := stage.take(backend, "paired_slot", seconds=2 * stage.schedule.slot):
                stage.record.add_pair(backend, *pair)
        elif found := stage.take(backend, "slot", seconds=stage.schedule.slot):
            stage.record.add(backend, found)
    _note_limits(stage)
    if stage.last:
        _note_profiles(stage)
    for backend in opened:
        stage.ask(backend, "close")


def _open(stage: Stage, backend: str) -> bool:
    """Whether the backend loaded and ran the row's model; notes its first times. Which of two
    is opened first decides where the memory of both lies, so that alternates."""
    path = stage.path(backend)
    if path is None:
        return False
    given: dict[str, object] = {"feeds": stage.feeds(backend), "outputs": str(_outputs(stage, backend))}
    if backend == EMBEDDED:
        given |= {"beside": stage.path("own"), "beside_first": stage.turn % 2 == 1}
    found = stage.ask(backend, "open", model=path, **given)
    if found is None:
        return False
    stage.record.loads.setdefault(backend, []).append(found["load"])
    stage.record.first.setdefault(backend, []).append(found["first"])
    if found["hosted"] and backend not in stage.record.hosted:
        stage.record.hosted.append(backend)
    return True


def _check_results(stage: Stage, backends: Sequence[str]) -> None:
    """Differences of what each backend computed from the reference: of the model in full precision, where
    that is the rivals'."""
    record = stage.record
    results = {b: _read(_outputs(stage, b)) for b in backends}
    model = stage.artefacts.prepare(stage.row.rival_model or stage.row.model)
    reference = list(stage.artefacts.reference(model).values())
    for backend, found in results.items():
        record.errors[backend], record.mismatches[backend] = differences(found, reference)
        record.rms[backend] = max(
            (rms_error(*pair) for pair in zip(found, reference, strict=True)), default=0.0
        )
    half, single = results.get("own_bf16"), results.get("own")
    if half and single and all(map(np.array_equal, half, single)):
        record.missing["own_bf16"] = SAME_BITS
        stage.ask("own_bf16", "close")


def differences(results: Arrays, reference: Arrays) -> tuple[float, int]:
    """The largest relative difference of the float outputs, and how many integers differ."""
    worst, unequal = 0.0, 0
    for result, expected in zip(results, reference, strict=True):
        found = compare(result, expected, 1.0)
        if result.dtype.kind == "f":
            worst = max(worst, found.relative)
        else:
            unequal += int(found.relative)
    return worst, unequal


def rms_error(result: NDArray[Any], expected: NDArray[Any]) -> float:
    """The root of the mean square of the differences of a float output, relative to the largest magnitude."""
    if result.dtype.kind != "f" or not expected.size:
        return 0.0
    want = expected.astype(np.float64)
    scale = float(np.abs(want).max()) or 1.0
    return float(np.sqrt(np.mean((result.astype(np.float64) - want) ** 2)) / scale)


def _note_limits(stage: Stage) -> None:
    """One measurement of the probe, if there is one; the best of all rounds counts."""
    if stage.probe is None or "probe" not in stage.fleet.workers:
        return
    work, known = stage.prepared("own").work, stage.record.limits
    reads = work.weight_bytes + work.other_bytes
    stage.patience.wait()
    found = stage.ask("probe", "limits", library=str(stage.probe), reads=reads, writes=work.output_bytes)
    if found:
        best = {name: min if name == "move_seconds" else max for name in found}
        stage.record.limits = {n: best[n](found[n], known.get(n, found[n])) for n in found}
        stage.record.floors = floors(work, stage.record.limits)


def _note_profiles(stage: Stage) -> None:
    """Where the time of those goes that miss a goal."""
    for missed in {v.goal.own for v in verdicts(stage.row, stage.record) if not v.reached}:
        path, feeds = stage.path(missed), stage.feeds(missed)
        if shares := stage.ask(missed, "profile", model=path, feeds=feeds, seconds=PROFILE):
            stage.record.profiles[missed] = shares


def _outputs(stage: Stage, backend: str) -> Path:
    return stage.artefacts.root / f"outputs-{backend}.npz"


def _read(path: Path) -> Arrays:
    with np.load(path) as found:
        return [found[f"arr_{i}"] for i in range(len(found.files))]
