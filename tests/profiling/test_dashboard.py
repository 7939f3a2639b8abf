"""profdash: the page of a profile while it grows."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.profiling.dashboard import Dashboard, server
from ascend_ep.profiling.machine import Machine
from ascend_ep.runtime import tracing
from ascend_ep.runtime.tracing import DATA

MACHINE = Machine(1e11, 1e10, 1e9, 2)


@contextmanager
def address(folder: Path) -> Iterator[str]:
    with server(Dashboard(folder, MACHINE), "127.0.0.1", 0) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_address[1]}/"
        finally:
            made.shutdown()
            thread.join()


def text(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        assert answer.headers["Refresh"] == "5"
        return str(answer.read().decode())


def test_a_profile_that_grows(small: Path, tmp_path: Path) -> None:
    session = ascend_ep.InferenceSession(small)
    feed = {"x": np.ones((1, 64), np.float32)}
    with address(tmp_path) as url:
        assert "Nothing was recorded" in text(url)
        data = tmp_path / "PROF_000001_20260101000000000_ABCDEF" / DATA
        data.mkdir(parents=True)
        for runs in (1, 2):
            tracing.start(data, 0)
            session.run(None, feed)
            tracing.stop()
            assert f'"runs": {runs}, "calls": {3 * runs}' in text(url)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            text(f"{url}else")


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    dashboard = Dashboard(tmp_path, MACHINE)
    with server(dashboard, "127.0.0.1", 0) as made:
        for port in (made.server_address[1], 70000):
            with pytest.raises(AscendError, match="Can't listen"):
                server(dashboard, "127.0.0.1", int(port))


def test_a_trace_that_is_damaged(tmp_path: Path) -> None:
    data = tmp_path / "PROF_000001_20260101000000000_ABCDEF" / DATA
    data.mkdir(parents=True)
    (data / "x.trace").write_bytes(b"no trace")
    with address(tmp_path) as url, pytest.raises(urllib.error.HTTPError, match="500"):
        text(url)
