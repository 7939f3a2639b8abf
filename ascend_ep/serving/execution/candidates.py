"""The implementations that a version can have, and what one must show before it may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.comparison import compare
from ascend_ep.serving.request import Array

from .batch import Run
from .host_model import HostModel
from .implementations import COMPILED, HOST, INTERPRETED, Proof
from .samples import Samples

_TRIED_ROWS = (None, 1, 5)


def first_name(bundle: Bundle) -> str:
    """Which implementation a session of the bundle is. Code that was written for it has no interpretation."""
    return INTERPRETED if bundle.refused_natives and not bundle.foreign_natives else COMPILED


def others(
    bundle: Bundle, interpreted: Callable[[], Any], original: Path | None, threads: int
) -> dict[str, Callable[[], Run]]:
    """What can stand in for a session of this bundle, by name. interpreted: opens it without its native code.
    original: the ONNX model it was converted from."""
    found: dict[str, Callable[[], Run]] = {}
    if bundle.natives and not bundle.foreign_natives and first_name(bundle) == COMPILED:
        found[INTERPRETED] = lambda: _session_run(interpreted())
    if original is not None:
        found[HOST] = lambda: _session_run(HostModel(original, threads))
    return found


def make_proof(
    first: Run, samples: Samples, outputs: Mapping[str, Array], names: Sequence[str], risky: bool = False
) -> Proof:
    """Compares a run with what the bundle stores for its self-check, and with `first` on random inputs as far
    as that works. outputs: the stored ones, by name; names: of all outputs, in the model's order. risky:
    `first` isn't run where the stored ones suffice, for it may crash."""

    def prove(run: Run) -> None:
        tried = 0
        if outputs:
            made = dict(zip(names, run(dict(samples.stored)), strict=True))
            _agree(list(outputs), [made[name] for name in outputs], list(outputs.values()))
            tried += 1
        for rows in () if risky and tried else _TRIED_ROWS:
            feed = samples.feed(rows)
            try:
                expected = first(feed)
            except Exception:
                continue
            _agree(names, run(feed), expected)
            tried += 1
        if not tried:
            raise ValueError("there is nothing to compare its results with")

    return prove


def _agree(names: Sequence[str], made: Sequence[Array], expected: Sequence[Array]) -> None:
    for name, mine, theirs in zip(names, made, expected, strict=False):
        difference = compare(mine, theirs)
        if difference.exceeds:
            raise ValueError(f"output [{name}]: {difference}")


def _session_run(session: Any) -> Run:
    return lambda inputs: session.run(None, inputs)
