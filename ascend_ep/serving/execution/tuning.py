"""How a version is run, as its config says, else by measurement: where, by how many, in which batches."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ascend_ep.serving.repository.config import Batching, ModelConfig

from .batch import Run, padded_run
from .boundary import BatchBoundary
from .independence import Rows, check
from .measure import cost_curve, run_seconds, runs_per_second
from .rules import BatchRules, Boundary
from .samples import Samples

#: A run that takes longer than this goes to a thread: handing it over costs about half as much.
INLINE_SECONDS = 200e-6
#: The longest that a batch may keep the event loop from everything else, and an instance from the next batch.
_INLINE_BATCH = 1e-3
#: What nobody has to measure.
_INLINE_BYTES = 4 << 10
_LONGEST_BATCH = 0.1
#: What a request costs besides its run, and what a batch costs each of its requests more.
_REQUEST_SECONDS = 20e-6
_BATCHING_SECONDS = 4e-6
#: What batches, or more instances, must give to be worth what they cost in latency.
_WORTH = 1.1
_MAX_ROWS = 32
_TURNS = 3
#: A version is as fast as the one before when their runs differ by less than this factor.
_LIKE = 2.0
_MEASURING = threading.Lock()


@dataclass(frozen=True)
class Execution:
    """inline: on the event loop, without instances. threads: of one run, 0: all there are. seconds: of a run
    of one row. curve: of a run, by rows. why: the reasons, for the log. inline_bytes: of an input; one of
    more is run by an instance all the same."""

    inline: bool
    instances: int
    threads: int
    rules: BatchRules
    seconds: float = 0.0
    curve: dict[int, float] = field(default_factory=dict)
    why: tuple[str, ...] = ()
    inline_bytes: int = 0

    @property
    def longest(self) -> float:
        """Seconds of the longest run that was measured."""
        return max(self.seconds, *self.curve.values()) if self.curve else self.seconds

    def describe(self) -> dict[str, str]:
        """For people: in the log and among the parameters of the model's config."""
        where = "on the event loop" if self.inline else f"{self.instances} instances"
        rules = self.rules
        shown = {
            "execution": where,
            "threads": str(self.threads or "all"),
            "max_batch_size": str(rules.max_rows if rules.batched else 0),
            "measured_run_us": f"{self.seconds * 1e6:.1f}",
            "measured_batches_us": " ".join(f"{n}:{s * 1e6:.0f}" for n, s in self.curve.items()),
            "why": "; ".join(self.why),
        }
        return {key: value for key, value in shown.items() if value}


