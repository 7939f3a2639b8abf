"""Changing what a server serves while it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from running import Running

from ascend_ep.serving.repository.index import IndexEntry


def states(running: Running) -> dict[str, str]:
    return {f"{e.name}/{e.version}": str(e.state) for e in running.server.repository.index()}


def entry(running: Running, name: str, version: int | str) -> IndexEntry:
    found = running.server.repository.index()
    return next(e for e in found if (e.name, e.version) == (name, str(version)))


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
