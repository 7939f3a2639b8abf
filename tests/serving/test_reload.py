"""Versions come, change and go while requests are answered."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import Running
from served_models import put, scaled

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository.index import IndexEntry
from ascend_ep.serving.settings import Settings


def states(running: Running) -> dict[str, str]:
    return {f"{e.name}/{e.version}": str(e.state) for e in running.server.repository.index()}


def entry(running: Running, name: str, version: int) -> IndexEntry:
    found = running.server.repository.index()
    return next(e for e in found if (e.name, e.version) == (name, str(version)))


def load(running: Running, name: str) -> None:
    running.call(running.server.repository.load_model(name))


def unload(running: Running, name: str) -> None:
    running.call(running.server.repository.unload_model(name))


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[float, bytes]:
    """Bundles of y = factor * x, by their factor."""
    root = tmp_path_factory.mktemp("made")
    return {
        f: put(root, f"m{i}", 1, lambda f=f: scaled(f)).read_bytes() for i, f in enumerate((1.0, 2.0, 3.0))
    }


def place(root: Path, name: str, version: int, body: bytes) -> Path:
    path = root / name / str(version) / "model.om"
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(".model.om.copy")
    fresh.write_bytes(body)
    fresh.rename(path)
    return path


def answer(running: Running, name: str, version: str = "") -> float:
    """The factor by which the model that is served scales."""
    path = f"/v2/models/{name}/versions/{version}/infer" if version else f"/v2/models/{name}/infer"
    tensor = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1.0, 2.0, 3.0, 4.0]}
    status, _, body = running.ask("POST", path, {"inputs": [tensor]})
    assert status == 200, body
    data = np.array(json.loads(body)["outputs"][0]["data"])
    factor = float(data[0])
    np.testing.assert_array_equal(data, factor * np.arange(1, 5))
    return factor


def explicit(root: Path, *names: str) -> Running:
    return Running(
        Settings(root, http_port=0, model_control_mode="explicit", load_models=names, exit_on_error=False)
    )


def test_load_and_unload(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    place(tmp_path, "other", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        assert states(running) == {"m/1": "READY", "other/": ""}
        place(tmp_path, "m", 2, bundles[2.0])
        assert answer(running, "m") == 1.0
        load(running, "m")
        assert answer(running, "m") == 2.0
        assert states(running) == {"m/2": "READY", "other/": ""}
        unload(running, "m")
        assert entry(running, "m", 2).reason == "unloaded"
        status, _, body = running.ask("POST", "/v2/models/m/infer", {"inputs": []})
        assert status == 503, body
        load(running, "m")
        assert answer(running, "m") == 2.0
        with pytest.raises(AscendError, match="There is no model"):
            load(running, "absent")


def test_a_corrupted_version_keeps_the_old(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        repository = running.server.repository
        corrupted = bytearray(bundles[2.0])
        corrupted[-5] ^= 1
        place(tmp_path, "m", 2, bytes(corrupted))
        with pytest.raises(AscendError, match="can't be loaded") as caught:
            load(running, "m")
        assert str(tmp_path) not in str(caught.value)
        assert answer(running, "m") == 1.0
        assert entry(running, "m", 2).state == "UNAVAILABLE"
        assert entry(running, "m", 2).reason
        assert repository.ready
        assert repository.models["m"].load_failures == 1
        place(tmp_path, "m", 1, bytes(corrupted))
        shutil.rmtree(tmp_path / "m" / "2")
        with pytest.raises(AscendError):
            load(running, "m")
        assert entry(running, "m", 1).state == "READY"
        assert "E4000" in entry(running, "m", 1).reason
        assert answer(running, "m") == 1.0
        place(tmp_path, "m", 1, bundles[3.0])
        load(running, "m")
        assert entry(running, "m", 1) == IndexEntry("m", "1", "READY", "")
        assert answer(running, "m") == 3.0


@pytest.mark.parametrize("cut", [0, 100, 0.5, -1])
def test_half_copied_files_are_refused(tmp_path: Path, bundles: dict[float, bytes], cut: float) -> None:
    whole = bundles[1.0]
    size = int(cut * len(whole)) if isinstance(cut, float) else cut % len(whole)
    place(tmp_path, "m", 1, whole[:size])
    with explicit(tmp_path, "m") as running:
        assert states(running) == {"m/1": "UNAVAILABLE"}
        assert not running.server.repository.ready
        place(tmp_path, "m", 1, whole)
        load(running, "m")
        assert running.server.repository.ready


def test_overwriting_the_file_of_a_served_version_changes_nothing(
    tmp_path: Path, bundles: dict[float, bytes]
) -> None:
    path = place(tmp_path, "m", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        with path.open("r+b") as file:
            file.truncate(10)
        assert answer(running, "m") == 1.0


def test_unfinished_and_hidden_names_are_ignored(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    for name in (".hidden", "copy.tmp", "copy.part", "bad name", "m~"):
        place(tmp_path, name, 1, bundles[1.0])
    for version in ("02", "-1", "0", ".3", "4.tmp", "latest", "1" * 30):
        shutil.copytree(tmp_path / "m" / "1", tmp_path / "m" / version)
    (tmp_path / "m" / "5").mkdir()
    shutil.copy(tmp_path / "m" / "1" / "model.om", tmp_path / "m" / "5" / "model.om.tmp")
    (tmp_path / "m" / "5" / "model_ctx.onnx").write_bytes(b"")
    with Running(Settings(tmp_path, http_port=0)) as running:
        assert states(running) == {"m/1": "READY"}


@pytest.mark.parametrize("linked", ["model", "version", "file"])
def test_links_out_of_the_repository_are_refused(
    tmp_path: Path, bundles: dict[float, bytes], linked: str
) -> None:
    root, outside = tmp_path / "models", tmp_path / "outside"
    place(outside, "m", 1, bundles[1.0])
    place(root, "good", 1, bundles[1.0])
    parts = {"model": "m", "version": "m/1", "file": "m/1/model.om"}[linked]
    (root / parts).parent.mkdir(parents=True, exist_ok=True)
    (root / parts).symlink_to(outside / parts)
    (root / "good" / "2").symlink_to("1")
    with Running(Settings(root, http_port=0, exit_on_error=False)) as running:
        assert states(running) == {"good/2": "READY", "m/1": "UNAVAILABLE"}
        assert entry(running, "m", 1).reason == "E50042: [m/1/model.om] lies outside the repository."
        assert not running.server.repository.ready


def test_folder_of_one_model(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    (tmp_path / "model.om").write_bytes(bundles[2.0])
    with Running(Settings(tmp_path, http_port=0, model_name="mine")) as running:
        assert answer(running, "mine") == 2.0
        assert states(running) == {"mine/1": "READY"}
    place(tmp_path, "", 7, bundles[3.0])
    with Running(Settings(tmp_path, http_port=0, model_name="mine")) as running:
        assert answer(running, "mine", "7") == 3.0


class Load:
    """Threads that ask for a model without pause; `end` gives what they were answered."""

    def __init__(self, ask: Callable[[], float], threads: int = 2) -> None:
        self._ask, self._stop = ask, threading.Event()
        self.answers: list[float] = []
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._work) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self.answers.append(self._ask())
            except BaseException as failure:
                self.failures.append(failure)

    def end(self) -> list[float]:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self.failures, self.failures[:3]
        return self.answers
