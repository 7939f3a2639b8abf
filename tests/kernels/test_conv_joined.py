"""conv_joined against conv_last of the images put together, scaled, shifted and bounded before.

Scales and shifts are small whole numbers and halves, so that what is read is exact: then the bits are the
same.
"""

from __future__ import annotations

from itertools import chain, product
from math import inf

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call
from test_conv_last import RELU, last, normal, packed
from test_conv_last_bf16 import in_pairs, rounded

BF16 = ml_dtypes.bfloat16
rng = np.random.default_rng(5)
FLOATS = (np.float32, packed, np.float32)
TYPES = {
    "ff:f": FLOATS, "fb:f": (np.float32, in_pairs, np.float32), "bb:f": (BF16, in_pairs, np.float32),
    "fb:b": (np.float32, in_pairs, BF16), "bb:b": (BF16, in_pairs, BF16),
}  # fmt: skip
GEOMETRY = {
    "1x1": [(1, 1, 1, 0)] * 2, "strided": [(1, 2, 1, 0)] * 2, "3x3": [(3, 1, 1, 1)] * 2,
    "dilated": [(3, 1, 2, 2), (3, 2, 1, 0)], "line": [(3, 1, 1, 1)],
}  # fmt: skip


def whole(*shape: int) -> np.ndarray:
    """Of few bits: they, their products and sums are bfloat16 as well."""
    return rng.integers(-4, 5, shape).astype(np.float32)


def size_of(dims: tuple[int, ...], geometry: list[tuple[int, ...]]) -> tuple[int, ...]:
    axes = zip(dims, geometry, strict=True)
    return tuple(
        (n + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
        for n, (kernel, stride, dilation, pad) in axes
    )


def compare(
    isa, types, geometry, dims, channels, outputs, *, group=1, scale=True, low=-inf, high=inf, threads=2
):
    kind, pack, out = TYPES[types]
    total = sum(channels)
    images = [last(whole(2, n, *dims)).astype(kind) for n in channels]
    w = rounded(normal(outputs, total // group, *[axis[0] for axis in geometry]))
    bias, residual = normal(outputs), last(normal(2, outputs, *size_of(dims, geometry))).astype(out)
    by, plus = ((abs(whole(total)) + 1) / 2, whole(total)) if scale else (None, None)
    joined = np.concatenate([i.astype(np.float32) for i in images], axis=-1)
    read = np.clip(joined * by + plus if scale else joined, low, high).astype(kind)
    ints = [group, RELU, 0, *chain.from_iterable(geometry)]
    shape = [(out, residual.shape)]
    expect = call("conv_last", [read, pack(w, group), bias, residual], shape, ints, [0, 0], isa, threads)[0]
    ins = [images[0], pack(w, group), bias, residual, by, plus, *images[1:]]
    y = call("conv_joined", ins, shape, ints, [0, 0, low, high], isa, threads)[0]
    np.testing.assert_array_equal(y.view(np.uint8), expect.view(np.uint8))


@each_isa
@pytest.mark.parametrize("types", TYPES)
def test_the_same_bits_as_of_what_it_reads(isa, types) -> None:
    for geometry, channels in product(GEOMETRY.values(), [(9,), (16, 32), (5, 1, 19)]):
        dims = (7, 11)[: len(geometry)]
        compare(isa, types, geometry, dims, channels, 37, low=0)
        compare(isa, types, geometry, dims, channels, 8, low=-1.5, high=6, threads=1)
        compare(isa, types, geometry, dims, channels, 33, scale=False)


@each_isa
@pytest.mark.parametrize("types", TYPES)
def test_groups_reach_over_images(isa, types) -> None:
    compare(isa, types, GEOMETRY["3x3"], (6, 5), (6, 10), 12, group=4, low=0)


@each_isa
@pytest.mark.parametrize("types", TYPES)
def test_strips_and_parts(isa, types) -> None:
    """Several strips of an image, and weights that are split among chunks."""
    compare(isa, types, GEOMETRY["1x1"], (40, 41), (64, 32, 32), 96, low=0)
    compare(isa, types, GEOMETRY["1x1"], (7, 7), (512, 32), 160, low=0, threads=3)
    compare(isa, types, GEOMETRY["3x3"], (33, 60), (48, 48), 40, low=0)


@each_isa
def test_nothing_is_read_behind_an_image_or_mistaken_for_one(isa) -> None:
    """NaN stays NaN, and infinity meets the bounds."""
    x = last(normal(1, 20, 3, 3))
    x[0, 1, 1, 3], x[0, 0, 2, 4] = np.nan, np.inf
    w = packed(normal(5, 20, 1, 1), 1)
    ints = [1, 0, 0, *chain.from_iterable(GEOMETRY["1x1"])]
    one, two = np.full(20, 2, np.float32), np.zeros(20, np.float32)
    y = call(
        "conv_joined", [x, w, None, None, one, two], [(np.float32, (1, 3, 3, 5))], ints, [0, 0, 0, 6], isa
    )[0]
    assert np.isfinite(y[0, 0, 2]).all()
    assert np.isnan(y).any(axis=-1).sum() == 1
    assert np.isnan(y[0, 1, 1]).all()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda x, s, more: (x, s[:-1], more), "a number for each channel"),
        (lambda x, s, more: (x, s, more[:, :2]), "differ beside their channels"),
        (lambda x, s, more: (x, s, more[0]), "of one rank"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(change, error) -> None:
    x, more = last(whole(1, 4, 3, 3)), last(whole(1, 8, 3, 3))
    x, scale, more = change(x, np.ones(12, np.float32), more)
    ints = [1, 0, 0, *chain.from_iterable(GEOMETRY["1x1"])]
    w = packed(normal(5, 12, 1, 1), 1)
    ins = [x, w, None, None, scale, None, np.ascontiguousarray(more)]
    with pytest.raises(KernelError, match=error):
        call("conv_joined", ins, [(np.float32, (1, 3, 3, 5))], ints, [0, 0, -inf, inf])


def test_channels_apart_are_refused() -> None:
    x = last(whole(1, 4, 3, 3))
    ints = [4, 0, 0, *chain.from_iterable(GEOMETRY["1x1"])]
    ins = [x, np.ones((1, 4), np.float32), None, None, np.ones(4, np.float32)]
    with pytest.raises(KernelError, match="several are summed"):
        call("conv_joined", ins, [(np.float32, (1, 3, 3, 4))], ints, [0, 0, 0, 0])
