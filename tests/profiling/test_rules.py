"""msprof's rules and msadvisor's classes, where they hold and where they don't."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling import machine
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.rules import SUGGESTIONS, findings

MACHINE = Machine(1e11, 1e10, 1e9, 2)


def kinds(profile: Profile) -> dict[str, list[str]]:
    return {f.subtype: f.tuning for f in findings(profile, MACHINE)}


def recorded(model: onnx.ModelProto, feed: dict[str, np.ndarray], pause: float = 0.0) -> Profile:
    session = ascend_ep.InferenceSession(convert(model).to_bytes())
    with ascend_ep.profile() as recording:
        session.run(None, feed)
    return recording.profile


def test_classes(profile: Profile) -> None:
    found = kinds(profile)
    classes = {name.title() for name in SUGGESTIONS}
    named = [line.split(":")[0] for name, lines in found.items() if name in classes for line in lines]
    assert sorted(named) == ["elementwise_2", "matmul_0", "softmax_1"]
    assert not {"AI CPU", "TransData", "Data Type"} & set(found)


def test_int64_and_changes_of_format() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (int64[4,8] i, float[2,3,4] x) => (int64[4,8] j, float[3,2,4] a, float[4,3,2] b, float[2,4,3] c) {
            j = Add(i, i)  a = Transpose<perm=[1,0,2]>(x)  b = Transpose<perm=[2,1,0]>(x)
            c = Transpose<perm=[0,2,1]>(x) }""")
    feed = {"i": np.ones((4, 8), np.int64), "x": np.ones((2, 3, 4), np.float32)}
    found = kinds(recorded(model, feed))
    assert len(found["Data Type"]) == 1
    assert len(found["TransData"]) == 3


def test_a_busy_machine_is_measured_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others leave no time for more than a run, its least of several still counts."""
    monkeypatch.setattr(machine, "SECONDS", 0)
    session = machine._session("(float[4] x) => (float[4] y) { y = Exp(x) }", 1)
    with ascend_ep.profile() as recording:
        machine._least(session, {"x": np.zeros(4, np.float32)})
    assert sum(len(p.runs) for p in recording.profile.processes) > 5


def test_host_partitions() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[8] x) => (int64[1,M] y) { y = NonZero(x) }""")
    assert kinds(recorded(model, {"x": np.ones(8, np.float32)}))["AI CPU"]


def test_waits(profile: Profile) -> None:
    from dataclasses import replace

    process = profile.processes[0]
    calls, runs = process.calls.copy(), process.runs.copy()
    calls["start"][2::3] += 50_000
    calls["end"][2::3] += 50_000
    runs["end"] += 50_000
    late = Profile(profile.folder, [replace(process, calls=calls, runs=runs)])
    assert [line.split(":")[0] for line in kinds(late)["Wait"]] == ["elementwise_2"]


def test_the_command(
    profile: Profile, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["msadvisor", "-c", "all", "-d", str(profile.folder), f"--output={tmp_path}"]) == 0
    assert "Model Bottleneck Analysis" in capsys.readouterr().out
    (first, *_) = json.loads((tmp_path / "prof_rule_0.json").read_text())
    assert set(first) == {
        *("Rule Type", "Rule Subtype", "Rule Description", "Rule Suggestion", "Tuning Data")
    }
    onnx_file = small.with_suffix(".onnx")
    assert main(["msadvisor", f"--model={onnx_file}", "--dim=N=2", f"--output={tmp_path}"]) == 0
    assert "matmul_0" in capsys.readouterr().out
    assert main(["msadvisor", f"--model={small.with_name('program.py')}"]) == 1
    assert main(["msadvisor"]) == 1
