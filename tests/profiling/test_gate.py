"""The gate: what it finds, what it doesn't, and what CI gets of it."""

from __future__ import annotations

import json
import random
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling.gate import difference, judge
from ascend_ep.profiling.interleaved import compare, estimate


def chain(layers: int) -> onnx.ModelProto:
    """So many products of 64 x 64 matrices, one after another; the weights are a rotation."""
    steps = " ".join(f"a{i + 1} = MatMul(a{i}, w)" for i in range(layers))
    signature = f"(float[64,64] a0) => (float[64,64] a{layers})"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> chain {signature} {{ {steps} }}')
    weights = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 64)))[0].astype(np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    made.graph.output[0].name = f"a{layers}"
    return made


def write(path: Path, layers: int) -> Path:
    path.write_bytes(convert(chain(layers)).to_bytes())
    return path


class FakeClock:
    """Time that passes as told: each run takes its seconds, and often what a neighbour takes on top."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = random.Random(seed)
        self.load = 1.0

    def run(self, seconds: float) -> None:
        self.load = max(1.0, self.load + self.random.gauss(0, 0.05))
        self.load = min(self.load, 1.6)
        extra = self.random.expovariate(1 / (0.03 * seconds)) * self.load
        busy = self.random.random() < 0.2
        self.now += seconds + extra + (seconds * self.random.uniform(0.2, 2) if busy else 0)


def alarm(slowdown: float, seed: int) -> bool:
    clock = FakeClock(seed)
    boundary = 1.025
    found = compare(
        lambda: clock.run(0.004),
        lambda: clock.run(0.004 * (1 + slowdown)),
        20,
        lambda c: c.low > boundary or c.high < boundary,
        lambda: clock.now,
    )
    return found.ratio > boundary and found.low > 1


def test_what_is_found_in_noise() -> None:
    """Of twenty trials each: five percent in nineteen, none in none."""
    assert sum(alarm(0.05, seed) for seed in range(20)) >= 19
    assert sum(alarm(0.0, seed) for seed in range(20)) == 0


@pytest.mark.slow
@pytest.mark.measures
def test_what_is_found_on_this_machine() -> None:
    """The same twenty trials with real bundles: 42 products beside 40, and 40 beside 40."""
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = 1
    feeds = {"a0": np.eye(64, dtype=np.float32)}

    def fails(layers: int) -> bool:
        pair = [ascend_ep.InferenceSession(convert(chain(n)).to_bytes(), options) for n in (40, layers)]
        return not judge(*pair, feeds, 0.05, 1e9, 4.0, time.process_time).passed

    assert sum(fails(42) for _ in range(20)) >= 19
    assert sum(fails(40) for _ in range(20)) == 0


def test_seconds_are_those_of_the_clock() -> None:
    """A process that others leave little of the CPU has as many rounds as one alone: the clock's say."""
    clock = FakeClock(0)

    def starved() -> None:
        time.sleep(0.01)
        clock.run(0.005)

    assert compare(starved, starved, 1, clock=lambda: clock.now).rounds > 15


def test_no_clock_outlives_the_deadline() -> None:
    began = time.perf_counter()
    clock = FakeClock(0)

    def starved() -> None:
        time.sleep(0.01)
        clock.run(0.005)

    found = compare(starved, starved, 100, clock=lambda: clock.now, deadline=began + 0.2)
    assert found.rounds < 10
    assert time.perf_counter() - began < 5


def test_the_interval_holds_the_median() -> None:
    rng = random.Random(0)
    held = 0
    for _ in range(300):
        old = [1.0] * 40
        new = [rng.lognormvariate(0.1, 0.3) for _ in old]
        found = estimate(old, new)
        held += found.low <= 2.718281828**0.1 <= found.high
    assert held >= 290


def test_differences() -> None:
    one = np.array([1.0, -4.0])
    assert difference([one], [one + 0.4]) == pytest.approx(0.1)
    assert np.isnan(difference([one], [np.array([1.0, np.nan])]))
    assert difference([np.array([np.inf, np.nan])], [np.array([np.inf, np.nan])]) == 0
    infinite = np.array([np.inf, 2.0])
    assert difference([infinite], [infinite + 0.5]) == pytest.approx(0.25)
    for other in (5.0, -np.inf, np.nan):
        for pair in ([infinite], [np.array([other, 2.0])]), ([np.array([other, 2.0])], [infinite]):
            assert np.isnan(difference(*pair))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast, slow = write(tmp_path / "fast.om", 20), write(tmp_path / "slow.om", 40)
    baseline = tmp_path / "b.json"
    assert main(["gate", str(fast), f"--record={baseline}"]) == 0
    assert json.loads(baseline.read_text())["bundle"] == "b.om"
    quick = ["--seconds=2", "--threads=1", "--clock=cpu", f"--baseline={baseline}"]
    assert main(["gate", str(fast), *quick, "--json"]) == 0
    capsys.readouterr()
    files = [f"--markdown={tmp_path / 'v.md'}", f"--junit={tmp_path / 'v.xml'}"]
    assert main(["gate", str(slow), *quick, *files, "--max-error=1e9"]) == 1
    assert "slower by" in capsys.readouterr().out
    assert "❌ slow.om: slower by" in (tmp_path / "v.md").read_text()
    assert ET.parse(tmp_path / "v.xml").getroot().get("failures") == "1"
    assert main(["gate", str(slow), *quick, "--max-slowdown=200%"]) == 1
    assert "results differ by" in capsys.readouterr().out
    assert main(["gate", str(fast), "--baseline=none.om"]) == 1
    assert main(["gate", str(fast)]) == 1
    assert main(["gate", str(fast), *quick, "--max-slowdown=no"]) == 1
    (tmp_path / "bad.json").write_text("[]")
    assert main(["gate", str(fast), f"--baseline={tmp_path / 'bad.json'}"]) == 1
    assert "E44007" in capsys.readouterr().err
