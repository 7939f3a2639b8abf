"""What is recorded: every run of every model, of whatever program, and what happens when it can't be."""

from __future__ import annotations

import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from profiled import PROGRAM, RUNS

import ascend_ep
from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from ascend_ep.profiling import export, timeline
from ascend_ep.profiling.collect import run_command
from ascend_ep.profiling.profile import Profile, open_profile
from ascend_ep.profiling.trace_file import ProcessTrace, read_trace
from ascend_ep.runtime import tracing
from ascend_ep.runtime.binding import ffi, lib
from ascend_ep.runtime.session import open_with_threads

ONNXRUNTIME = """
import sys, numpy as np, ascend_ep, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["AscendEP"])
for _ in range(5):
    session.run(None, {"x": np.ones((2, 64), np.float32)})
"""


def feed(rows: int = 2) -> dict[str, np.ndarray]:
    return {"x": np.ones((rows, 64), np.float32)}


def only_trace(folder: Path) -> ProcessTrace:
    (path,) = folder.glob("*.trace")
    return read_trace(path)


def test_every_call_of_every_run(profile: Profile, small: Path) -> None:
    (process,) = profile.processes
    assert process.command[1:] == (str(small.with_name("program.py")), str(small), str(RUNS))
    assert (process.complete, process.lost, len(process.runs)) == (True, 0, RUNS)
    assert [b.calls[0].inputs[0].dims for b in process.bounds] == [(n, 64) for n in (1, 2, 3)]
    assert {b.model for b in process.bounds} == {"small"}
    calls = process.calls.reshape(RUNS, 3)
    assert (calls["index"] == [0, 1, 2]).all()
    assert (calls["run"] == np.arange(RUNS)[:, None]).all()
    assert (calls["start"] <= calls["end"]).all()
    assert (calls["end"][:, :-1] <= calls["start"][:, 1:]).all()
    assert (process.runs["start"] <= calls["start"][:, 0]).all()
    assert (calls["end"][:, -1] <= process.runs["end"]).all()


def test_what_each_call_moves_and_computes(profile: Profile) -> None:
    product, softmax, last = profile.sites[0, 1]
    assert product.bound.calls[0].inputs[0].dims == (2, 64)
    assert (product.call.bytes_read, product.call.bytes_written) == (2 * 256 + 64 * 64 * 4, 2 * 256)
    assert product.work is not None
    assert product.work.products == 2 * 2 * 64 * 64
    assert (softmax.op_type, softmax.core) == ("Softmax", "AI_VECTOR_CORE")
    assert last.op_type == "Add+Tanh"
    assert last.work is not None
    assert (last.work.vector, last.work.functions) == (128, 128)


def test_counters(profile: Profile) -> None:
    (process,) = profile.processes
    assert set(process.counters) | set(process.absent_counters) == set(tracing.COUNTERS)
    if "task_clock_ns" in process.counters:
        at = process.counters.index("task_clock_ns")
        assert process.counts[:, at].sum() > 0


@pytest.mark.measures
def test_counters_of_all_threads_of_a_call() -> None:
    """The CPU time of large products in two threads is the process's own, but for Python and waking."""
    text = "(float[768,768] x) => (float[768,768] y) { a = MatMul(x, x)  y = MatMul(a, x) }"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> products {text}')
    session = open_with_threads(convert(made).to_bytes(), 2)
    x = {"x": np.ones((768, 768), np.float32)}
    session.run(None, x)
    with ascend_ep.profile(counters=True) as recording:
        began = time.process_time()
        for _ in range(20):
            session.run(None, x)
        spent = time.process_time() - began
    (process,) = recording.profile.processes
    if "task_clock_ns" not in process.counters or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine counts no CPU time of threads, or has one CPU")
    counted = process.counts[:, process.counters.index("task_clock_ns")].sum() / 1e9
    assert 0.8 < counted / spent < 1.02


def test_inside_onnxruntime(small: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ONNXRUNTIME)
    command = [sys.executable, str(tmp_path / "program.py"), str(small.with_suffix(".onnx"))]
    made = run_command(command, tmp_path)
    (process,) = open_profile(made.folder).processes
    assert (made.status, len(process.runs), len(process.calls)) == (0, 5, 15)


