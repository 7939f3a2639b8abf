"""Trying changes one by one: each is converted, run beside the model as it is, and measured.

The command lines that are shown are those that were run. What didn't help is shown as well.
"""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ascend_ep.errors import AscendError
from ascend_ep.profiling.advice.edits import EDITS
from ascend_ep.profiling.advice.graphs import STANDARD, constants_of
from ascend_ep.profiling.advice.sameness import fingerprint
from ascend_ep.profiling.gate import difference
from ascend_ep.profiling.interleaved import LEAST_ROUNDS, Comparison, compare
from ascend_ep.runtime.session import InferenceSession, open_with_threads

#: What counts as a gain; as an error that needs no thought; as one that no gain is worth.
LEAST_GAIN, SMALL_ERROR, LARGE_ERROR = 1.05, 1e-3, 5e-2
BATCH = 8
#: For each operator's schedules, of a change that tries them.
SEARCH_SECONDS = 3
Feeds = dict[str, Any]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Change:
    """`flags` of ascend-atc, added; `without`: those of the user's that are left out; `edit` of the model
    before; `threads` of the session; `batch`: samples a run; `search`: seconds for schedules."""

    name: str
    weakness: str
    flags: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    edit: Callable[[onnx.ModelProto], int] | None = None
    threads: int = 0
    batch: int = 1
    search: int = 0


@dataclass(frozen=True)
class Outcome:
    """`gain`: how many times as fast a sample is; 0 when it could not be tried, for the reason in `note`."""

    change: Change
    gain: float
    comparison: Comparison | None
    error: float
    note: str
    commands: tuple[str, ...]

    @property
    def is_faster(self) -> bool:
        """Beyond doubt, by more than LEAST_GAIN."""
        certain = self.comparison is not None and self.comparison.high < self.change.batch
        return certain and self.gain >= LEAST_GAIN

    @property
    def helps(self) -> bool:
        """Whether it is faster and as exact as before."""
        return self.is_faster and self.error <= SMALL_ERROR

    @property
    def trades(self) -> bool:
        """Whether it is faster at the price of accuracy."""
        return self.is_faster and SMALL_ERROR < self.error <= LARGE_ERROR

    @property
    def most_gain(self) -> float:
        """The upper end of the gain's interval."""
        return self.change.batch / self.comparison.low if self.comparison else 0.0

    @property
    def least_gain(self) -> float:
        return self.change.batch / self.comparison.high if self.comparison else 0.0


