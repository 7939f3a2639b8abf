"""The shortest --keep_dtype list that restores a stated accuracy, found by converting and running.

The nodes are ordered by the error that enters at each. Of that order the shortest prefix that suffices is
found by bisection, and then reduced, by halves, quarters and at last single entries, until none can be left
out: removing any entry of the result breaks the accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.runtime.session_apart import SessionApart

from .node_errors import Measure

Array = NDArray[Any]

#: Measures of which more is better.
_AT_LEAST = ("cosine", "top1")


@dataclass(frozen=True)
class Accuracy:
    """What every floating output must reach: `measure` "relative" or "rms" at most, "cosine" or "top1" at
    least."""

    measure: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Accuracy:
        """`1e-3` (relative), `rms=1e-3`, `cosine=0.9999`, `top1=0.99`. Raises AscendError E40001."""
        name, equals, number = text.rpartition("=")
        name = name if equals else "relative"
        try:
            limit = float(number)
        except ValueError:
            limit = -1.0
        if name not in ("relative", "rms", *_AT_LEAST) or not 0 < limit <= 1:
            raise AscendError(
                "E40001",
                f"--accuracy={text} is no accuracy",
                fix="For example 1e-3, rms=1e-3, cosine=0.9999, top1=0.99.",
            )
        return cls(name, limit)

    def holds(self, measure: Measure) -> bool:
        value = float(getattr(measure, self.measure))
        return value >= self.limit if self.measure in _AT_LEAST else value <= self.limit

    def __str__(self) -> str:
        return f"{self.measure} {'at least' if self.measure in _AT_LEAST else 'at most'} {self.limit:g}"


class Trials:
    """Conversions of one model that keep the types of some of its nodes, run on one set of inputs."""

    def __init__(
        self,
        model: onnx.ModelProto,
        options: ConvertOptions,
        feeds: Mapping[str, Array],
        expected: Mapping[str, Array],
        accuracy: Accuracy,
    ) -> None:
        """`expected`: the outputs of the reference."""
        self.model = model
        self.options = replace(
            options, sample_seed=None, self_check=False, fallback=False, expect_native=True
        )
        self.feeds = dict(feeds)
        self.expected = expected
        self.accuracy = accuracy
        self.measured: dict[frozenset[str], dict[str, Measure]] = {}

    def measures(self, kept: frozenset[str]) -> dict[str, Measure]:
        """Of every floating output when these are kept besides what the options keep."""
        if kept not in self.measured:
            lists = self.options.precision_lists
            lists = replace(lists, keep=frozenset(lists.keep) | kept)
            conversion = convert(self.model, replace(self.options, precision_lists=lists))
            session = SessionApart(conversion.to_bytes())
            self.measured[kept] = measure_outputs(session, self.feeds, self.expected)
        return self.measured[kept]

    def hold(self, kept: Sequence[str]) -> bool:
        return all(self.accuracy.holds(m) for m in self.measures(frozenset(kept)).values())


def measure_outputs(
    session: SessionApart, feeds: Mapping[str, Array], expected: Mapping[str, Array]
) -> dict[str, Measure]:
    """The floating outputs of a bundle against the reference."""
    names = [arg.name for arg in session.session.get_outputs() if arg.name in expected]
    results = dict(zip(names, session.run(names, dict(feeds)), strict=True))
    return {
        name: Measure.of(array, expected[name], 0)
        for name, array in results.items()
        if expected[name].dtype.kind == "f" and array.shape == expected[name].shape
    }


def shortest_list(
    names: Sequence[str],
    holds: Callable[[Sequence[str]], bool],
    progress: Callable[[str], None] = print,
    code: str = "E41023",
) -> list[str]:
    """The fewest of `names`, in their order, for which `holds`; none of them can be left out.

    Raises AscendError with `code` when not even all of them suffice.
    """
    found = shortest_start(names, holds, progress, code)
    return _reduced(found, holds, progress) if found else found


def shortest_start(
    names: Sequence[str],
    holds: Callable[[Sequence[str]], bool],
    progress: Callable[[str], None] = print,
    code: str = "E41023",
) -> list[str]:
    """The fewest of the first of `names` for which `holds`, by halves.

    Raises AscendError with `code` when not even all of them suffice."""
    if holds([]):
        return []
    if not holds(names):
        raise AscendError(code, str(len(names)))
    low, high = 0, len(names)  # the first `low` don't suffice, the first `high` do
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(names[:middle]) else (middle, high)
        progress(f"between {low} and {high} nodes, by the error that enters at them")
    return list(names[:high])


def _reduced(
    kept: list[str], holds: Callable[[Sequence[str]], bool], progress: Callable[[str], None]
) -> list[str]:
    """`kept` without what can be left out: ever smaller pieces, from the end, until single ones can't."""
    size = max(1, len(kept) // 2)
    while True:
        removed = False
        end = len(kept)
        while end > 0:
            start = max(0, end - size)
            rest = kept[:start] + kept[end:]
            if rest and holds(rest):
                kept, removed = rest, True
                progress(f"{len(kept)} nodes suffice")
            end = start
        if size == 1 and not removed:
            return kept
        if not removed or size > len(kept) // 2:
            size = max(1, size // 2)
        if len(kept) == 1:
            return kept


def finite(number: float) -> float | None:
    """For JSON, which has no infinity."""
    return number if np.isfinite(number) else None
