"""Long arrays of numbers in JSON: to the bit what the ordinary decoder makes of them, or left to it."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import msgspec
import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.serving._numbers import read
from ascend_ep.serving.http.json_numbers import LONG, CutJson
from ascend_ep.serving.http.json_tensors import array_from_json

EDGES = [
    "0",
    "-0",
    "-0.0",
    "0e5",
    "0.0e-9",
    "1e-5",
    "1E+3",
    "1e22",
    "1e23",
    "123456789012345678",
    "9007199254740993",
    "9007199254740993.0",
    "18446744073709551615",
    "18446744073709551616",
    "1844674407370955161.6",
    "5e-324",
    "2.4703282292062328e-324",
    "2.2250738585072011e-308",
    "1.7976931348623157e308",
    "0.1",
    "0.30000000000000004",
    "8.5",
    "0.000000000000000000000000012345",
    "1.00000000000000011102230246251565",
    "0.5000000000000000277555756156289135105907917022705078125",
]


def number(choice: random.Random) -> str:
    kind = choice.random()
    if kind < 0.3:
        return repr(choice.gauss(0, 1))
    if kind < 0.5:
        bits = struct.pack("Q", choice.getrandbits(64) & ~(1 << 62) | (choice.getrandbits(1) << 61))
        return repr(struct.unpack("d", bits)[0])
    if kind < 0.7:
        return str(choice.randint(-(10 ** choice.randint(0, 24)), 10 ** choice.randint(0, 24)))
    digits = "".join(choice.choices("0123456789", k=choice.randint(1, 22)))
    return choice.choice(EDGES) if kind < 0.8 else f"{choice.randint(-999, 999)}.{digits}"


@pytest.mark.parametrize("seed", range(60))
def test_values_have_the_bits_of_float(seed: int) -> None:
    choice = random.Random(seed)
    texts = [number(choice) for _ in range(400)]
    space = choice.choice(["", " ", "\n\t "])
    written = f"[{space}" + f"{space},{space}".join(texts) + f"{space}]"
    found = read(f"xx{written}, and more".encode(), 2)
    assert found is not None
    values, end, whole = found
    assert np.frombuffer(values).tobytes() == np.array([float(t) for t in texts]).tobytes()
    assert (end, whole) == (2 + len(written), not any(set("eE.") & set(t) for t in texts))


@pytest.mark.parametrize("text", ["[]", "[[1,2],[3,4.5]]", "[[],[]]", "[[[1]],[[2],[3]]]", " [1]", "[1 , 2]"])
def test_nested_arrays_in_a_row(text: str) -> None:
    found = read(text.encode(), 0)
    assert found is not None
    flat = np.array([float(t) for t in text.replace("[", " ").replace("]", " ").replace(",", " ").split()])
    assert found[0] == flat.tobytes()
    assert found[1] == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "1",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[01]",
        "[-]",
        "[+1]",
        "[.5]",
        "[1.]",
        "[1.e3]",
        "[1e]",
        "[1e+]",
        "[0x1]",
        "[NaN]",
        "[Infinity]",
        "[true]",
        "[null]",
        '["1"]',
        "[1,[2]]",
        "[[1],2]",
        "[[1],[[2]]]",
        "[[1]",
        "[1]]x",
        '{"a":1}',
        "[1e400]",
        "[-1e999999999999]",
        "[[[[[[[[[1]]]]]]]]]",
    ],
)
def test_what_is_no_array_of_numbers_is_left(text: str) -> None:
    found = read(text.encode(), 0)
    assert found is None or found[1] < len(text)


def test_every_end_of_a_text() -> None:
    """Nothing is read behind the end of the text: the numbers go on there."""
    written = b"[12345678, -1.25e-3, 0.33333333333333331, 4]"
    for size in range(len(written)):
        assert read(memoryview(written)[:size], 0) is None


def body(data: str, **more: Any) -> bytes:
    tensor = {"name": "x", "shape": [2], "datatype": "FP32"} | more
    return (json.dumps({"inputs": [tensor]})[:-3] + f', "data": {data}}}]}}').encode()


def padded(values: list[Any]) -> str:
    return json.dumps(values) + " " * LONG


@pytest.mark.parametrize(
    "datatype", ["FP16", "FP32", "FP64", "BF16", "INT8", "UINT8", "INT64", "UINT64", "BOOL", "BYTES", "none"]
)
@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        [0.1, -2.5],
        [1.0, 2],
        [-1, 300],
        [2**53 + 1, 2**63],
        [1e39, 0.0],
        [65519.9, 1e-08],
        [],
        [1, 2, 3],
        [True, False],
        ["a", "b"],
        [[1], [2]],
        [None, 1],
    ],
)
def test_tensors_are_as_without_cuts(datatype: str, values: list[Any]) -> None:
    data = json.dumps(values)
    cut = CutJson(memoryview(body(data + " " * LONG)))
    raw = msgspec.json.decode(cut.text, type=dict[str, list[dict[str, msgspec.Raw]]])["inputs"][0]["data"]

    def outcome(make: Any) -> Any:
        try:
            array = make()
        except AscendError as error:
            return str(error)
        return array.dtype, array.shape, array.tobytes() if array.dtype != object else array.tolist()

    usual = outcome(lambda: array_from_json("x", datatype, [2], msgspec.Raw(data.encode())))
    assert outcome(lambda: cut.array("x", datatype, [2], raw)) == usual


@pytest.mark.parametrize("text", ['{"a":"\\"data\\":[1,2]"}', '{"d\\u0061ta":[0],"data":[5,6]}'])
def test_texts_with_backslashes_are_not_cut(text: str) -> None:
    long = text.encode() + b" " * LONG
    assert bytes(CutJson(memoryview(long)).text) == long


def test_what_is_undone_was_never_cut() -> None:
    text = b'{"data":[1,2]}' + b" " * LONG
    cut = CutJson(memoryview(text))
    assert bytes(cut.text) != text
    assert cut.undo()
    assert bytes(cut.text) == text
    assert not cut.undo()


def test_a_text_of_nothing_but_arrays_is_not_cut() -> None:
    text = b'{"data":[1]}' * 100_000
    cut = CutJson(memoryview(text))
    assert bytes(cut.text) == text
    assert not cut.undo()


def test_all_arrays_are_cut_and_nothing_else() -> None:
    text = b'{"inputs":[{"data" : [1,2],"name":"data"},{"data":["a"]},{"data":\n[[3]]}]}' + b" " * LONG
    marked = b'{"inputs":[{"data" : [0],"name":"data"},{"data":["a"]},{"data":\n[1]}]}' + b" " * LONG
    assert bytes(CutJson(memoryview(text)).text) == marked


@pytest.mark.parametrize("shape", [[1] * 9, [1] * 100, [-1, -1], [2**50, 0]], ids=["9", "100", "-1", "2^50"])
def test_shapes_are_refused_as_without_cuts(shape: list[int]) -> None:
    cut = CutJson(memoryview(b'{"data":[1]}' + b" " * LONG))
    with pytest.raises(AscendError) as refused:
        cut.array("x", "FP32", shape, msgspec.Raw(b"[0]"))
    assert refused.value.code == "E50004"
