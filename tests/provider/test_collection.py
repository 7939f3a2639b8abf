"""The pause of Python's garbage collector, and that it ends."""

from __future__ import annotations

import gc
import threading

import onnxruntime as ort
import pytest
from provider_graphs import two_layers

from ascend_ep.errors import AscendError
from ascend_ep.provider import placement
from ascend_ep.provider.collection import collection_paused


def test_it_ends_with_the_last_that_overlaps() -> None:
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_ends_on_errors_and_with_threads() -> None:
    def fail() -> None:
        for _ in range(200):
            with pytest.raises(ValueError, match="x"), collection_paused():
                raise ValueError("x")

    threads = [threading.Thread(target=fail) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert gc.isenabled()


def test_what_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_compiling_for_a_session_is_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def partition(*_: object) -> None:
        seen.append(gc.isenabled())
        raise AscendError("E40012", "enough")

    monkeypatch.setattr(placement, "partition", partition)
    ort.InferenceSession(two_layers(), providers=["AscendEP", "CPUExecutionProvider"])
    assert seen
    assert not any(seen)
    assert gc.isenabled()
