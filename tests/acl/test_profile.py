"""aclprof's functions, and the profiler of acl.json, record runs as msprof reads them."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

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


def test_operators_that_a_program_launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    (timeline,) = tmp_path.rglob("msprof_*.json")
    runs = [event for event in json.loads(timeline.read_text()) if event["name"] == "scale"]
    assert sum("code" in event["args"] for event in runs) == 1
