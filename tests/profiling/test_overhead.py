"""What recording costs, and that its sums are the run's: by CPU time, since the machine may be busy."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling.msprof_files import op_statistic, step_trace
from ascend_ep.runtime import tracing

#: Products of about 100 us each, one after another.
LAYERS, SIDE = 8, 192
RUNS, ROUNDS = 12, 60


def products() -> ascend_ep.InferenceSession:
    from weaknesses import parsed, weight

    steps = " ".join(f"a{i + 1} = MatMul(a{i}, w)" for i in range(LAYERS))
    shape = f"float[{SIDE},{SIDE}]"
    made = parsed(f"({shape} a0) => ({shape} a{LAYERS}) {{ {steps} }}", w=weight(SIDE, SIDE) / 2)
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = 1
    return ascend_ep.InferenceSession(convert(made).to_bytes(), options)


FEED = {"a0": np.ones((SIDE, SIDE), np.float32)}


def test_time_outside_of_kernels_is_explained() -> None:
    """Of calls so short that starting them is a large part."""
    small = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) { y = Softmax(x) }'
    )
    session = ascend_ep.InferenceSession(convert(small).to_bytes())
    with ascend_ep.profile() as recording:
        for _ in range(50):
            session.run(None, {"x": np.ones(4, np.float32)})
    assert "outside kernels: starting runs and calls" in recording.table()


def test_the_sums_are_the_wall_time() -> None:
    """Of the files, within 3 % of what the caller's own clock says; the least of some attempts, since a
    neighbour may stand between the two clocks."""
    session = products()
    session.run(None, FEED)
    gaps = []
    for _ in range(5):
        with ascend_ep.profile() as recording:
            began = time.perf_counter_ns()
            for _ in range(20):
                session.run(None, FEED)
            wall = time.perf_counter_ns() - began
        profile = recording.profile
        steps = sum(float(row[5]) for row in step_trace(profile)) * 1e3
        kernels = sum(float(row[5]) for row in op_statistic(profile)) * 1e3
        assert kernels <= steps <= wall
        gaps.append(1 - kernels / wall)
    assert min(gaps) < 0.03


def test_bytes_are_those_of_the_plan() -> None:
    session = products()
    with ascend_ep.profile() as recording:
        session.run(None, FEED)
    moved = recording.summary()["operators"][0]["bytes"]
    (partition,) = session.bundle.partitions
    operands = [
        value
        for call in session.bundle.instructions(partition)
        for value in (*call.inputs, *call.outputs)
        if value is not None
    ]
    assert moved == sum(4 * int(np.prod([int(d) for d in v.dims])) for v in operands)


@pytest.mark.slow
@pytest.mark.measures
def test_recording_costs_at_most_one_percent(tmp_path: Path) -> None:
    """At kernels of 100 us; and nothing when it is off. Medians of interleaved rounds."""
    session = products()

    def spent() -> float:
        began = time.process_time()
        for _ in range(RUNS):
            session.run(None, FEED)
        return time.process_time() - began

    spent()
    ratios = []
    for i in range(ROUNDS):
        times = {}
        for on in (i % 2 == 0, i % 2 == 1):
            if on:
                tracing.start(tmp_path, 0)
            times[on] = spent()
            if on:
                tracing.stop()
        ratios.append(times[True] / times[False])
    assert statistics.median(ratios) < 1.01, sorted(ratios)
