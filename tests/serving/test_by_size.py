"""Requests much larger than what was measured don't keep the event loop from everything else."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from running import Running
from scheduling import INPUTS

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.execution.rules import BatchRules
from ascend_ep.serving.execution.schedulers import make_scheduler
from ascend_ep.serving.execution.tuning import Execution
from ascend_ep.serving.execution.waiting import WaitingJobs
from ascend_ep.serving.request import InferRequest
from ascend_ep.serving.statistics import VersionStatistics


@pytest.mark.parametrize("most", [1, 4], ids=["alone", "batched"])
def test_large_jobs_run_on_a_thread(most: int) -> None:
    ran: list[tuple[int, bool]] = []

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        ran.append((len(inputs["x"]), threading.current_thread() is threading.main_thread()))
        return [inputs["x"] + 1]

    async def script() -> None:
        execution = Execution(True, 1, 0, BatchRules(INPUTS, most), inline_bytes=800)
        statistics, waiting = VersionStatistics(), WaitingJobs(2, 1 << 20)
        on = make_scheduler(execution, run, waiting, statistics, asyncio.get_running_loop())
        answers: list[tuple[int, bool]] = []
        for rows in (100, 200, 10):
            x = np.zeros((rows, 1))
            job = Job(
                InferRequest("m", "", {}),
                {"x": x},
                rows,
                lambda job, result: answers.append((job.rows, not isinstance(result, AscendError))),
            )
            on.submit(job)
        assert on.pending
        await on.close()
        assert sorted(answers) == [(10, True), (100, True), (200, True)]
        assert on.pending == 0
        assert statistics.inferences == 310
        with pytest.raises(AscendError, match="E50003"):
            on.submit(job)

    asyncio.run(asyncio.wait_for(script(), 20))
    assert sorted(ran) == [(10, True), (100, True), (200, False)]


def test_a_large_request_of_a_small_model(running: Running) -> None:
    execution = running.server.repository.models["rows"].versions[2].execution
    assert execution.inline
    assert 32 <= execution.inline_bytes < 1 << 24
    x = np.random.default_rng(0).standard_normal((600_000, 8)).astype(np.float32)
    head = (
        b'{"inputs":[{"name":"x","datatype":"FP32","shape":[600000,8],"parameters":{"binary_data_size":%d}}]'
    )
    head = head % x.nbytes + b',"parameters":{"binary_data_output":true}}'
    headers = {"Inference-Header-Content-Length": str(len(head))}
    status, answered, body = running.ask("POST", "/v2/models/rows/infer", head + x.tobytes(), headers)
    assert status == 200
    made = np.frombuffer(body[int(answered["inference-header-content-length"]) :], np.float32).reshape(-1, 4)
    small = running.server.repository.models["rows"].versions[2].session.run(None, {"x": x[-3:]})[0]
    np.testing.assert_array_equal(made[-3:], small)