@pytest.mark.parametrize("counters", [0, tracing.ALL_COUNTERS])
def test_runs_that_came_by_a_queue(small: Path, tmp_path: Path, counters: int) -> None:
    """Among others, of the same and of other shapes, in any order: each has its own time and thread."""
    rng, session, given = np.random.default_rng(0), ascend_ep.InferenceSession(small), []
    tracing.start(tmp_path, counters)
    for _ in range(300):
        at = time.monotonic_ns() if rng.random() < 0.7 else 0
        thread = int(rng.integers(1, 2**32)) if at else 0
        tracing.say_queued(at, thread)
        session.run(None, feed(int(rng.integers(1, 3))))
        given.append((at, thread))
    tracing.say_queued(0, 0)
    session.run(None, feed())
    assert tracing.stop() is None
    trace = only_trace(tmp_path)
    assert list(zip(*(trace.runs[name].tolist() for name in ("queued", "host")), strict=True)) == [
        *given,
        (0, 0),
    ]
    assert [ns >= 0 for ns in trace.queue_ns] == [at > 0 for at, _ in given] + [False]
    assert (trace.runs["start"][trace.calls["run"]] <= trace.calls["start"]).all()
    assert (trace.calls["end"] <= trace.runs["end"][trace.calls["run"]]).all()
    assert len(trace.counts) == (len(trace.calls) if trace.counters else 0)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the numbers are those of x86")
@pytest.mark.parametrize(("number", "level"), [(2, "avx512"), (3, "avx512bf16"), (4, "amx")])
def test_levels_of_older_traces(small: Path, tmp_path: Path, number: int, level: str) -> None:
    """Before avx512vnni was among them, the higher levels had other numbers."""
    tracing.start(tmp_path)
    ascend_ep.InferenceSession(small).run(None, feed())
    assert tracing.stop() is None
    (path,) = tmp_path.glob("*.trace")
    data = bytearray(path.read_bytes())
    head = ffi.cast("asc_trace_process *", ffi.from_buffer(data))
    behind = head.record.bytes + ffi.sizeof("asc_trace_end")  # the room for an end
    bound = ffi.cast("asc_trace_bound *", ffi.from_buffer(memoryview(data)[behind:]))
    assert bound.record.kind == lib.ASC_TRACE_BOUND
    head.version, head.isa, bound.isa = 2, number, number
    path.write_bytes(data)
    trace = read_trace(path)
    assert (trace.isa, trace.bounds[0].isa) == (level, level)


def test_runs_of_one_hand_over_waited_once(small: Path, tmp_path: Path) -> None:
    """As partitions of a model do: what ran of it before is no time in the queue."""
    session, given = ascend_ep.InferenceSession(small), []
    tracing.start(tmp_path)
    for parts in (3, 1, 2):
        given.append((time.monotonic_ns(), 7))
        tracing.say_queued(*given[-1])
        for _ in range(parts):
            session.run(None, feed())
    tracing.say_queued(0, 0)
    assert tracing.stop() is None
    trace = only_trace(tmp_path)
    assert [ns >= 0 for ns in trace.queue_ns] == [True, False, False, True, True, False]
    assert trace.runs["queued"].tolist() == [
        at for (at, _), n in zip(given, (3, 1, 2), strict=True) for _ in range(n)
    ]
    events = list(timeline.events(Profile(tmp_path, [trace])))
    begun = [e["ts"] for e in events if e["ph"] == "s"]
    handed = [e["ts"] for e in events if e["name"].startswith("Enqueue@")]
    assert [begun[i] for i in (0, 3, 4)] == handed
    assert begun == [at for at, n in zip(handed, (3, 1, 2), strict=True) for _ in range(n)]


def test_a_trace_of_one_thread_has_no_run_of_another(small: Path, tmp_path: Path) -> None:
    """Though this thread handed it over, as a server's event loop does with all requests."""
    session = ascend_ep.InferenceSession(small)

    def run(thread: int) -> None:
        tracing.say_queued(time.monotonic_ns(), thread)
        session.run(None, feed())

    here = threading.get_native_id()
    tracing.start(tmp_path, thread=here)
    other = threading.Thread(target=run, args=(here,))
    other.start()
    other.join()
    session.run(None, feed())
    assert tracing.stop() is None
    assert only_trace(tmp_path).runs["thread"].tolist() == [here]


def test_many_threads_at_once(small: Path, tmp_path: Path) -> None:
    session = ascend_ep.InferenceSession(small)
    tracing.start(tmp_path)

    def run() -> None:
        for rows in (1, 2, 3) * 20:
            session.run(None, feed(rows))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tracing.stop() is None
    trace = only_trace(tmp_path)
    assert (len(trace.runs), len(trace.calls)) == (240, 720)
    assert len(set(trace.runs["thread"].tolist())) == 4
    for run_, n in zip(trace.runs, np.bincount(trace.calls["run"]), strict=True):
        mine = trace.calls[int(run_["first_call"]) : int(run_["first_call"]) + n]
        assert (mine["bound"] == run_["bound"]).all()
        assert (mine["start"] >= run_["start"]).all()