@dataclass
class Tuning:
    """One version's measurements. run: with all threads. single: gives the run with one thread. like: what
    was chosen for the version that this one replaces. here: whether runs are in this process; the event loop
    doesn't wait for another one."""

    run: Run
    single: Callable[[], Run]
    samples: Samples
    boundary: BatchBoundary | str
    config: ModelConfig
    seconds: float
    like: Execution | None = None
    here: bool = True

    def __post_init__(self) -> None:
        self._until = 0.0
        self._why: list[str] = []
        self._curve: dict[int, float] = {}
        self._insisted = self.config.batching is not None

    def choose(self) -> Execution:
        """Takes about `seconds`, and a few runs if one takes longer; one version at a time does."""
        with _MEASURING:
            return self._choose()

    def _choose(self) -> Execution:
        self._until = time.perf_counter() + self.seconds
        row = None if isinstance(self.boundary, str) else self._sizes()[0]
        try:
            one = run_seconds(self.run, self.samples, row)
        except Exception as failure:  # nothing is known of what the model takes
            rules = self._alone(f"it can't be tried: {failure}")
            return Execution(
                False, self.config.instances or 1, self.config.threads or 0, rules, why=tuple(self._why)
            )
        if self.like is not None and self._is_like(self.like, one):
            return self._again(self.like, one)
        inline = self.here and one < INLINE_SECONDS and not self.config.instances
        rules = self._rules(one, inline)
        if inline and self._curve.get(rules.max_rows, 0.0) > _INLINE_BATCH:
            inline = False
        rows = rules.max_rows if rules.max_rows > 1 else row
        instances, threads = (1, 0) if inline else self._instances(rows)
        return Execution(
            inline, instances, threads, rules, one, self._curve, tuple(self._why), self._bytes(row, one)
        )

    def _is_like(self, like: Execution, one: float) -> bool:
        """Whether what was chosen for a version before, of the same config, can be taken for this one too."""
        boundary, rules = self.boundary, like.rules
        same = isinstance(boundary, BatchBoundary) and (boundary.inputs, boundary.profiles) == (
            rules.inputs,
            rules.profiles,
        )
        same = same and (self.here or not like.inline)
        return same and rules.batched and like.seconds / _LIKE < one < like.seconds * _LIKE

    def _again(self, like: Execution, one: float) -> Execution:
        """Only rows are checked anew: measurements beside requests would disturb both."""
        if like.threads == 1 and self.config.threads is None:
            self.run = self.single()
        rules = self._checked(like.rules)
        self._say("as the version before")
        return replace(like, rules=rules, seconds=one, why=tuple(self._why))

    # --- batches ------------------------------------------------------------------------------

    def _rules(self, one: float, inline: bool) -> BatchRules:
        boundary, config = self.boundary, self.config
        if isinstance(boundary, str):
            return self._alone(boundary)
        if config.max_batch_size == 0:
            return self._alone("its config says so")
        if boundary.doubt and not self._insisted:
            return self._alone(boundary.doubt)
        sizes = self._sizes()
        longest = _INLINE_BATCH if inline else _LONGEST_BATCH
        most = config.max_batch_size or sizes[-1]
        if self.seconds:
            self._curve = cost_curve(self.run, self.samples, sizes, longest, self._half_time())
        if not self._insisted:
            most = min(most, self._best(min(one, self._curve.get(sizes[0], one))))
            if most == 1 and not boundary.profiles:
                return self._alone("batches of it are no faster")
        return self._checked(self._base(boundary.inputs, most, boundary.profiles))

    def _base(
        self, inputs: tuple[Boundary, ...], most: int, profiles: tuple[Mapping[str, int], ...]
    ) -> BatchRules:
        """What the config says, with batches of at most so many rows."""
        given = self.config.batching or Batching()
        return BatchRules(
            inputs,
            most,
            tuple(sorted(n for n in given.preferred if n <= most)),
            given.max_delay if most > 1 else 0.0,
            largest=self.config.max_batch_size or None,
            profiles=profiles,
            levels=max(given.priority_levels, 1),
            default_level=max(given.default_priority - 1, 0),
            timeout=given.timeout,
            allow_override=given.allow_override,
        )

    def _checked(self, rules: BatchRules) -> BatchRules:
        """The rules, or those without batches when rows turn out to depend on each other."""
        time_left = self._half_time() - time.perf_counter()
        verdict = check(padded_run(self.run, rules), self.samples, self._tried(rules.max_rows), time_left)
        if verdict.rows is Rows.MIXED or (verdict.rows is Rows.CLOSE and not self._insisted):
            return self._alone(f"a row of a batch is {verdict.rows.value} ({verdict.why})")
        if verdict.rows is Rows.CLOSE:
            self._say(f"its config insists on batches, though rows are {verdict.rows.value} ({verdict.why})")
        return rules

    def _alone(self, why: str) -> BatchRules:
        self._say(f"not batched: {why}")
        return self._base(self.boundary.inputs if isinstance(self.boundary, BatchBoundary) else (), 1, ())

    def _sizes(self) -> list[int]:
        """Numbers of rows to measure, ascending: powers of two, or those that the model runs at."""
        assert isinstance(self.boundary, BatchBoundary)
        limit = self.config.max_batch_size or _MAX_ROWS
        name = self.boundary.inputs[0][1][0]
        fits = self.boundary.profiles
        if fits:
            known = self.samples.sizes
            same = [p for p in fits if all(p.get(d, n) == n for d, n in known.items() if d != name)]
            return sorted({p[str(name)] for p in same or fits if str(name) in p}) or [1]
        return sorted({*(2**i for i in range(limit.bit_length())), limit})

    def _best(self, one: float) -> int:
        """The fewest rows with about the least cost each; 1 when that isn't worth it."""
        costs = {n: s / n + _BATCHING_SECONDS for n, s in self._curve.items() if n > 1}
        if not costs:
            return 1
        least = min(costs.values())
        if least + _REQUEST_SECONDS > (one + _REQUEST_SECONDS) / _WORTH:
            return 1
        return min(n for n, cost in costs.items() if cost <= 1.05 * least)

    def _tried(self, most: int) -> list[int]:
        """Sizes for the check of rows: the largest first, then odd and even ones."""
        assert isinstance(self.boundary, BatchBoundary)
        if self.boundary.profiles:
            return [n for n in reversed(self._sizes()) if n > 1]
        return [n for n in dict.fromkeys([most, 2, 3, most - 1, 5, most // 2, 7, 12]) if 1 < n <= most]

    # --- instances ----------------------------------------------------------------------------

    def _instances(self, rows: int | None) -> tuple[int, int]:
        """Their number, and the threads of a run. With one thread pool for all, several runs at once share
        it, and a run that is alone has all of it."""
        asked, threads = self.config.instances, self.config.threads
        if (asked and threads is not None) or not self.seconds:
            return asked or 1, threads or 0
        cores = len(os.sched_getaffinity(0))
        if cores == 1:
            return asked or 1, threads or 0
        counts = [asked] if asked else [1, cores]
        candidates = [(n, threads or 0) for n in counts]
        if threads is None:
            candidates.append((asked or cores, 1))
        if len(candidates) == 1:
            return candidates[0]
        speeds = self._speeds(candidates, rows)
        # the first is the one that answers soonest when it is alone
        best = max(speeds, key=lambda c: speeds[c])
        chosen = best if speeds[best] > _WORTH * speeds[candidates[0]] else candidates[0]
        shown = ", ".join(f"{n} x {t or 'all'}: {v:.0f}/s" for (n, t), v in speeds.items())
        self._say(f"instances x threads measured: {shown}")
        return chosen

    def _speeds(self, candidates: list[tuple[int, int]], rows: int | None) -> dict[tuple[int, int], float]:
        """Runs per second of each, in turns, of which the best counts: the others were disturbed."""
        seconds = max((self._until - time.perf_counter()) / len(candidates) / _TURNS, 0.02)
        runs: dict[int, Run] = {}
        for _, threads in candidates:
            if threads not in runs:
                runs[threads] = self.single() if threads == 1 and self.config.threads is None else self.run
        best = dict.fromkeys(candidates, 0.0)
        for turn in range(_TURNS):
            if turn and time.perf_counter() > self._until:
                break
            for count, threads in candidates:
                speed = runs_per_second(runs[threads], self.samples, rows, count, min(seconds, 0.06))
                best[count, threads] = max(best[count, threads], speed)
        return best

    def _bytes(self, row: int | None, one: float) -> int:
        """Of an input whose run takes about as long as a batch on the event loop may."""
        measured = max((array.nbytes for array in self.samples.feed(row).values()), default=0)
        return max(int(measured * _INLINE_BATCH / max(one, 1e-7)), _INLINE_BYTES)

    def _half_time(self) -> float:
        return self._until - self.seconds / 2

    def _say(self, sentence: str) -> None:
        self._why.append(sentence)
