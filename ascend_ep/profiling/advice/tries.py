"""Trying changes one by one: each is converted, run beside the model as it is, and measured.

The command lines that are shown are those that were run. What didn't help is shown as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ascend_ep.errors import AscendError
from ascend_ep.profiling.advice.edits import EDITS
from ascend_ep.profiling.gate import difference
from ascend_ep.profiling.interleaved import Comparison, compare
from ascend_ep.runtime.options import SessionOptions
from ascend_ep.runtime.session import InferenceSession

#: What counts as a gain, and as an error that needs no thought.
LEAST_GAIN, SMALL_ERROR = 1.05, 1e-3
BATCH = 8
Feeds = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """`flags` of ascend-atc; `edit` of the model before; `threads` of the session; `batch`: samples a run."""

    name: str
    weakness: str
    flags: tuple[str, ...] = ()
    edit: Callable[[onnx.ModelProto], int] | None = None
    threads: int = 0
    batch: int = 1


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
    def helps(self) -> bool:
        """Whether it is faster beyond doubt, by more than LEAST_GAIN, as exact as before."""
        certain = self.comparison is not None and self.comparison.high < self.change.batch
        return certain and self.gain >= LEAST_GAIN and self.error <= SMALL_ERROR

    @property
    def trades(self) -> bool:
        """Whether it is faster at the price of accuracy."""
        certain = self.comparison is not None and self.comparison.high < self.change.batch
        return certain and self.gain >= LEAST_GAIN and self.error > SMALL_ERROR


def changes(model: onnx.ModelProto, threads: int) -> Iterator[Change]:
    """What is worth trying with this model, the likely ones first."""
    for edit in EDITS:
        yield Change(edit.name, edit.weakness, edit=edit.apply)
    sizes = [d for i in _inputs(model) for d in i.type.tensor_type.shape.dim[:1]]
    if sizes and all(d.dim_param for d in sizes) and len({d.dim_param for d in sizes}) == 1:
        yield Change("batch", "one sample a run where several could go together", batch=BATCH)
    elif sizes and all(d.dim_value == 1 for d in sizes):
        yield Change("batch", "one sample a run where several could go together", edit=widen, batch=BATCH)
    if threads > 1:
        yield Change("one_thread", "calls too small for several threads", threads=1)
    flags = ("--precision_mode_v2=mixed_bfloat16",)
    yield Change("bfloat16", "products in float32 where bfloat16 is exact enough", flags=flags)
    fast = ("--op_select_implmode=high_performance",)
    yield Change("fast_functions", "functions more exact than needed", flags=fast)


def widen(model: onnx.ModelProto) -> int:
    """A first axis of one sample becomes BATCH of them."""
    values = [*_inputs(model), *model.graph.output]
    for value in values:
        value.type.tensor_type.shape.dim[0].dim_value = BATCH
    del model.graph.value_info[:]
    return len(values)


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    constants = {t.name for t in model.graph.initializer}
    return [i for i in model.graph.input if i.name not in constants]


class Trial:
    """`convert(model file, bundle, flags)` runs ascend-atc and returns its words, or raises AscendError;
    `feed` is of one sample."""

    def __init__(
        self,
        source: Path,
        folder: Path,
        convert: Callable[[Path, Path, Sequence[str]], list[str]],
        feed: Callable[[InferenceSession], Feeds],
        threads: int,
        seconds: float,
    ) -> None:
        self.source = source
        self.folder = folder
        self.convert = convert
        self.threads = threads
        self.seconds = seconds
        bundle = folder / "model.om"
        convert(source, bundle, ())
        self.base = self._open(bundle, threads)
        self.feeds = feed(self.base)
        self.results = self.base.run(None, self.feeds)

    def _open(self, bundle: Path, threads: int) -> InferenceSession:
        options = SessionOptions()
        options.intra_op_num_threads = threads
        return InferenceSession(bundle, options)

    def outcomes(self, model: onnx.ModelProto, budget: float) -> Iterator[Outcome]:
        """Of each change; those for which no time is left are said to be left out."""
        end = time.perf_counter() + budget
        for change in changes(model, self.threads):
            if time.perf_counter() > end:
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
        words = self.convert(source, bundle, change.flags)
        if change.threads:
            commands.append(f"ASCEND_EP_THREADS={change.threads} in front of the command that runs it")
        elif change.batch > 1 and change.edit is None:
            commands.append(f"feed {change.batch} samples a run; ascend-serve gathers them: max_batch_size")
        else:
            shown = [w.replace(f"{self.folder}/", "") for w in words]
            commands.append(" ".join(["ascend-atc", *shown]))
        return self._measure(change, bundle, tuple(commands))

    def _measure(self, change: Change, bundle: Path, commands: tuple[str, ...]) -> Outcome:
        session = self._open(bundle, change.threads or self.threads)
        feeds, results = self.feeds, self.results
        if change.batch > 1:
            feeds = {k: np.concatenate([v] * change.batch) for k, v in feeds.items()}
        made = session.run(None, feeds)
        if change.batch > 1:
            pairs = zip(made, results, strict=True)
            made = [m[: len(r)] if m.shape != r.shape else m for m, r in pairs]
        error = difference(results, made)
        found = compare(
            lambda: self.base.run(None, self.feeds), lambda: session.run(None, feeds), self.seconds
        )
        gain = change.batch / found.ratio
        return Outcome(change, gain, found, error, "", commands)
