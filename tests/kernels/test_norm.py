"""Row kernels against float64 references.

Tolerances: softmax rounds x - max and its product with log2 e, which exp turns into a relative error of
|x - max| 2^-23: 1.2e-5 for the spread of 100 here, and less for what counts in a sum; exp itself (1.5 ulp)
and the sum add less than 1e-6. Normalisations subtract a mean, so their errors are relative to the largest
element of a row: 2e-6 of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

rng = np.random.default_rng(11)
F32 = np.float32
erf = np.vectorize(math.erf)


def f32(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(F32)


def softmax64(x: np.ndarray, axes: tuple[int, ...], log: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        x = x.astype(np.float64)
        shifted = x - x.max(axes, keepdims=True)
        total = np.exp(shifted).sum(axes, keepdims=True)
        return shifted - np.log(total) if log else np.exp(shifted) / total


@each_isa
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    "shape", [(3, 1), (5, 7), (2, 33, 3), (4, 16, 64), (1, 40000), (2, 3, 65), (3, 100, 130)]
)
def test_softmax_of_every_axis(isa: int, op: str, shape: tuple[int, ...]) -> None:
    x = f32(*shape) * 10
    for axis in range(len(shape)):
        for count in range(1, len(shape) - axis + 1):
            (got,) = call(op, [x], [(F32, shape)], ints=[axis, count], isa=isa)
            want = softmax64(x, tuple(range(axis, axis + count)), op == "log_softmax")
            limits = {"rtol": 7e-6, "atol": 2e-6} if op == "log_softmax" else {"rtol": 1.3e-5, "atol": 1e-37}
            np.testing.assert_allclose(got, want, **limits)


@each_isa
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax_of_nan_and_infinities(isa: int, op: str) -> None:
    rows = np.array([[1, 2, np.nan], [np.inf, 0, 1], [-np.inf, 0, 1], [-np.inf] * 3, [1e38, -1e38, 0]], F32)
    for pad in (0, 64):  # in the tail, and in whole vectors
        x = np.concatenate([rows, np.full((5, pad), -1, F32)], 1)
        x[3] = -np.inf
        want = softmax64(x, (1,), op == "log_softmax").astype(F32)
        (got,) = call(op, [x], [(F32, x.shape)], ints=[1, 1], isa=isa)
        np.testing.assert_allclose(got, want, rtol=3e-6)
        (got,) = call(op, [x.T.copy()], [(F32, x.T.shape)], ints=[0, 1], isa=isa)
        np.testing.assert_allclose(got.T, want, rtol=3e-6)


@each_isa
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax_of_short_rows_has_the_bits_of_a_row_alone(isa: int, op: str) -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 19):
        x = rng.standard_normal((37, n)).astype(F32) * 5
        x[3, n // 2], x[5, n // 2], x[7] = np.nan, np.inf, -np.inf
        (whole,) = call(op, [x], [(F32, x.shape)], ints=[1, 1], isa=isa)
        for row in range(37):
            (one,) = call(op, [x[row : row + 1]], [(F32, (1, n))], ints=[1, 1], isa=isa)
            np.testing.assert_array_equal(one[0], whole[row])
        np.testing.assert_allclose(
            whole, softmax64(x, (1,), op == "log_softmax").astype(F32), rtol=1e-5, atol=2e-6
        )


def layer_norm64(x, axis, scale, bias, epsilon):  # type: ignore[no-untyped-def]
    axes = tuple(range(axis, x.ndim))
    x = x.astype(np.float64)
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    y = (x - mean) / np.sqrt(var + epsilon)
    y = y * (1 if scale is None else scale.astype(np.float64)) + (0 if bias is None else bias)
    return y, mean, 1 / np.sqrt(var + epsilon)


def near(got: np.ndarray, want: np.ndarray) -> None:
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6 * max(1.0, np.abs(want).max(initial=0)))


EPILOGUES: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda v: v,
    lambda v: 0.5 * v * (1 + erf(v / np.sqrt(2))),
    lambda v: 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))),
]


@each_isa
@pytest.mark.parametrize("shape", [(3, 1), (2, 5, 17), (4, 64), (2, 3, 1000), (1, 20000)])
@pytest.mark.parametrize("epilogue", range(3))
def test_layer_norm(isa: int, shape: tuple[int, ...], epilogue: int) -> None:
    x = f32(*shape) * 3 + 1
    for axis in range(1, len(shape)):
        rows = shape[:axis] + (1,) * (len(shape) - axis)
        for scale, bias in [
            (None, None),
            (f32(*shape[axis:]), None),
            (f32(*shape[axis:]), f32(*shape[axis:])),
        ]:
            outs = [(F32, shape), (F32, rows), (F32, rows)]
            y, mean, deviation = call(
                "layer_norm", [x, scale, bias], outs, ints=[axis, epilogue], floats=[1e-5], isa=isa
            )
            want, mean64, deviation64 = layer_norm64(x, axis, scale, bias, 1e-5)
            near(y, EPILOGUES[epilogue](want))
            near(mean, mean64)
            near(deviation, deviation64)


def test_layer_norm_variance_survives_a_large_mean() -> None:
    x = (1000 + rng.standard_normal((4, 768))).astype(F32)
    (got,) = call("layer_norm", [x], [(F32, x.shape)], ints=[1, 0], floats=[1e-5])
    want, _, _ = layer_norm64(x, 1, None, None, 1e-5)
    # the mean of numbers near 1000 is itself rounded to 3e-5; E[x^2] - E[x]^2 would be off by 0.1
    np.testing.assert_allclose(got, want, atol=1e-4)


@each_isa
@pytest.mark.parametrize("shape", [(3, 1), (2, 5, 17), (4, 64), (2, 3, 1000), (1, 20000)])
def test_rms_norm(isa: int, shape: tuple[int, ...]) -> None:
    x, residual, scale = f32(*shape), f32(*shape), f32(shape[-1])
    axis = len(shape) - 1
    for weight in (None, scale):
        for other in (None, residual):
            y, total = call(
                "rms_norm", [x, weight, other], [(F32, shape)] * 2, ints=[axis], floats=[1e-6], isa=isa
            )
            h = x if other is None else x + other
            np.testing.assert_array_equal(total, h)
            h = h.astype(np.float64)
            want = h / np.sqrt((h**2).mean(-1, keepdims=True) + 1e-6) * (1 if weight is None else weight)
            near(y, want)
            (alone,) = call(
                "rms_norm", [x, weight, other], [(F32, shape)], ints=[axis], floats=[1e-6], isa=isa
            )
            np.testing.assert_array_equal(alone, y)


NORMS = {
    "softmax": lambda n: ([], [1, 1], []),
    "log_softmax": lambda n: ([], [1, 1], []),
    "layer_norm": lambda n: ([f32(n), f32(n)], [1, 1], [1e-5]),
    "rms_norm": lambda n: ([f32(n)], [1], [1e-5]),
}


@each_isa
@pytest.mark.parametrize("n", [64, 192, 1024, 4096, 4160, 1000])
def test_bits_of_rms_norm_do_not_depend_on_where_rows_begin(isa: int, n: int) -> None:
    x, scale = f32(3, n), f32(n)
    x[1, [0, 15, n // 2, n - 1]] = 3e4, -2e4, 1e4, -4e4  # what a lane forgets or counts twice shows
    around = np.full(x.size + 64, np.nan, F32)  # so does what lies beside the rows
    begin = -around.ctypes.data // 4 % 16 + 16
    results = []
    for past in range(16):
        placed = around[begin + past :][: x.size].reshape(x.shape)
        placed[...] = x
        (got,) = call("rms_norm", [placed, scale], [(F32, x.shape)], ints=[1], floats=[1e-5], isa=isa)
        results.append(got)
        placed[...] = np.nan
    assert all(np.array_equal(results[0], got) for got in results)


@each_isa
@pytest.mark.parametrize("op", NORMS)
def test_bits_of_a_row_depend_on_neither_batch_nor_threads(isa: int, op: str) -> None:
    x = f32(301, 515)
    rest, ints, floats = NORMS[op](515)
    runs = [call(op, [x, *rest], [(F32, x.shape)], ints, floats, isa, threads)[0] for threads in (1, 2, 3)]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0], other)
    for row in (0, 7, 300):
        (alone,) = call(op, [x[row : row + 1], *rest], [(F32, (1, 515))], ints, floats, isa)
        np.testing.assert_array_equal(alone[0], runs[0][row])


@each_isa
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("op", ["layer_norm", "rms_norm"])
def test_results_stored_past_the_caches_have_the_same_bits(isa: int, op: str, outputs: int) -> None:
    shape = (1024, 3072)  # operands of 24 MB and more
    x, scale, third = f32(*shape), f32(3072), f32(*(shape if op == "rms_norm" else shape[1:]))
    axes = [1, 0] if op == "layer_norm" else [1]
    widths = [3072, 3072 if op == "rms_norm" else 1][:outputs]
    found = call(op, [x, scale, third], [(F32, (1024, w)) for w in widths], axes, [1e-5], isa)
    for first in (0, 509, 1020):
        part = slice(first, first + 4)
        rest = [scale, third[part] if op == "rms_norm" else third]
        few = call(op, [x[part], *rest], [(F32, (4, w)) for w in widths], axes, [1e-5], isa)
        for whole, alone in zip(found, few, strict=True):
            np.testing.assert_array_equal(whole[part], alone)


@pytest.mark.parametrize("op", NORMS)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty(op: str, shape: tuple[int, int]) -> None:
    rest, ints, floats = NORMS[op](shape[1])
    (got,) = call(op, [f32(*shape), *rest], [(F32, shape)], ints, floats)
    assert got.shape == shape


@pytest.mark.parametrize(
    ("op", "shapes", "out", "ints", "floats"),
    [
        ("softmax", [(2, 3)], (2, 3), [1, 2], []),
        ("softmax", [(2, 3)], (2, 3), [-1, 1], []),
        ("softmax", [(2, 3)], (3, 2), [1, 1], []),
        ("softmax", [(2, 3)], (2, 3), [2**63 - 1, 2**63 - 1], []),
        ("softmax", [(2, 3)], (2, 3), [1], []),
        ("layer_norm", [(2, 3), (2,)], (2, 3), [1, 0], [1e-5]),
        ("layer_norm", [(2, 3), (3,), (2,)], (2, 3), [1, 0], [1e-5]),
        ("layer_norm", [(2, 3)], (2, 3), [3, 0], [1e-5]),
        ("layer_norm", [(2, 3)], (2, 3), [-(2**63), 0], [1e-5]),
        ("layer_norm", [(2, 3)], (2, 3), [1, 3], [1e-5]),
        ("layer_norm", [(2, 3)], (2, 3), [1, 0], []),
        ("rms_norm", [(2, 3), (3,), (3,)], (2, 3), [1], [1e-5]),
        ("rms_norm", [(2, 3)], (2, 4), [1], [1e-5]),
    ],
)
def test_misfit_is_refused(op, shapes, out, ints, floats) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError) as error:
        call(op, [f32(*s) for s in shapes], [(F32, out)], ints, floats)
    assert error.value.code == 7
