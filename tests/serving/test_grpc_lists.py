"""Tensors of gRPC as lists of elements: their bits, and how many there may be."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.serving.grpc import element_lists
from ascend_ep.serving.grpc.element_lists import LISTS, array_from_list, fits_list, put_list
from ascend_ep.serving.protocol.messages import ModelInferRequest
from ascend_ep.serving.tensors import MAX_TEXTS, array_from_raw


def tensor(datatype: str, shape: tuple[int, ...]) -> Any:
    return ModelInferRequest().inputs.add(name="x", datatype=datatype, shape=shape)


@pytest.mark.parametrize("shape", [(0, 3), (1,), (7, 19)], ids=str)
@pytest.mark.parametrize(("datatype", "dtype"), [("FP32", "f4"), ("FP64", "f8"), ("BOOL", "?")])
def test_packed_lists_keep_bits(datatype: str, dtype: str, shape: tuple[int, ...]) -> None:
    """As protobuf's own lists do, NaNs with payloads aside."""
    array = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    if array.size > 4 and dtype != "?":
        array.flat[:4] = [np.nan, -0.0, np.inf, np.finfo(dtype).tiny / 4]
    sent = tensor(datatype, shape)
    put_list(sent, array[::-1], datatype)
    by_protobuf = tensor(datatype, shape)
    getattr(by_protobuf.contents, LISTS[datatype]).extend(array[::-1].ravel().tolist())
    assert sent.SerializeToString() == by_protobuf.SerializeToString() or not array.size
    made = array_from_list(sent)
    assert made.flags.aligned
    assert made.shape == shape
    np.testing.assert_array_equal(made.view(np.uint8), np.ascontiguousarray(array[::-1]).view(np.uint8))


def test_unknown_fields_beside_a_list_are_passed_over() -> None:
    sent = tensor("FP32", (3,))
    sent.contents.MergeFromString(b"\xfa\x01\x03abc")  # of number 31
    sent.contents.fp32_contents.extend([1, 2, 3])
    np.testing.assert_array_equal(array_from_list(sent), np.array([1, 2, 3], np.float32))


def test_a_long_list_of_floats_is_no_work() -> None:
    """An element at a time it took seconds, in which nobody else had an answer."""
    array = np.random.default_rng(0).random(4_000_000, np.float32)
    began = time.process_time()
    sent = tensor("FP32", array.shape)
    put_list(sent, array, "FP32")
    made = array_from_list(sent)
    assert time.process_time() - began < 0.2
    np.testing.assert_array_equal(made, array)


def test_what_is_made_one_by_one_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_lists, "_MOST_OTHERS", 5)
    array = np.arange(6)
    assert not fits_list(array, "INT64")
    assert fits_list(array[:5], "INT64")
    assert fits_list(array.astype(np.float32), "FP32")
    sent = tensor("INT64", (6,))
    sent.contents.int64_contents.extend(range(6))
    with pytest.raises(AscendError, match="raw_input_contents"):
        array_from_list(sent)


def test_texts_have_a_limit() -> None:
    count = MAX_TEXTS + 1
    with pytest.raises(AscendError, match="are the most"):
        array_from_raw("x", "BYTES", [count], bytes(4 * count))
    assert array_from_raw("x", "BYTES", [2], bytes(8)).tolist() == ["", ""]
