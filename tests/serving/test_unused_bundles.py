"""A bundle that can't be used, with model.onnx beside it: the model answers, and everything says why."""

from __future__ import annotations

import json
import logging
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from moody_models import put_moody
from running import Running
from served_models import put, rows, scaled

from ascend_ep.cli.serve import main
from ascend_ep.errors import AscendError
from ascend_ep.serving.repository.sessions import Sessions
from ascend_ep.serving.settings import Settings

X = np.array([[1, 2, 3, 4]], np.float32)


def serve(root: Path, **more: Any) -> Running:
    given = {"http_port": 0, "metrics_port": 0, "tuning": 0, "model_control_mode": "explicit"} | more
    return Running(Settings(root, load_models=("*",), **given))  # type: ignore[arg-type]


def load(running: Running, name: str) -> None:
    running.call(running.server.repository.load_model(name))


def doubled(running: Running, name: str = "m") -> bool:
    tensor = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": X.ravel().tolist()}
    status, _, body = running.ask("POST", f"/v2/models/{name}/infer", {"inputs": [tensor]})
    assert status == 200, body
    return bool((np.array(json.loads(body)["outputs"][0]["data"]) == 2 * X).all())


def metrics(running: Running) -> str:
    port, running.port = running.port, running.server.metrics_port
    try:
        return running.ask("GET", "/metrics")[2].decode()
    finally:
        running.port = port


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, moody_library: Path) -> Path:
    """A folder with a trust store, and a repository with a bundle that carries a trusted library, beside an
    ONNX model that does the same."""
    folder: Path = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        put_moody(folder / "models", "m", moody_library, original=True)
    return folder


@pytest.fixture
def moody(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, to be spoilt."""
    monkeypatch.setenv("ASCEND_EP_TRUST", str(made / "trust"))
    shutil.copytree(made / "models", tmp_path / "models")
    return tmp_path / "models"


def truncated(bundle: Path, patch: pytest.MonkeyPatch) -> None:
    bundle.write_bytes(bundle.read_bytes()[:-100])


def untrusted(bundle: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("ASCEND_EP_TRUST", str(bundle.parent / "nobody's"))


def crashing(bundle: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("MOODY_CRASHES_WHEN_LOADED", "1")


@pytest.mark.parametrize(
    ("spoil", "code"), [(truncated, "E400"), (untrusted, "E40009"), (crashing, "E50050")]
)
def test_it_is_said_everywhere(
    moody: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    spoil: Callable[[Path, pytest.MonkeyPatch], None], code: str,
) -> None:  # fmt: skip
    bundle = moody / "m" / "1" / "model.om"
    whole = bundle.read_bytes()
    with monkeypatch.context() as patch:
        spoil(bundle, patch)
        with caplog.at_level(logging.ERROR), serve(moody) as running:
            assert doubled(running)
            (entry,) = running.server.repository.index()
            assert entry.state == "READY"
            assert entry.reason.startswith(code)
            assert "model.onnx answers in its place" in entry.reason
            assert str(moody.parent) not in entry.reason
            assert any(code in r.getMessage() and "in place of" in r.getMessage() for r in caplog.records)
            assert f'ascend_model_fallback{{model="m",reason="{code}' in metrics(running)
            shown = running.get("/v2/models/m/config")["parameters"]["bundle"]["string_value"]
            assert shown == entry.reason
            patch.undo()
            bundle.write_bytes(whole)
            load(running, "m")
            (entry,) = running.server.repository.index()
            assert (entry.state, entry.reason) == ("READY", "")
            assert "ascend_model_fallback" not in metrics(running)
            assert doubled(running)


def test_the_old_version_is_kept_where_it_is_better(tmp_path: Path) -> None:
    bundle = put(tmp_path, "m", 1, lambda: scaled(2))
    with serve(tmp_path) as running:
        onnx.save(scaled(3), bundle.with_name("model.onnx"))
        bundle.write_bytes(bundle.read_bytes()[:1000])
        with pytest.raises(AscendError, match="E50040"):
            load(running, "m")
        assert doubled(running)


def test_a_model_of_other_results_is_no_substitute(moody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untrusted(moody / "m" / "1" / "model.om", monkeypatch)
    onnx.save(scaled(3), moody / "m" / "1" / "model.onnx")
    with serve(moody, exit_on_error=False) as running:
        (entry,) = running.server.repository.index()
        assert entry.state == "UNAVAILABLE"
        assert entry.reason.startswith("E50049")
        assert "E40009" in entry.reason
        assert "relative difference" in entry.reason


def test_without_one_it_can_not_be_loaded(moody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untrusted(moody / "m" / "1" / "model.om", monkeypatch)
    (moody / "m" / "1" / "model.onnx").unlink()
    with serve(moody, exit_on_error=False) as running:
        (entry,) = running.server.repository.index()
        assert entry.reason.startswith("E40009")


def test_check_says_it(
    moody: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    untrusted(moody / "m" / "1" / "model.om", monkeypatch)
    assert main([f"--model-repository={moody}", "--check", "--tuning-secs=0"]) == 0
    assert "m 1: E40009" in capsys.readouterr().out


def test_every_broken_file_falls_back_or_is_whole(tmp_path: Path) -> None:
    """Cut off anywhere, or with some bytes changed anywhere: never wrong, never another exception."""
    bundle = put(tmp_path, "m", 1, rows)
    original = bundle.with_name("model.onnx")
    onnx.save(rows(), original)
    x = np.random.default_rng(0).standard_normal((3, 8)).astype("f")
    whole = bundle.read_bytes()
    expected = Sessions(bundle, "m", Settings(tmp_path), original).open(1, True).run(None, {"x": x})[0]
    chance, fallen = random.Random(0), 0
    spoilt = [whole[: len(whole) * i // 20] for i in range(20)] + [b"", b"IMOD", b"\0" * 4096]
    for _ in range(40):
        changed = bytearray(whole)
        for _ in range(chance.choice((1, 4))):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        spoilt.append(bytes(changed))
    for data in spoilt:
        bundle.write_bytes(data)
        sessions = Sessions(bundle, "m", Settings(tmp_path), original)
        made = sessions.open(1, True).run(None, {"x": x})[0]
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
        fallen += sessions.failure is not None
    assert fallen >= 23
