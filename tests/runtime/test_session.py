"""InferenceSession against onnxruntime's behaviour: results, interface, and what it says to wrong feeds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
import pytest
from small_models import assert_projected, mixed, model, projection, rows

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError


@pytest.mark.parametrize("n", [0, 1, 5, 64])
def test_any_size_of_a_free_dimension(session: ascend_ep.InferenceSession, n: int) -> None:
    x = rows(n)
    (y,) = session.run(None, {"x": x})
    assert y.shape == (8, n)
    assert_projected(y, x)


def test_more_shapes_than_are_kept(session: ascend_ep.InferenceSession) -> None:
    for n in [*range(1, 40), 3, 2, 1]:
        assert_projected(session.run(["y"], {"x": rows(n)})[0], rows(n))


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda x: x.astype(">f4"),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
        lambda x: x[::-1][::-1],
        ascend_ep.OrtValue.ortvalue_from_numpy,
        onnxruntime.OrtValue.ortvalue_from_numpy,
    ],
    ids=["fortran", "big-endian", "strided", "unaligned", "reversed twice", "our OrtValue", "their OrtValue"],
)
def test_inputs_in_other_forms(session: ascend_ep.InferenceSession, change: object) -> None:
    x = rows(6)
    expected = session.run(None, {"x": x})[0]
    (y,) = session.run(None, {"x": change(x)})  # type: ignore[operator]
    np.testing.assert_array_equal(y, expected)


def test_results_are_new_arrays(session: ascend_ep.InferenceSession) -> None:
    first = session.run(None, {"x": rows(3)})[0]
    kept = first.copy()
    session.run(None, {"x": rows(3, seed=1)})
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize(
    ("feed", "code", "words"),
    [
        ({}, "E40001", "[x] is missing"),
        (None, "E40001", "NoneType"),
        ({"x": np.broadcast_to(np.float32(0), (2**45, 16))}, "E40008", "can't be copied"),
        ({"x": rows(2), "z": rows(2)}, "E40001", "[z] is no input"),
        ({"x": rows(2).astype(np.float64)}, "E40001", "float64"),
        ({"x": rows(2)[:, :3]}, "E40007", "[2, 3]"),
        ({"x": rows(2)[None]}, "E40007", "['N', 16]"),
        ({"x": np.float32(1)}, "E40007", "[]"),
        ({"x": "text"}, "E40001", "tensor(float)"),
    ],
)
def test_wrong_feeds(
    session: ascend_ep.InferenceSession, feed: dict[str, object], code: str, words: str
) -> None:
    session.run(None, {"x": rows(2)})  # the next run with these names and shapes takes the short way
    with pytest.raises(AscendError) as caught:
        session.run(None, feed)
    assert caught.value.code == code
    assert words in caught.value.text
    assert caught.value.where
    assert caught.value.fix


def test_unknown_output(session: ascend_ep.InferenceSession) -> None:
    with pytest.raises(AscendError, match=r"\[q\] is no output"):
        session.run(["y", "q"], {"x": rows(2)})


def test_describes_itself_as_onnxruntime_does(session: ascend_ep.InferenceSession) -> None:
    theirs = onnxruntime.InferenceSession(
        projection().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for ours, reference in (
        (session.get_inputs(), theirs.get_inputs()),
        (session.get_outputs(), theirs.get_outputs()),
    ):
        assert [(a.name, a.type, a.shape) for a in ours] == [(a.name, a.type, a.shape) for a in reference]
    assert session.get_providers() == ["AscendEP"]
    assert session.get_overridable_initializers() == []
    meta, reference_meta = session.get_modelmeta(), theirs.get_modelmeta()
    for name in ("graph_name", "producer_name", "domain", "version", "custom_metadata_map", "description"):
        assert getattr(meta, name) == getattr(reference_meta, name), name


def test_names_and_dims_stay_as_declared() -> None:
    from onnx import helper

    source = model(
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", 1, ["batch size", None, "past + 1"])],
        [("y", 1, ["batch size", None, "past + 1"])],
    )
    theirs = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = ascend_ep.InferenceSession(convert(source).to_bytes())
    assert ours.get_inputs()[0].shape == theirs.get_inputs()[0].shape
    assert ours.get_outputs()[0].shape == theirs.get_outputs()[0].shape


def test_threads_share_a_session(session: ascend_ep.InferenceSession) -> None:
    def work(seed: int) -> None:
        for i in range(150):
            n = 1 + (seed * 7 + i) % 21
            assert_projected(session.run(None, {"x": rows(n, seed)})[0], rows(n, seed))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_run_async(session: ascend_ep.InferenceSession) -> None:
    done, seen = threading.Event(), []

    def callback(results: list[np.ndarray], data: object, error: str) -> None:
        seen.append((results, data, error))
        done.set()

    session.run_async(None, {"x": rows(2)}, callback, "mine")
    assert done.wait(20)
    results, data, error = seen[0]
    assert (data, error) == ("mine", "")
    assert_projected(results[0], rows(2))
    done.clear()
    session.run_async(None, {}, callback, None)
    assert done.wait(20)
    assert "missing" in seen[1][2]


def test_host_partitions(mixed_bundle: bytes) -> None:
    reference = onnxruntime.InferenceSession(mixed().SerializeToString(), providers=["CPUExecutionProvider"])
    made = ascend_ep.InferenceSession(mixed_bundle)
    assert made.get_providers() == ["AscendEP", "CPUExecutionProvider"]
    for n in (1, 4):
        x = rows(n)
        for ours, theirs in zip(made.run(None, {"x": x}), reference.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    x = rows(2)
    copied = made.run(["x"], {"x": x})[0]
    assert not np.shares_memory(copied, x)


def test_terminated_run(mixed_bundle: bytes) -> None:
    options = ascend_ep.RunOptions()
    made = ascend_ep.InferenceSession(mixed_bundle)
    made.run(None, {"x": rows(1)}, options)
    options.terminate = True
    with pytest.raises(AscendError, match=r"(?s)terminated.*terminate to False"):
        made.run(None, {"x": rows(1)}, options)
