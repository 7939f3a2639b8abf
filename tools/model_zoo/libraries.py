"""Pipelines of scikit-learn, LightGBM and XGBoost beside their own libraries (`tools/table_pipelines`).

Each is converted by its library's converter, and its predictions for unseen rows are compared with those of
the library: in the own runtime, inside onnxruntime with AscendEP, and with the CPU provider alone. A
pipeline agrees where both err no more than the CPU provider does, within rounding.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import ascend_ep
import ascend_ep.provider
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from model_zoo.drawn_pipelines import name_of
from model_zoo.made import trained
from model_zoo.packages import NotToBeHad
from model_zoo.pipelines import PIPELINES
from model_zoo.trial import CPU

#: What rounding may add to the error of the CPU provider, of the largest value.
ROUNDING = 1e-5
ROUNDS = 15
#: Seconds of calls that one time is taken of.
SLOT = 0.01


@dataclass(frozen=True)
class Found:
    """Largest differences from the library relative to the largest value, and how many labels differ."""

    error: float
    labels: int

    def __str__(self) -> str:
        return f"{self.error:.0e}" + (f", {self.labels} labels" if self.labels else "")


def compared(results: list[Any], wanted: dict[str, np.ndarray]) -> Found:
    """`results`: the model's outputs; a classifier has labels first, then scores."""
    labels, error = 0, 0.0
    if "label" in wanted:
        labels = int((np.asarray(results[0]).reshape(-1) != wanted["label"]).sum())
    name = "scores" if "scores" in wanted else "value"
    made = np.asarray(results[1 if name == "scores" else 0], np.float64)
    expected = wanted[name].astype(np.float64)
    if made.size == expected.size and expected.size:
        error = float(
            np.abs(made.reshape(expected.shape) - expected).max() / max(np.abs(expected).max(), 1e-30)
        )
    else:
        error = float("inf")
    return Found(error, labels)


def interleaved(calls: list[Callable[[], Any]]) -> list[float]:
    """The median seconds of a call of each, in turn."""
    counts = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        counts.append(max(1, int(SLOT / (time.perf_counter() - start))))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, count, found in zip(calls, counts, times, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                call()
            found.append((time.perf_counter() - start) / count)
    return [statistics.median(found) for found in times]


def tried(folder: Path, name: str, speed: bool) -> tuple[bool, str]:
    """Whether a pipeline agrees, and its line."""
    with np.load(folder / f"{name}.npz", allow_pickle=True) as stored:
        wanted = dict(stored)
    rows = wanted.pop("X")
    source = (folder / f"{name}.onnx").read_bytes()
    plain = onnxruntime.InferenceSession(source, providers=CPU)
    inside = onnxruntime.InferenceSession(source, providers=["AscendEP", *CPU])
    made = convert(folder / f"{name}.onnx", ConvertOptions())
    own = ascend_ep.InferenceSession(made.to_bytes())
    feeds = {plain.get_inputs()[0].name: rows}
    cpu, ep, bundle = (compared(s.run(None, feeds), wanted) for s in (plain, inside, own))
    agrees = all(f.error <= cpu.error + ROUNDING and f.labels <= cpu.labels for f in (ep, bundle))
    host = [row.op_type for row in made.partition_table if row.target != "AscendEP"]
    native = len(made.partition_table) - len(host)
    line = f"{name:28s} own {bundle!s:18s} inside {ep!s:18s} CPU {cpu!s:18s} native {native:3d}"
    if host:
        line += f", host {len(host)}: {', '.join(sorted(set(host)))}"
    if speed:
        for count in (1, 1000):
            some = {name: np.resize(x, (count, *x.shape[1:])) for name, x in feeds.items()}
            calls = [lambda s=s, f=some: s.run(None, f) for s in (plain, inside, own)]
            t = interleaved(calls)
            line += f"; {count}: {t[0] / t[1]:.2f} inside, {t[0] / t[2]:.2f} own"
    return agrees, ("      " if agrees else "WRONG ") + line


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="pipelines; all by default")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "ascend-ep" / "real_models")
    parser.add_argument("--folder", type=Path, help="of pipelines that were trained before")
    parser.add_argument("--draw", type=int, help="this many that nobody picked, by --seed", metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true", help="beside the CPU provider, of 1 and 1000 rows")
    given = parser.parse_args()
    names, label = given.names or list(PIPELINES), ""
    if given.draw is not None:
        names, label = [name_of(given.seed, k) for k in range(given.draw)], f"drawn_{given.seed}_{given.draw}"
    try:
        folder = given.folder or trained("pipelines", given.cache, label, names if label else ())
    except NotToBeHad as reason:
        print(f"skipped: {reason}")
        return 0
    wrong, count = 0, 0
    for name in names:
        if not (folder / f"{name}.onnx").exists():
            reason = (folder / f"{name}.failed").read_text().strip().splitlines()[-1][:100]
            print(f"      {name:28s} its converter fails: {reason}")
            continue
        try:
            onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=CPU)
        except Exception as error:  # what its converter wrote is no model
            print(f"      {name:28s} the CPU provider doesn't take it: {str(error)[:100]}")
            continue
        agrees, line = tried(folder, name, given.speed)
        wrong, count = wrong + (not agrees), count + 1
        print(line, flush=True)
    print(f"{count - wrong} of {count} pipelines agree with their libraries")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
