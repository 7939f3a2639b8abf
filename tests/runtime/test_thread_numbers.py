"""Which number of threads goes first; a tool's own is in force whatever the environment says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli import om, prof
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling import machine
from ascend_ep.profiling.advice.tries import Trial
from ascend_ep.runtime.binding import check_environment, lib, threads_of_environment
from ascend_ep.runtime.session import open_with_threads

CPUS = len(os.sched_getaffinity(0))
FEED = {"x": np.ones((64, 64), np.float32)}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[64,64] x) => (float[64,64] y) { y = MatMul(x, x) }'
    )
    made = onnx.parser.parse_model(text)
    folder = tmp_path_factory.mktemp("threads")
    onnx.save(made, folder / "m.onnx")
    (folder / "m.om").write_bytes(convert(made).to_bytes())
    return folder / "m.om"


def used(session: ascend_ep.InferenceSession) -> int:
    """The threads that the native library gives its runs."""
    with ascend_ep.profile() as recording:
        session.run(None, FEED)
    return recording.profile.processes[0].bounds[0].threads


@pytest.mark.parametrize("environment", ["", "1", "3"])
@pytest.mark.parametrize("asked", [0, 1, 2, 5])
@pytest.mark.parametrize("option", [None, 0, 1, 4])
def test_the_order(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, environment: str, asked: int, option: int | None
) -> None:
    """The provider's option, then the environment, then the session's options, then the CPUs."""
    monkeypatch.setenv("ASCEND_EP_THREADS", environment)
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = asked
    own = {} if option is None else {"num_threads": str(option)}
    session = ascend_ep.InferenceSession(bundle, options, [("AscendEP", own)])
    told = int(environment or 0)
    wanted = option or told or (asked if option is None else 0) or CPUS
    assert used(session) == wanted
    assert threads_of_environment() == told
    assert used(open_with_threads(bundle, asked)) == (asked or told or CPUS)


def ran(call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The numbers of threads of the sessions that `call` runs."""
    found: set[int] = set()
    run = ascend_ep.InferenceSession.run

    def seen(self: ascend_ep.InferenceSession, *given: object, **more: object) -> object:
        asked = int(self.get_provider_options()["AscendEP"]["num_threads"])
        found.add(asked or int(lib.asc_threads_default()))
        return run(self, *given, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(ascend_ep.InferenceSession, "run", seen)
        call()
    return found


@pytest.mark.parametrize("environment", ["1", "3"])
def test_a_tools_own_number_is_in_force(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str
) -> None:
    monkeypatch.setenv("ASCEND_EP_THREADS", environment)
    baseline = str(tmp_path / "b.json")
    gate = ["gate", str(bundle), "--threads=2"]
    assert prof.main([*gate, f"--record={baseline}"]) == 0
    calls: list[Callable[[], object]] = [
        lambda: om.main(["bench", str(bundle), "--threads=2", "--seconds=0.05", "--rounds=1"]),
        lambda: prof.main([*gate, "--seconds=0.05", f"--baseline={baseline}"]),
        lambda: prof.main(
            ["report", str(bundle), "--threads=2", "--seconds=0.05", f"--output={tmp_path / 'r.html'}"]
        ),
        lambda: machine.measure.__wrapped__(2),
    ]
    for call in calls:
        assert ran(call, monkeypatch) == {2}


def test_more_threads_are_tried_beside_the_environments(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weakness that ASCEND_EP_THREADS=1 plants: its cure runs with as many threads as it says."""
    monkeypatch.setenv("ASCEND_EP_THREADS", "1")

    def copy(source: Path, target: Path, flags: object) -> list[str]:
        target.write_bytes(bundle.read_bytes())
        return []

    trial = Trial(
        bundle.with_suffix(".onnx"), tmp_path, copy, lambda _: FEED, 1, 0.02, most_threads=max(2, CPUS)
    )
    assert used(trial.base) == 1
    model = onnx.load(bundle.with_suffix(".onnx"))
    found: set[int] = set()

    def run() -> None:
        found.update(o.change.threads for o in trial.outcomes(model, 5) if o.change.name == "threads")

    assert ran(run, monkeypatch) == {1, max(2, CPUS)}
    assert found == {max(2, CPUS)}


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²", " 1"])
def test_what_is_no_number(bundle: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ASCEND_EP_THREADS", text)
    with pytest.raises(ascend_ep.AscendError, match="ASCEND_EP_THREADS"):
        check_environment()


def test_one_place_reads_the_environment() -> None:
    """In Python binding.py, in C pool.c and, whether it is set at all, the plugin."""
    root = Path(ascend_ep.__file__).parent
    readers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"""(environ(\.get)?|getenv)\W+ASCEND_EP_THREADS""", path.read_text())
    }
    assert readers == {"runtime/binding.py"}
    native = Path(__file__).resolve().parents[2] / "native"
    sources = {p.name for p in native.rglob("*.c") if 'getenv("ASCEND_EP_THREADS")' in p.read_text()}
    assert sources == {"pool.c", "options.c"}
