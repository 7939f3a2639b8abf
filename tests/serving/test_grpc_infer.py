"""Inference over gRPC: raw and typed tensors, refusals, deadlines, cancelling, limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from grpc_client import Client, refusal, request
from held_jobs import finish, held, until
from running import Running

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol import messages
from ascend_ep.serving.settings import Limits

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Client]:
    with Client(running.grpc_port) as made:
        yield made


def test_raw(running: Running, client: Client, repository: Path) -> None:
    answer = client.call("ModelInfer", request("rows", {"x": X}, id="a"))
    session = ascend_ep.InferenceSession(str(repository / "rows" / "2" / "model.om"))
    made = np.frombuffer(answer.raw_output_contents[0], np.float32).reshape(list(answer.outputs[0].shape))
    np.testing.assert_array_equal(made, session.run(None, {"x": X})[0])
    assert (answer.id, answer.model_name, answer.model_version) == ("a", "rows", "2")
    assert (answer.outputs[0].name, answer.outputs[0].datatype) == ("y", "FP32")


def test_a_large_message_is_cut_apart(client: Client) -> None:
    x = np.random.default_rng(1).standard_normal((2000, 3)).astype(np.float32)
    sent = request("columns", {"a": x, "b": -2 * x}, id="large")
    for name in ("scaled", "sum"):
        sent.outputs.add(name=name)
    fields = sent.SerializeToString()
    raws_first = _only(sent, "raw_input_contents") + _without(sent, "raw_input_contents")
    for data in (fields, raws_first):
        answer = client.call("ModelInfer", data)
        assert [o.name for o in answer.outputs] == ["scaled", "sum"]
        scaled, total = answer.raw_output_contents
        np.testing.assert_array_equal(np.frombuffer(scaled, np.float64), x.ravel().astype(np.float64) * 2.5)
        np.testing.assert_array_equal(np.frombuffer(total, np.float32), -x.ravel())


def _without(sent: Any, field: str) -> bytes:
    copy = type(sent).FromString(sent.SerializeToString())
    copy.ClearField(field)
    return copy.SerializeToString()


def _only(sent: Any, field: str) -> bytes:
    copy = type(sent)()
    getattr(copy, field).extend(getattr(sent, field))
    return copy.SerializeToString()


def edges() -> dict[str, np.ndarray]:
    """Edges of every datatype, [2, 2] each."""
    made: dict[str, np.ndarray] = {"BOOL": np.array([[True, False], [False, False]])}
    for bits in (8, 16, 32, 64):
        for sign in ("INT", "UINT"):
            info = np.iinfo(f"{sign}{bits}".lower())
            made[f"{sign}{bits}"] = np.array([[info.min, info.max], [0, 7]], info.dtype)
    for name, dtype in (("FP16", "f2"), ("FP32", "f4"), ("FP64", "f8"), ("BF16", ml_dtypes.bfloat16)):
        made[name] = np.array([[np.nan, -np.inf], [-0.0, 1.5]], dtype)
    made["BYTES"] = np.array([["", "ü\0€"], ["a" * 300, "b"]], object)
    return made


def test_every_datatype_raw(client: Client) -> None:
    sent = messages.ModelInferRequest(model_name="every_type")
    arrays = edges()
    for name, array in arrays.items():
        sent.inputs.add(name=f"in_{name}", datatype=name, shape=array.shape)
        sent.raw_input_contents.append(_raw(array))
    answer = client.call("ModelInfer", sent)
    assert len(answer.outputs) == len(arrays)
    for output, raw in zip(answer.outputs, answer.raw_output_contents, strict=True):
        assert output.name == f"out_{output.datatype}"
        assert raw == _raw(arrays[output.datatype]), output.name


def _raw(array: np.ndarray) -> bytes:
    if array.dtype != object:
        return array.tobytes()
    encoded = [e.encode() for e in array.ravel()]
    return b"".join(len(e).to_bytes(4, "little") + e for e in encoded)


def test_classes_take_the_place_of_values(client: Client) -> None:
    sent = request("columns", {"a": np.array([[1, 9, 2]], "f"), "b": np.array([[0, 0, 9]], "f")})
    sent.outputs.add(name="sum").parameters["classification"].int64_param = 2
    answer = client.call("ModelInfer", sent)
    assert (answer.outputs[0].datatype, list(answer.outputs[0].shape)) == ("BYTES", [1, 2])
    first = b"11.000000:2"
    assert answer.raw_output_contents[0].startswith(len(first).to_bytes(4, "little") + first)


def test_typed_contents_are_answered_in_kind(client: Client) -> None:
    sent = messages.ModelInferRequest(model_name="columns")
    for name in "ab":
        tensor = sent.inputs.add(name=name, datatype="FP32", shape=[1, 3])
        tensor.contents.fp32_contents.extend([1.5, -2, 3])
    answer = client.call("ModelInfer", sent)
    assert list(answer.outputs[0].contents.fp32_contents) == [3, -4, 6]
    assert list(answer.outputs[1].contents.fp64_contents) == [3.75, -5, 7.5]
    assert not answer.raw_output_contents


def test_typed_contents_of_every_datatype_that_has_a_list() -> None:
    from ascend_ep.serving.grpc.codec import decode
    from ascend_ep.serving.grpc.element_lists import LISTS

    for datatype, field in LISTS.items():
        array = edges()[datatype]
        sent = messages.ModelInferRequest(model_name="m")
        tensor = sent.inputs.add(name="x", datatype=datatype, shape=[2, 2])
        elements = [e.encode() for e in array.ravel()] if datatype == "BYTES" else array.ravel().tolist()
        getattr(tensor.contents, field).extend(elements)
        made = decode(sent, [], Limits()).request.inputs["x"]
        assert made.dtype == array.dtype
        np.testing.assert_array_equal(made, array)


#: What is wrong with the request, how it is made wrong, and what the sentence says of it.
WRONG = {
    "model": (
        lambda r: setattr(r, "model_name", "rowz"),
        "NOT_FOUND",
        "no model [rowz]. Did you mean [rows]",
    ),
    "version": (lambda r: setattr(r, "model_version", "../2"), "NOT_FOUND", "version ../2"),
    "name": (lambda r: setattr(r.inputs[0], "name", "X"), "INVALID_ARGUMENT", "no such input"),
    "twice": (lambda r: _twice(r), "INVALID_ARGUMENT", "is there twice"),
    "rank": (lambda r: r.inputs[0].shape.append(1), "INVALID_ARGUMENT", "the model takes ['N', 8]"),
    "many dimensions": (lambda r: r.inputs[0].shape.extend([1] * 9), "INVALID_ARGUMENT", "11 dimensions"),
    "negative": (lambda r: _shape(r, -1, -24), "INVALID_ARGUMENT", "no count"),
    "overflow": (lambda r: _shape(r, 2**39, 2**39), "INVALID_ARGUMENT", "too many elements"),
    "bytes": (lambda r: _shape(r, 4, 8), "INVALID_ARGUMENT", "takes 128 bytes; 96 were sent"),
    "datatype": (lambda r: setattr(r.inputs[0], "datatype", "float"), "INVALID_ARGUMENT", "no datatype"),
    "other type": (lambda r: setattr(r.inputs[0], "datatype", "INT32"), "INVALID_ARGUMENT", "takes FP32"),
    "both": (
        lambda r: r.inputs[0].contents.fp32_contents.extend([1.0] * 24),
        "INVALID_ARGUMENT",
        "both contents and raw_input_contents",
    ),
    "raws": (lambda r: r.raw_input_contents.append(b""), "INVALID_ARGUMENT", "2 entries for 1 inputs"),
    "none": (lambda r: r.ClearField("raw_input_contents"), "INVALID_ARGUMENT", "takes 24 elements; 0 were"),
    "no inputs": (lambda r: r.ClearField("inputs"), "INVALID_ARGUMENT", "1 entries for 0 inputs"),
    "output": (lambda r: r.outputs.add(name="z"), "INVALID_ARGUMENT", "no such output"),
    "shared memory": (
        lambda r: setattr(r.inputs[0].parameters["shared_memory_region"], "string_param", "a"),
        "INVALID_ARGUMENT",
        "shared memory isn't supported",
    ),
    "classes": (
        lambda r: setattr(r.outputs.add(name="y").parameters["classification"], "int64_param", 0),
        "INVALID_ARGUMENT",
        "no count of classes",
    ),
    "tensors": (lambda r: [r.inputs.add(name=str(i)) for i in range(64)], "INVALID_ARGUMENT", "more than 64"),
    "sequence": (
        lambda r: setattr(r.parameters["sequence_id"], "int64_param", 5),
        "INVALID_ARGUMENT",
        "asks for a sequence",
    ),
    "empty parameter": (lambda r: r.parameters["a"].SetInParent(), "INVALID_ARGUMENT", "[a] has no value"),
    "long name": (lambda r: setattr(r.inputs[0], "name", "ü" * 50_000), "INVALID_ARGUMENT", "üüü"),
}


def _twice(sent: Any) -> None:
    sent.inputs.append(sent.inputs[0])
    sent.raw_input_contents.append(sent.raw_input_contents[0])


def _shape(sent: Any, *shape: int) -> None:
    sent.inputs[0].shape[:] = shape


@pytest.mark.parametrize("what", WRONG)
def test_refusals(client: Client, what: str) -> None:
    change, status, sentence = WRONG[what]
    sent = request("rows", {"x": X})
    change(sent)
    code, details = refusal(client.begin("ModelInfer", sent))
    assert code == status, details
    assert sentence in details


@pytest.mark.parametrize("datatype", ["FP16", "BF16"])
def test_types_without_a_list(client: Client, datatype: str) -> None:
    sent = messages.ModelInferRequest(model_name="rows")
    sent.inputs.add(name="x", datatype=datatype, shape=[1, 8]).contents.fp32_contents.extend([0.0] * 8)
    assert refusal(client.begin("ModelInfer", sent)) == (
        "INVALID_ARGUMENT",
        f"E50004: Tensor [x] is refused: {datatype} goes in raw_input_contents only. "
        "The model's metadata shows what it takes.",
    )


def test_an_element_that_the_type_cannot_hold(client: Client) -> None:
    sent = messages.ModelInferRequest(model_name="every_type")
    sent.inputs.add(name="in_INT8", datatype="INT8", shape=[1, 2]).contents.int_contents.extend([1, 128])
    assert "out of the range of INT8" in refusal(client.begin("ModelInfer", sent))[1]


def test_the_earlier_of_deadline_and_timeout_is_the_requests(running: Running, client: Client) -> None:
    sooner = request("rows", {"x": X})
    sooner.parameters["timeout"].int64_param = 2_000_000  # microseconds
    with held(running) as scheduler:
        began = time.monotonic()
        calls = [
            client.begin("ModelInfer", request("rows", {"x": X}), timeout=5),
            client.begin("ModelInfer", sooner, timeout=20),
        ]
        scheduler.wait(2)
        for seconds in (5, 2):
            [_] = [j for j in scheduler.jobs if abs((j.request.deadline or 0) - began - seconds) < 0.5]
        for job in scheduler.jobs:
            finish(running, job, 1)
        for call in calls:
            call.result()


def test_a_deadline_that_passed(running: Running, client: Client) -> None:
    with held(running) as scheduler:
        sent = request("rows", {"x": X})
        sent.parameters["timeout"].int64_param = 1
        call = client.begin("ModelInfer", sent)
        scheduler.wait(1)
        job = scheduler.jobs[0]
        assert job.is_late(time.monotonic())
        running.loop.call_soon_threadsafe(lambda: job.fail(job.too_late()))
        code, details = refusal(call)
        assert code == "DEADLINE_EXCEEDED"
        assert "E50007" in details


def test_a_client_that_is_gone_cancels_its_job(running: Running, client: Client) -> None:
    with held(running) as scheduler:
        cancelled = client.begin("ModelInfer", request("rows", {"x": X}))
        expired = client.begin("ModelInfer", request("rows", {"x": X}), timeout=0.3)
        scheduler.wait(2)
        cancelled.cancel()
        assert refusal(expired)[0] == "DEADLINE_EXCEEDED"
        until(lambda: scheduler.pending == 0)


def test_trace_and_key_reach_the_request(running: Running, client: Client) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with held(running) as scheduler:
        metadata = [("traceparent", trace), ("x-ascend-key", "user")]
        call = client.begin("ModelInfer", request("rows", {"x": X}), metadata=metadata)
        scheduler.wait(1)
        sent = scheduler.jobs[0].request
        assert (sent.traceparent, sent.key) == (trace, "user")
        finish(running, scheduler.jobs[0], 1)
        call.result()


def test_a_failure_shows_no_internals(running: Running, client: Client) -> None:
    with held(running) as scheduler:
        call = client.begin("ModelInfer", request("rows", {"x": X}))
        scheduler.wait(1)
        failure = AscendError("E50019", "/secret/path", "because")
        running.loop.call_soon_threadsafe(scheduler.jobs[0].fail, failure)
        code, details = refusal(call)
        assert code == "INTERNAL"
        assert "secret" not in details
        assert "E50010" in details
