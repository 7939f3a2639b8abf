"""Profiles of single requests: asked for by a header or gRPC metadata, read as `ascend-prof`'s are."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from grpc_client import Client, refusal, request
from running import Running
from served_models import put, rows, wide_rows

import ascend_ep
from ascend_ep.cli.serve import export_profile
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from ascend_ep.profiling.profile import open_profile
from ascend_ep.runtime import tracing
from ascend_ep.serving import profiles
from ascend_ep.serving.execution.batch import Batch
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.rules import BatchRules
from ascend_ep.serving.http import page
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.request import InferRequest
from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Settings

ASKS = {"Ascend-Profile": "1"}
INFER = "/v2/models/rows/infer"


def body(count: int = 1, **more: object) -> dict[str, object]:
    tensor = {"name": "x", "shape": [count, 8], "datatype": "FP32", "data": [0.1] * 8 * count}
    return {"inputs": [tensor], **more}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("profiled")
    put(root, "rows", 1, rows)
    put(root, "wide", 1, wide_rows)
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def server(models: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """With what the command writes of each profile."""

    async def start(settings: Settings) -> Server:
        made = Server(settings, export_profile)
        await made.start()
        return made

    monkeypatch.setattr(Running, "_start", staticmethod(start))
    with Running(Settings(models, http_port=0, grpc_port=0, profile_dir=folder)) as running:
        yield running


def profiled(server: Running, sent: dict[str, object], path: str = INFER) -> str:
    """The name of the folder in the answer."""
    status, _, answer = server.ask("POST", path, sent, ASKS)
    assert status == 200, answer
    said = json.loads(answer)["parameters"]
    assert "ascend_profile_error" not in said
    return str(said["ascend_profile"])


def test_a_request_has_a_profile_of_its_own(server: Running, folder: Path) -> None:
    assert server.ask("POST", INFER, body())[0] == 200
    assert not list(folder.iterdir())
    found = folder / profiled(server, body(3, id="mine"))
    assert [p.name for p in folder.iterdir()] == [found.name]
    (process,) = open_profile(found).processes
    assert (process.complete, len(process.runs)) == (True, 1)
    assert process.bounds[0].calls[0].inputs[0].dims[-1] == 8
    facts = json.loads((found / "request.json").read_text())
    assert (facts["model"], facts["id"], facts["batch_rows"]) == ("rows", "mine", 3)
    assert facts["compute_infer_ns"] >= int(process.runs[0]["end"] - process.runs[0]["start"])
    assert (process.queue_ns[0], process.runs[0]["host"], facts["queue_ns"]) == (
        -1,
        0,
        0,
    )  # it ran where it came
    (summary,) = found.glob("mindstudio_profiler_output/op_summary_*.csv")
    with summary.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(process.calls)
    assert list(found.glob("mindstudio_profiler_output/msprof_*.json"))
    assert server.ask("POST", INFER, body())[0] == 200
    assert len(list(folder.iterdir())) == 1


def test_binary_answers_say_where_it_is(server: Running, folder: Path) -> None:
    sent = json.dumps({**body(), "parameters": {"binary_data_output": True}}).encode()
    status, headers, answer = server.ask("POST", INFER, sent, ASKS)
    assert status == 200
    head = json.loads(answer[: int(headers["inference-header-content-length"])])
    assert (folder / head["parameters"]["ascend_profile"]).is_dir()


def test_others_that_run_meanwhile_are_not_in_it(server: Running, folder: Path) -> None:
    ended = threading.Event()
    x = {"name": "x", "shape": [400, 64], "datatype": "FP32", "data": [0.5] * 25600}

    def trouble() -> None:
        while not ended.is_set():
            server.ask("POST", "/v2/models/wide/infer", {"inputs": [x]})

    others = [threading.Thread(target=trouble) for _ in range(2)]
    for other in others:
        other.start()
    try:
        found = [folder / profiled(server, body()) for _ in range(5)]
    finally:
        ended.set()
        for other in others:
            other.join()
    for one in found:
        (process,) = open_profile(one).processes
        (bound,) = process.bounds
        assert bound.calls[0].inputs[0].dims[-1] == 8
        assert len(process.runs) == 1


def test_one_at_a_time_and_no_answer_without_its_profile(server: Running, folder: Path) -> None:
    said: list[tuple[int, bytes]] = []

    def ask() -> None:
        status, _, answer = server.ask("POST", INFER, body(), ASKS)
        said.append((status, answer))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _ in said} <= {200, 503}
    named = {json.loads(answer)["parameters"]["ascend_profile"] for status, answer in said if status == 200}
    assert named == {p.name for p in folder.iterdir()}
    assert all(b"E50006" in answer for status, answer in said if status == 503)
    assert (folder / profiled(server, body())).is_dir()


def test_requests_that_never_run_leave_the_recorder_free(server: Running, folder: Path) -> None:
    late = body(parameters={"timeout": 1})
    for sent in (late, body(0, inputs=[]), {"inputs": [{**body()["inputs"][0], "shape": [1, 9]}]}):  # type: ignore[index]
        assert server.ask("POST", INFER, sent, ASKS)[0] in (200, 400, 504)
    assert server.ask("POST", "/v2/models/none/infer", body(), ASKS)[0] == 404
    assert not tracing.is_on()
    assert (folder / profiled(server, body())).is_dir()


@pytest.mark.parametrize(
    ("value", "status"), [("0", 200), ("false", 200), ("", 200), ("yes", 400), ("2", 400)]
)
def test_values_of_the_header(server: Running, folder: Path, value: str, status: int) -> None:
    assert server.ask("POST", INFER, body(), {"Ascend-Profile": value})[0] == status
    assert not list(folder.iterdir())


def test_grpc(server: Running, folder: Path) -> None:
    x = np.full((2, 8), 0.5, np.float32)
    asks = (("ascend-profile", "1"),)
    with Client(server.grpc_port) as client:
        answer = client.call("ModelInfer", request("rows", {"x": x}), metadata=asks)
        named = folder / answer.parameters["ascend_profile"].string_param
        assert len(open_profile(named).processes[0].runs) == 1
        assert "ascend_profile" not in client.call("ModelInfer", request("rows", {"x": x})).parameters
        wrong = (("ascend-profile", "x"),)
        said = refusal(client.begin("ModelInfer", request("rows", {"x": x}), metadata=wrong))
        assert said[0] == "INVALID_ARGUMENT"
        stream = client.stream("ModelStreamInfer", [request("rows", {"x": x})] * 3, metadata=asks)
        profiled_ones = ["ascend_profile" in answer.infer_response.parameters for answer in stream]
    assert profiled_ones == [True, False, False]


def test_without_a_folder(models: Path) -> None:
    with Running(Settings(models, http_port=0)) as running:
        status, _, answer = running.ask("POST", INFER, body(), ASKS)
        assert (status, b"--profile-dir" in answer) == (403, True)
        assert running.get(page.STATE)["profiles"] is False


def test_a_folder_that_is_full(server: Running, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "MOST_FOLDERS", 2)
    for _ in range(2):
        profiled(server, body())
    status, _, answer = server.ask("POST", INFER, body(), ASKS)
    assert (status, b"has 2" in answer) == (403, True)
    assert server.get(page.STATE)["profiles"] is True


def test_the_folder_is_tried_at_the_start(models: Path, tmp_path: Path) -> None:
    """Made where it isn't there; a server that couldn't write to it never starts."""
    (tmp_path / "file").write_text("no folder")
    new = tmp_path / "new" / "profiles"
    assert Server(Settings(models, profile_dir=new)).profiles.folder == new
    assert not list(new.iterdir())
    for folder in (tmp_path / "file", tmp_path / "file" / "inside", Path("/proc/profiles")):
        with pytest.raises(AscendError, match="profile-dir") as refused:
            Server(Settings(models, profile_dir=folder))
        assert refused.value.code == "E50034"


def test_what_cannot_be_written_costs_no_answer(server: Running, folder: Path) -> None:
    folder.rmdir()
    folder.write_text("a file where the folder was")
    status, _, answer = server.ask("POST", INFER, body(), ASKS)
    said = json.loads(answer)
    assert (status, list(said["parameters"])) == (200, ["ascend_profile_error"])
    assert str(folder) not in answer.decode()
    folder.unlink()
    folder.mkdir()
    assert (folder / profiled(server, body())).is_dir()


def failing_start(*given: object, **more: object) -> None:
    raise AscendError("E40002", "no space left")


def test_a_trace_that_cannot_begin_leaves_no_folder(
    server: Running, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tracing, "start", failing_start)
        status, _, answer = server.ask("POST", INFER, body(), ASKS)
    said = json.loads(answer)["parameters"]
    assert (status, list(said)) == (200, ["ascend_profile_error"])
    assert "can't be recorded" in said["ascend_profile_error"]
    assert not list(folder.iterdir())
    assert (folder / profiled(server, body())).is_dir()


def test_why_a_trace_lacks_its_run_is_said(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reason, though the files then hold no run either."""

    def failing_stop() -> AscendError:
        stop()
        return AscendError("E40002", "no space left")

    stop = tracing.stop
    with monkeypatch.context() as patch:
        patch.setattr(tracing, "stop", failing_stop)
        patch.setattr(server.server.profiles, "_export", lambda folder: False)
        _, _, answer = server.ask("POST", INFER, body(), ASKS)
    assert "not all of it" in json.loads(answer)["parameters"]["ascend_profile_error"]


