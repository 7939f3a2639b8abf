"""The elementwise kernel: semantics of its primitives and types, broadcasting and tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isa_levels import each_isa
from kernel_call import DTYPES
from tile_run import Build, encoded_program, run

from ascend_ep.plan.tile_program import TileProgram, Value
from ascend_ep.runtime._rt import ffi, lib

RNG = np.random.default_rng(11)


def primitive(op: str) -> Build:
    return lambda p, *values: p.call(op, *values)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# ---- primitives -----------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, np.inf, -np.inf, np.nan, 1e30, -1e-40]
FLOAT_BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum,
    "max": np.maximum, "mod": np.mod, "fmod": np.fmod, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
FLOAT_UNARY: dict[str, Callable[..., np.ndarray]] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
    "round": np.rint, "trunc": np.trunc, "sqrt": np.sqrt,
}  # fmt: skip


@each_isa
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", FLOAT_BINARY)
def test_float_pairs_are_ieee(op: str, dtype: Any, isa: int) -> None:
    x, y = (v.reshape(-1).astype(dtype) for v in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        want = FLOAT_BINARY[op](x, y)
    got = run(primitive(op), x, y, out=want.dtype, isa=isa)
    if op == "mod":  # numpy gives fmod's sign to zeros and NaN to infinite divisors of the other sign
        keep = np.isfinite(y) & np.isfinite(x)
        got, want = got[keep], want[keep]
    np.testing.assert_array_equal(got, want)


@each_isa
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", FLOAT_UNARY)
def test_float_functions_are_exact(op: str, dtype: Any, isa: int) -> None:
    x = np.concatenate([SPECIAL, RNG.standard_normal(200) * 40]).astype(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(primitive(op), x, isa=isa), FLOAT_UNARY[op](x))


def test_float64_functions_are_the_librarys() -> None:
    x = RNG.uniform(-0.9, 0.9, 300)
    for op in ("exp", "expm1", "log1p", "sin", "tanh", "asin", "atanh", "sinh", "cos", "tan", "acos", "atan"):
        name = {"asin": "arcsin", "atanh": "arctanh", "acos": "arccos", "atan": "arctan"}.get(op, op)
        np.testing.assert_allclose(run(primitive(op), x), getattr(np, name)(x), rtol=1e-15)
    np.testing.assert_allclose(run(primitive("softplus"), x), np.logaddexp(0, x), rtol=1e-15)
    np.testing.assert_allclose(run(primitive("sigmoid"), x), 1 / (1 + np.exp(-x)), rtol=1e-15)


def test_a_maximum_of_nan_is_nan() -> None:
    nan, one = np.float32([np.nan] * 16), np.ones(16, np.float32)
    for op in ("min", "max"):
        assert np.isnan(run(primitive(op), nan, one)).all()
        assert np.isnan(run(primitive(op), one, nan)).all()


INT_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "min": min, "max": max,
    "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
    "div": lambda x, y: 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
    "mod": lambda x, y: 0 if y == 0 else x % y,
    "fmod": lambda x, y: 0 if y == 0 else abs(x) % abs(y) * (1 if x >= 0 else -1),
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
}  # fmt: skip


def wrapped(value: int, dtype: Any) -> int:
    bits = np.iinfo(dtype).bits
    value &= 2**bits - 1
    return value - 2**bits if np.iinfo(dtype).min < 0 and value >= 2 ** (bits - 1) else value


@each_isa
@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
@pytest.mark.parametrize("op", INT_BINARY)
def test_integers_wrap_and_never_trap(op: str, dtype: Any, isa: int) -> None:
    info = np.iinfo(dtype)
    some = sorted(
        {info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max} | ({-1, -7} if info.min else set())
    )
    x, y = (v.reshape(-1) for v in np.meshgrid(np.array(some, dtype), np.array(some, dtype)))
    boolean = op in ("lt", "le", "gt", "ge", "eq", "ne")
    got = run(primitive(op), x, y, out=np.bool_ if boolean else dtype, isa=isa)
    want = [INT_BINARY[op](int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert got.tolist() == (want if boolean else [wrapped(w, dtype) for w in want])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint32])
def test_shifts_powers_and_signs(dtype: Any) -> None:
    bits = np.iinfo(dtype).bits
    x = np.array([1, 3, 5, 100, np.iinfo(dtype).max] * 4, dtype)
    n = np.array([0, 1, bits - 1, bits, 60] * 4, dtype)
    assert run(primitive("shl"), x, n).tolist() == [
        wrapped(int(a) << int(b), dtype) for a, b in zip(x, n, strict=True)
    ]
    assert run(primitive("shr"), x, n).tolist() == [int(a) >> int(b) for a, b in zip(x, n, strict=True)]
    assert run(primitive("pow"), x, n).tolist() == [
        wrapped(int(a) ** int(b), dtype) for a, b in zip(x, n, strict=True)
    ]
    y = np.array([np.iinfo(dtype).min, 0, 5], dtype)
    assert run(primitive("neg"), y).tolist() == [wrapped(-int(v), dtype) for v in y]
    assert run(primitive("abs"), y).tolist() == [wrapped(abs(int(v)), dtype) for v in y]
    assert run(primitive("sign"), y).tolist() == [(v > 0) - (v < 0) for v in y.tolist()]
    assert run(primitive("not"), y).tolist() == [wrapped(~int(v), dtype) for v in y]


def test_negative_powers_of_integers() -> None:
    x, y = np.array([1, -1, -1, 2, 0]), np.array([-3, -3, -2, -1, -1])
    assert run(primitive("pow"), x, y).tolist() == [1, -1, 1, 0, 0]


# ---- types ----------------------------------------------------------------------------------------

KINDS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16,
         np.int32, np.uint32, np.int64, np.uint64, np.bool_]  # fmt: skip


@each_isa
@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_casts_of_values_in_range(source: Any, target: Any, isa: int) -> None:
    x = RNG.integers(0, 100, 50).astype(source)
    got = run(lambda p, v: p.cast(v, DTYPES[np.dtype(target)]), x, out=target, isa=isa)
    np.testing.assert_array_equal(got, x.astype(target))


@each_isa
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_casts_of_floats_out_of_range(dtype: Any, target: Any, isa: int) -> None:
    """The least int32 or int64, wrapped to the target: x86's conversion, and onnxruntime's on x86."""
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], dtype)
    bits = 64 if np.iinfo(target).bits == 64 or target == np.uint32 else 32
    want = wrapped(-(2 ** (bits - 1)), target)
    assert (
        run(lambda p, v: p.cast(v, DTYPES[np.dtype(target)]), x, out=target, isa=isa).tolist() == [want] * 5
    )
    if target == np.uint64:
        big = np.array([2.0**63, 2.0**64 - 2.0**41, 5], dtype)
        assert run(lambda p, v: p.cast(v, 13), big, out=target, isa=isa).tolist() == [int(v) for v in big]


@each_isa
@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_half_floats_round_to_nearest_even(half: Any, isa: int) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(half)
    with np.errstate(all="ignore"):
        wide = every.astype(np.float32)
        np.testing.assert_array_equal(run(lambda p, v: v, every, out=np.float32, isa=isa), wide)
        between = (wide[1:].astype(np.float64) + wide[:-1]) / 2
        near = [between, np.nextafter(between, np.inf), np.nextafter(between, -np.inf)]
        x = np.concatenate(near).astype(np.float32)
        number = DTYPES[np.dtype(half)]
        stored = run(lambda p, v: v, x, out=half, isa=isa)
        np.testing.assert_array_equal(stored.astype(np.float32), x.astype(half).astype(np.float32))
        held = run(lambda p, v: p.cast(v, number), x, isa=isa)
        np.testing.assert_array_equal(held, x.astype(half).astype(np.float32))


@each_isa
def test_stored_types_round_trip(isa: int) -> None:
    """Every code of the types of a byte and less comes back as it was, whatever the tail."""
    for dtype in [d for d, number in DTYPES.items() if number > 16]:
        codes = np.arange(4 if "int2" in dtype.name else 16 if "int4" in dtype.name else 256, dtype=np.uint8)
        wide = np.int32 if "int" in dtype.name else np.float32
        x = run(lambda p, v: v, codes.view(dtype)[1:], out=wide, isa=isa)
        np.testing.assert_array_equal(x, codes.view(dtype)[1:].astype(wide))
        y = run(lambda p, v: v, x, out=dtype, isa=isa)
        finite = ~np.isnan(x)
        np.testing.assert_array_equal(y.view(np.uint8)[finite], codes[1:][finite])
        assert np.isnan(y[~finite].astype(np.float32)).all()


# ---- broadcasting and tiles -----------------------------------------------------------------------

PATTERNS = [
    ((5, 7), (5, 7)), ((5, 7), ()), ((), (5, 7)), ((5, 7), (7,)), ((5, 7), (5, 1)), ((5, 1), (7,)),
    ((2, 3, 4, 5), (3, 1, 5)), ((2, 3, 4, 5), (2, 1, 4, 1)), ((700, 3), (3,)), ((3, 700), (3, 1)),
    ((1, 1), (1,)), ((0, 4), (4,)), ((4, 0), (4, 1)), ((33, 40, 3), (40, 1)),
    ((2, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 3, 1, 3, 1, 3)),
]  # fmt: skip


@each_isa
@pytest.mark.parametrize(("left", "right"), PATTERNS)
def test_broadcasting(left: tuple[int, ...], right: tuple[int, ...], isa: int) -> None:
    for dtype in (np.float32, np.float64, np.int8, np.bool_, np.float16):
        x, y = (RNG.integers(0, 9, s).astype(dtype) for s in (left, right))
        op = "xor" if dtype == np.bool_ else "add"
        want = x ^ y if dtype == np.bool_ else x + y
        np.testing.assert_array_equal(run(primitive(op), x, y, isa=isa), want)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 511, 512, 513, 1023, 1024, 1025, 3000])
def test_every_tail(n: int) -> None:
    x, y = floats(n), floats(n)
    build: Build = lambda p, a, b: (a + b) * a - b  # noqa: E731
    np.testing.assert_array_equal(run(build, x, y), (x + y) * x - y)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_strides(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))

    def strided() -> np.ndarray:
        order = data.draw(st.permutations(range(len(shape))))
        steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in shape]
        base = floats(*(shape[i] * abs(steps[i]) for i in order)).transpose(np.argsort(order))
        array = base[tuple(slice(None, None, s) for s in steps)]
        kept = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        return array[
            tuple(slice(None) if k or n == 0 else slice(0, 1) for k, n in zip(kept, shape, strict=True))
        ]

    x, y = strided(), strided()
    np.testing.assert_array_equal(run(primitive("sub"), x, y), x - y)


@each_isa
def test_threads_do_not_change_bits(isa: int) -> None:
    x, row = floats(700, 513), floats(513)

    def build(p: TileProgram[int], a: Value, b: Value) -> Value:
        return p.call("erf", p.call("exp", a) * b) + p.call("log", p.call("abs", b))

    one = run(build, x, row, isa=isa, threads=1)
    np.testing.assert_array_equal(one, run(build, x, row, isa=isa, threads=2))
    np.testing.assert_array_equal(one[5:9], run(build, x[5:9], row, isa=isa, threads=3), "batch-invariant")


@each_isa
@pytest.mark.parametrize(
    "rows",
    [[(24,)], [(100,)], [(320,), (320,)], [(513,)], [(1024,)], [(1040,)], [(60,), (4, 60)], [(3, 7), (7,)]],
)
def test_rows_that_repeat(rows: list[tuple[int, ...]], isa: int) -> None:
    """Tiles may begin where rows do, so that one copy of a row serves them all; the last tile is cut."""
    for dtype in (np.float32, ml_dtypes.bfloat16):
        x, *more = (floats(*shape).astype(dtype) for shape in [(61, *max(rows, key=len)), *rows])

        def build(p: TileProgram[int], x: Value, *rows: Value) -> Value:
            for row in rows:
                x = x * row + row
            return x

        want = x.astype(np.float32)
        for row in more:
            want = want * row.astype(np.float32) + row.astype(np.float32)
        for threads in (1, 3):
            got = run(build, x, *more, isa=isa, threads=threads)
            np.testing.assert_array_equal(got, want.astype(dtype))


def test_output_in_the_place_of_an_input() -> None:
    """Programs that still need the input after the output is written."""
    for n in (16, 100, 1024, 5000):
        for late in (False, True):
            p: TileProgram[int] = TileProgram()
            x, y = p.input(0, 1), p.input(1, 1)
            p.output(x + y, 1)
            if late:
                p.output(x * 1.0 - y, 1)
                p.output(x, 1)
            encoded = encoded_program(p)
            a, b = floats(n), floats(n)
            want = [a + b, a - b, a.copy()]
            tensors = ffi.new("asc_tensor[]", 5)
            others = [np.zeros(n, np.float32) for _ in range(2)]
            for tensor, array in zip(tensors, [a, b, a, *others], strict=True):
                tensor.data, tensor.dtype, tensor.rank = ffi.cast("void *", array.ctypes.data), 1, 1
                tensor.dims[0], tensor.strides[0] = n, 1
            ints, numbers = (
                ffi.new("int64_t[]", list(encoded.ints)),
                ffi.new("double[]", [*encoded.floats, 0.0]),
            )
            code = lib.asc_kernel_call(
                -1, b"elementwise", tensors, 2, tensors + 2, 3 if late else 1,
                ints, len(encoded.ints), numbers, len(encoded.floats), 2, ffi.NULL,
            )  # fmt: skip
            assert code == lib.ASC_OK
            for got, exact in zip([a, *others] if late else [a], want, strict=False):
                np.testing.assert_array_equal(got, exact)
