"""Native code of users that fails, crashes, ends or hangs: the server goes on, and model.onnx may answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import grpc
import numpy as np
import pytest
from grpc_client import Client, request
from moody_models import Mood, library, put_moody
from running import Running

from ascend_ep.serving.native import session
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
}


@pytest.fixture(scope="module")
def moody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Models `alone`, and `backed` by an ONNX model of the same function."""
    folder = tmp_path_factory.mktemp("moody")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        patch.setattr(session, "_FREE", 100)
        made = library(folder)
        for name in ("alone", "backed"):
            put_moody(folder / "models", name, made, original=name == "backed")
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


@pytest.mark.parametrize("mood", Mood)
def test_alone_the_request_fails_and_the_server_lives(moody: Running, mood: Mood) -> None:
    http_status, grpc_status, words = ALONE[mood]
    found, said, _ = over_http(moody, "alone", mood) if mood % 2 else over_grpc(moody, "alone", mood)
    assert found == (http_status if mood % 2 else grpc_status), said
    assert words in said
    status, said, y = over_http(moody, "alone", 1)
    assert status == 200, said
    np.testing.assert_array_equal(y, 2 * x(1))


@pytest.mark.parametrize("mood", [Mood.REFUSES, Mood.FAILS_SILENTLY, Mood.CRASHES, Mood.HANGS])
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
