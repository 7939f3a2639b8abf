"""Native code of users that fails, crashes, ends or hangs: the server goes on, and model.onnx may answer."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import numpy as np
import pytest
from command import Served
from grpc_client import Client, request
from moody_models import Mood, put_moody
from prometheus_client.parser import text_string_to_metric_families
from running import Running

from ascend_ep.serving.native import native_session
from ascend_ep.serving.settings import Settings

#: What the client is told where nothing stands in: the status in HTTP and in gRPC, and words.
ALONE = {
    Mood.REFUSES: (400, "INVALID_ARGUMENT", "it doesn't like 1001"),
    Mood.FAILS_SILENTLY: (400, "INVALID_ARGUMENT", "failed in compute without saying why"),
    Mood.CRASHES: (500, "INTERNAL", "crashed with SIGSEGV"),
    Mood.ABORTS: (500, "INTERNAL", "crashed with SIGABRT"),
    Mood.EXITS: (500, "INTERNAL", "exit status 3"),
    Mood.HANGS: (500, "INTERNAL", "it took more than 1 s"),
    Mood.WRITES_PAST: (500, "INTERNAL", "crashed with SIG"),
    Mood.EATS_MEMORY: (500, "INTERNAL", "crashed with SIGABRT"),
    Mood.LEAVES_A_CHILD: (500, "INTERNAL", "crashed with SIGSEGV"),
    Mood.CLOSES_FILES: (500, "INTERNAL", "it closed its connection"),
    Mood.SPEAKS: (500, "INTERNAL", "it said what it can't have meant"),
}


BATCHES = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 300000 }"


@pytest.fixture(scope="module")
def moody(tmp_path_factory: pytest.TempPathFactory, moody_library: Path) -> Iterator[Running]:
    """Models `alone`, `backed` by an ONNX model of the same function, and `batched`."""
    folder = tmp_path_factory.mktemp("moody")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        patch.setattr(native_session, "_FREE", 100)
        for name in ("alone", "backed", "batched"):
            put_moody(folder / "models", name, moody_library, original=name == "backed")
        (folder / "models" / "batched" / "config.pbtxt").write_text(BATCHES)
        settings = Settings(
            folder / "models",
            http_port=0,
            grpc_port=0,
            metrics_port=0,
            tuning=0,
            native_timeout=1,
            native_memory=600 << 20,
        )
        with Running(settings) as running:
            yield running


def x(first: float) -> np.ndarray:
    return np.array([[first, 1, 2, 3]], np.float32)


def over_http(running: Running, model: str, first: float) -> tuple[int, str, np.ndarray | None]:
    tensor = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": x(first).ravel().tolist()}
    status, _, body = running.ask("POST", f"/v2/models/{model}/infer", {"inputs": [tensor]})
    answer = json.loads(body)
    if status != 200:
        return status, answer["error"], None
    return status, "", np.array(answer["outputs"][0]["data"], np.float32).reshape(1, 4)


def over_grpc(running: Running, model: str, first: float) -> tuple[str, str, np.ndarray | None]:
    with Client(running.grpc_port) as client:
        try:
            answer = client.call("ModelInfer", request(model, {"x": x(first)}))
        except grpc.RpcError as error:
            return error.code().name, error.details(), None
    return "OK", "", np.frombuffer(answer.raw_output_contents[0], np.float32).reshape(1, 4)


@pytest.mark.parametrize("mood", ALONE)
def test_alone_the_request_fails_and_the_server_lives(moody: Running, mood: Mood) -> None:
    http_status, grpc_status, words = ALONE[mood]
    found, said, _ = over_http(moody, "alone", mood) if mood % 2 else over_grpc(moody, "alone", mood)
    assert found == (http_status if mood % 2 else grpc_status), said
    assert words in said
    status, said, y = over_http(moody, "alone", 1)
    assert status == 200, said
    np.testing.assert_array_equal(y, 2 * x(1))


@pytest.mark.parametrize("mood", [Mood.REFUSES, Mood.FAILS_SILENTLY, Mood.CRASHES, Mood.STOPS])
def test_backed_the_onnx_model_answers(moody: Running, mood: Mood) -> None:
    (version,) = moody.server.repository.models["backed"].versions.values()
    there = version.implementations
    assert there is not None
    before = there.first.failures
    for ask in (over_http, over_grpc) if mood is Mood.REFUSES else (over_http,) if mood % 2 else (over_grpc,):
        status, said, y = ask(moody, "backed", mood)
        assert status in (200, "OK"), said
        np.testing.assert_array_equal(y, 2 * x(mood))
    assert there.first.failures > before
    there.first.worked()  # it isn't out
    there.first.out_until = 0
    np.testing.assert_array_equal(over_http(moody, "backed", 1)[2], 2 * x(1))
    assert there.all[-1].name == "host"


def test_only_the_one_that_crashes_a_batch_fails(moody: Running) -> None:
    (version,) = moody.server.repository.models["batched"].versions.values()
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(over_http, moody, "batched", first) for first in (1, 2, Mood.EXITS, 4)]
        found = [one.result() for one in asked]
    assert [status for status, _, _ in found] == [200, 200, 500, 200]
    for first, (_, _, y) in zip((1, 2, None, 4), found, strict=True):
        if first is not None:
            np.testing.assert_array_equal(y, 2 * x(first))
    assert version.statistics.divided == 1


def test_it_is_counted(moody: Running) -> None:
    """After a reload, too, which ends the process of the old version."""
    (old,) = moody.server.repository.models["alone"].versions.values()
    assert old.native is not None
    over_http(moody, "alone", Mood.EXITS)
    over_http(moody, "alone", 1)
    before = shown(moody, "alone")
    assert before["ascend_native_process_ends_total", "exit"] >= 1
    assert before["ascend_native_process_up", ""] == 1
    assert before["ascend_request_failure_total", "native_code"] >= 1
    path = moody.server.settings.model_repository / "alone" / "1" / "model.om"
    os.utime(path, (1, 1))
    moody.call(moody.server.repository._follow("alone"))
    (new,) = moody.server.repository.models["alone"].versions.values()
    assert new.native is not None
    assert (new.native is old.native, old.native.alive, new.native.alive) == (False, False, True)
    after = shown(moody, "alone")
    starts, ends = ("ascend_native_process_starts_total", ""), ("ascend_native_process_ends_total", "exit")
    assert (after[starts], after[ends]) == (before[starts] + 1, before[ends])


def shown(running: Running, model: str) -> dict[tuple[str, str], float]:
    """The model's metrics by name and reason."""
    url = f"http://127.0.0.1:{running.server.metrics_port}/metrics"
    found = {}
    for family in text_string_to_metric_families(urllib.request.urlopen(url).read().decode()):
        for sample in family.samples:
            if sample.labels.get("model") == model:
                found[sample.name, sample.labels.get("reason", "")] = sample.value
    return found


def children(parent: int) -> list[int]:
    """Processes of a parent that haven't ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, its_parent = entry.read_text().rpartition(")")[2].split()[:2]
            if int(its_parent) == parent and state != "Z":
                found.append(int(entry.parent.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_server(
    moody: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """However that ends, and in the midst of a run."""
    models = moody.server.settings.model_repository
    shutil.copytree(models / "alone", tmp_path / "alone")
    monkeypatch.setenv("ASCEND_EP_TRUST", str(models.parent / "trust"))
    served = Served(tmp_path, "--tuning-secs=0", "--native-timeout-secs=1")
    (process,) = children(served.process.pid)
    body = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [Mood.HANGS, 1, 2, 3]}]}
    connection = http.client.HTTPConnection("127.0.0.1", served.ports["HTTP"], timeout=10)
    connection.request("POST", "/v2/models/alone/infer", json.dumps(body))
    time.sleep(0.2)
    status, log = served.end(number)
    if number == signal.SIGTERM:
        assert status == 0, log
        answer = connection.getresponse()
        assert (answer.status, b"it took more than 1 s" in answer.read()) == (500, True)
    until = time.monotonic() + 5
    while Path(f"/proc/{process}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{process}").exists()