def test_off_means_off(small: Path, tmp_path: Path) -> None:
    session = ascend_ep.InferenceSession(small)
    session.run(None, feed())
    tracing.start(tmp_path)
    with pytest.raises(AscendError, match="already"):
        tracing.start(tmp_path)
    session.run(None, feed())
    assert tracing.stop() is None
    assert tracing.stop() is None
    session.run(None, feed())
    assert len(only_trace(tmp_path).runs) == 1
    again = tmp_path / "again"
    again.mkdir()
    tracing.start(again)  # a bound that an earlier trace described is described again
    session.run(None, feed())
    tracing.stop()
    assert [b.number for b in only_trace(again).bounds] == [0]


def test_a_limit_counts_what_it_leaves_out(small: Path, tmp_path: Path) -> None:
    session = ascend_ep.InferenceSession(small)
    tracing.start(tmp_path, max_bytes=20_000)
    for _ in range(1000):
        session.run(None, feed())
    lost = tracing.stop()
    assert lost is not None
    assert "of 1000 runs: it is as large as it may get" in str(lost)
    trace = only_trace(tmp_path)
    assert trace.complete
    assert 0 < trace.lost == 1000 - len(trace.runs)
    assert next(tmp_path.glob("*.trace")).stat().st_size < 21_000


def test_a_folder_that_cannot_be_written(small: Path, tmp_path: Path) -> None:
    with pytest.raises(AscendError, match="can't write a trace in") as refused:
        tracing.start(tmp_path / "absent")
    assert refused.value.code == "E40002"
    told = {**os.environ, "ASCEND_EP_PROFILE": str(tmp_path / "absent")}
    command = [sys.executable, "-c", PROGRAM, str(small), "2"]
    ran = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert "can't write a trace" in ran.stderr


