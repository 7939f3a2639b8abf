"""Measuring one row with the live workers: every backend gets a short slot in turn, round after round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.runtime.comparison import compare

from .artefacts import Artefacts, ConversionFailed, Prepared
from .fleet import Fleet, WorkerFailed, rotated
from .quiet import Patience
from .record import Record, floors
from .rows import Row

SAME_BITS = "computes float32: its results have the same bits"


@dataclass(frozen=True)
class Schedule:
    """`rounds` of slots of `slot` seconds; up to `patience` seconds a row go into waiting for quiet."""

    rounds: int
    slot: float
    patience: float


class Bench:
    """Measures rows with one fleet; `probe` is the compiled probe, `limits_worker` runs it."""

    def __init__(self, artefacts: Artefacts, fleet: Fleet, schedule: Schedule, probe: Path | None) -> None:
        self.artefacts, self.fleet, self.schedule, self.probe = artefacts, fleet, schedule, probe
        self.patience = Patience(schedule.patience)

    def measure(self, row: Row) -> Record:
        kinds: dict[str, Callable[[Row, Record], None]] = {
            "run": self._runs,
            "load": self._loads,
            "session": self._loads,
            "memory": self._memory,
            "command": self._command,
        }
        record = Record(row.name, row.kind)
        self.patience = Patience(self.schedule.patience)
        record.missing = {b: r for b, r in self.fleet.missing.items() if b in row.backends}
        kinds[row.kind](row, record)
        for backend in record.missing:
            record.rounds.pop(backend, None)
        return record

    # --- one inference ------------------------------------------------------------------------

    def _runs(self, row: Row, record: Record) -> None:
        wanted = [*row.backends, "ascend_in_ort", "own_bound"]
        live = [b for b in dict.fromkeys(wanted) if b in self.fleet.workers and self._open(row, record, b)]
        self._check(row, record, live)
        live = [b for b in live if b not in record.missing]
        limits: list[Mapping[str, float]] = []
        for i in range(self.schedule.rounds):
            for backend in rotated(live, i):
                if found := self._take(record, backend, "slot", seconds=self.schedule.slot):
                    record.rounds.setdefault(backend, []).append(found["seconds"])
            if measured := self._limits(row):
                limits.append(measured)
        for backend in live:
            self._ask(record, backend, "close")
        if limits:
            record.limits = {
                k: (min if k == "move_seconds" else max)(m[k] for m in limits) for k in limits[0]
            }
            record.floors = floors(self.artefacts.prepare(row.model).work, record.limits)

    def _open(self, row: Row, record: Record, backend: str) -> bool:
        """Whether the backend loaded and ran the row's model; notes why not, and its first times."""
        path = self._path(row, record, backend)
        if path is None:
            return False
        feeds, outputs = str(self._prepared(row, backend).feeds), str(self._outputs(backend))
        found = self._ask(record, backend, "open", model=str(path), feeds=feeds, outputs=outputs)
        if found is None:
            return False
        record.loads[backend], record.first[backend] = found["load"], found["first"]
        return True

    def _check(self, row: Row, record: Record, live: list[str]) -> None:
        """Differences of what each backend computed from the reference: of the model in full precision, where
        that is the rivals'."""
        results = {b: self._results(b) for b in live}
        model = self.artefacts.prepare(row.rival_model or row.model)
        reference = list(self.artefacts.reference(model).values())
        for backend, found in results.items():
            record.errors[backend], record.mismatches[backend] = _differences(found, reference)
        half, single = results.get("own_bf16"), results.get("own")
        if half and single and all(map(np.array_equal, half, single)):
            record.missing["own_bf16"] = SAME_BITS
            self._ask(record, "own_bf16", "close")

    def _limits(self, row: Row) -> dict[str, float] | None:
        if self.probe is None or "probe" not in self.fleet.workers:
            return None
        work = self.artefacts.prepare(row.model).work
        self.patience.wait()
        found: dict[str, float] = self.fleet.workers["probe"].ask(
            "limits",
            library=str(self.probe),
            reads=work.weight_bytes + work.other_bytes,
            writes=work.output_bytes,
        )
        return found

    # --- loading, memory, the converter -------------------------------------------------------

    def _loads(self, row: Row, record: Record) -> None:
        wanted = [b for b in dict.fromkeys((*row.backends, "ort")) if b in self.fleet.workers]
        paths = {b: path for b in wanted if (path := self._path(row, record, b))}
        first: dict[str, list[float]] = {}
        for i in range(-1, self.schedule.rounds):  # the round before the first warms files and caches
            for backend in rotated(paths, max(i, 0)):
                feeds = str(self._prepared(row, backend).feeds)
                found = self._take(record, backend, "load", model=str(paths[backend]), feeds=feeds)
                if found and i >= 0:
                    record.rounds.setdefault(backend, []).append(found["load"])
                    first.setdefault(backend, []).append(found["first"])
                self._ask(record, backend, "close")
        record.first = {b: statistics.median(times) for b, times in first.items()}

    def _memory(self, row: Row, record: Record) -> None:
        """A process of its own for each backend: it loads, runs a few times, and says its peak."""
        for backend in (b for b in row.backends if b in self.fleet.workers):
            path = self._path(row, record, backend)
            feeds = str(self._prepared(row, backend).feeds)
            for _ in range(2 if path else 0):
                worker = self.fleet.setting.start(backend)
                try:
                    worker.ask("load", model=str(path), feeds=feeds)
                    record.rounds.setdefault(backend, []).append(float(worker.ask("peak_memory")))
                except WorkerFailed as error:
                    record.missing[backend] = str(error)
                finally:
                    worker.end()

    def _command(self, row: Row, record: Record) -> None:
        prepared = self.artefacts.prepare(row.model)
        times = [self.artefacts.convert(prepared, "own", fresh=True).seconds for _ in range(2)]
        record.rounds["own"] = times

    # --- files --------------------------------------------------------------------------------

    def _prepared(self, row: Row, backend: str) -> Prepared:
        rival = row.rival_model if backend.startswith(("ort", "openvino")) else None
        return self.artefacts.prepare(rival or row.model)

    def _path(self, row: Row, record: Record, backend: str) -> Path | None:
        """What the backend loads for the row, made if need be; None, noting why, when it can't be."""
        prepared = self._prepared(row, backend)
        if row.kind == "session":
            return prepared.onnx
        try:
            return self._file(prepared, backend)
        except ConversionFailed as error:
            record.missing[backend] = f"ascend-atc: {error}"
        except WorkerFailed as error:
            record.missing[backend] = str(error)
        return None

    def _file(self, prepared: Prepared, backend: str) -> Path:
        """What the backend loads: the model, a bundle, the context model, or the prepacked model."""
        if backend == "ort_prepacked":
            target = prepared.folder / "prepacked.onnx"
            if not target.exists():
                worker = self.fleet.workers[backend]
                worker.ask("save_prepacked", source=str(prepared.onnx), target=str(target))
            return target
        if backend.startswith(("ort", "openvino")):
            return prepared.onnx
        converted = self.artefacts.convert(prepared, "own_bf16" if backend == "own_bf16" else "own")
        return converted.context if backend == "ascend_in_ort" else converted.bundle

    def _outputs(self, backend: str) -> Path:
        return self.artefacts.root / f"outputs-{backend}.npz"

    def _results(self, backend: str) -> list[NDArray[Any]]:
        with np.load(self._outputs(backend)) as found:
            return [found[f"arr_{i}"] for i in range(len(found.files))]

    def _take(self, record: Record, backend: str, do: str, **arguments: object) -> Any:
        """As _ask, when the machine is quiet; notes how quiet it was."""
        pid = self.fleet.workers[backend].process.pid
        found, share = self.patience.take(lambda: self._ask(record, backend, do, **arguments), pid)
        record.foreign.append(share)
        return found

    def _ask(self, record: Record, backend: str, do: str, **arguments: object) -> Any:
        """The worker's answer; None when it failed, which the record says."""
        try:
            return self.fleet.workers[backend].ask(do, **arguments)
        except WorkerFailed as error:
            record.missing[backend] = str(error)
            if self.fleet.workers[backend].process.poll() is not None:
                self.fleet.restart(backend)
            return None


def _differences(results: Sequence[NDArray[Any]], reference: Sequence[NDArray[Any]]) -> tuple[float, int]:
    """The largest relative difference of the float outputs, and how many integers differ."""
    worst, unequal = 0.0, 0
    for result, expected in zip(results, reference, strict=True):
        found = compare(result, expected, 1.0)
        if result.dtype.kind == "f":
            worst = max(worst, found.relative)
        else:
            unequal += int(found.relative)
    return worst, unequal
