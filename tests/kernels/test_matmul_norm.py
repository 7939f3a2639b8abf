"""matmul of rows that it normalises as it packs them: the bits of rms_norm and matmul, one after the other.

Against float64 the error is that of the product, K eps sum_k |a_k b_k| with a the normalised rows, and
that of a: its factor is within (K + 4) eps, of which the sum of squares has K at most.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import Bytes32, Halves32, KernelError, Packed, Pairs32, Panel32, call

EPS = 2.0**-24
EPSILON = 1e-5
GATED = 12
PACKED = (Panel32, Pairs32, Halves32)
rng = np.random.default_rng(8)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def packed(kind: type[Packed], k: int, n: int) -> Packed:
    return kind(normal(k, n).astype(np.float16) if kind is Halves32 else normal(k, n))


def fused(a, b, scale, bias=None, residual=None, *, activation=0, epsilon=EPSILON, isa=None, threads=2):
    columns = b.shape[-1] // (2 if activation == GATED else 1)
    ins = [a, b, bias, residual, scale]
    out = [(np.float32, (*a.shape[:-1], columns))]
    return call("matmul", ins, out, (0, 0, activation), (1, 1, 0, 0, epsilon), isa=isa, threads=threads)[0]


def apart(a, b, scale, bias=None, residual=None, *, activation=0, epsilon=EPSILON, isa=None):
    (rows,) = call("rms_norm", [a, scale], [(np.float32, a.shape)], (a.ndim - 1,), (epsilon,), isa=isa)
    columns = b.shape[-1] // (2 if activation == GATED else 1)
    out = [(np.float32, (*a.shape[:-1], columns))]
    return call("matmul", [rows, b, bias, residual], out, (0, 0, activation), (1, 1, 0, 0), isa=isa)[0]


def assert_same_bits(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_array_equal(a, b)  # NaN where NaN is
    np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


@each_isa
@pytest.mark.parametrize("kind", PACKED)
def test_every_size_has_the_bits_of_both_calls(isa: int, kind: type[Packed]) -> None:
    for m, n, k in product(
        [0, 1, 2, 5, 14, 15, 17, 33, 66], [1, 7, 31, 33, 70], [0, 1, 2, 15, 16, 33, 63, 100]
    ):
        if (m * 7 + n * 3 + k) % 4:
            continue
        a, b, scale = normal(m, k), packed(kind, k, n), normal(k)
        assert_same_bits(fused(a, b, scale, isa=isa), apart(a, b, scale, isa=isa))


@each_isa
@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize(("m", "n"), [(1, 70), (37, 45), (300, 100), (90, 640)])
def test_blocks_of_k(isa: int, kind: type[Packed], m: int, n: int) -> None:
    """Factors stay while other columns of the rows are packed, and where these stay for several chunks."""
    k = 5001 if m < 50 else 2403
    a, b, scale, bias = normal(m, k), packed(kind, k, n), normal(k), normal(n)
    whole = fused(a, b, scale, bias, isa=isa)
    assert_same_bits(whole, apart(a, b, scale, bias, isa=isa))
    for threads in (1, 3):
        assert_same_bits(fused(a, b, scale, bias, isa=isa, threads=threads), whole)
    for rows in (slice(0, 1), slice(m // 2, m // 2 + 9)):
        assert_same_bits(fused(a[rows], b, scale, bias, isa=isa), whole[rows])


@each_isa
@pytest.mark.parametrize("kind", PACKED)
def test_ends_and_batches(isa: int, kind: type[Packed]) -> None:
    a, b, scale, bias, residual = (
        normal(3, 21, 100),
        packed(kind, 100, 48),
        normal(100),
        normal(48),
        normal(3, 21, 48),
    )
    for given in ((None, None), (bias, None), (bias, residual)):
        assert_same_bits(fused(a, b, scale, *given, isa=isa), apart(a, b, scale, *given, isa=isa))
    assert_same_bits(
        fused(a, b, scale, bias, activation=2, isa=isa), apart(a, b, scale, bias, activation=2, isa=isa)
    )
    assert_same_bits(
        fused(a, b, scale, activation=GATED, isa=isa), apart(a, b, scale, activation=GATED, isa=isa)
    )


@each_isa
def test_plain_weights_and_rows_apart(isa: int) -> None:
    stack, b, scale = normal(3, 5, 80), normal(3, 80, 34), normal(80)
    for right in (b, b[0]):
        assert_same_bits(fused(stack, right, scale, isa=isa), apart(stack, right, scale, isa=isa))
    wide = normal(20, 90)
    rows = wide[::2, :80]
    assert_same_bits(
        fused(rows, b[0], scale, isa=isa), apart(np.ascontiguousarray(rows), b[0], scale, isa=isa)
    )
    assert_same_bits(fused(rows[0], b[0], scale, isa=isa), fused(rows, b[0], scale, isa=isa)[0])


@each_isa
@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("epsilon", [0.0, EPSILON])
@pytest.mark.parametrize("k", [64, 83])
def test_special_values(isa: int, kind: type[Packed], epsilon: float, k: int) -> None:
    a, b, scale = normal(8, k), packed(kind, k, 40), normal(k)
    a[1, 7], a[2, 8], a[3], a[4, 3], a[5] = (
        np.nan,
        np.inf,
        0,
        3e38,
        1e-25,
    )  # 5: an infinite factor without epsilon
    a[6, 1:], scale[5] = 0, np.inf
    given = {"epsilon": epsilon, "isa": isa}
    for rows in (slice(0, 8), slice(5, 6), slice(3, 5)):
        assert_same_bits(fused(a[rows], b, scale, **given), apart(a[rows], b, scale, **given))


@each_isa
def test_against_float64(isa: int) -> None:
    a, b, scale = normal(19, 333), normal(333, 50), normal(333)
    wide = a.astype(np.float64)
    rows = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + EPSILON) * scale
    bound = (2 * 333 + 6) * EPS * (np.abs(rows) @ np.abs(b))
    assert (np.abs(fused(a, Panel32(b), scale, isa=isa) - rows @ b) <= bound).all()


@pytest.mark.parametrize(
    ("a", "b", "scale", "ints", "words"),
    [
        (normal(4, 8), Panel32(normal(8, 5)), normal(7), (0, 0, 0), "a scale for each column"),
        (normal(4, 8), Panel32(normal(8, 5)), None, (0, 0, 0), "a scale for each column"),
        (normal(8, 8).T, Panel32(normal(8, 5)), normal(8), (0, 0, 0), "contiguous rows"),
        (normal(8, 4), Panel32(normal(8, 5)), normal(8), (1, 0, 0), "isn't transposed"),
    ],
)
def test_what_does_not_fit_is_refused(a, b, scale, ints, words) -> None:
    m = a.shape[1] if ints[0] else a.shape[0]
    with pytest.raises(KernelError, match=words):
        call("matmul", [a, b, None, None, scale], [(np.float32, (m, 5))], ints, (1, 1, 0, 0, EPSILON))


def test_a_scale_without_epsilon_is_refused() -> None:
    ins = [normal(4, 8), Panel32(normal(8, 5)), None, None, normal(8)]
    with pytest.raises(KernelError, match="beside its epsilon"):
        call("matmul", ins, [(np.float32, (4, 5))], (0, 0, 0), (1, 1, 0, 0))


def test_int8_weights_are_refused() -> None:
    weights = Bytes32(np.ones((8, 5), np.int8))
    ins = [normal(4, 8), weights, None, None, Panel32(np.ones((1, 5), np.float32))]
    with pytest.raises(KernelError, match="not beside int8"):
        call("matmul", ins, [(np.float32, (4, 5))], (0, 0, 0, 8), (1, 1, 0, 0, EPSILON))
