"""Expressions of elementwise instructions: built, put together, written as text, and encoded in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

import ascend_ep
from ascend_ep.opdef.dims import symbol
from ascend_ep.opdef.dtypes import BOOL, FLOAT16, FLOAT32, INT8, INT32, INT64
from ascend_ep.opdef.expression import Apply, Cast, Constant, Number
from ascend_ep.plan.tile_encoding import encode, schedule
from ascend_ep.plan.tile_expression import (
    expressions_text,
    load,
    places,
    reachable,
    replaced,
    size_symbols,
    types_of,
)
from ascend_ep.plan.tile_program import Computed, TileProgram, casting


def silu() -> Computed[str]:
    p: TileProgram[str] = TileProgram()
    p.input("unused", FLOAT32)
    x = p.input("x", FLOAT16)
    p.output(x * p.call("sigmoid", x), FLOAT16)
    return p.finish()


def test_inputs_are_those_that_are_read_in_the_order_of_their_loads() -> None:
    p: TileProgram[str] = TileProgram()
    a, b, c = (p.input(name, FLOAT32) for name in "abc")
    p.output(c - a, FLOAT32)
    p.call("exp", b)
    assert p.finish() == Computed(("c", "a"), (FLOAT32, FLOAT32), (Apply("sub", (load(0), load(1))),))
    assert silu().inputs == ("x",)


def test_a_gate_is_a_step_of_the_kernel_only() -> None:
    computed = silu()
    assert expressions_text(computed.expressions) == "y0 = x0*sigmoid(x0)"
    steps = schedule(computed.expressions, computed.types)
    assert [n.op for n in steps.order if isinstance(n, Apply)] == ["gate"]


def test_what_a_program_includes_is_what_was_finished() -> None:
    p: TileProgram[int] = TileProgram()
    whole, small = p.input(0, INT64), p.input(1, INT8)
    p.output(p.call("lt", whole * p.const(symbol("N"), INT64), p.position()), BOOL)
    p.output(small + 1, INT8)  # which wraps
    made = p.finish()
    again: TileProgram[int] = TileProgram()
    given = [again.input(i, kind) for i, kind in zip(made.inputs, made.types, strict=True)]
    for value, kind in zip(again.include(made.expressions, given), (BOOL, INT8), strict=True):
        again.output(value, kind)
    assert again.finish() == made
    assert size_symbols(made.expressions) == {"N"}
    ints, floats = encode(schedule(made.expressions, made.types))
    assert symbol("N") in ints
    assert not floats


def test_text_names_what_is_shared() -> None:
    p: TileProgram[int] = TileProgram()
    x = p.input(0, FLOAT32)
    for _ in range(60):  # 2^60 nodes as a tree
        x = x * x
    p.output(x, FLOAT32)
    text = expressions_text(p.finish().expressions)
    assert text.startswith("t0 = x0*x0; t1 = t0*t0; ")
    assert text.endswith("; y0 = t58*t58")


def test_types_follow_from_those_of_the_inputs() -> None:
    (narrowed,) = casting("x", INT64, INT8).expressions
    order = reachable([Apply("eq", (narrowed, Number(3, INT8)))])
    types = types_of(order, [INT64])
    assert [types[id(n)] for n in order] == [INT8, INT64, INT8, BOOL]
    assert types_of([load(0)], [FLOAT16])[id(load(0))] == FLOAT32


def test_inputs_are_replaced_by_expressions() -> None:
    root = Apply("add", (load(0), Cast(FLOAT16, load(1))))
    (made,) = replaced([root], {1: Constant(2.0)})
    assert made == Apply("add", (load(0), Cast(FLOAT16, Constant(2.0))))
    assert replaced([root], {})[0] is root
    assert places([made]) == [0]


@pytest.mark.parametrize("value", [(float("nan"), FLOAT32), (0.0, FLOAT32), (2**53, INT64), (1, INT32)])
def test_numbers_of_a_type_are_told_apart(value: tuple[float, int]) -> None:
    others = [Number(-0.0, FLOAT32), Number(2**53 + 1, INT64), Number(1, INT64), Constant(1.0)]
    assert Number(*value) == Number(*value)
    assert Number(*value) not in others


def test_programs_are_encoded_in_one_place_and_decoded_nowhere() -> None:
    package = Path(ascend_ep.__file__).parent
    found = {
        f.name for f in package.rglob("*.py") if "STEP_INTS" in f.read_text() or "ASC_EW_" in f.read_text()
    }
    assert found == {
        "tile_encoding.py",
        "tile_value.py",
        "work.py",
    }  # work.py counts the steps of a recorded call
