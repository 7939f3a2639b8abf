"""Which jobs share a run, when it starts, and what each gets from it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from scheduling import INPUTS, Asked, Model, ask, rows, scheduler

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.rules import BatchRules
from ascend_ep.serving.statistics import VersionStatistics

BOTH = pytest.mark.parametrize("instances", [0, 2], ids=["inline", "threads"])


def played(script: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(script(), 20))


@BOTH
def test_rows_of_one_turn_share_a_run(instances: int) -> None:
    model, statistics = Model(), VersionStatistics()

    async def script() -> None:
        on = scheduler(model, BatchRules(INPUTS, 8), instances=instances, statistics=statistics)
        given = [ask(on, Asked(rows(n, seed=n))) for n in (1, 2, 0, 3)]
        await on.close()
        for asked in given:
            np.testing.assert_array_equal(asked.y, Model.expected(asked.x))
            assert asked.job is not None
            assert asked.job.timings.batch == 6

    played(script)
    assert model.rows == [6]
    assert (statistics.executions, statistics.inferences) == (1, 6)


@BOTH
def test_other_sizes_run_apart(instances: int) -> None:
    model = Model()

    async def script() -> None:
        on = scheduler(model, BatchRules(INPUTS, 8), instances=instances)
        given = [ask(on, Asked(rows(1, width, seed=width))) for width in (2, 3, 2, 3)]
        await on.close()
        for asked in given:
            np.testing.assert_array_equal(asked.y, Model.expected(asked.x))

    played(script)
    assert model.rows == [2, 2]


def test_no_more_rows_than_allowed_and_in_order() -> None:
    model = Model()

    async def script() -> None:
        on = scheduler(model, BatchRules(INPUTS, 4))
        for n in (3, 2, 2, 7, 1):
            ask(on, Asked(rows(n)))
        await on.close()

    played(script)
    assert model.rows == [3, 4, 7, 1]


def test_too_many_rows_are_refused_when_the_config_says_how_many() -> None:
    async def script() -> None:
        on = scheduler(Model(), BatchRules(INPUTS, 4, largest=4))
        refused = ask(on, Asked(rows(5))).refused
        assert refused is not None
        assert (refused.code, "4 is the most" in str(refused)) == ("E50004", True)
        await on.close()

    played(script)


def test_delay_waits_for_a_preferred_size() -> None:
    model = Model()

    async def script() -> None:
        on = scheduler(model, BatchRules(INPUTS, 8, preferred=(3,), max_delay=10.0))
        first = ask(on, Asked(rows(2)))
        await asyncio.sleep(0.005)
        assert not first.answers
        ask(on, Asked(rows(1)))
        await asyncio.sleep(0)
        assert first.answers
        await on.close()

    played(script)
    assert model.rows == [3]


def test_delay_ends() -> None:
    async def script() -> None:
        on = scheduler(Model(), BatchRules(INPUTS, 8, max_delay=0.02))
        asked, began = ask(on, Asked(rows(1))), time.monotonic()
        while not asked.answers:
            await asyncio.sleep(0.001)
        assert 0.015 < time.monotonic() - began < 5
        await on.close()

    played(script)


def test_delay_ends_before_a_deadline() -> None:
    async def script() -> None:
        on = scheduler(Model(), BatchRules(INPUTS, 8, max_delay=30.0))
        on._estimate = 2.45
        asked = ask(on, Asked(rows(1), deadline=5.0))
        while not asked.answers:
            await asyncio.sleep(0.001)
        np.testing.assert_array_equal(asked.y, Model.expected(asked.x))
        await on.close()

    played(script)


@BOTH
def test_a_bad_request_fails_alone(instances: int) -> None:
    model, statistics = Model(), VersionStatistics()

    async def script() -> None:
        on = scheduler(model, BatchRules(INPUTS, 8), instances=instances, statistics=statistics)
        bad = np.full((1, 2), np.nan, np.float32)
        given = [ask(on, Asked(x)) for x in (rows(1, seed=1), bad, rows(2, seed=2))]
        await on.close()
        assert [asked.code for asked in given] == ["", "E50010", ""]
        for asked in (given[0], given[2]):
            np.testing.assert_array_equal(asked.y, Model.expected(asked.x))

    played(script)
    assert model.rows == [4, 1, 1, 2]
    assert (statistics.divided, statistics.executions) == (1, 3)


def test_deadlines_and_cancelled_requests_do_not_run() -> None:
    model, begun, gate = Model(), threading.Event(), threading.Event()

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        begun.set()
        gate.wait(10)
        return model(inputs)

    async def script() -> None:
        on = scheduler(run, BatchRules(INPUTS, 8), instances=1)
        first = ask(on, Asked(rows(1)))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        late, gone = ask(on, Asked(rows(2), deadline=0.01)), ask(on, Asked(rows(3)))
        assert gone.job is not None
        gone.job.cancel()
        await asyncio.sleep(0.02)
        gate.set()
        await on.close()
        assert [a.code for a in (first, late, gone)] == ["", "E50007", "E50018"]

    played(script)
    assert model.rows == [1]


@pytest.mark.parametrize("allow_override", [True, False])
def test_the_time_in_the_queue_is_limited(allow_override: bool) -> None:
    begun, gate = threading.Event(), threading.Event()

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        begun.set()
        gate.wait(10)
        return [inputs["x"]]

    async def script() -> None:
        rules = BatchRules(INPUTS, 1, timeout=0.01, allow_override=allow_override)
        on = scheduler(run, rules, instances=1)
        first = ask(on, Asked(rows(1), deadline=10, own_deadline=True))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waits = ask(on, Asked(rows(1)))
        has_its_own = ask(on, Asked(rows(1), deadline=10, own_deadline=True))
        await asyncio.sleep(0.02)
        gate.set()
        await on.close()
        assert [a.code for a in (first, waits)] == ["", "E50007"]
        assert has_its_own.code == ("" if allow_override else "E50007")

    played(script)


def test_a_result_behind_its_deadline_is_none() -> None:
    async def script() -> None:
        on = scheduler(Model(seconds=0.05), BatchRules(INPUTS, 8), instances=1)
        late, in_time = ask(on, Asked(rows(1), deadline=0.02)), ask(on, Asked(rows(1), deadline=10))
        await on.close()
        assert [late.code, in_time.code] == ["E50007", ""]

    played(script)


def test_priorities() -> None:
    order: list[float] = []

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        order.extend(inputs["x"][:, 0])
        return [inputs["x"]]

    async def script() -> None:
        on = scheduler(run, BatchRules(INPUTS, 2, levels=3, default_level=1))
        for number, priority in enumerate([3, 0, 1, 9, 3, 1]):
            ask(on, Asked(np.full((1, 2), number, np.float32), priority=priority))
        await on.close()

    played(script)
    assert order == [2, 5, 1, 3, 0, 4]


def test_bounds_of_the_queue() -> None:
    async def script() -> None:
        on = scheduler(Model(seconds=0.02), BatchRules(INPUTS, 1), instances=1, max_jobs=3, max_bytes=64)
        running = ask(on, Asked(rows(1)))
        waiting = [ask(on, Asked(rows(1))) for _ in range(3)]
        full = ask(on, Asked(rows(1))).refused
        assert full is not None
        assert (full.code, "3 requests" in str(full)) == ("E50006", True)
        job = waiting[0].job
        assert job is not None
        job.cancel()  # gives its room back
        assert ask(on, Asked(rows(1))).refused is None
        assert waiting[1].job is not None
        waiting[1].job.cancel()
        large = ask(on, Asked(rows(8))).refused
        assert large is not None
        assert (large.code, "bytes" in str(large)) == ("E50006", True)
        await on.close()
        assert [running.code, waiting[2].code] == ["", ""]
        with pytest.raises(AscendError, match="E50003"):
            on.submit(running.job)

    played(script)


@BOTH
def test_profiles_pad_and_never_show_it(instances: int) -> None:
    model = Model()
    profiles = ({"N": 1, "S": 2}, {"N": 4, "S": 2}, {"N": 2, "S": 3})

    async def script() -> None:
        on = scheduler(model, BatchRules(INPUTS, 4, profiles=profiles), instances=instances)
        given = [ask(on, Asked(rows(n, width, seed=n))) for n, width in ((3, 2), (1, 3))]
        for asked in (ask(on, Asked(rows(5, 2))), ask(on, Asked(rows(1, 4)))):
            assert asked.refused is not None
            assert asked.refused.code == "E50004"
        await on.close()
        for asked in given:
            assert asked.y.shape == asked.x.shape
            np.testing.assert_array_equal(asked.y, Model.expected(asked.x))

    played(script)
    assert sorted(model.rows) == [2, 4]


def test_large_inputs_share_memory_that_is_used_again() -> None:
    """Buffers of batches are given out again only when nobody has a view of them: here an output is one."""
    outputs: list[np.ndarray] = []

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        outputs.append(inputs["x"])
        return [inputs["x"]]

    async def script() -> None:
        on = scheduler(run, BatchRules(INPUTS, 2))
        given = [ask(on, Asked(rows(1, 50_000, seed=seed))) for seed in range(12)]
        await on.close()
        for asked in given:
            np.testing.assert_array_equal(asked.y, asked.x)

    played(script)
    assert len({out.ctypes.data for out in outputs}) == 6


def test_instances_end_with_their_scheduler() -> None:
    def there() -> list[str]:
        return [t.name for t in threading.enumerate() if t.name.startswith("ascend-instance")]

    before = there()

    async def script() -> None:
        on = scheduler(Model(), BatchRules(INPUTS, 4), instances=3)
        assert len(there()) == len(before) + 3
        asked = [ask(on, Asked(rows(1))) for _ in range(9)]
        await on.close()
        assert {a.code for a in asked} == {""}

    played(script)
    assert there() == before
