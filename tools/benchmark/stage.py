"""What every measurement works with: the files of a row, the live workers, the patience for quiet slots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .artefacts import Artefacts, ConversionFailed, Prepared
from .fleet import Fleet, WorkerFailed
from .quiet import Patience
from .record import Record
from .rows import Row

PEERS = ("ort", "openvino")


@dataclass(frozen=True)
class Schedule:
    """`rounds`, in each a slot of `slot` seconds; up to `patience` more are spent on waiting for quiet."""

    rounds: int
    slot: float
    patience: float


class Stage:
    """One row being measured into `record` in round `turn`, by the processes of that round. `probe` is the
    compiled probe, or None."""

    def __init__(
        self,
        row: Row,
        record: Record,
        turn: int,
        artefacts: Artefacts,
        fleet: Fleet,
        schedule: Schedule,
        probe: Path | None,
    ) -> None:
        self.row, self.record, self.turn = row, record, turn
        self.artefacts, self.fleet, self.schedule, self.probe = artefacts, fleet, schedule, probe
        self.patience = Patience(schedule.patience)
        record.missing |= {b: r for b, r in fleet.missing.items() if b in row.backends}

    @property
    def last(self) -> bool:
        """Whether no round follows."""
        return self.turn + 1 == self.schedule.rounds

    def live(self, *others: str) -> list[str]:
        """The row's backends, and `others`, that have a worker and didn't fail in a round before."""
        wanted = dict.fromkeys((*self.row.backends, *others))
        return [b for b in wanted if b in self.fleet.workers and b not in self.record.missing]

    def prepared(self, backend: str) -> Prepared:
        rival = self.row.rival_model if backend.startswith(PEERS) else None
        return self.artefacts.prepare(rival or self.row.model)

    def feeds(self, backend: str) -> str:
        return str(self.prepared(backend).feeds)

    def path(self, backend: str) -> str | None:
        """What the backend loads, made if need be; None, noting why, when it can't be."""
        prepared = self.prepared(backend)
        if self.row.kind == "session":
            return str(prepared.onnx)
        try:
            return str(self._file(prepared, backend))
        except ConversionFailed as error:
            self.record.missing[backend] = f"ascend-atc: {error}"
        except WorkerFailed as error:
            self.record.missing[backend] = str(error)
        return None

    def ask(self, backend: str, do: str, **arguments: object) -> Any:
        """The worker's answer; None when it failed, which the record says."""
        try:
            return self.fleet.workers[backend].ask(do, **arguments)
        except WorkerFailed as error:
            self.record.missing[backend] = str(error)
            if self.fleet.workers[backend].process.poll() is not None:
                self.fleet.restart(backend)
            return None

    def take(self, backend: str, do: str, **arguments: object) -> Any:
        """As ask, when the machine is quiet; the record says how quiet it was."""
        pid = self.fleet.workers[backend].process.pid
        found, share = self.patience.take(lambda: self.ask(backend, do, **arguments), pid)
        self.record.foreign.append(share)
        return found

    def _file(self, prepared: Prepared, backend: str) -> Path:
        """The model, a bundle, the context model, or the prepacked model."""
        if backend == "ort_prepacked":
            target = prepared.folder / "prepacked.onnx"
            if not target.exists():
                worker = self.fleet.workers[backend]
                worker.ask("save_prepacked", source=str(prepared.onnx), target=str(target))
            return target
        if backend.startswith(PEERS):
            return prepared.onnx
        converted = self.artefacts.convert(prepared, "own_bf16" if backend == "own_bf16" else "own")
        return converted.context if backend == "ascend_in_ort" else converted.bundle
