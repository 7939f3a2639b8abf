"""MindStudio's own reader on our folders, unedited: `advisor all` and `compare`.

It runs in an environment of its own, named by ASCEND_EP_TEST_MSPROF.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.torch_files import write_torch_files

READER = os.environ.get("ASCEND_EP_TEST_MSPROF", "")
pytestmark = pytest.mark.skipif(not READER, reason="ASCEND_EP_TEST_MSPROF names no msprof-analyze")


def reader(*arguments: object) -> str:
    ran = subprocess.run(
        [READER, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False
    )
    shown = ran.stdout + ran.stderr
    assert ran.returncode == 0, shown
    assert "Traceback" not in shown, shown
    return shown


def test_advisor(profile: Profile, tmp_path: Path) -> None:
    write_files(profile, "PipeUtilization")
    shown = reader("advisor", "all", "-d", profile.folder.parent, "--output_path", tmp_path / "out")
    assert "[ERROR]" not in shown, shown
    (page,) = (tmp_path / "out").glob("*.html")
    assert "softmax" in page.read_text().lower()


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
