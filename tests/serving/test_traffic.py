"""Splits between versions, sticky keys, and shadows beside them."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from running import Running
from served_models import put, rows

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.rules import BatchRules
from ascend_ep.serving.request import InferRequest
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.traffic.difference import difference
from ascend_ep.serving.traffic.shadow import Shadow, ShadowRule
from ascend_ep.serving.traffic.split import Split

KEYS = [f"user-{i}" for i in range(10_000)]


def shares(split: Split, ready: set[int] | None = None) -> dict[str, int]:
    chosen = {key: split.choose(key, ready or set(split.weights)) for key in KEYS}
    return {key: number for key, number in chosen.items() if number is not None}


# --- splits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [{1: 0.9, 2: 0.1}, {1: 1, 2: 1, 3: 2}, {1: 99, 2: 1}])
def test_shares(weights: dict[int, float]) -> None:
    counted = Counter(shares(Split("m", weights)).values())
    whole = sum(weights.values())
    for number, weight in weights.items():
        assert abs(counted[number] / len(KEYS) - weight / whole) < 0.02
    drawn = Counter(Split("m", weights).choose("", set(weights)) for _ in KEYS)
    for number, weight in weights.items():
        assert abs(drawn[number] / len(KEYS) - weight / whole) < 0.02


def test_moving_a_weight_moves_only_its_share() -> None:
    before, after = shares(Split("m", {1: 0.9, 2: 0.1})), shares(Split("m", {1: 0.7, 2: 0.3}))
    moved = {(before[key], after[key]) for key in KEYS if before[key] != after[key]}
    assert moved == {(1, 2)}
    assert abs(sum(before[key] != after[key] for key in KEYS) / len(KEYS) - 0.2) < 0.02


def test_a_new_version_takes_from_the_others_only_what_it_gets() -> None:
    before, after = shares(Split("m", {1: 1, 2: 1})), shares(Split("m", {1: 1, 2: 1, 3: 2}))
    assert {after[key] for key in KEYS if before[key] != after[key]} == {3}


def test_a_version_that_is_not_ready_leaves_the_keys_of_others_alone() -> None:
    split = Split("m", {1: 1, 2: 1, 3: 1})
    every, two = shares(split), shares(split, {1, 3})
    assert all(two[key] == every[key] for key in KEYS if every[key] != 2)
    assert split.choose("a", {4}) is None
    assert split.choose("a", {2}) == 2


def test_models_split_independently() -> None:
    one, other = shares(Split("m", {1: 1, 2: 1})), shares(Split("n", {1: 1, 2: 1}))
    assert 0.4 < sum(one[key] == other[key] for key in KEYS) / len(KEYS) < 0.6


@pytest.mark.parametrize("weights", [{}, {1: 0}, {1: -1, 2: 2}, {1: math.nan}, {1: math.inf}])
def test_weights_that_are_refused(weights: dict[int, float]) -> None:
    with pytest.raises(AscendError) as refused:
        Split("m", weights)
    assert refused.value.code == "E50036"


# --- differences ----------------------------------------------------------------------------------


def test_difference() -> None:
    a = np.array([1, 2, np.nan, np.inf], np.float32)
    assert difference(["y"], [a], [a.copy()], 0, 0).mismatch == ""
    b = np.array([1, 2.5, np.nan, np.inf], np.float32)
    found = difference(["y"], [a], [b], 1e-3, 0)
    assert found.mismatch == "y: 1 of 4 elements differ"
    assert (found.absolute, found.relative) == (0.5, 0.2)
    assert difference(["y"], [a], [b], 0.2, 0).mismatch == ""
    assert difference(["y"], [a], [b], 0, 0.5).mismatch == ""
    for other in (1.0, -np.inf, np.nan):
        c = np.array([1, 2, np.nan, other], np.float32)
        assert difference(["y"], [a], [c], 1, 1).mismatch == "y: 1 of 4 elements differ"
    assert "float64[4] in the shadow" in difference(["y"], [a], [a.astype(float)], 1, 1).mismatch
    assert "[3] in the shadow" in difference(["y"], [a], [a[:3]], 1, 1).mismatch
    text = np.array([b"a", b"b"], object)
    assert difference(["s"], [text], [text[::-1]], 1, 1).mismatch == "s: 2 of 2 elements differ"
    empty = np.zeros((0, 4), np.float32)
    assert difference(["y"], [empty], [empty], 0, 0).mismatch == ""


# --- in a server ----------------------------------------------------------------------------------


def other_rows() -> Any:
    """The model `rows` with another weight."""
    model = rows()
    weight = np.frombuffer(model.graph.initializer[0].raw_data, np.float32) * 2
    model.graph.initializer[0].raw_data = weight.tobytes()
    return model


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("two")
    put(root, "rows", 1, rows)
    put(root, "rows", 2, other_rows)
    (root / "rows" / "config.pbtxt").write_text("version_policy { all {} }\n")
    with Running(Settings(root, http_port=0)) as running:
        yield running


BODY = {
    "inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.1] * 8}],
    "id": "r",
}


def version_of(running: Running, path: str = "/v2/models/rows/infer", **headers: str) -> str:
    status, _, body = running.ask("POST", path, BODY, {k.replace("_", "-"): v for k, v in headers.items()})
    assert status == 200, body
    return str(json.loads(body)["model_version"])


def test_split_and_sticky_key(two: Running) -> None:
    traffic = two.server.service.traffic
    traffic.set_split(Split("rows", {1: 1, 2: 1}), "rows")
    try:
        keys = KEYS[:30]
        first = {key: version_of(two, x_ascend_key=key) for key in keys}
        assert set(first.values()) == {"1", "2"}
        assert {key: version_of(two, x_ascend_key=key) for key in keys} == first
        assert {version_of(two) for _ in range(30)} == {"1", "2"}
        assert {version_of(two, "/v2/models/rows/versions/1/infer") for _ in range(10)} == {"1"}
        status, _, body = two.ask(
            "POST", "/v2/models/rows/infer", BODY | {"parameters": {"sticky_key": keys[0]}}
        )
        assert (status, json.loads(body)["model_version"]) == (200, first[keys[0]])
    finally:
        traffic.set_split(None, "rows")
    assert version_of(two) == "2"


def set_shadow(two: Running, rule: ShadowRule | None) -> None:
    """On the loop: behind the answer that is being sent."""

    async def work() -> None:
        two.server.service.traffic.set_shadow(rule, "rows")

    two.call(work())


def waited(two: Running, runs: int) -> dict[str, Any]:
    shadow = two.server.service.traffic.shadow("rows")
    assert shadow is not None
    for _ in range(500):
        shown = shadow.comparison.shown()
        if shown["compared"] + shown["failed"] + shown["dropped"] >= runs:
            break
        time.sleep(0.01)
    return shown


def test_shadow(two: Running) -> None:
    traffic = two.server.service.traffic
    set_shadow(two, ShadowRule(1))
    try:
        assert {version_of(two) for _ in range(8)} == {"2"}
        shown = waited(two, 8)
        assert (shown["compared"], shown["mismatched"], shown["failed"]) == (8, 8, 0)
        assert shown["relative"] > 0.1
        assert shown["examples"][-1] == {"id": "r", "key": "", "what": "y: 4 of 4 elements differ"}
        assert len(shown["examples"]) == 5
        set_shadow(two, ShadowRule(1, rtol=10))
        version_of(two)
        shown = waited(two, 1)
        assert (shown["compared"], shown["mismatched"]) == (1, 0)
        set_shadow(two, ShadowRule(7))
        version_of(two)
        assert waited(two, 1)["dropped"] == 1
    finally:
        set_shadow(two, None)
    assert traffic.shadow("rows") is None


def test_a_slow_shadow_is_dropped_and_delays_nobody(two: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = two.server.service.traffic
    target = two.server.repository.models["rows"].versions[1]
    run = target.run

    def slow(inputs: Any) -> Any:
        time.sleep(0.02)
        return run(inputs)

    monkeypatch.setattr(target, "run", slow)
    set_shadow(two, ShadowRule(1))
    try:
        began = time.monotonic()
        for _ in range(60):
            version_of(two)
        assert time.monotonic() - began < 60 * 0.02
        assert traffic.shadow("rows").comparison.dropped > 0  # type: ignore[union-attr]
    finally:
        set_shadow(two, None)


@pytest.mark.parametrize(
    "rule", [{"version": 0}, {"version": 1, "share": 0}, {"version": 1, "rtol": math.nan}]
)
def test_shadows_that_are_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(AscendError) as refused:
        ShadowRule(**rule)
    assert refused.value.code == "E50036"


def test_a_configurations_split_and_shadow(tmp_path: Path) -> None:
    put(tmp_path, "rows", 1, rows)
    put(tmp_path, "rows", 2, other_rows)
    config = tmp_path / "rows" / "config.pbtxt"
    parameters = 'parameters {{ key: "{}" value {{ string_value: "{}" }} }}\n'
    every = "version_policy { all {} }\n"
    config.write_text(every + parameters.format("split", "1:1, 2:0") + parameters.format("shadow", "2"))
    with Running(Settings(tmp_path, http_port=0, model_control_mode="explicit", load_models=("*",))) as one:
        assert {version_of(one) for _ in range(5)} == {"1"}
        assert waited(one, 5)["mismatched"] == 5
        config.write_text(every + parameters.format("split", "2:1"))
        assert one.ask("POST", "/v2/repository/models/rows/load")[0] == 200
        assert {version_of(one) for _ in range(5)} == {"2"}
        assert one.server.service.traffic.shadow("rows") is None


def test_a_copy_whose_version_is_released_while_it_waits_is_dropped() -> None:
    begun, go = threading.Event(), threading.Event()

    class Version:
        scheduler: object = object()
        signature = SimpleNamespace(check=lambda inputs: None, outputs=[SimpleNamespace(name="y")])
        execution = SimpleNamespace(rules=BatchRules(()))

        def run(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
            begun.set()
            assert go.wait(10)
            return [inputs["x"]]

    target: Any = Version()
    answered: Any = Version()
    shadow = Shadow(ShadowRule(1))
    x = np.zeros((1, 1))
    for _ in range(2):
        job = Job(InferRequest("m", "", {}), {"x": x}, 1, lambda job, result: None)
        shadow.copy(answered, target, job, [x])
    assert begun.wait(10)
    target.scheduler = None
    go.set()
    shadow._thread.shutdown()
    assert shadow.comparison.outcomes == {"same": 1, "mismatched": 0, "failed": 0, "dropped": 1}
