"""What samples show of the values of a model: it runs on them, with these values as outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.session_apart import SessionApart

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
Sample = Mapping[str, Array]

#: Bins of a histogram: 4096 leave 8 bits even where outliers are sixteen times the rest.
BINS = 4096


class Runner:
    """Runs a model on samples and gives the values of these names. `proto` isn't changed."""

    def __init__(self, proto: onnx.ModelProto, names: Sequence[str], registry: Registry | None) -> None:
        opened = onnx.ModelProto()
        opened.CopyFrom(proto)
        given = {i.name for i in proto.graph.input}
        declared = {o.name for o in proto.graph.output}
        self._names = list(dict.fromkeys(names))
        added = [n for n in self._names if n not in declared and n not in given]
        opened.graph.output.extend(onnx.ValueInfoProto(name=n) for n in added)
        self._given = [n for n in self._names if n in given]
        self._made = [n for n in self._names if n not in given]
        self._session = session_of(opened, registry) if self._made else None

    def __call__(self, sample: Sample) -> dict[str, Array]:
        found = {name: np.asarray(sample[name]) for name in self._given}
        if self._session is not None:
            made = self._session.run(self._made, dict(sample))
            found |= dict(zip(self._made, made, strict=True))
        return found


def session_of(model: onnx.ModelProto, registry: Registry | None) -> SessionApart:
    """A session that computes what the model says, in its own types."""
    options = ConvertOptions(
        registry=registry, sample_seed=None, self_check=False, fallback=False, expect_native=True
    )
    return SessionApart(convert(model, options).to_bytes())


class Seen:
    """What was seen of one value. `low`, `high`: its least and greatest finite element; `size`: how many
    elements, and `strange`: how many of them aren't finite; `channels`: the greatest magnitude along the last
    axis, for those that ask; `histogram`: of BINS bins from low to high."""

    def __init__(self, channels: bool = False) -> None:
        self.low, self.high = np.inf, -np.inf
        self.size, self.strange = 0, 0
        self.channels: Floats | None = None
        self.histogram: NDArray[np.int64] = np.zeros(BINS, np.int64)
        self._wants_channels = channels

    def extend(self, array: Array) -> None:
        """First pass: the range."""
        values = np.asarray(array, np.float32)
        finite = values[np.isfinite(values)] if not np.isfinite(values).all() else values
        self.size, self.strange = self.size + values.size, self.strange + values.size - finite.size
        if not finite.size:
            return
        self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
        if self._wants_channels and values.ndim:
            known = np.where(np.isfinite(values), values, 0)
            largest = np.abs(known).reshape(-1, values.shape[-1]).max(axis=0)
            before = self.channels
            self.channels = largest.astype(np.float64) if before is None else np.maximum(before, largest)

    def count(self, array: Array) -> None:
        """Second pass: the histogram."""
        values = np.asarray(array, np.float32).ravel()
        values = values[np.isfinite(values)]
        if self.high > self.low:
            self.histogram += np.histogram(values, BINS, (self.low, self.high))[0]


def ranges_seen(
    proto: onnx.ModelProto, values: Mapping[str, bool], samples: Iterable[Sample], registry: Registry | None
) -> dict[str, Seen]:
    """The ranges of values, by name; those with True, of channels, too."""
    seen = {name: Seen(channels) for name, channels in values.items()}
    run = Runner(proto, list(values), registry)
    for sample in samples:
        for name, array in run(sample).items():
            seen[name].extend(array)
    return seen


def count_elements(
    proto: onnx.ModelProto, seen: Mapping[str, Seen], samples: Iterable[Sample], registry: Registry | None
) -> None:
    """Fills the histograms of what `ranges_seen` found."""
    run = Runner(proto, list(seen), registry)
    for sample in samples:
        for name, array in run(sample).items():
            seen[name].count(array)


def second_moments(
    proto: onnx.ModelProto, names: Sequence[str], samples: Iterable[Sample], registry: Registry | None
) -> dict[str, Floats]:
    """The mean of the outer products of each value's finite rows: [K, K]; of no value that has none."""
    sums: dict[str, Floats] = {}
    rows: dict[str, int] = dict.fromkeys(names, 0)
    run = Runner(proto, names, registry)
    for sample in samples:
        for name, array in run(sample).items():
            flat = np.asarray(array, np.float32).reshape(-1, array.shape[-1])
            flat = flat[np.isfinite(flat).all(axis=1)]
            square = (flat.T @ flat).astype(np.float64)
            sums[name] = square if name not in sums else sums[name] + square
            rows[name] += len(flat)
    return {name: total / rows[name] for name, total in sums.items() if rows[name]}
