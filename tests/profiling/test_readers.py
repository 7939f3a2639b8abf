"""Readers of others on our folders, unedited: msprof-analyze 26.2.0 (`advisor all`, `compare`), TensorBoard's
plugin for Ascend, torch-tb-profiler-ascend 0.4.0.11.

They run in an environment of their own, whose msprof-analyze ASCEND_EP_TEST_MSPROF names.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.torch_files import write_torch_files

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
    assert kernels == pytest.approx(profile.kernel_ns / 1e3)


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


# --- the rules of the formats, without the readers -----------------------------------------------------


def one_kernel() -> Profile:
    from ascend_ep.compiler.convert import convert

    text = "(float[8,64] x) => (float[8,64] y) { y = Softmax(x) }"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}')
    session = ascend_ep.InferenceSession(convert(made).to_bytes())
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


def test_tables_without_rows_are_left_out(tmp_path: Path) -> None:
    output = write_torch_files(one_kernel(), tmp_path) / "ASCEND_PROFILER_OUTPUT"
    assert all(len(path.read_text().splitlines()) > 1 for path in output.glob("*.csv"))
