"""Several implementations of a model: the fastest is taken, a failing one replaced, no wrong one answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import batch_models
import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution import implementations
from ascend_ep.serving.execution.candidates import make_proof
from ascend_ep.serving.execution.host_model import HostModel
from ascend_ep.serving.execution.implementations import Implementations
from ascend_ep.serving.execution.samples import Samples
from ascend_ep.serving.signature import Signature, TensorSpec

X = np.ones((2, 4), np.float32)
#: Seconds, where a test says so.
CLOCK = [100.0]


class Way:
    """Gives x + `offset`, after `seconds`; raises `failure` while that is set."""

    def __init__(self, offset: float = 0.0, seconds: float = 0.0, failure: Exception | None = None) -> None:
        self.offset = np.float32(offset)
        self.seconds = seconds
        self.failure = failure
        self.runs = 0

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.runs += 1
        CLOCK[0] += self.seconds
        if self.failure is not None:
            raise self.failure
        return [inputs["x"] + self.offset]


def several(first: Way, *others: Way, explore: bool = False) -> Implementations:
    tensor = TensorSpec("x", "FP32", ("N", 4)), TensorSpec("y", "FP32", ("N", 4))
    samples = Samples(Signature(tensor[:1], tensor[1:]), {"x": X})
    proof = make_proof(first, samples, {"y": X}, ["y"])
    opened: dict[str, Callable[[], Way]] = {f"other{i}": lambda way=way: way for i, way in enumerate(others)}
    return Implementations("first", first, opened, proof, explore=explore)


def test_a_failing_one_is_replaced_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    first, other = Way(), Way(1e-6)
    run = several(first, other)
    np.testing.assert_array_equal(run({"x": X})[0], X)
    assert other.runs == 0
    first.failure = RuntimeError("broken kernel")
    with caplog.at_level(logging.ERROR):
        for _ in range(10):
            np.testing.assert_array_equal(run({"x": X})[0], X + np.float32(1e-6))
    counted = {i.name: (i.runs, i.failures) for i in run.all}
    assert counted == {"first": (1, 3), "other0": (10, 0)}  # it is out after the third
    assert [r.getMessage() for r in caplog.records].count(
        "implementation first failed, 1 times by now: broken kernel"
    ) == 1


def test_it_is_tried_again_and_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implementations.time, "monotonic", lambda: CLOCK[0])
    first, other = Way(), Way()
    run = several(first, other)
    first.failure = RuntimeError("broken kernel")
    for _ in range(5):
        run({"x": X})
    assert run.first.failures == 3
    for pause in (1.0, 2.0, 4.0):
        CLOCK[0] += 0.9 * pause
        run({"x": X})
        before = first.runs
        CLOCK[0] += 0.2 * pause
        run({"x": X})
        assert first.runs == before + 1
    CLOCK[0] += 10
    first.failure = None
    others = other.runs
    for _ in range(3):
        run({"x": X})
    assert other.runs == others


def test_a_wrong_one_never_answers(caplog: pytest.LogCaptureFixture) -> None:
    first, wrong, right = Way(), Way(0.5), Way()
    run = several(first, wrong, right)
    first.failure = RuntimeError("broken kernel")
    np.testing.assert_array_equal(run({"x": X})[0], X)
    assert "relative difference" in run.refused["other0"]
    assert right.runs
    assert "not other0" in run.describe()


def test_a_broken_first_is_proven_against_by_stored_samples() -> None:
    broken = Way(failure=RuntimeError("broken kernel"))
    run = several(broken, Way(0.5), Way())
    np.testing.assert_array_equal(run({"x": X})[0], X)
    assert list(run.refused) == ["other0"]


def test_what_a_request_is_to_blame_for_replaces_nothing() -> None:
    first, other = Way(), Way()
    run = several(first, other)
    first.failure = AscendError("E40011", "an index is out of range")
    with pytest.raises(AscendError, match="E40011"):
        run({"x": X})
    assert other.runs == 0


def test_all_fail() -> None:
    first, other = Way(), Way()
    run = several(first, other)
    first.failure = RuntimeError("broken kernel")
    run({"x": X})
    other.failure = RuntimeError("this too")
    with pytest.raises(RuntimeError, match="broken kernel"):
        run({"x": X})


def test_the_fastest_is_found_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implementations.time, "perf_counter", lambda: CLOCK[0])
    first, other = Way(seconds=0.002), Way(seconds=0.0005)
    run = several(first, other, explore=True)
    run.learn({"x": X})
    runs = first.runs
    for _ in range(40):
        run({"x": X})
    assert first.runs == runs
    other.seconds, first.seconds = 0.004, 0.0005
    for _ in range(400):
        run({"x": X})
    before = other.runs
    for _ in range(40):
        run({"x": X})
    assert other.runs <= before + 1


def test_threads_that_find_a_failure_at_once_all_get_a_result() -> None:
    first, other = Way(), Way()
    run = several(first, other)
    first.failure = RuntimeError("broken kernel")
    with ThreadPoolExecutor(8) as threads:
        for (made,) in threads.map(lambda _: run({"x": X}), range(64)):
            np.testing.assert_array_equal(made, X)
    assert len(run.all) == 2


def test_the_onnx_model_on_onnxruntime(tmp_path: Path) -> None:
    model = batch_models.sequences()
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    made = HostModel(tmp_path / "model.onnx", 1).run(None, {"x": x})[0]
    np.testing.assert_allclose(made.sum(axis=1), 1, rtol=1e-5)
