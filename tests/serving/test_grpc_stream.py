"""ModelStreamInfer: order, errors in the stream, cancelling, and the end of the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_client import Client, request
from held_jobs import finish, held, until
from running import Running

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Client]:
    with Client(running.grpc_port) as made:
        yield made


def numbered(count: int) -> list[Any]:
    return [request("rows", {"x": X}, id=str(i)) for i in range(count)]


def test_answers_come_in_order_though_they_are_made_in_another(running: Running, client: Client) -> None:
    with held(running) as scheduler:
        answers = client.stream("ModelStreamInfer", numbered(5))
        scheduler.wait(5)
        for job in reversed(scheduler.jobs):
            finish(running, job, float(job.request.id))
        made = [answer.infer_response for answer in answers]
    assert [answer.id for answer in made] == list("01234")
    assert [np.frombuffer(a.raw_output_contents[0], np.float32)[0] for a in made] == [0, 1, 2, 3, 4]


def test_errors_travel_in_the_stream(client: Client) -> None:
    sent = [*numbered(1), request("rowz", {"x": X}, id="bad"), request("rows", {"x": X[:, :7]}), b"\xff\xff"]
    answers = list(client.stream("ModelStreamInfer", [*sent, *numbered(1)]))
    errors = [answer.error_message for answer in answers]
    assert not errors[0]
    assert not errors[4]
    assert "no model [rowz]" in errors[1]
    assert answers[1].infer_response.id == "bad"
    assert "the model takes ['N', 8]; [3, 7] was sent" in errors[2]
    assert "no ModelInferRequest message" in errors[3]


def test_the_mark_of_the_last_answer(client: Client) -> None:
    [sent] = numbered(1)
    sent.parameters["triton_enable_empty_final_response"].bool_param = True
    [answer] = client.stream("ModelStreamInfer", [sent])
    assert answer.infer_response.parameters["triton_final_response"].bool_param is True


def test_a_window_of_requests_is_read_ahead(running: Running, client: Client) -> None:
    with held(running) as scheduler:
        answers = client.stream("ModelStreamInfer", numbered(100))
        scheduler.wait(32)
        finish(running, scheduler.jobs[0], 0)
        next(answers)
        scheduler.wait(33)
        assert len(scheduler.jobs) == 33
        answers.cancel()
        until(lambda: scheduler.pending == 0)


def test_a_cancelled_stream_cancels_its_jobs(running: Running, client: Client) -> None:
    with held(running) as scheduler:
        answers = client.stream("ModelStreamInfer", numbered(3))
        scheduler.wait(3)
        answers.cancel()
        until(lambda: scheduler.pending == 0)
    assert client.call("ModelInfer", numbered(1)[0]).id == "0"


def test_a_message_that_is_too_large_ends_the_stream(client: Client) -> None:
    huge = bytes(65 << 20)
    answers = client.stream("ModelStreamInfer", [*numbered(1), huge])
    made: list[Any] = []
    with pytest.raises(grpc.RpcError, match="RESOURCE_EXHAUSTED"):
        made.extend(answers)
    assert client.call("ServerLive").live