def test_a_full_disk_costs_records_and_no_run(small: Path, tmp_path: Path) -> None:
    """As the limit on the size of files ends writing in the middle, so does a full disk."""
    program = f"import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{PROGRAM}print('ran')"
    limit = 300_000
    ran = subprocess.run(
        [sys.executable, "-c", program, str(small), "9000"],
        env={**os.environ, "ASCEND_EP_PROFILE": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "ran\n"), ran.stderr
    trace = only_trace(tmp_path)
    assert trace.complete
    assert 0 < len(trace.runs) == 9000 - trace.lost
    assert 3 * len(trace.runs) == len(trace.calls)


def test_tables_are_shown_though_files_cannot_be_written(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They say how many runs a full disk left no room for."""

    def failing(*given: object) -> None:
        raise AscendError("E40002", "no space left")

    monkeypatch.setattr(export, "write_files", failing)
    line = ["run", f"--output={tmp_path}", "--", sys.executable, "-c", PROGRAM, str(small), "2"]
    assert main(line) == 1
    said = capsys.readouterr()
    assert "E40002" in said.err
    assert "2 runs, 6 kernel calls" in said.out


def test_a_killed_process_leaves_what_it_wrote(small: Path, tmp_path: Path) -> None:
    program = PROGRAM.replace("sys, ", "sys, os, signal, ") + "os.kill(os.getpid(), signal.SIGKILL)\n"
    made = run_command([sys.executable, "-c", program, str(small), "9000"], tmp_path)
    assert made.status == 128 + signal.SIGKILL
    (process,) = open_profile(made.folder).processes
    assert not process.complete
    assert len(process.runs) > 1000


def test_an_interrupted_program_loses_no_run(small: Path, tmp_path: Path) -> None:
    """Python ends itself by the signal, where it isn't handled."""
    program = PROGRAM.replace("sys, ", "sys, os, signal, ") + "os.kill(os.getpid(), signal.SIGINT)\n"
    made = run_command([sys.executable, "-c", program, str(small), "500"], tmp_path)
    assert made.status == 128 + signal.SIGINT
    (process,) = open_profile(made.folder).processes
    assert (process.complete, process.lost, len(process.runs)) == (True, 0, 500)


@pytest.mark.parametrize(
    "program", ["os.kill(os.getppid(), signal.SIGINT)", ""], ids=["interrupted", "absent"]
)
def test_a_program_of_which_nothing_is_recorded(tmp_path: Path, program: str) -> None:
    """No folder is left of it, nor of one that isn't there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    words = [sys.executable, "-c", f"import os, signal; {program}"] if program else ["./absent"]
    try:
        with pytest.raises(KeyboardInterrupt if program else AscendError):
            run_command(words, tmp_path / "new" / "profiles")
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_forked_processes_have_files_of_their_own(small: Path, tmp_path: Path) -> None:
    program = PROGRAM + (
        "import os\npid = os.fork()\nfor _ in range(7 if pid == 0 else 3):\n"
        "    session.run(None, {'x': np.ones((1, 64), np.float32)})\n"
        "if pid:\n    os.waitpid(pid, 0)\n"
    )
    made = run_command([sys.executable, "-c", program, str(small), "2"], tmp_path)
    assert sorted(len(p.runs) for p in open_profile(made.folder).processes) == [5, 7]


def run_told(small: Path, folder: Path, runs: int, **told: str) -> str:
    """Runs the program in the folder with this environment; what it wrote to its standard error."""
    command = [sys.executable, "-c", PROGRAM, str(small), str(runs)]
    ran = subprocess.run(
        command, env={**os.environ, **told}, cwd=folder, capture_output=True, text=True, check=True
    )
    return ran.stderr


@pytest.mark.parametrize("mode", ["1", "true", "on"])
@pytest.mark.parametrize(
    ("prefix", "options"),
    [
        ("", '{"output":"there","training_trace":"on"}'),
        ("", "trace:task;training_trace;acl"),
        ("GE_", '{ "task_trace" : "on", "output" : "there" }'),
        ("", ""),
    ],
)
def test_as_switched_on_for_cann(small: Path, tmp_path: Path, mode: str, prefix: str, options: str) -> None:
    (tmp_path / "there").mkdir()
    told = {f"{prefix}PROFILING_MODE": mode, f"{prefix}PROFILING_OPTIONS": options}
    assert run_told(small, tmp_path, 4, **told) == ""
    found = open_profile(tmp_path / "there" if "output" in options else tmp_path)
    assert len(found.processes[0].runs) == 4
    assert found.folder.name.startswith("PROF_000001_")


@pytest.mark.parametrize("mode", ["0", "false", "off", ""])
def test_as_switched_off_for_cann(small: Path, tmp_path: Path, mode: str) -> None:
    assert run_told(small, tmp_path, 1, PROFILING_MODE=mode, GE_PROFILING_MODE=mode) == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["PROFILING_MODE", "GE_PROFILING_MODE"])
def test_a_mode_that_there_is_not(small: Path, tmp_path: Path, name: str) -> None:
    said = run_told(small, tmp_path, 2, **{name: "dynamic"})
    assert f": {name} is true (1) or false (0)" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "idle"),
    [
        (
            '{"aicpu":"on","l2":"off","fp_point":"a","task_trace":"off","hccl":"on"}',
            "aicpu, fp_point, task_trace",
        ),
        ('{"storage_limit":"much","outptu":"x"}', "storage_limit, outptu"),
        ("trace:task;aicpu", "aicpu"),
        ("{", ""),
    ],
)
def test_options_without_effect_are_named(small: Path, tmp_path: Path, options: str, idle: str) -> None:
    for prefix in ("", "GE_"):
        told = {f"{prefix}PROFILING_MODE": "1", f"{prefix}PROFILING_OPTIONS": options}
        said = run_told(small, tmp_path, 1, **told)
        assert said.endswith(
            f"of {prefix}PROFILING_OPTIONS there is no effect here of {idle}\n" if idle else ""
        )
        assert (said == "") == (idle == "")


def test_the_storage_limit_of_the_environment(small: Path, tmp_path: Path) -> None:
    """As --storage-limit: what is beyond it is counted, and not written."""
    run_told(small, tmp_path, 40000, PROFILING_MODE="1", PROFILING_OPTIONS='{"storage_limit":"1MB"}')
    (process,) = open_profile(tmp_path).processes
    assert process.lost > 0
    assert Path(process.path).stat().st_size < (1 << 20) + 4096  # what ends it is written in any case


def test_a_command_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(AscendError, match="No such file") as refused:
        run_command(["./no_such_program"], tmp_path)
    assert refused.value.code == "E44003"
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_traces(tmp_path: Path, profile: Profile) -> None:
    with pytest.raises(AscendError, match="E44002"):
        open_profile(tmp_path)
    whole = Path(profile.processes[0].path).read_bytes()
    (tmp_path / tracing.DATA).mkdir(parents=True)
    target = tmp_path / tracing.DATA / "x.trace"
    target.write_bytes(b"\0" * 100)
    with pytest.raises(AscendError, match="E44001"):
        open_profile(tmp_path)
    rng = np.random.default_rng(1)
    for size in rng.integers(56 + 400, len(whole), 30):
        target.write_bytes(whole[:size])
        read_trace(target)