def ranked(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """What helps first, what trades behind it, then what was tried, then what couldn't be; by gain, but of
    gains that noise doesn't tell apart the change that was named first, which is the simpler one."""
    rest = sorted(outcomes, key=_order)
    made: list[Outcome] = []
    while rest:
        best = rest[0]
        equal = [o for o in rest if _order(o)[0] == _order(best)[0] and o.most_gain >= best.least_gain]
        chosen = min(equal, key=outcomes.index) if best.comparison else best
        made.append(chosen)
        rest.remove(chosen)
    return made


def _order(outcome: Outcome) -> tuple[int, float]:
    rank = 0 if outcome.helps else 1 if outcome.trades else 2 if outcome.comparison else 3
    return rank, -outcome.gain


#: Flags of ascend-atc that may cost speed, and what that says of the conversion.
COSTLY_FLAGS = {
    "--fusion_switch_file": "fusions that are switched off",
    "--keep_dtype": "operators that keep a type which is slower",
    "--customize_dtypes": "operators with types of their own, which are slower",
    "--modify_mixlist": "operators that mixed precision leaves out",
    "--op_precision_mode": "operators in a more exact implementation than needed",
    "--buffer_optimize": "kernels that don't fuse their neighbours",
    "--oo_level": "a level at which nothing is fused",
    "--disable_reuse_memory": "values that all keep memory of their own",
}


def changes(
    model: onnx.ModelProto, threads: int, atc: Sequence[str], most_threads: int = 0
) -> Iterator[Change]:
    """What is worth trying with this model and these flags of ascend-atc, the likely ones first."""
    for flag in atc:
        name = flag.partition("=")[0]
        if name in COSTLY_FLAGS:
            yield Change(name.lstrip("-"), COSTLY_FLAGS[name], without=(flag,))
    for edit in EDITS:
        yield Change(edit.name, edit.weakness, edit=edit.apply)
    sizes = [d for i in _inputs(model) for d in i.type.tensor_type.shape.dim[:1]]
    if sizes and all(d.dim_param for d in sizes) and len({d.dim_param for d in sizes}) == 1:
        yield Change("batch", "one sample a run where several could go together", batch=BATCH)
    elif sizes and all(d.dim_value == 1 for d in sizes):
        yield Change("batch", "one sample a run where several could go together", edit=widen, batch=BATCH)
    if threads > 1:
        yield Change("one_thread", "calls too small for several threads", threads=1)
    if threads < most_threads:
        yield Change("threads", f"{threads} thread(s), of {most_threads} CPUs", threads=most_threads)
    if any(node.domain not in STANDARD for node in model.graph.node):
        yield Change("schedule", "operators whose loops have a poor schedule", search=SEARCH_SECONDS)
    flags = ("--precision_mode_v2=mixed_bfloat16",)
    if not any(flag.startswith("--precision_mode") for flag in atc):
        yield Change("bfloat16", "products in float32 where bfloat16 is exact enough", flags=flags)
    if not any(flag.startswith("--op_select_implmode") for flag in atc):
        fast = ("--op_select_implmode=high_performance",)
        yield Change("fast_functions", "functions more exact than needed", flags=fast)


def widen(model: onnx.ModelProto) -> int:
    """A first axis of one sample becomes BATCH of them, also where the model says shapes as constants."""
    values = [*_inputs(model), *model.graph.output]
    for value in values:
        value.type.tensor_type.shape.dim[0].dim_value = BATCH
    del model.graph.value_info[:]
    constants = constants_of(model.graph)
    for number, node in enumerate(model.graph.node):
        shape = constants.get(node.input[1]) if node.op_type == "Reshape" else None
        dims = [] if shape is None else onnx.numpy_helper.to_array(shape).tolist()
        if len(dims) > 1 and dims[0] == 1:
            wide = np.array([BATCH, *dims[1:]], np.int64)
            name = f"{node.input[1]}/{BATCH}/{number}"
            model.graph.initializer.append(onnx.numpy_helper.from_array(wide, name))
            node.input[1] = name
    return len(values)


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    constants = {t.name for t in model.graph.initializer}
    return [i for i in model.graph.input if i.name not in constants]


class Trial:
    """`convert(model file, bundle, flags)` runs ascend-atc and returns its words, or raises AscendError;
    `feed` is of one sample; `atc` are the user's own flags; `clock` measures what one thread does;
    `most_threads`: how many may be advised, 0 for no such advice."""

    def __init__(
        self,
        source: Path,
        folder: Path,
        convert: Callable[[Path, Path, Sequence[str]], list[str]],
        feed: Callable[[InferenceSession], Feeds],
        threads: int,
        seconds: float,
        atc: Sequence[str] = (),
        clock: Clock = time.perf_counter,
        most_threads: int = 0,
    ) -> None:
        self.source = source
        self.folder = folder
        self.convert = convert
        self.threads = threads
        self.seconds = seconds
        self.atc = list(atc)
        self.clock = clock
        self.most_threads = most_threads
        self.end = math.inf
        self.bundle = bundle = folder / "model.om"
        convert(source, bundle, self.atc)
        self.base = open_with_threads(bundle, threads)
        self.feeds = feed(self.base)
        self.results = self.base.run(None, self.feeds)
        self.fingerprint = fingerprint(self.base.bundle)

    def changes(self, model: onnx.ModelProto) -> list[Change]:
        return list(changes(model, self.threads, self.atc, self.most_threads))

    def outcomes(
        self, model: onnx.ModelProto, budget: float, among: Sequence[Change] | None = None
    ) -> Iterator[Outcome]:
        """Of each change (default: all that `changes` finds); those for which no time is left are said to be
        left out. `budget`: seconds in all, whatever the clock."""
        self.end = time.perf_counter() + budget
        for change in self.changes(model) if among is None else among:
            if time.perf_counter() > self.end:
                yield Outcome(change, 0, None, 0, "not tried: no time was left", ())
                continue
            try:
                found = self._try(change, model)
            except AscendError as error:
                found = Outcome(change, 0, None, 0, f"can't be done: {error.code} {error.text}", ())
            if found is not None:
                yield found

    def _try(self, change: Change, model: onnx.ModelProto) -> Outcome | None:
        """None where the model has nothing to change."""
        source, commands = self.source, []
        if change.edit is not None:
            edited = onnx.ModelProto()
            edited.CopyFrom(model)
            try:
                if not change.edit(edited):
                    return None
                source = self.folder / f"{change.name}.onnx"
                onnx.save(edited, source)
            except Exception as error:  # whatever onnx's own tools raise for a model that they don't take
                note = f"can't be done: {type(error).__name__}: {str(error).splitlines()[0][:200]}"
                return Outcome(change, 0, None, 0, note, ())
            commands.append(f"ascend-prof advise {self.source} --apply={change.name} --output={source.name}")
        bundle = self.folder / f"{change.name}.om"
        flags = [*(f for f in self.atc if f not in change.without), *change.flags]
        with _searching(change.search, self.folder):
            words = self.convert(source, bundle, flags)
        if change.threads:
            commands.append(f"ASCEND_EP_THREADS={change.threads} in front of the command that runs it")
        elif change.batch > 1 and change.edit is None:
            commands.append(f"feed {change.batch} samples a run; ascend-serve gathers them: max_batch_size")
        else:
            search = [f"ASCEND_EP_SEARCH={change.search}"] if change.search else []
            shown = [w.replace(f"{self.folder}/", "") for w in words]
            commands.append(shlex.join([*search, "ascend-atc", *shown]))
        return self._measure(change, bundle, tuple(commands))

    def _measure(self, change: Change, bundle: Path, commands: tuple[str, ...]) -> Outcome:
        session = open_with_threads(bundle, change.threads or self.threads)
        if change.threads == 0 and change.batch == 1 and fingerprint(session.bundle) == self.fingerprint:
            return Outcome(change, 0, None, 0, "the bundle stays the same", commands)
        feeds, results = self.feeds, self.results
        if change.batch > 1:
            feeds = {k: np.concatenate([v] * change.batch) for k, v in feeds.items()}
        made = session.run(None, feeds)
        if change.batch > 1:
            pairs = zip(made, results, strict=True)
            made = [m[: len(r)] if m.shape != r.shape else m for m, r in pairs]
        error = difference(results, made)
        note = "" if error <= LARGE_ERROR else "it changes the results"
        outcome = self._timed(change, self.base, session, feeds, error, note, commands)
        if not outcome.is_faster:
            return outcome
        # Where memory lies can cost some percent of a session's life: what is promised has to hold twice.
        fresh = (
            open_with_threads(self.bundle, self.threads),
            open_with_threads(bundle, change.threads or self.threads),
        )
        return min(
            outcome,
            self._timed(change, *fresh, feeds, error, note, commands),
            key=lambda o: o.gain,
        )

    def _timed(
        self,
        change: Change,
        base: InferenceSession,
        session: InferenceSession,
        feeds: Feeds,
        error: float,
        note: str,
        commands: tuple[str, ...],
    ) -> Outcome:
        clock = time.perf_counter if change.threads else self.clock  # threads share the work, not its sum
        found = compare(
            lambda: base.run(None, self.feeds),
            lambda: session.run(None, feeds),
            self.seconds,
            clock=clock,
            deadline=self.end,
        )
        if found.rounds < LEAST_ROUNDS:
            return Outcome(change, 0, None, error, "not measured: no time was left", commands)
        return Outcome(change, change.batch / found.ratio, found, error, note, commands)


@contextmanager
def _searching(seconds: int, folder: Path) -> Iterator[None]:
    """Conversions within search schedules, and keep what they find to themselves."""
    told = {"ASCEND_EP_SEARCH": str(seconds), "ASCEND_EP_CACHE": str(folder / "cache")} if seconds else {}
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
