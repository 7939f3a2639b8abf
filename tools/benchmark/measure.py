"""Measuring one row, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable

from .record import Record
from .runs import measure_runs
from .stage import Stage
from .startup import measure_command, measure_loads, measure_memory

MEASUREMENTS: dict[str, Callable[[Stage], None]] = {
    "run": measure_runs,
    "load": measure_loads,
    "session": measure_loads,
    "memory": measure_memory,
    "command": measure_command,
}


def measure(stage: Stage) -> Record:
    """The record of the stage's row; a backend that failed has no times, only the reason."""
    MEASUREMENTS[stage.row.kind](stage)
    for backend in stage.record.missing:
        stage.record.rounds.pop(backend, None)
    return stage.record
