"""What the repository promises beyond a single load: order, bounds, readiness, an end at any time."""

from __future__ import annotations

import asyncio
import errno
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import onnx
import pytest
from reloading import answer, entry, place, states
from running import Running
from served_models import scaled

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository import sessions
from ascend_ep.serving.repository.layout import Layout
from ascend_ep.serving.repository.reasons import reason
from ascend_ep.serving.settings import Settings


class Slow:
    """Stands in for opening a session: waits until it may, and counts how many do at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._open = sessions.checked_session
        self._lock = threading.Lock()
        self.now = self.most = self.opened = 0
        self.may = threading.Event()
        monkeypatch.setattr(sessions, "checked_session", self)

    def __call__(self, *arguments: Any) -> Any:
        with self._lock:
            self.now += 1
            self.opened += 1
            self.most = max(self.most, self.now)
        assert self.may.wait(30)
        made = self._open(*arguments)
        with self._lock:
            self.now -= 1
        return made


def explicit(root: Path, **more: Any) -> Running:
    return Running(Settings(root, http_port=0, model_control_mode="explicit", **more))


def test_loads_of_one_model_wait_for_each_other_and_of_all_are_bounded(
    tmp_path: Path, bundles: dict[float, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"m{i}" for i in range(5)]
    for name in names:
        place(tmp_path, name, 1, bundles[1.0])
    with explicit(tmp_path, load_threads=2) as running:
        repository = running.server.repository
        slow = Slow(monkeypatch)

        async def several() -> None:
            tasks = [asyncio.ensure_future(repository.load_model(n)) for n in names * 3]
            while slow.now < 2:
                await asyncio.sleep(0.001)
            assert states(running)["m0/1"] == "LOADING"
            with pytest.raises(AscendError, match="isn't ready"):
                repository.version("m0", "1")
            slow.may.set()
            await asyncio.gather(*tasks)

        running.call(several())
        assert slow.most == 2
        assert [repository.models[n].loads for n in names] == [1] * 5
        assert repository.ready


def test_statistics_go_on_over_a_reload(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with explicit(tmp_path, load_models=("m",)) as running:
        repository = running.server.repository
        for count, factor in ((1, 1.0), (2, 2.0)):
            place(tmp_path, "m", 1, bundles[factor])
            running.call(repository.load_model("m"))
            assert answer(running, "m") == factor
            assert repository.version("m", "1").statistics.success.count == count


@pytest.mark.parametrize(("strict", "ready"), [(True, False), (False, True)])
def test_ready_needs_every_version_that_the_policy_names(
    tmp_path: Path, bundles: dict[float, bytes], strict: bool, ready: bool
) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    (tmp_path / "m" / "config.pbtxt").write_text("version_policy { specific { versions: [1, 2] } }")
    with explicit(tmp_path, load_models=("*",), strict_readiness=strict) as running:
        assert answer(running, "m") == 1.0
        assert running.server.repository.ready is ready
        assert running.ask("GET", "/v2/health/ready")[0] == (200 if ready else 503)
        place(tmp_path, "m", 2, bundles[2.0])
        running.call(running.server.repository.load_model("m"))
        assert running.server.repository.ready


def test_a_model_that_never_was_ready_makes_no_server_unready(
    tmp_path: Path, bundles: dict[float, bytes]
) -> None:
    place(tmp_path, "good", 1, bundles[1.0])
    with explicit(tmp_path, load_models=("good",)) as running:
        repository = running.server.repository
        place(tmp_path, "bad", 1, b"IMOD")
        with pytest.raises(AscendError):
            running.call(repository.load_model("bad"))
        assert entry(running, "bad", 1).state == "UNAVAILABLE"
        assert repository.ready
        running.call(repository.unload_model("good"))
        assert repository.ready, "it isn't required any more"


def test_a_missing_model_of_the_command_line_keeps_the_server_unready(tmp_path: Path) -> None:
    with explicit(tmp_path, load_models=("absent",), exit_on_error=False) as running:
        assert not running.server.repository.ready
    with pytest.raises(AscendError, match="1 of the models") as caught:
        explicit(tmp_path, load_models=("absent",))
    assert "absent" in str(caught.value)


def test_it_ends_at_once_while_a_model_is_converted(tmp_path: Path) -> None:
    """SIGTERM before the server listens: the conversion is killed with all that it started."""
    version = tmp_path / "models" / "m" / "1"
    version.mkdir(parents=True)
    onnx.save(scaled(2), version / "model.onnx")
    cache = tmp_path / "cache"
    flags = [f"--model-repository={tmp_path / 'models'}", f"--conversion-cache={cache}"]
    ports = ["--http-port=0", "--grpc-port=0", "--metrics-port=0"]
    server = subprocess.Popen(
        [sys.executable, "-m", "ascend_ep.cli.serve", *flags, *ports], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    while "is being converted" not in server.stderr.readline():
        assert server.poll() is None
    began = time.monotonic()
    server.send_signal(signal.SIGTERM)
    said = server.communicate(timeout=20)[1]
    assert time.monotonic() - began < 5
    assert server.returncode == 0, said
    assert not list(cache.iterdir()), "what was begun is left"


def test_a_folder_that_cannot_be_listed_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: Path) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(AscendError, match="can't be read: Too many open files"):
        Layout(tmp_path).names()
    monkeypatch.undo()
    with pytest.raises(AscendError, match="There is no folder"):
        Layout(tmp_path / "absent").names()


def test_reasons_have_no_places(tmp_path: Path) -> None:
    root = tmp_path / "a folder"
    error = AscendError("E40002", f"{root}/m/1/model.om: no; /var/cache/x/model.om, https://a.b/c, 1/2 of it")
    assert reason(error, Layout(root)) == "E40002: m/1/model.om: no; model.om, https://a.b/c, 1/2 of it"


@pytest.mark.parametrize("name", ["a/b", ".", "..", ".a", "a b", "", "x" * 129, "a.tmp", "ä"])
def test_names_that_no_model_has(tmp_path: Path, name: str) -> None:
    if name:
        with pytest.raises(AscendError, match="model-name"):
            Layout(tmp_path, name)
    with explicit(tmp_path) as running, pytest.raises(AscendError, match="There is no model"):
        running.call(running.server.repository.load_model(name))
