"""aclprof's functions, and the profiler of acl.json, record runs as msprof reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_ep.cli.prof import main as prof

from .conftest import Runner

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
