"""Twelve models with one planted weakness each, and five healthy ones, under `ascend-prof advise`.

Whether an edit takes its weakness out of the plan is quick and certain; that the command finds it first, and
that its own command lines gain what it says, takes measurements.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from weaknesses import HEALTHY, WEAKNESSES, Planted

import ascend_ep
from ascend_ep.cli.atc import main as atc
from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.profiling.advice.edits import EDITS
from ascend_ep.profiling.advice.sameness import fingerprint
from ascend_ep.profiling.interleaved import compare

PLAIN = ConvertOptions(self_check=False, sample_seed=None)
EDIT_OF = {edit.name: edit.apply for edit in EDITS}
#: Kernels of the plan once the weakness is gone.
CURED = {
    "transposition pair": ["layer_norm"],
    "activation spelled out": ["Gelu"],
    "int64 everywhere": ["elementwise"],
    "layout flips": ["elementwise", "softmax"],
    "old opset": ["HardSwish"],
    "loop": ["matmul"] * 8,
}


def session_of(source: bytes | Path, threads: int = 1) -> ascend_ep.InferenceSession:
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = threads
    return ascend_ep.InferenceSession(source, options)


def feeds_of(session: ascend_ep.InferenceSession) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    types = {"tensor(float)": np.float32, "tensor(int32)": np.int32}
    return {i.name: (10 * rng.standard_normal(i.shape)).astype(types[i.type]) for i in session.get_inputs()}


def kernels(session: ascend_ep.InferenceSession) -> list[str]:
    bundle = session.bundle
    return [call.kernel for p in bundle.partitions if p.is_native for call in bundle.instructions(p)]


@pytest.mark.parametrize("name", CURED)
def test_an_edit_cures_its_weakness(name: str) -> None:
    planted = WEAKNESSES[name]
    before, after = planted.make(), onnx.ModelProto()
    after.CopyFrom(before)
    assert EDIT_OF[planted.first](after)
    onnx.checker.check_model(after, full_check=True)
    old, new = (session_of(convert(m, PLAIN).to_bytes()) for m in (before, after))
    assert kernels(new) == CURED[name]
    assert fingerprint(old.bundle) != fingerprint(new.bundle)
    feed = feeds_of(old)
    for a, b in zip(old.run(None, feed), new.run(None, feed), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", HEALTHY)
def test_edits_leave_healthy_models(name: str) -> None:
    """Or change nothing of what runs."""
    model = HEALTHY[name]()
    whole = fingerprint(session_of(convert(model, PLAIN).to_bytes()).bundle)
    for edit in EDITS:
        edited = onnx.ModelProto()
        edited.CopyFrom(model)
        if edit.apply(edited):
            made = session_of(convert(edited, PLAIN).to_bytes())
            assert fingerprint(made.bundle) == whole, edit.name


def advise(model: onnx.ModelProto, flags: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict]:
    onnx.save(model, "m.onnx")
    assert main(["advise", "m.onnx", "--each=0.2", "--clock=cpu", "--json", *flags]) == 0
    return json.loads(capsys.readouterr().out)


def applied(planted: Planted, commands: list[str], patch: pytest.MonkeyPatch) -> Path:
    """Runs the command lines of an advice; returns the bundle."""
    bundle = Path("base.om")
    for command in commands:
        words = shlex.split(command)
        while "=" in words[0]:
            patch.setenv(*words.pop(0).split("=", 1))
        if words[0] in ("ascend-prof", "ascend-atc"):
            assert {"ascend-prof": main, "ascend-atc": atc}[words[0]](words[1:]) == 0
        if words[0] == "ascend-atc":
            bundle = Path(next(w for w in words if w.startswith("--output=")).partition("=")[2] + ".om")
    return bundle


@pytest.mark.slow
@pytest.mark.measures
@pytest.mark.parametrize("name", WEAKNESSES)
def test_the_first_advice(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names the weakness; its command lines, run as they stand, gain what it says within noise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path / "cache"))
    planted = WEAKNESSES[name]
    if name == "threads" and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        pytest.skip("others use the CPUs that more threads would take")
    for variable, value in planted.environment:
        monkeypatch.setenv(variable, value)
    flags = planted.write(tmp_path)
    threads = [] if planted.environment else ["--threads=1"]
    found = advise(planted.make(), [*flags, *threads], capsys)
    first = found[0]
    assert first["name"] == planted.first, found
    assert first["trades" if planted.trades else "helps"], found
    asked = [f.removeprefix("--atc=") for f in flags]
    given = [] if any(f.startswith("--precision") for f in asked) else ["--precision_mode_v2=origin"]
    line = ["--model=m.onnx", "--framework=5", "--output=base", "--soc_version=Ascend910B3"]
    assert atc([*line, *given, *asked]) == 0
    old = session_of(Path("base.om"))
    bundle = applied(planted, first["commands"], monkeypatch)
    new = session_of(bundle, 2 if name == "threads" else 1)
    feed, batch = feeds_of(old), 8 if name == "batch of one" else 1
    more = {k: np.concatenate([v] * batch) for k, v in feed.items()}
    clock = time.perf_counter if name == "threads" else time.process_time
    measured = compare(lambda: old.run(None, feed), lambda: new.run(None, more), 0.5, clock=clock)
    gain = batch / measured.ratio
    assert 0.75 * first["gain"] <= gain <= 1.35 * first["gain"], (gain, first)


@pytest.mark.slow
@pytest.mark.measures
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_model_has_nothing_to_gain(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(HEALTHY[name](), "m.onnx")
    assert main(["advise", "m.onnx", "--each=0.2", "--clock=cpu", "--threads=1"]) == 0
    shown = capsys.readouterr().out
    assert "m.onnx: nothing that was tried makes it faster" in shown, shown
    why = shown.splitlines()[1]
    assert "% of its time" in why
    assert "machine" in why
