"""The files of a profile: sums, columns, and a timeline that no viewer drops a slice of."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from profiled import RUNS

import ascend_ep
from ascend_ep.cli.prof import main
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.metrics import GROUPS
from ascend_ep.profiling.profile import Profile

Events = list[dict[str, Any]]


def overlaps(events: Events) -> int:
    """Slices that neither follow nor contain one another on their thread, as Perfetto finds them: in
    nanoseconds."""
    threads = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            whole, _, part = str(e["ts"]).partition(".")
            start = int(whole) * 1000 + int(part.ljust(3, "0")[:3] or 0)
            threads[e["pid"], e["tid"]].append((start, -round(e["dur"] * 1000)))
    found = 0
    for slices in threads.values():
        open_until: list[int] = []
        for start, minus in sorted(slices):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            found += bool(open_until) and start - minus > open_until[-1]
            open_until.append(start - minus)
    return found


@pytest.fixture(scope="module")
def files(profile: Profile) -> dict[str, Path]:
    return {path.name.rsplit("_", 1)[0]: path for path in write_files(profile, "PipeUtilization")}


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_names(files: dict[str, Path], profile: Profile) -> None:
    assert set(files) == {
        *("op_summary", "op_statistic", "task_time", "api_statistic", "step_trace", "fusion_op", "msprof")
    }
    assert {path.parent for path in files.values()} == {profile.folder / "mindstudio_profiler_output"}
    assert all(path.stem.rsplit("_", 1)[1] == profile.stamp for path in files.values())


def test_op_summary(files: dict[str, Path], profile: Profile) -> None:
    found = rows(files["op_summary"])
    assert len(found) == 3 * RUNS
    first = found[3]
    assert (first["Op Name"], first["OP Type"], first["Task Type"]) == ("matmul_0", "MatMul+Relu", "AI_CORE")
    assert (first["Input Shapes"], first["Input Data Types"]) == ('"2,64;64,64"', "FLOAT;FLOAT")
    assert (first["cpu_bytes_read(B)"], first["cpu_operations"]) == ("16896", "16384")
    assert {first[column] for column in GROUPS["PipeUtilization"]} == {"N/A"}
    starts = [float(r["Task Start Time(us)"]) for r in found]
    assert starts == sorted(starts)
    assert all(abs(start / 1e6 - profile.begun.timestamp()) < 60 for start in starts)  # since 1970
    assert all(re.fullmatch(r"\d{16}\.\d{3}\t", r["Task Start Time(us)"]) for r in found)
    steps = {float(r["FP Start(us)"]) for r in rows(files["step_trace"])}
    assert min(steps) <= starts[0] <= min(float(r["task_start(us)"]) for r in rows(files["task_time"]))


def test_sums_are_the_same_everywhere(files: dict[str, Path], profile: Profile) -> None:
    tasks = sum(float(r["Task Duration(us)"]) for r in rows(files["op_summary"]))
    operators = sum(float(r["Total Time(us)"]) for r in rows(files["op_statistic"]))
    named = sum(float(r["task_time(us)"]) for r in rows(files["task_time"]))
    steps = sum(float(r["Iteration Time(us)"]) for r in rows(files["step_trace"]))
    (api,) = rows(files["api_statistic"])
    assert tasks == pytest.approx(operators) == pytest.approx(named) == pytest.approx(profile.kernel_ns / 1e3)
    assert steps == pytest.approx(float(api["Time(us)"])) == pytest.approx(profile.wall_ns / 1e3)
    assert sum(float(r["Ratio(%)"]) for r in rows(files["op_statistic"])) == pytest.approx(100, abs=0.01)


def test_fused_operators(files: dict[str, Path]) -> None:
    found = rows(files["fusion_op"])
    assert {r["Original Ops"] for r in found} == {"MatMul,Relu", "Add,Tanh"}
    assert next(r["Memory Total(KB)"] for r in found if r["Original Ops"] == "Add,Tanh") == "0.750"


def test_the_timeline_is_clean(files: dict[str, Path], profile: Profile) -> None:
    events: Events = json.loads(files["msprof"].read_text())
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == 4 * RUNS
    assert overlaps(events) == 0
    flows = defaultdict(set)
    for e in events:
        if e["ph"] in "sf":
            flows[e["id"]].add(e["ph"])
    assert len(flows) == RUNS
    assert all(ends == {"s", "f"} for ends in flows.values())


def test_the_trace_of_a_session_is_clean(small: Path, tmp_path: Path) -> None:
    import numpy as np

    options = ascend_ep.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "p")
    session = ascend_ep.InferenceSession(small, options)
    for _ in range(100):
        session.run(None, {"x": np.ones((2, 64), np.float32)})
    events: Events = json.loads(Path(session.end_profiling()).read_text())
    assert len(events) == 500
    assert overlaps(events) == 0
    assert any(e["ts"] != int(e["ts"]) for e in events)


def test_the_commands(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    import sys

    program = [sys.executable, str(small.with_name("program.py")), str(small), "3"]
    assert main(["run", "--output=out", "--", *program]) == 0
    shown = capfd.readouterr().out
    assert "3 runs, 9 kernel calls" in shown
    assert "matmul_0" in shown
    assert main(["analyze", "out", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["calls"] == 9
    spent = sum(row["seconds"] for row in found["operators"])
    assert spent == pytest.approx(found["kernels"])
    assert main(["export", "out", "--aic-metrics=Memory"]) == 0
    assert "op_summary_" in capfd.readouterr().out
    assert main(["export", "out", "--aic-metrics=Memry"]) == 1
    assert "did you mean Memory," in capfd.readouterr().err
    assert main(["run", "--output=out", "--quiet", "--", sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert "E44004" in capfd.readouterr().err
