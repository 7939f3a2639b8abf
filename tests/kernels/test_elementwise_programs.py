"""Programs of the elementwise kernel: how they are built and encoded, and those made to break it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isa_levels import each_isa
from kernel_call import DTYPES, KernelError, call
from tile_run import encoded_program, run

from ascend_ep.plan.tile_program import ProgramError, TileProgram, Value
from ascend_ep.plan.tile_value import OPCODES

RNG = np.random.default_rng(11)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-38, 3.4e38, -3.4e38], np.float32)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# ---- programs -------------------------------------------------------------------------------------


def test_constants_positions_and_several_outputs() -> None:
    p: TileProgram[int] = TileProgram()
    place = p.position()
    p.output(place * 3 + 7, 7)
    p.output(p.cast(place, 1) * 0.5, 1)
    p.output(p.const(1, 9), 9)
    encoded = encoded_program(p)
    shapes = [(np.int64, (40, 50)), (np.float32, (40, 50)), (np.bool_, (40, 50))]
    whole, half, yes = call("elementwise", [], shapes, encoded.ints, encoded.floats)
    want = np.arange(2000).reshape(40, 50)
    np.testing.assert_array_equal(whole, want * 3 + 7)
    np.testing.assert_array_equal(half, want.astype(np.float32) / 2)
    assert yes.all()


def test_equal_values_are_computed_once_and_unused_ones_never() -> None:
    p: TileProgram[str] = TileProgram()
    x = p.input("x", 1)
    p.call("exp", p.input("unused", 1))
    p.output(p.call("exp", x) + p.call("exp", x), 1)
    encoded = encoded_program(p)
    assert encoded.inputs == ("x",)
    assert encoded.ints[1] == 4  # load, exp, add, store


def test_a_gated_product_has_the_bits_of_its_two_steps() -> None:
    x = floats(4000) * 30
    p: TileProgram[int] = TileProgram()
    v = p.input(0, 1)
    s = p.call("sigmoid", v)
    p.output(s * v, 1)
    p.output(s, 1)  # a second use: no gate
    encoded = encoded_program(p)
    product, _ = call("elementwise", [x], [(np.float32, x.shape)] * 2, encoded.ints, encoded.floats)
    assert OPCODES["gate"] not in encoded.ints[2::5]
    np.testing.assert_array_equal(run(lambda p, v: v * p.call("sigmoid", v), x), product)


@each_isa
def test_a_folded_gelu_has_the_bits_of_its_steps(isa: int) -> None:
    x = np.concatenate([floats(4000) * 3, SPECIAL])
    p: TileProgram[int] = TileProgram()
    v = p.input(0, 1)
    scaled = v * 0.7071067811865476
    whole = (v * 0.5) * (p.call("erf", scaled) + 1.0)
    for each in (whole, scaled):  # a second use: nothing is folded
        p.output(each, 1)
    encoded = encoded_program(p)
    steps, _ = call("elementwise", [x], [(np.float32, x.shape)] * 2, encoded.ints, encoded.floats, isa)
    folded = run(lambda p, v: (p.call("erf", v * 0.7071067811865476) + 1.0) * (v * 0.5), x, isa=isa)
    np.testing.assert_array_equal(folded, steps)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@each_isa
def test_a_folded_quantisation_has_the_bits_of_its_steps(dtype: type, isa: int) -> None:
    """Scales and zero points as constants and as inputs, none, and such that only a division will do."""
    limits = np.iinfo(dtype)
    ties = (np.arange(-300, 300) + 0.5) * np.float32(0.0437)
    scales = [0.0437, 1.0, 3e-39, 1e-30, 2e4, 1e30, -0.5, 0.0, np.inf, np.nan]
    for scale in map(np.float32, scales):
        x = np.concatenate([ties, floats(3000) * 100 * scale, SPECIAL]).astype(np.float32)
        for zero in (None, 0.0, 7.0, float(limits.min), float(limits.max), -0.25, 3e9, np.nan):
            for operands in ((), ("scale",), ("scale", "zero")):
                steps, folded = (
                    quantised(x, scale, zero, dtype, operands, isa, kept) for kept in (True, False)
                )
                np.testing.assert_array_equal(folded, steps, str((scale, zero, operands)))


def quantised(
    x: np.ndarray,
    scale: np.float32,
    zero: float | None,
    dtype: type,
    operands: tuple[str, ...],
    isa: int,
    kept: bool,
) -> np.ndarray:
    """saturate(round(x / scale) + zero), those of `operands` as inputs. kept: the rounded quotient is an
    output, too, and nothing is folded."""
    p: TileProgram[int] = TileProgram()
    given = [x]

    def number(name: str, value: float) -> Value:
        if name not in operands:
            return p.const(float(value), 1)
        given.append(np.float32(value))
        return p.input(len(given) - 1, 1)

    value = rounded = p.call("round", p.input(0, 1) / number("scale", scale))
    if zero is not None:
        value = number("zero", zero) + value
    bounds = np.iinfo(dtype)
    value = p.call("min", p.call("max", value, float(bounds.min)), float(bounds.max))
    kinds = [(dtype, x.shape)] + [(np.float32, x.shape)] * kept
    p.output(p.cast(value, DTYPES[np.dtype(dtype)]), DTYPES[np.dtype(dtype)])
    if kept:
        p.output(rounded, 1)
    encoded = encoded_program(p)
    arrays = [np.asarray(given[i]) for i in encoded.inputs]
    return call("elementwise", arrays, kinds, encoded.ints, encoded.floats, isa)[0]


def test_a_fold_leaves_registers_that_are_read_later() -> None:
    """x is read behind its quantisation and its GELU, and both in one chain."""

    def build(p: TileProgram[int], v: Value) -> Value:
        gelu = (v * 0.5) * (p.call("erf", v * 0.7071067811865476) + 1.0)
        rounded = p.call("round", gelu / p.const(0.03, 1))
        byte = p.cast(p.call("min", p.call("max", rounded, 0.0), 255.0), 2)
        return p.cast(byte, 1) * 0.03 - gelu + v

    x = floats(3000) * 2
    error = run(build, x) - x
    assert np.abs(np.where(x > 0, error, 0)).max() <= 0.0151


def test_casts_that_change_nothing_take_no_step() -> None:
    p: TileProgram[str] = TileProgram()
    x = p.call("exp", p.input("x", 1))
    zero = p.cast(p.const(3, 2), 1)
    p.output(p.cast(x, 1) + zero, 1)
    encoded = encoded_program(p)
    assert OPCODES["cast"] not in encoded.ints[2::5]
    assert encoded.ints[1] == 5  # a constant, load, exp, add, store
    np.testing.assert_array_equal(encoded.floats, [3.0])


def test_a_number_that_float32_lacks_is_cast_as_the_kernel_does() -> None:
    near = run(lambda p, v: v + p.cast(p.const((1 << 24) + 1, 6), 1), np.zeros(20, np.float32))
    np.testing.assert_array_equal(near, np.float32(1 << 24))


def test_long_programs_reuse_registers() -> None:
    def build(p: TileProgram[int], v: Value) -> Value:
        for i in range(200):
            v = v * 0.5 + float(i % 3)
        return v

    x = want = floats(2000)
    for i in range(200):
        want = want * np.float32(0.5) + np.float32(i % 3)
    np.testing.assert_array_equal(run(build, x), want)


def test_limits_are_told() -> None:
    p: TileProgram[int] = TileProgram()
    total = p.input(0, 1)
    for i in range(1, 20):
        total = total + p.input(i, 1)
    p.output(total, 1)
    with pytest.raises(ProgramError, match="16 inputs"):
        encoded_program(p)


# ---- hostile programs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ints", "message"),
    [
        ([], "no program"),
        ([0, 1, 1, 0, 0, 0, 0], "1 to 64 registers"),
        ([1, 2, 1, 0, 0, 0, 0], "length"),
        ([1, 1, 1, 0, 0, 0, 0], "never stored"),
        ([1, 2, 1, 0, 9, 0, 0, 4, 0, 0, 0, 0], "input that is not there"),
        ([1, 2, 1, 5, 0, 0, 0, 4, 0, 0, 0, 0], "register that is not there"),
        ([2, 2, 1, 0, 0, 0, 0, 4, 0, 1, 0, 0], "nothing wrote"),
        ([1, 3, 1, 0, 0, 0, 0, 99, 0, 0, 0, 0, 4, 0, 0, 0, 0], "unknown opcode"),
        ([1, 3, 1, 0, 0, 0, 0, 25, 0, 0, 0, 0, 4, 0, 0, 0, 0], "class lacks"),
        ([1, 3, 1, 0, 0, 0, 0, 30, 0, 0, 0, 0, 4, 0, 0, 0, 0], "changes the width"),
        ([1, 2, 2, 0, 7, 1, 0, 4, 0, 0, 0, 0], "no such constant"),
        ([1, 2, 2, 0, 0, 7, 0, 4, 0, 0, 0, 0], "another class"),
        ([1, 3, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0], "second time"),
        ([1, 3, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0], "after a store"),
    ],
)  # fmt: skip
def test_bad_programs_are_refused(ints: list[int], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        call("elementwise", [floats(4)], [(np.float32, (4,))], ints, [1.0])


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    program = [1, 2, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0]
    cases = [
        ((3,), (4,), "axis 0 of input 0 has size 3, which does not broadcast to 4"),
        ((2, 4), (4,), "an input has more axes than the output"),
        ((4,), (1,), "axis 0 of input 0 has size 4, which does not broadcast to 1"),
    ]
    for inputs, shape, text in cases:
        with pytest.raises(KernelError, match=text):
            call("elementwise", [floats(*inputs)], [(np.float32, shape)], program)


small = st.one_of(st.integers(-2, 80), st.integers(-(2**63), 2**63 - 1))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_random_programs_never_crash(data: st.DataObject) -> None:
    kinds = [np.float32, np.int32, np.int64, np.bool_, np.uint8, np.float64, np.float16]
    draw = data.draw
    inputs = [
        RNG.integers(0, 2, 37).astype(draw(st.sampled_from(kinds))) for _ in range(draw(st.integers(1, 3)))
    ]
    outputs = [(draw(st.sampled_from(kinds)), (37,)) for _ in range(draw(st.integers(1, 2)))]
    registers = draw(st.one_of(st.integers(1, 6), small))
    opcode = st.one_of(st.sampled_from(sorted(OPCODES.values())), small)
    register = st.one_of(st.integers(0, 5), small)
    steps = draw(st.lists(st.tuples(opcode, register, register, register, register), max_size=12))
    for k, _ in enumerate(outputs):
        steps.append((OPCODES["store"], k, draw(register), 0, 0))
    ints = [registers, len(steps), *(v for step in steps for v in step)]
    with contextlib.suppress(KernelError):
        call("elementwise", inputs, outputs, ints, [0.5, 2.0])
