"""A drawn model in bundles of all passes and of fewer, beside onnxruntime; the smallest part that differs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import onnx
import onnx.printer

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.pipeline import PIPELINE
from ascend_ep.graph import setbacks
from ascend_ep.graph.reference import Reference
from model_fuzzing.draw import Array
from model_fuzzing.growing import session_of
from model_fuzzing.judging import difference
from model_fuzzing.models import Drawn

OPTIONS = ConvertOptions(codegen="off", precision="origin", self_check=False, sample_seed=None)
#: Passes that only say something, or that others need.
NEEDED = {"LiftConstantsToInitializersPass", "InlineFunctions", "weigh_product_chains"}
PASSES = tuple(dict.fromkeys(p.name for s in PIPELINE for p in s.passes if p.name not in NEEDED))


@dataclass
class Difference:
    """What is different, of a model; `off`: the passes that were left out."""

    said: str
    drawn: Drawn
    off: tuple[str, ...] = ()

    def __str__(self) -> str:
        without = f" without {', '.join(self.off)}" if self.off else ""
        fed = {n: f"{x.dtype}{list(x.shape)}" for n, x in self.drawn.feeds.items()}
        return f"{self.said}{without}; fed {fed}\n{onnx.printer.to_text(self.drawn.model())}"


@contextmanager
def without(off: Collection[str]) -> Iterator[None]:
    """Conversions leave out these passes, as they do with those that raise."""
    told = setbacks.why_off
    with mock.patch.object(
        setbacks, "why_off", lambda name: "left out" if name.removeprefix("pass ") in off else told(name)
    ):
        yield


def checked(drawn: Drawn, off: Collection[str] = ()) -> str | None:
    """Nothing where bundle and onnxruntime agree; None where onnxruntime refuses; else what is different."""
    model = drawn.model()
    try:
        wanted = session_of(model).run(None, drawn.feeds)
    except Exception:  # onnxruntime's own are of several kinds
        return None
    try:
        with warnings.catch_warnings(), without(off):
            warnings.simplefilter("ignore", RuntimeWarning)
            bundle = convert(model, OPTIONS).to_bytes()
        got = ascend_ep.InferenceSession(bundle).run(None, drawn.feeds)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    said = [
        f"{n}: {d}" for n, a, b in zip(drawn.outputs, wanted, got, strict=True) if (d := difference(a, b))
    ]
    return "" if not said or is_unsteady(drawn, wanted, got) else said[0]


def is_unsteady(drawn: Drawn, wanted: list[Any], got: list[Any]) -> bool:
    """Whether the results are as far apart as those of inputs that differ in the last bit of a float32."""
    try:
        reference = Reference(drawn.model())
        exact = reference.run(drawn.feeds)
        moved = reference.nudged(drawn.feeds)
    except Exception:
        return False
    return all(
        _within(np.asarray(a), np.asarray(b), exact[n], moved[n])
        for n, a, b in zip(drawn.outputs, wanted, got, strict=True)
    )


def _within(wanted: Array, got: Array, exact: Array, moved: Array) -> bool:
    if not difference(wanted, got):
        return True
    if not wanted.shape == got.shape == exact.shape or wanted.dtype != got.dtype:
        return False
    if wanted.dtype.kind != "f":
        return not np.array_equal(exact, moved)
    if not np.array_equal(np.isnan(got), np.isnan(wanted)):
        return not np.array_equal(np.isnan(exact), np.isnan(moved))
    spread = float(np.abs(moved - exact).max(initial=0))
    apart = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    return bool(np.nanmax(apart, initial=0) <= 50 * spread)


def smallest(drawn: Drawn, off: Collection[str] = ()) -> Difference:
    """Of a model that fails: one output, and as much of what it is made of as is needed to fail."""
    best = drawn
    for name in [n for node in drawn.nodes for n in node.output]:
        if checked(part := drawn.only([name]), off):
            best = part
            break
    cuts: frozenset[str] = frozenset()
    whole, goal = best, list(best.outputs)
    for node in best.nodes:
        for name in node.output:
            if name in goal or name not in whole.values:
                continue
            if checked(part := whole.only(goal, cuts | {name}), off):
                cuts |= {name}
                best = part
    least = [name for name in off if not checked(best, [n for n in off if n != name])]
    return Difference(checked(best, off) or "", best, tuple(least) if off else ())


def differences(drawn: Drawn, left_out: Collection[Collection[str]]) -> Difference | None:
    """The first, of the model with all passes and then without each of these sets."""
    for off in ((), *left_out):
        if checked(drawn, off):
            return smallest(drawn, off)
    return None
