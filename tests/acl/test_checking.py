"""Checking mode (ASCEND_EP_ACL_CHECK=1) names mistakes, with the line of the call."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import HERE, Runner

MODEL = "m (float[2, 3] x) => (float[2, 3] y) { y = Add(x, x) }"
SAID = {
    1: "100 bytes allocated here were never freed",
    2: "100 bytes allocated here were never freed",
    3: "was freed at .*wrong.c:",
    4: "was freed before, by aclrtFree at .*wrong.c:",
    5: "src .* is memory of a device where that of the host is asked for",
    6: "src .* is memory of the host where memory of a device is asked for",
    7: "dst has 128 bytes left in its block of 128, not 200",
    8: "a stream has yet to write what is read here; synchronize it first",
    9: "a stream has yet to use this memory; synchronize it before memory is freed",
    10: "the stream belongs to another context than this thread's",
    11: r"output 0 \[y\] has a data buffer of 20 bytes; the model needs 24",
    12: "the input dataset has 0 buffers; the model has 1 inputs",
    13: r"input 0 \[x\] .* is memory of the host where memory of a device is asked for",
    14: "touches memory of a device .* copy it with aclrtMemcpy",
    15: "lies inside a block that starts at",
    16: "is memory of a device; aclrtFree frees it",
    17: "this thread has no context",
    18: "devPtr has 128 bytes left in its block of 128, not 4096",
    19: "stream .* was destroyed before",
    20: "input .* was destroyed before",
    21: "modelId 1 was unloaded before",
    22: "the stream has no thread for callbacks",
    23: "startEvent isn't reached yet",
    24: "the model has fixed sizes",
}


def line_of(number: int) -> int:
    for at, line in enumerate((HERE / "programs" / "wrong.c").read_text().splitlines(), 1):
        if f"/* WRONG {number} */" in line:
            return at
    raise AssertionError(number)


@pytest.fixture(scope="module")
def model(convert: Callable[..., Path]) -> Path:
    return convert(MODEL)


@pytest.mark.parametrize("number", SAID)
def test_each_mistake_is_named(run: Runner, model: Path, number: int) -> None:
    done = run("wrong.c", number, model, ASCEND_EP_ACL_CHECK="1")
    said = re.search(SAID[number], done.err)
    assert said, done.err
    line = next(text for text in done.err.splitlines() if said.group(0) in text)
    assert f"wrong.c:{line_of(number)}" in line
    assert done.status == (-11 if number == 14 else 0)


def test_without_it_nothing_is_said(run: Runner, model: Path) -> None:
    done = run("wrong.c", 7, model, ASCEND_EP_ACL_CHECK="0")
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("seed", [1, 2])
def test_drawn_mistakes_are_named_and_nothing_else(run: Runner, model: Path, seed: int) -> None:
    """Sizes, places, kinds of memory and the order are drawn; the source says what is wrong where."""
    done = run("mistakes.c", seed, model, ASCEND_EP_ACL_CHECK="1")
    assert done.status == 0, done.err
    source = (HERE / "programs" / "mistakes.c").read_text().splitlines()
    wanted = {
        at: text for at, line in enumerate(source, 1) for text in re.findall(r"/\* SAYS (.*?) \*/", line)
    }
    said = {
        int(at): text for at, text in re.findall(r"\[ACL CHECK\] \w+ at \S+mistakes\.c:(\d+): (.*)", done.err)
    }
    assert said.keys() == wanted.keys()
    for at, text in wanted.items():
        assert text in said[at], (at, said[at])
    assert done.err.count("[ACL CHECK]") == len(wanted)
