"""Any interleaving of sizes, cancellations, deadlines and failures: each caller gets its own rows, bit-equal
to a run alone, and exactly one answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scheduling import INPUTS, Asked, Model, ask, rows, scheduler

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.rules import BatchRules
from ascend_ep.serving.statistics import VersionStatistics

MAX_JOBS, MAX_BYTES = 12, 400


@dataclass(frozen=True)
class Step:
    """pause: turns of the loop before it, -1 for a millisecond. cancel: the earlier request that is cancelled
    after it, counted backwards; 0 for none."""

    rows: int
    width: int
    bad: bool
    deadline: float | None
    priority: int
    pause: int
    cancel: int


STEPS = st.builds(
    Step,
    rows=st.integers(0, 6),
    width=st.sampled_from([2, 2, 2, 3]),
    bad=st.integers(0, 9).map(lambda n: n == 0),
    deadline=st.sampled_from([None, None, 10.0, 0.002, -1.0]),
    priority=st.integers(0, 3),
    pause=st.sampled_from([0, 0, 0, 1, 2, -1]),
    cancel=st.sampled_from([0, 0, 0, 1, 2, 3]),
)
RULES = st.builds(
    BatchRules,
    inputs=st.just(INPUTS),
    max_rows=st.integers(1, 8),
    preferred=st.sampled_from([(), (2,), (2, 4)]),
    max_delay=st.sampled_from([0.0, 0.001, 0.003]),
    levels=st.integers(1, 3),
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(STEPS, min_size=1, max_size=30),
    rules=RULES,
    instances=st.integers(0, 3),
    fails_every=st.sampled_from([0, 0, 2, 3, 7]),
)
def test_each_gets_its_own_once(
    steps: list[Step], rules: BatchRules, instances: int, fails_every: int
) -> None:
    model, statistics = Model(fails_every), VersionStatistics()
    asked: list[Asked] = []

    async def script() -> None:
        on = scheduler(
            model, rules, instances=instances, max_jobs=MAX_JOBS, max_bytes=MAX_BYTES, statistics=statistics
        )
        for number, step in enumerate(steps):
            for _ in range(step.pause):
                await asyncio.sleep(0)
            if step.pause < 0:
                await asyncio.sleep(0.001)
            x = rows(step.rows, step.width, seed=number)
            if step.bad:
                x[:, 0] = np.nan
            asked.append(ask(on, Asked(x, step.deadline, step.priority)))
            assert on._waiting.count <= MAX_JOBS
            assert on._waiting.bytes <= MAX_BYTES
            if 0 < step.cancel < len(asked):
                job = asked[-1 - step.cancel].job
                assert job is not None
                job.cancel()
        await asyncio.wait_for(on.close(), 20)
        assert on.pending == 0
        assert on._waiting.bytes == 0
        await asyncio.sleep(0)

    asyncio.run(script())
    for step, one in zip(steps, asked, strict=True):
        if one.refused is not None:
            assert one.refused.code == "E50006"
            assert not [a for a in one.answers if not isinstance(a, AscendError)]
            continue
        if one.code == "":
            assert not (step.bad and step.rows)
            assert one.y.tobytes() == Model.expected(one.x).tobytes()
            assert one.y.shape == one.x.shape
        elif one.code == "E50010":
            assert step.bad or fails_every
        else:
            assert one.code in ("E50007", "E50018")
    largest = max(step.rows for step in steps)
    assert max(model.rows, default=0) <= max(rules.max_rows, largest)


@pytest.fixture(scope="module")
def session(repository: Path) -> ascend_ep.InferenceSession:
    return ascend_ep.InferenceSession(str(repository / "rows" / "1" / "model.om"))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=40), instances=st.integers(0, 2))
def test_a_bundle_gives_the_bits_of_a_run_alone(
    session: ascend_ep.InferenceSession, sizes: list[int], instances: int
) -> None:
    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        made: list[np.ndarray] = session.run(None, inputs)
        return made

    async def script() -> list[Asked]:
        on = scheduler(run, BatchRules((("x", ("N", 8)),), 16), instances=instances)
        asked = []
        for number, size in enumerate(sizes):
            asked.append(ask(on, Asked(rows(size, 8, seed=number))))
            if number % 5 == 4:
                await asyncio.sleep(0)
        await on.close()
        return asked

    for one in asyncio.run(script()):
        assert one.y.tobytes() == session.run(None, {"x": one.x})[0].tobytes()
