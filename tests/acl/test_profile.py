"""aclprof's functions, and the profiler of acl.json, record runs as msprof reads them."""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ascend_ep.cli.prof import main as prof
from ascend_ep.profiling.collect import run_command

from .conftest import Runner
from .test_launch import binary as binary

MODEL = "m (float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }"


@pytest.mark.parametrize("by", ["calls", "acl.json"])
def test_a_run_is_recorded(run: Runner, convert: Callable[..., Path], tmp_path: Path, by: str) -> None:
    folder = tmp_path / "recorded"
    folder.mkdir()
    settings = tmp_path / "acl.json"
    settings.write_text(json.dumps({"profiler": {"switch": "on", "output": str(folder)}}))
    arguments = [convert(MODEL), folder, *([settings] if by == "acl.json" else [])]
    done = run("profile.c", *arguments)
    assert done.status == 0, done.err
    said = dict(line.split() for line in done.out.splitlines())
    assert (said["absent"], said["early"]) == ("0", "100043")
    assert {
        said.get(k, "0") for k in ("start", "init", "limit", "begin", "run", "stop", "destroy", "end")
    } == {"0"}
    (made,) = folder.glob("PROF_*")
    assert prof(["msprof", "--export=on", f"--output={made}"]) == 0
    (summary,) = made.rglob("op_summary*.csv")
    assert "Softmax" in summary.read_text()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"profiler": {"switch": "on", "aicpu": "on", "l2": "off"}}, "[aicpu] = [on] has no effect here"),
        ({"profiler": {"switch": "on", "storage_limit": "few"}}, "[storage_limit] = [few] has no effect"),
        ({"profiler": {"switch": "true"}}, "[switch] is on or off, not [true]"),
        ({"profilr": {"switch": "on"}}, "[profilr] is no entry of this file"),
        ({"profiler": {"switch": "on", "task_trace": "on", "hccl": "on", "storage_limit": "9MB"}}, ""),
    ],
)
def test_what_acl_json_asks_for_is_done_or_said(
    run: Runner, convert: Callable[..., Path], tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    path = tmp_path / "acl.json"
    if "profiler" in settings:
        settings["profiler"]["output"] = str(tmp_path)
    path.write_text(json.dumps(settings))
    done = run("profile.c", convert(MODEL), tmp_path, path)
    warnings = [line for line in done.err.splitlines() if "[WARNING]" in line]
    assert [said in line for line in warnings] == ([True] if said else [])


OPERATORS = """
import numpy as np
from tests.acl.operators import Device, Failed, Scalar, whole
device = Device()
x = whole(np.ones((3, 4), np.float32))
for _ in range(3):
    device.call("Add", x, x, Scalar(1), whole(np.zeros((3, 4), np.float32)))
device.call("InplaceMuls", x, Scalar(2.0))
device.call("Mm", x, whole(np.ones((4, 5), np.float16)), whole(np.zeros((3, 5), np.float32)), 0)
try:
    device.call("Add", x, whole(np.ones((3, 5), np.float32)), Scalar(1), x)
except Failed as failed:
    print(failed.phase)
"""


def table(folder: Path, name: str) -> list[dict[str, str]]:
    (path,) = folder.rglob(f"{name}_*.csv")
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_operators_that_a_program_launches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As torch_npu and C programs call them: named and typed as msprof has them, without a model."""
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*filter(None, sys.path), str(root)]))
    made = run_command([sys.executable, "-c", OPERATORS], tmp_path)
    assert made.status == 0
    assert prof(["msprof", "--export=on", f"--output={made.folder}"]) == 0
    rows = table(made.folder, "op_summary")
    assert [row["OP Type"] for row in rows] == ["Add", "Add", "Add", "Muls", "Mm"]
    assert {(row["Model Name"], row["Model ID"]) for row in rows} == {("N/A", "4294967295")}
    first, muls, product = rows[0], rows[3], rows[4]
    assert first["Op Name"] == "aclnnAdd_AddAiCore_Add"
    assert (first["Input Shapes"], first["Output Shapes"]) == ('"3,4;3,4"', '"3,4"')
    assert (muls["Input Shapes"], muls["Output Shapes"]) == ('"3,4"', '"3,4"')  # read and written
    assert (first["Task Type"], product["Task Type"]) == ("AI_VECTOR_CORE", "AI_CORE")
    assert (product["Input Data Types"], product["cpu_operations"]) == ("FLOAT;FLOAT16", "120")
    counts = {row["OP Type"]: row["Count"] for row in table(made.folder, "op_statistic")}
    assert counts == {"Add": "3", "Muls": "1", "Mm": "1"}
    apis = {(row["Level"], row["API Name"]): row["Count"] for row in table(made.folder, "api_statistic")}
    assert apis["acl", "aclnnMm"] == "1"
    assert not table(made.folder, "step_trace")  # no model, no iterations
    assert all(float(row["cpu_queue_time(us)"]) >= 0 for row in rows)
    (path,) = made.folder.glob("msprof_*.db")
    with closing(sqlite3.connect(path)) as database:
        waits = [ns for (ns,) in database.execute("SELECT cpuQueueNs FROM COMPUTE_TASK_INFO")]
    assert waits == [round(1000 * float(row["cpu_queue_time(us)"])) for row in rows]
    assert prof(["analyze", str(made.folder)]) == 0
    assert "5 runs came by a queue: " in capsys.readouterr().out
    (timeline,) = made.folder.rglob("msprof_*.json")
    events = json.loads(timeline.read_text())
    handed = [event for event in events if event["name"] == "Enqueue@aclnnAdd"]
    assert len(handed) == 3
    for event in handed:
        arrow = {e["ph"]: e for e in events if e.get("id") == str(event["args"]["connection_id"])}
        assert arrow["s"]["tid"] == event["tid"] != arrow["f"]["tid"]
        assert arrow["s"]["ts"] == event["ts"]
        assert float(arrow["s"]["ts"]) < float(arrow["f"]["ts"])


def test_kernels_that_a_program_launches(run: Runner, binary: Path, tmp_path: Path) -> None:
    """What breaks a rule of the chip is no task, and its run says so."""
    made = run(
        "launch.c", binary, PROFILING_MODE="1", PROFILING_OPTIONS=json.dumps({"output": str(tmp_path)})
    )
    assert made.status == 0, made.err
    assert prof(["msprof", "--export=on", f"--output={tmp_path}"]) == 0
    rows = table(tmp_path, "op_summary")
    assert {(row["Op Name"], row["OP Type"], row["Block Dim"]) for row in rows} == {("scale", "scale", "1")}
    assert len(rows) == 4
    assert {row["cpu_schedule"] for row in rows} == {
        "work cores=2 scalar=1 vector=8 cube=0 read=64 written=32 "
        "most_scalar=1 most_vector=4 most_cube=0 most_read=32 most_written=16"
    }
    (timeline,) = tmp_path.rglob("msprof_*.json")
    runs = [event for event in json.loads(timeline.read_text()) if event["name"] == "scale"]
    assert sum("code" in event["args"] for event in runs) == 1


#: Two ranks of HCCL, as a launcher of others starts them.
LAUNCHER = """
import ctypes, os, subprocess, sys
library, program = sys.argv[1:]
root = ctypes.create_string_buffer(4108)
assert ctypes.CDLL(library).HcclGetRootInfo(root) == 0
ranks = []
for rank in range(2):
    told = {**os.environ, "RANK": str(rank), "ASCEND_EP_DEVICES": "2"}
    command = [sys.executable, program, library, "2", str(rank), "some"]
    ranks.append(subprocess.Popen(command, env=told, stdin=subprocess.PIPE))
    ranks[-1].stdin.write(root.raw)
    ranks[-1].stdin.close()
sys.exit(max(rank.wait() for rank in ranks))
"""
READER = os.environ.get("ASCEND_EP_TEST_MSPROF", "")


@pytest.fixture(scope="module")
def job(toolkit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks' folders of the PyTorch profiler."""
    folder = tmp_path_factory.mktemp("job")
    program = Path(__file__).parent / "programs" / "hccl_rank.py"
    command = [sys.executable, "-c", LAUNCHER, str(toolkit / "lib64" / "libhccl.so"), str(program)]
    assert run_command(command, folder).status == 0
    assert prof(["export", "--type=pytorch", str(folder)]) == 0
    return folder


def test_ranks_of_a_job(job: Path) -> None:
    """A folder each, with what it and the other rank sent; the same collective has the same name in both."""
    infos = sorted(job.glob("*_ascend_pt/profiler_info_*.json"))
    assert sorted(json.loads(info.read_text())["rank_id"] for info in infos) == [0, 1]
    said = []
    for info in infos:
        output = info.parent / "ASCEND_PROFILER_OUTPUT"
        (step,) = json.loads((output / "communication.json").read_text()).values()
        said.append(set(step["collective"]))
        assert all(name.startswith("hcom_") for name in (*step["collective"], *step["p2p"]))
        elapsed = sum(
            one["Communication Time Info"]["Elapse Time(ms)"]
            for side in step.values()
            for one in side.values()
        )
        with open(output / "step_trace_time.csv", newline="") as file:
            (row,) = csv.DictReader(file)
        assert float(row["Communication"]) == pytest.approx(1000 * elapsed, abs=1)
        assert float(row["Computing"]) == 0
        with open(output / "kernel_details.csv", newline="") as file:
            kernels = list(csv.DictReader(file))
        assert {kernel["Accelerator Core"] for kernel in kernels} == {"COMMUNICATION"}
        assert len(kernels) == sum(map(len, step.values()))
    assert said[0] == said[1] != set()


@pytest.mark.slow
@pytest.mark.skipif(not READER, reason="ASCEND_EP_TEST_MSPROF names no msprof-analyze")
def test_ranks_of_a_job_are_read_as_a_cluster(job: Path, tmp_path: Path) -> None:
    command = [READER, "cluster", "-d", str(job), "-m", "all", "-o", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    shown = ran.stdout + ran.stderr
    assert ran.returncode == 0, shown
    assert "[ERROR]" not in shown, shown
    assert "Traceback" not in shown, shown
    found = tmp_path / "cluster_analysis_output"
    assert json.loads((found / "communication_group.json").read_text())["collective"] == [[0, 1]]
    with open(found / "cluster_step_trace_time.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Type"] == "rank"]
    assert sorted(row["Index"] for row in rows) == ["0", "1"]
    assert all(float(row["Communication"]) > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.measures
def test_recording_operators_costs_at_most_one_percent(run: Runner, tmp_path: Path) -> None:
    """At operators of 100 us, as tests/profiling/test_overhead.py has it for runs of models."""
    said = run("recorded.c", tmp_path, 900).out
    found = re.fullmatch(r"([\d.]+) of calls of (\d+) us\n", said)
    assert found, said
    assert float(found[1]) < 1.01, said
    assert int(found[2]) > 50, said
