"""JSON tensors whatever their length: cut into blocks they are what they are whole."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.serving.http import json_tensors

NUMBERS = st.one_of(
    st.integers(-(2**31), 2**31 - 1), st.floats(width=32, allow_nan=False, allow_infinity=False)
)


@pytest.fixture(autouse=True, scope="module")
def _short_blocks() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setattr(json_tensors, "_BLOCK", 7)
    patch.setattr(json_tensors, "_MANY", 3)
    yield
    patch.undo()


def decode(text: bytes, shape: list[int], datatype: str = "FP32") -> np.ndarray:
    return json_tensors.array_from_json("x", datatype, shape, msgspec.Raw(text))


@given(st.lists(NUMBERS), st.sampled_from(["", " ", "\n\t "]))
@settings(deadline=None)
def test_blocks(values: list[float], space: str) -> None:
    text = (space + "[" + f"{space},{space}".join(map(json.dumps, values)) + space + "]" + space).encode()
    found = decode(text, [len(values)])
    np.testing.assert_array_equal(found, np.array(values, np.float32))
    written = json_tensors.json_from_array(found, "FP32", "x")
    assert json.loads(msgspec.json.encode(written)) == found.tolist()


@given(st.text('[]0123456789.,-eE tfn"{}:', max_size=40))
@settings(deadline=None, max_examples=400)
def test_what_is_no_array_is_refused_as_a_whole_one_is(text: str) -> None:
    """Beside Python's own parser, whatever the blocks."""
    try:
        expected = json.loads(text)
        good = isinstance(expected, list) and all(type(e) in (int, float) for e in expected)
    except ValueError:
        good = False
    shape = [len(expected)] if good else [0]
    try:
        found = decode(text.encode(), shape, "FP64")
    except AscendError:
        assert not good or any(abs(e) > 1.8e308 for e in expected)
    else:
        assert good or text.replace("[", "").replace("]", "").strip(" ,") == ""
        if good:
            assert found.tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        b"[1.5,,2.25,3.125]",
        b"[,1.5,2.25,3.125]",
        b"[1.5,2.25,3.125,]",
        b"[1.5,2.25 3.125,4]",
        b"[1.5,2.25,3.125",
        b"[1.5,2.25,[3.125],4]",
        b"[1.5,2.25,3.125]]",
        b"[1.5,2.25,3.125][4]",
        b"[1.5,2.25],[3.125]",
        b"[1.5, , 2.25]",
        b"[1.5,2.25,3.125,          ]",
    ],
)
def test_bad_arrays(text: bytes) -> None:
    for count in range(6):
        with pytest.raises(AscendError):
            decode(text, [count])


def test_texts_have_a_limit() -> None:
    with pytest.raises(AscendError, match="elements of BYTES; 262144 are the most"):
        decode(b"[]", [2**18 + 1], "BYTES")
