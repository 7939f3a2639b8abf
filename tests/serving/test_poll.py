"""Mode poll: what changed is followed once nobody is writing it any more."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from reloading import answer, entry, place, states
from running import Running

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository.config_file import read_config
from ascend_ep.serving.repository.conversion_options import read_options
from ascend_ep.serving.repository.layout import Layout
from ascend_ep.serving.settings import Settings


def polled(root: Path, seconds: float = 3600.0) -> Running:
    return Running(
        Settings(root, http_port=0, model_control_mode="poll", repository_poll=seconds, exit_on_error=False)
    )


def look(running: Running, times: int = 1) -> None:
    """Looks, and waits for what that began."""

    async def one() -> None:
        poller = running.server.repository.poller
        await poller.look()
        while poller.busy:
            await asyncio.sleep(0.001)

    for _ in range(times):
        running.call(one())


def test_a_copy_in_progress_is_never_loaded(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with polled(tmp_path) as running:
        model = running.server.repository.models["m"]
        path = tmp_path / "m" / "2" / "model.om"
        path.parent.mkdir()
        with path.open("wb") as file:
            for part in range(4):
                size = len(bundles[2.0]) // 4 + 1
                file.write(bundles[2.0][part * size :][:size])
                file.flush()
                look(running)
                assert answer(running, "m") == 1.0
        assert model.loads == 1
        look(running)
        assert answer(running, "m") == 2.0
        assert states(running) == {"m/2": "READY"}
        assert (model.loads, model.load_failures) == (2, 0)
        look(running, 3)
        assert model.loads == 2


def test_models_come_and_go(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    (tmp_path / "notes").mkdir()
    with polled(tmp_path) as running:
        repository = running.server.repository
        assert repository.ready
        place(tmp_path, "late", 1, bundles[3.0])
        look(running)
        assert "late/1" not in states(running)
        look(running)
        assert answer(running, "late") == 3.0
        shutil.rmtree(tmp_path / "late" / "1")
        look(running, 2)
        assert entry(running, "late", "").reason.startswith("E50048")
        assert not repository.ready
        shutil.rmtree(tmp_path / "late")
        look(running, 2)
        assert states(running) == {"m/1": "READY"}
        assert repository.ready


def test_a_broken_version_is_tried_once_and_again_when_it_changes(
    tmp_path: Path, bundles: dict[float, bytes]
) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with polled(tmp_path) as running:
        repository = running.server.repository
        model = repository.models["m"]
        place(tmp_path, "m", 2, bundles[2.0][:-1])
        look(running, 5)
        assert model.load_failures == 1
        assert states(running) == {"m/1": "READY", "m/2": "UNAVAILABLE"}
        assert repository.ready
        assert answer(running, "m") == 1.0
        place(tmp_path, "m", 2, bundles[2.0])
        look(running, 2)
        assert answer(running, "m") == 2.0


def test_a_new_config_reloads(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    place(tmp_path, "m", 2, bundles[2.0])
    with polled(tmp_path) as running:
        assert states(running) == {"m/2": "READY"}
        (tmp_path / "m" / "config.pbtxt").write_text("version_policy { all {} }")
        look(running, 2)
        assert states(running) == {"m/1": "READY", "m/2": "READY"}
        (tmp_path / "m" / "config.pbtxt").write_text("version_policy { specific { versions: 1 } }")
        look(running, 2)
        assert states(running) == {"m/1": "READY"}


def test_it_polls_by_itself_and_refuses_to_be_told(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    with polled(tmp_path, 0.01) as running:
        place(tmp_path, "m", 1, bundles[1.0])
        until = time.monotonic() + 10
        while states(running).get("m/1") != "READY" and time.monotonic() < until:
            time.sleep(0.01)
        assert answer(running, "m") == 1.0
        with pytest.raises(AscendError, match="polls its repository"):
            running.call(running.server.repository.load_model("m"))


def test_what_cannot_be_read_is_not_taken_for_gone(
    tmp_path: Path, bundles: dict[float, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that fails, or no file descriptor left: what is served stays, and serves on."""
    place(tmp_path, "m", 1, bundles[1.0])
    with polled(tmp_path) as running:
        look(running, 2)
        real = os.scandir

        def failing(path: Path) -> Any:
            if Path(path).name == "m":
                raise OSError(errno.EMFILE, "Too many open files")
            return real(path)

        monkeypatch.setattr("ascend_ep.serving.repository.layout.os.scandir", failing)
        look(running, 3)
        assert answer(running, "m") == 1.0
        monkeypatch.undo()
        look(running, 2)
        assert states(running) == {"m/1": "READY"}
        assert running.server.repository.models["m"].loads == 1


def test_a_folder_that_cannot_be_read_does_not_stop_the_others(
    tmp_path: Path, bundles: dict[float, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    place(tmp_path, "stale", 1, bundles[2.0])
    real = Path.stat

    def failing(path: Path, **kept: Any) -> os.stat_result:
        if path.parts[-3:] == ("stale", "1", "model.om"):
            raise OSError(errno.ESTALE, "Stale file handle")
        return real(path, **kept)

    monkeypatch.setattr(Path, "stat", failing)
    with polled(tmp_path) as running:
        assert answer(running, "m") == 1.0
        assert not running.server.repository.ready
        monkeypatch.undo()
        look(running, 2)
        assert answer(running, "stale") == 2.0
        assert running.server.repository.ready


@pytest.mark.parametrize("name", ["config.pbtxt", "atc.cfg"])
@pytest.mark.parametrize("asked", [1, 2])
def test_a_look_that_fails_has_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, asked: int
) -> None:
    """Whichever look at a file of settings it is."""
    places, looks, real = Layout(tmp_path), [0], Path.stat
    (tmp_path / "m" / "1").mkdir(parents=True)

    def failing(path: Path, **kept: Any) -> os.stat_result:
        looks[0] += path.name == name
        if path.name == name and looks[0] == asked:
            raise OSError(errno.EIO, "Input/output error")
        return real(path, **kept)

    monkeypatch.setattr(Path, "stat", failing)
    with pytest.raises(AscendError, match="E50052"):
        read_config(places, "m") if name == "config.pbtxt" else read_options(
            places, "m", tmp_path / "m" / "1"
        )