def test_a_failure_before_the_queue_leaves_the_recorder_free(
    server: Running, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(version: LoadedVersion, job: Job) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(LoadedVersion, "submit", failing)
        assert server.ask("POST", INFER, body(), ASKS)[0] == 500
    assert (folder / profiled(server, body())).is_dir()


def test_a_system_without_a_thread_to_write_with(
    server: Running, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(profiles.ThreadPoolExecutor, "_adjust_thread_count", failing)
        status, _, answer = server.ask("POST", INFER, body(), ASKS)
    assert (status, b"E50006" in answer) == (503, True)
    assert (folder / profiled(server, body())).is_dir()


def test_a_batch_whose_first_client_is_gone(folder: Path) -> None:
    """It is the other's profile then, who waits for it."""
    x = {"x": np.ones((1, 8), np.float32)}
    jobs = [Job(InferRequest("m", "", x), x, 1, lambda job, result: None) for _ in range(2)]
    for job in jobs:
        job.profile = profiles.RequestProfile(folder, lambda: None)
    gone, waits = (job.profile for job in jobs)
    assert gone
    assert waits
    gone.answered()
    jobs[0].cancel()
    rules = BatchRules((("x", ("N", 8)),), 8)
    Batch(jobs, rules, rules.key_of(x)).execute(lambda inputs: [inputs["x"]])
    assert (gone.folder, waits.error) == (None, None)
    assert waits.folder is not None


def test_the_wait_of_a_batch_is_the_profiled_requests_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of another in the batch, nor the time that beginning its profile takes."""
    session = ascend_ep.InferenceSession(convert(rows()).to_bytes())
    x = {"x": np.ones((1, 8), np.float32)}
    jobs = [Job(InferRequest("m", "", x), x, 1, lambda job, result: None) for _ in range(2)]
    jobs[0].arrived -= 10**9
    jobs[1].profile = profiles.RequestProfile(folder, lambda: None)

    def slow_start(*given: object, **more: int) -> None:
        time.sleep(0.3)
        start(*given, **more)

    start = tracing.start
    monkeypatch.setattr(tracing, "start", slow_start)
    rules = BatchRules((("x", ("N", 8)),), 8)
    Batch(jobs, rules, rules.key_of(x)).execute(lambda inputs: session.run(None, inputs))
    (process,) = open_profile(jobs[1].profile.folder or folder).processes
    assert jobs[1].timings.queue <= process.queue_ns[0] < jobs[1].timings.queue + 2 * 10**8
    assert process.runs[0]["host"] == jobs[1].thread


def test_a_server_that_is_profiled_as_a_whole(
    server: Running, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tracing.start(tmp_path_factory.mktemp("whole"))
    try:
        assert server.ask("POST", INFER, body(), ASKS)[0] == 403
    finally:
        tracing.stop()


READER = os.environ.get("ASCEND_EP_TEST_MSPROF", "")


@pytest.mark.skipif(not READER, reason="ASCEND_EP_TEST_MSPROF names no msprof-analyze")
def test_msprofs_reader_takes_it(
    server: Running, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    profiled(server, body(3))
    out = tmp_path_factory.mktemp("advice")
    command = [READER, "advisor", "all", "-d", str(folder), "--output_path", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    shown = ran.stdout + ran.stderr
    assert ran.returncode == 0, shown
    assert "[ERROR]" not in shown, shown
    assert "Traceback" not in shown, shown
