"""What was measured of a row, as it is stored, and what follows from it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .noise import LEAST_PAIRED_ERROR, Ratio, error_of_median, ratio
from .quiet import DISTURBED
from .rows import Goal, Row
from .work import Work

#: Largest difference of a float32 result from the float64 reference, relative to the largest magnitude.
FLOAT32_BOUND = 2e-5
#: What bfloat16's errors may be, in those of OpenVINO's default: the rms of many roundings of one size agrees
#: to a percent or two; the largest of them is chance, and held within a factor against errors in one place.
RMS_FACTOR, LARGEST_FACTOR = 1.02, 2.0


@dataclass
class Record:
    """Per backend: the medians of its slots, one a round, in seconds (bytes for memory); `beside`, the
    own runtime's in the process of AscendEP inside onnxruntime, of the same rounds; `loads` and `first`,
    making the session and running it once, in each round; `errors`, the largest difference from the float64
    reference, relative to the largest magnitude of the output, and `rms`, the root of the mean square of all
    differences, relative to the same; `mismatches`, how many integers of the outputs differ;
    `missing`, why there is no number; `profiles`, by kernel the share of a run, for those that miss a goal.
    `hosted`: the backends of ours that leave a part to onnxruntime; `foreign`: the shares of the CPUs that
    others used in the slots; `floors`: by arithmetic ("float32", "bfloat16"), in seconds."""

    name: str
    kind: str
    rounds: dict[str, list[float]] = field(default_factory=dict)
    beside: list[float] = field(default_factory=list)
    loads: dict[str, list[float]] = field(default_factory=dict)
    first: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    rms: dict[str, float] = field(default_factory=dict)
    mismatches: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    hosted: list[str] = field(default_factory=list)
    profiles: dict[str, dict[str, float]] = field(default_factory=dict)
    foreign: list[float] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)

    def add(self, backend: str, value: float) -> None:
        """What a round measured."""
        self.rounds.setdefault(backend, []).append(value)

    def add_pair(self, backend: str, value: float, beside: float) -> None:
        """What a round measured of two in one process."""
        self.add(backend, value)
        self.beside.append(beside)

    def median(self, backend: str) -> float | None:
        found = self.rounds.get(backend)
        return statistics.median(found) if found else None

    def first_runs(self) -> dict[str, float]:
        """The medians over rounds."""
        return {backend: statistics.median(found) for backend, found in self.first.items()}

    @property
    def disturbed(self) -> bool:
        """Whether other processes took part in more than a third of the slots. They don't slow all backends
        alike (threads that wait for each other suffer most), so the ratios of such a row prove nothing."""
        return 3 * sum(share > DISTURBED for share in self.foreign) > len(self.foreign)

    def as_json(self) -> dict[str, Any]:
        medians = {b: statistics.median(r) for b, r in self.rounds.items()}
        return {**asdict(self), "medians": medians}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Record:
        return cls(**{k: v for k, v in found.items() if k != "medians"})


@dataclass(frozen=True)
class Verdict:
    """How a goal stands. `peer` is the fastest of the goal's; without peers, `ratio` is limit / time. `floor`
    is how many times the floor `own` takes. `inaccurate` says what is wrong with the results; `disturbed`,
    that the times prove nothing."""

    goal: Goal
    peer: str
    ratio: Ratio
    floor: float | None
    inaccurate: str = ""
    disturbed: bool = False

    @property
    def least(self) -> float:
        return self.goal.least if self.goal.peers else 1.0

    @property
    def reached(self) -> bool:
        return self.ratio.value >= self.least and not self.inaccurate and not self.disturbed


def verdict(record: Record, goal: Goal) -> Verdict | None:
    """None when its backend or all of its peers are missing."""
    own = record.rounds.get(goal.own)
    if not own:
        return None
    if goal.peers:
        peer = _fastest(record, goal.peers)
        if peer is None:
            return None
        found = ratio(record.rounds[peer], own)
    else:
        peer, found = "", ratio([goal.least] * len(own), own)
    floor = record.floors.get("bfloat16" if goal.own == "own_bf16" else "float32")
    times_floor = statistics.median(own) / floor if floor else None
    return Verdict(goal, peer, found, times_floor, _inaccuracy(record, goal), record.disturbed)


def verdicts(row: Row, record: Record) -> list[Verdict]:
    return [v for goal in row.goals if (v := verdict(record, goal)) is not None]


@dataclass(frozen=True)
class Excess:
    """By how much AscendEP inside onnxruntime takes longer than it may: the median over rounds and its
    standard error, in seconds. At most 0 is good; a median nearer to 0 than its error decides nothing."""

    seconds: float
    error: float

    @property
    def beyond(self) -> bool:
        return self.seconds > self.error

    @property
    def within(self) -> bool:
        return self.seconds <= -self.error


def embedded_excess(record: Record) -> Excess | None:
    """Beyond the time of the own runtime in the same process, 5 % of it, and 4 us. Even two own sessions of
    one process differ a little by where the memory of each lies, so no median is believed to be surer than
    LEAST_PAIRED_ERROR of the time. None for what earlier versions measured, in processes of their own."""
    embedded, own = record.rounds.get("ascend_in_ort"), record.beside
    if record.kind != "run" or not embedded or len(embedded) != len(own):
        return None
    excess = [e - 1.05 * o - 4e-6 for e, o in zip(embedded, own, strict=True)]
    error = max(error_of_median(excess), LEAST_PAIRED_ERROR * statistics.median(own))
    return Excess(statistics.median(excess), error)


def floors(work: Work, limits: Mapping[str, float]) -> dict[str, float]:
    """The largest of: moving the bytes, the operations at peak rate, the transcendentals at the rate of exp.
    bfloat16 moves half of the weights, which the probe's time is scaled for."""
    reads = work.weight_bytes + work.other_bytes + work.output_bytes
    exponentials = work.transcendentals / limits["exponentials"]
    moved = limits["move_seconds"]
    found = {"float32": max(moved, work.flops / limits["flops"], exponentials)}
    if limits["bf16_flops"]:
        narrow = moved * (1 - work.weight_bytes / 2 / max(reads, 1))
        found["bfloat16"] = max(narrow, work.flops / limits["bf16_flops"], exponentials)
    return found


def _fastest(record: Record, backends: Iterable[str]) -> str | None:
    present = [b for b in backends if record.rounds.get(b)]
    return min(present, key=lambda b: statistics.median(record.rounds[b]), default=None)


def _inaccuracy(record: Record, goal: Goal) -> str:
    if goal.own in record.hosted:
        return "part of it runs in onnxruntime"
    error = record.errors.get(goal.own)
    if error is None or goal.approximate:
        return ""
    if goal.own == "own_bf16":
        return _beyond_rival("rms error", record.rms, RMS_FACTOR) or _beyond_rival(
            "error", record.errors, LARGEST_FACTOR
        )
    if record.mismatches.get(goal.own):
        return f"{record.mismatches[goal.own]} integers differ from the reference"
    return f"error {error:.1e}" if error > FLOAT32_BOUND else ""


def _beyond_rival(name: str, errors: Mapping[str, float], factor: float) -> str:
    """What is wrong when the error of our bfloat16 is more than `factor` times that of OpenVINO's default."""
    own, rival = errors.get("own_bf16"), errors.get("openvino_default")
    if own is None or rival is None or own <= factor * rival:
        return ""
    return f"{name} {own:.1e}, OpenVINO's {rival:.1e}"
