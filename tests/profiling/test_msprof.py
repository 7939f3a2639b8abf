"""msprof's command line and the documents' commands; profiling a part of a Python program."""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from profiled import PROGRAM, RUNS, model
from test_msprof_files import overlaps

import ascend_ep
from ascend_ep.cli.ep import main as ep
from ascend_ep.cli.prof import main
from ascend_ep.errors import AscendError
from ascend_ep.profiling.database import write_database
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.pipe_utilization import COUNTED
from ascend_ep.profiling.profile import Profile, find_profile
from ascend_ep.profiling.roofline import CLASSES, bounds

#: Below a toolkit's folder.
MSPROF_PY = "tools/profiler/profiler_tool/analysis/msprof/msprof.py"


def test_application(small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = f"{sys.executable} {small.with_name('program.py')} {small} 3"
    flags = [f"--application={program}", f"--output={tmp_path}", "--aic-metrics=MemoryUB", "--l2=on"]
    assert main(["msprof", *flags]) == 0
    shown = capfd.readouterr()
    assert "9 kernel calls" in shown.out
    assert "--l2=on has no effect: there is nothing of it to record on a CPU" in shown.err
    (summary,) = tmp_path.glob("PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    saved = f"[INFO] Process profiling data complete. Data is saved in {summary.parents[1]}\n"
    assert saved in shown.out  # scripts look for the folder there
    assert "aiv_ub_read_bw_vector(GB/s)" in summary.read_text()
    assert main(["msprof", "--export=on", f"--output={tmp_path}", "--type=db"]) == 0
    assert capfd.readouterr().out.strip().endswith(".db")
    assert main(["msprof", "--aplication=x"]) == 1
    assert "Did you mean --application?" in capfd.readouterr().err


def test_flags_and_values_apart(small: Path, tmp_path: Path) -> None:
    program = [
        "sh",
        "-c",
        'echo "told $TOLD"; exec "$0" "$@"',
        sys.executable,
        small.with_name("program.py"),
        small,
        3,
    ]
    flags = ["--output", tmp_path / "found", "--environment", "TOLD=7", "--python-path=/usr/bin/python3"]
    command = [sys.executable, "-m", "ascend_ep.cli.prof", "msprof", *flags, *program]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    assert "told 7" in done.stdout
    assert "9 kernel calls" in done.stdout
    assert "--python-path=/usr/bin/python3 has no effect" in done.stderr
    assert main(["msprof", "--environment=TOLD", "--output", str(tmp_path), "true"]) == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--ascendcl=off"], "--ascendcl=off has no effect: a trace always has it"),
        (["--task-time", "l0", "--host-sys=cpu,mem"], "--host-sys=cpu,mem has no effect"),
        (["--sys-period", "3", "--delay", "2"], "--delay=2 has no effect: a command is recorded from"),
        (["--msproftx=on"], "marks aren't recorded"),
        (["--type=db", "--aic-metrics=Memory"], "--aic-metrics=Memory has no effect"),
    ],
)
def test_flags_without_effect_are_said(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    command = [sys.executable, str(small.with_name("program.py")), str(small), "1"]
    assert main(["msprof", *flags, f"--output={tmp_path}", *command]) == 0
    assert said in capfd.readouterr().err
    (made,) = tmp_path.glob("PROF_*")
    as_database = "--type=db" in flags
    assert [bool(list(made.glob(p))) for p in ("*.db", "mindstudio_profiler_output")] == [
        *(as_database, not as_database)
    ]


def test_flags_of_an_export(profile: Profile, capfd: pytest.CaptureFixture[str]) -> None:
    base = ["msprof", f"--output={profile.folder}"]
    idle = ["--iteration-id", "3", "--model-id=1", "--rule", "on", "--summary-format=json", "--clear=on"]
    assert main([*base, "--export=on", *idle, "--application=x", "--storage-limit=3MB", "--l2=off"]) == 0
    said = capfd.readouterr().err.splitlines()
    names = ["iteration-id", "model-id", "rule", "summary-format", "clear", "application", "storage-limit"]
    assert [re.findall(r"--([\w-]+)=\S+ has no effect: ", line) for line in said] == [[n] for n in names]
    assert main([*base, "--analyze=kernel", "--type=db"]) == 0
    assert "--type=db has no effect" in capfd.readouterr().err


def test_a_query(profile: Profile, small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = sorted(profile.folder.rglob("*"))
    assert main(["msprof", "--query=on", f"--output={profile.folder}"]) == 0
    head, *rows = capfd.readouterr().out.splitlines()
    assert re.split(r" {2,}", head)[2:] == ["Dir Name", "Collection Time", "Model ID", "Iteration Number"]
    cells = [re.split(r" {2,}", row) for row in rows]
    assert {row[2] for row in cells} == {profile.folder.name}
    assert sum(int(row[-1]) for row in cells) == RUNS
    assert sorted(profile.folder.rglob("*")) == before


def test_where_torch_npu_looks_for_msprof(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """msprof.py lies by the path behind the command: it exports a folder with the clock's start, and a
    timeline that counts from 1970."""
    assert ep(["toolkit", str(tmp_path / "cann")]) == 0
    command = (tmp_path / "cann" / "bin" / "msprof").resolve()
    script = (
        Path(str(command).partition("tools")[0]) / "tools/profiler/profiler_tool/analysis/msprof/msprof.py"
    )
    job = tmp_path / "job_ascend_pt"
    (job / "FRAMEWORK").mkdir(parents=True)
    told = {**os.environ, "PROFILING_MODE": "1", "PROFILING_OPTIONS": json.dumps({"output": str(job)})}
    before = time.time_ns()
    subprocess.run([sys.executable, "-c", PROGRAM, str(small), "2"], env=told, check=True)
    (made,) = job.glob("PROF_*")
    start = json.loads((made / "host" / "start_info").read_text())
    raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    now = int(start["collectionTimeBegin"]) * 1000 - int(start["clockMonotonicRaw"]) + raw
    assert abs(now - time.time_ns()) < 1e9
    for words in (
        ["export", "summary", "-dir", made],
        ["export", "db", "-dir", made],
        ["query", "-dir", made],
    ):
        subprocess.run([sys.executable, script, *words], check=True, capture_output=True)
    assert list(made.glob("msprof_*.db"))
    (timeline,) = made.rglob("msprof_*.json")
    events = json.loads(timeline.read_text())
    begun = [float(e["ts"]) * 1000 for e in events if e["ph"] == "X"]
    assert before <= min(begun) <= max(begun) <= time.time_ns()
    assert {e["name"] for e in events if e["ph"] == "X"} >= {"Computing", "matmul_0"}
    refused = subprocess.run([sys.executable, script, "export", "all"], capture_output=True, check=False)
    assert (refused.returncode, b"E40021" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--export=maybe"], "[--export]"),
        (["--analyze=kernels"], "on, off, kernel"),
        (["--export=on", "program"], "runs no command"),
        (["--application=a", "b"], "There is a command behind the flags"),
        (["op", "--application=a", "b"], "There is a command behind the flags"),
        (["--type=dbx", "true"], "text or db"),
        (["--type=db", "--model-time=on", "--soc_version=Ascend910B3", "true"], "columns model_"),
    ],
)
def test_refusals(words: list[str], said: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["msprof", *words[:1], f"--output={tmp_path}", *words[1:]]) == 1
    assert said in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_no_flag_is_taken_in_silence(
    small: Path, profile: Profile, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Flags of ascend-prof that do nothing beside the others are refused."""
    given, bundle, where = str(profile.folder), str(small), f"--output={tmp_path / 'out'}"
    for words in (
        ["export", given, "--type=pytorch", "--aic-metrics=Memory"],
        ["export", given, "--type=pytorch-db", "--aic-metrics=PipeUtilization"],
        ["report", given, where, "--seconds=3"],
        ["report", given, where, "--dim=N=2"],
        ["gate", bundle, "--record=b.json", "--baseline=a.json"],
        ["gate", bundle, "--record=b.json", "--json"],
        ["gate", bundle, "--record=b.json", "--max-slowdown=3%"],
        ["advise", str(small.with_name("small.onnx")), "--output=x.onnx"],
        ["advise", str(small.with_name("small.onnx")), "--apply=opset", "--output=x.onnx", "--each=3"],
        ["msadvisor", "-d", given, f"--model={bundle}"],
        ["msadvisor", "-d", given, "--dim=N=2"],
        ["run", "--storage-limit=-1", where, "--", "true"],
    ):
        assert main(words) == 1, words
        assert "E10001" in capfd.readouterr().err
        assert not list(tmp_path.iterdir())


def test_the_documents_way(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PROFILING_MODE=1, the script, then `msprof --analyze=kernel`."""
    monkeypatch.chdir(tmp_path)
    told = {**os.environ, "PROFILING_MODE": "1", "PROFILING_OPTIONS": "trace:task;training_trace;acl"}
    subprocess.run([sys.executable, "-c", PROGRAM, str(small), "9"], env=told, check=True)
    assert main(["msprof", "--analyze=kernel", "--output=./profile"]) == 0
    with open("profile/kernel.csv", newline="") as file:
        found = {row["Metric"]: row for row in csv.DictReader(file)}
    assert list(found) == [
        *("AICORE Compute Efficiency", "L2 Cache Hit Rate", "Vector Compute Ratio", "Memory Bandwidth Used")
    ]
    assert 0 < float(found["AICORE Compute Efficiency"]["Value"].rstrip("%")) < 100
    assert [row["Ideal"] for row in found.values()][:3] == [">60%", ">85%", ">90%"]
    assert "Memory Bandwidth Used" in capfd.readouterr().out


def test_the_database(profile: Profile) -> None:
    with closing(sqlite3.connect(write_database(profile))) as database:
        rows = database.execute(
            "SELECT s.value, count(*), sum(t.endNs - t.startNs) FROM TASK t "
            "JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId "
            "JOIN STRING_IDS s ON s.id = c.opType "
            "GROUP BY s.value ORDER BY 1"
        ).fetchall()
    assert [(name, count) for name, count, _ in rows] == [
        *(("Add+Tanh", RUNS), ("MatMul+Relu", RUNS), ("Softmax", RUNS))
    ]
    assert sum(spent for _, _, spent in rows) == profile.kernel_ns


def test_a_part_of_a_program(small: Path, tmp_path: Path) -> None:
    session = ascend_ep.InferenceSession(small)
    feed = {"x": np.ones((2, 64), np.float32)}
    session.run(None, feed)
    with ascend_ep.profile() as recording:
        for _ in range(4):
            session.run(None, feed)
        with pytest.raises(AscendError, match="Ask for it behind"):
            recording.table()
    session.run(None, feed)
    assert recording.lost is None
    assert "4 runs, 12 kernel calls" in recording.table()
    assert {row["name"] for row in recording.summary()["operators"]} == {"MatMul+Relu", "Softmax", "Add+Tanh"}
    events = json.loads(recording.export_chrome_trace(tmp_path / "t.json").read_text())
    assert sum(e["ph"] == "X" for e in events) == 16
    assert overlaps(events) == 0
    assert len(recording.export_msprof(tmp_path / "there")) == 7


def test_an_exception_ends_a_recording(small: Path) -> None:
    with pytest.raises(ZeroDivisionError), ascend_ep.profile():
        raise ZeroDivisionError
    with ascend_ep.profile() as recording:
        ascend_ep.InferenceSession(small).run(None, {"x": np.ones((1, 64), np.float32)})
    assert len(recording.profile.processes[0].runs) == 1


def test_host_partitions_are_recorded() -> None:
    from small_models import mixed

    from ascend_ep.compiler.convert import convert

    session = ascend_ep.InferenceSession(convert(mixed()).to_bytes())
    feeds = {
        i.name: np.ones([d if isinstance(d, int) else 3 for d in i.shape], np.float32)
        for i in session.get_inputs()
    }
    with ascend_ep.profile() as recording:
        session.run(None, feeds)
    (process,) = recording.profile.processes
    whole = [s for s in process.spans if s.is_model]
    host = [s for s in process.spans if not s.is_model]
    assert len(whole) == 1
    assert host
    assert all(whole[0].start <= s.start <= s.end <= whole[0].end for s in host)
    assert "HostPartition" in recording.table()


def test_the_roofline(profile: Profile) -> None:
    """Of a machine so slow that each call attains more than it can, and one so fast that none does."""
    slow, fast = Machine(1e6, 1e3, 1e6, 1), Machine(1e15, 1e15, 1e15, 1)
    found = {bound.row.name: bound for bound in bounds(profile, slow)}
    assert set(found) == {"matmul_0", "softmax_1", "elementwise_2"}
    assert all(bound.attained > 1 and "memory" in bound.kind for bound in found.values())
    assert all(b.attained < 0.1 and b.kind in CLASSES for b in bounds(profile, fast))
    rows, work = sum(i % 3 + 1 for i in range(RUNS)), 2 * 64 * 64
    product = found["matmul_0"].row
    assert product.work is not None
    assert product.work.products == rows * work
    assert len(model().graph.node) == 5


# --- msprof op ----------------------------------------------------------------------------------------------


def test_of_one_operator(small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The first one that runs, in the folder itself, as scripts look for it."""
    program = f"{sys.executable} {small.with_name('program.py')} {small} 3"
    assert main(["msprof", "op", f"--application={program}", f"--output={tmp_path}"]) == 0
    shown = capfd.readouterr()
    assert "--aic-metrics=Default: a CPU has no such counters, so OpBasicInfo.csv and a model's" in shown.err
    (path,) = tmp_path.glob("OPPROF_*/OpBasicInfo.csv")
    assert re.fullmatch(r"OPPROF_\d{14}_[A-Z]{16}", path.parent.name)
    assert f"[INFO] Profiling results saved in {path.parent}" in shown.out
    (row,) = csv.DictReader(path.read_text().splitlines())
    assert row["Op Type"] == "MatMul+Relu"
    assert float(row["Task Duration(us)"]) > 0
    assert row["Current Freq"] == "N/A"
    (pipes,) = csv.DictReader((path.parent / "PipeUtilization.csv").read_text().splitlines())
    assert {pipes[name] for name in COUNTED} == {"N/A"}
    assert (pipes["model_chip"], pipes["model_scalar_ratio"]) == ("Ascend910B1", "N/A")
    assert float(pipes["model_time(us)"]) > 0
    assert float(pipes[f"model_{pipes['model_limit']}_ratio"]) == 1
    assert not list(tmp_path.glob("OPPROF_*/Memory*"))
    assert find_profile(path.parent / "dump")


def test_of_chosen_operators(small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = [sys.executable, str(small.with_name("program.py")), str(small), "4"]
    flags = ["--kernel-name=Soft*|Add", "--launch-count", "5", "--launch-skip-before-match=2"]
    metrics = ["--aic-metrics=BasicInfo", "--warm-up=10", "--kill=off", f"--output={tmp_path}"]
    assert main(["msprof", "op", *flags, *metrics, *program]) == 0
    shown = capfd.readouterr()
    assert "--warm-up=10 has no effect" in shown.err
    assert "counters" not in shown.err
    assert not list(tmp_path.rglob("PipeUtilization*"))
    paths = sorted(tmp_path.glob("OPPROF_*/*/*/OpBasicInfo_*.csv"))
    found = [next(csv.DictReader(path.read_text().splitlines()))["Op Type"] for path in paths]
    assert sorted(found) == ["Add+Tanh", "Add+Tanh", "Add+Tanh", "Softmax", "Softmax"]
    assert {path.parent.name for path in paths} == {"0", "1", "2"}
    assert main(["msprof", "op", "--kernel-name=Conv", *metrics, *program]) == 1
    assert "it ran no operator of these names" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulator", "--soc-version=Ascend910B3", "./app"], "instructions aren't simulated"),
        (["--config=add.json"], "it reads a chip's binary or dump"),
        (["--launch-count=0", "true"], "from 1 to 5000"),
        (["--launch-count=²", "true"], "from 1 to 5000"),
        (["--kernel-name=a b", "true"], "letters, digits"),
        (["--aic-metrics=Memry", "true"], "did you mean Memory"),
        (["--aic-metrics=Memory", "--soc-version=Ascend910B3", "true"], "that --aic-metrics=PipeUtilization"),
        (["--soc-version=Ascend310P3", "true"], "E44009"),
        (["--kernel-nane=a", "true"], "Did you mean --kernel-name?"),
        (["--output=x"], "application"),
    ],
)
def test_refusals_of_op(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["msprof", "op", *words]) == 1
    assert said in capfd.readouterr().err
