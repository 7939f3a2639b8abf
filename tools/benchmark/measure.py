"""Measuring the rows, whatever their kind: round after round, each in new processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .artefacts import Artefacts
from .fleet import Fleet, Setting
from .probe import compile_probe
from .record import Record
from .results import Results
from .rows import Row
from .runs import measure_runs
from .stage import Schedule, Stage
from .startup import measure_command, measure_loads, measure_memory

MEASUREMENTS: dict[str, Callable[[Stage], None]] = {
    "run": measure_runs,
    "load": measure_loads,
    "session": measure_loads,
    "memory": measure_memory,
    "command": measure_command,
}


def measure(
    rows: Sequence[Row],
    backends: Sequence[str],
    setting: Setting,
    schedule: Schedule,
    results: Results,
    done: Callable[[int], None],
) -> None:
    """Measures the rows into `results`, and calls `done` with the number of each round that has ended. The
    times of one process differ from another's by where its memory happens to lie, as long as it lives: so no
    process serves in two rounds. A backend that failed has no times, only the reason."""
    folder = setting.folder
    probe, artefacts = compile_probe(folder), Artefacts(folder)
    for turn in range(schedule.rounds):
        with Fleet(setting, [*backends, *(["probe"] if probe else [])]) as fleet:
            results.versions, results.missing = fleet.versions, fleet.missing
            for row in rows:
                record = results.records.setdefault(row.name, Record(row.name, row.kind))
                MEASUREMENTS[row.kind](Stage(row, record, turn, artefacts, fleet, schedule, probe))
                for backend in record.missing:
                    record.rounds.pop(backend, None)
        done(turn)
