"""Convolutions of integers: every ISA level against sums in int64, images with either order of axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Quads32, call

from ascend_ep.compiler.lower.conv_integer import Runs, TapsFirst
from ascend_ep.runtime._rt import lib

#: batch, channels, outputs, groups, image, kernel, stride, dilation, padding
CASES = [
    (1, 3, 33, 1, (9, 11), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 5, 40, 1, (7, 13), (1, 1), (1, 1), (1, 1), (0, 0)),
    (1, 17, 9, 1, (20, 3), (3, 2), (2, 1), (1, 1), (2, 1)),
    (1, 6, 9, 3, (12, 10), (3, 3), (1, 1), (2, 2), (2, 2)),
    (2, 37, 37, 37, (6, 21), (3, 3), (1, 2), (1, 1), (1, 1)),
    (1, 40, 40, 40, (9, 13), (7, 7), (2, 2), (1, 1), (3, 3)),
    (2, 20, 20, 20, (11, 30), (5, 5), (1, 1), (2, 1), (4, 2)),
    (1, 7, 7, 7, (6, 5), (3, 2), (1, 3), (1, 2), (1, 0)),
    (1, 64, 64, 64, (3, 8), (1, 1), (1, 1), (1, 1), (0, 0)),
    (1, 4, 8, 1, (5, 40), (2, 3), (1, 1), (1, 2), (0, 2)),
    (1, 2, 3, 1, (1, 1), (3, 3), (1, 1), (1, 1), (1, 1)),
    (0, 2, 3, 1, (4, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 8, 37, 1, (9, 11), (1, 1), (2, 2), (1, 1), (0, 0)),  # with channels last read where it lies
    (2, 12, 5, 1, (9, 14), (3, 3), (2, 1), (1, 1), (0, 0)),
    (2, 16, 10, 2, (5, 9), (2, 2), (1, 1), (2, 2), (0, 0)),
    (2, 21, 21, 21, (7, 9), (3, 3), (2, 2), (1, 1), (0, 0)),
    (1, 70, 70, 70, (5, 31), (3, 3), (1, 1), (2, 1), (2, 1)),
    (1, 130, 130, 130, (5, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 72, 72, 72, (9, 9), (3, 3), (2, 2), (1, 1), (1, 1)),
    (1, 64, 64, 64, (7, 9), (5, 5), (1, 1), (1, 1), (2, 2)),
    (1, 17, 17, 17, (6, 9), (3, 3), (3, 3), (1, 1), (1, 1)),
    (1, 20, 20, 20, (9, 10), (9, 9), (1, 1), (1, 1), (4, 4)),  # more taps than are kept
    (2, 32, 32, 32, (6, 28), (3, 3), (2, 2), (1, 1), (1, 1)),
    (2, 12, 37, 1, (11, 19), (3, 3), (1, 1), (1, 1), (1, 1)),  # from here on enough for AMX
    (1, 70, 40, 2, (8, 11), (1, 3), (1, 1), (1, 2), (0, 2)),
    (1, 68, 33, 1, (9, 20), (3, 1), (2, 1), (1, 1), (1, 0)),
    (1, 64, 35, 1, (7, 9), (1, 1), (1, 1), (1, 1), (0, 0)),
    (1, 24, 16, 1, (7, 9), (1, 1), (1, 1), (1, 1), (0, 0)),  # columns of one vector, or of part of two
    (1, 20, 56, 1, (5, 9), (1, 1), (1, 1), (1, 1), (0, 0)),
]  # fmt: skip


@dataclass(frozen=True)
class Sum:
    """Of the results of a convolution and an image: how far two zero points are apart, scales, bounds."""

    shift: int = 0
    scales: tuple[float, float, float] = (0.0137, 0.0291, 0.0173)
    cut: tuple[float, float] = (0.0, inf)

    def of(self, made: np.ndarray, image: np.ndarray, zero: int) -> tuple[list[int], list[float], np.ndarray]:
        """The ints and floats for it, and the sum in steps of float32."""
        least = int(np.iinfo(made.dtype).min)
        zeros = [zero - self.shift, least + 117, least + 90]
        scales = [np.float32(s) for s in self.scales]
        a, b = (
            (v.astype(np.float32) - np.float32(z)) * s
            for v, z, s in zip((made, image), zeros, scales, strict=False)
        )
        sums = np.clip(a + b, np.float32(self.cut[0]), np.float32(self.cut[1]))
        with np.errstate(over="ignore"):
            steps = np.rint(sums / scales[2]) + np.float32(zeros[2])
        floats = [*map(float, scales), *self.cut]
        return (
            [lib.ASC_BYTE_BINARY_ADD, *zeros],
            floats,
            np.clip(steps, least, least + 255).astype(made.dtype),
        )


#: The last three don't find quotients by reciprocals.
SUMS = [
    Sum(), Sum(scales=(0.02, 0.02, 0.02), cut=(-inf, inf)), Sum(scales=(0.01, 0.005, 0.02), cut=(-0.3, 0.6)),
    Sum(shift=2), Sum(scales=(1e-25, 1e-25, 1e-24)), Sum(scales=(3.0, 1e9, 1e-9), cut=(-inf, inf)),
]  # fmt: skip


def convolve(x: np.ndarray, w: np.ndarray, groups: int, stride: tuple, dilation: tuple) -> np.ndarray:
    """Of padded x less its zero point [N, C, H, W] and w less its own, in int64."""
    n, _, *spatial = x.shape
    outputs, fan_in, *kernel = w.shape
    size = [
        (s - (k - 1) * d - 1) // t + 1 for s, k, d, t in zip(spatial, kernel, dilation, stride, strict=True)
    ]
    y = np.zeros((n, groups, outputs // groups, *size), np.int64)
    for r in range(kernel[0]):
        for s in range(kernel[1]):
            rows = slice(r * dilation[0], r * dilation[0] + (size[0] - 1) * stride[0] + 1, stride[0])
            columns = slice(s * dilation[1], s * dilation[1] + (size[1] - 1) * stride[1] + 1, stride[1])
            part = x[:, :, rows, columns].reshape(n, groups, fan_in, *size)
            y += np.einsum("gmc,ngchw->ngmhw", w[..., r, s].reshape(groups, -1, fan_in), part)
    return y.reshape(n, outputs, *size)


@each_isa
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("x_type", [np.uint8, np.int8])
@pytest.mark.parametrize("zero", ["none", "small", "far"])
def test_sums_are_exact(isa: int, case: tuple, x_type: type, zero: str) -> None:
    batch, channels, outputs, groups, image, kernel, stride, dilation, pad = case
    rng = np.random.default_rng(0)
    x = rng.integers(*((0, 256) if x_type == np.uint8 else (-128, 128)), (batch, channels, *image)).astype(
        x_type
    )
    w = rng.integers(-128, 128, (outputs, channels // groups, *kernel)).astype(np.int8)
    reach = {"none": 1, "small": 9, "far": 128}[zero]
    x_zero, w_zero = np.asarray(100, x_type), rng.integers(1 - reach, reach, outputs).astype(np.int8)
    edges = ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1]))
    moved = np.pad(x.astype(np.int64) - int(x_zero), edges)
    wanted = convolve(moved, w.astype(np.int64) - w_zero.reshape(-1, 1, 1, 1), groups, stride, dilation)
    apart = groups == channels == outputs
    matrix = (TapsFirst(w) if apart else Runs(w, groups, groups == 1 and dilation[1] == 1)).numpy()
    sums = np.asarray(matrix.sum(-2, dtype=np.int32)).reshape(-1)
    weights = matrix if apart else Quads32(np.ascontiguousarray(matrix))
    window = [i for axis in zip(kernel, stride, dilation, pad, strict=True) for i in axis]
    for x_last, y_last in ((0, 0), (1, 1), (0, 1)):
        given = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if x_last else x
        target = np.moveaxis(wanted, 1, -1) if y_last else wanted
        ins = [given, weights, sums, x_zero, w_zero, None]
        (y,) = call(
            "qconv", ins, [(np.int32, target.shape)], [groups, x_last, y_last, *window], [0, 0], isa=isa
        )
        np.testing.assert_array_equal(y, target)
        scales = rng.uniform(0.5, 2, outputs).astype(np.float32)
        each = scales / np.float32(512)
        scaled = np.rint(target.astype(np.float32) * (each if y_last else each.reshape(-1, 1, 1)))
        ints = [groups, x_last, y_last, *window]
        for y_type, y_zero in ((np.int8, 3), (np.uint8, 140)):
            least, most = np.iinfo(y_type).min, np.iinfo(y_type).max
            end = [np.ones((), np.float32), scales, np.asarray(512, np.float32), np.asarray(y_zero, y_type)]
            (y,) = call("qconv", [*ins, *end], [(y_type, target.shape)], ints, [least, most], isa=isa)
            np.testing.assert_array_equal(y, np.clip(scaled + y_zero, least, most))
            if y_last and not apart:
                image = rng.integers(least, most + 1, y.shape).astype(y_type)
                for sum_ in SUMS:
                    more, floats, summed = sum_.of(y, image, y_zero)
                    (found,) = call(
                        "qconv", [*ins, *end, image], [(y_type, y.shape)], [*ints, *more],
                        [least, most, *floats], isa=isa,
                    )  # fmt: skip
                    np.testing.assert_array_equal(found, summed)


@each_isa
def test_sums_with_an_image_of_any_width(isa: int) -> None:
    rng = np.random.default_rng(1)
    for outputs in range(1, 71):
        for dtype in (np.uint8, np.int8):
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            x = rng.integers(0, 256, (1, 3, 5, 4)).astype(np.uint8)
            w = rng.integers(-128, 128, (1, 4, outputs)).astype(np.int8)
            image = rng.integers(least, most + 1, (1, 3, 5, outputs)).astype(dtype)
            scales = rng.uniform(0.5, 2, outputs).astype(np.float32)
            end = [np.ones((), np.float32), scales, np.asarray(300, np.float32), np.asarray(7, dtype)]
            ins = [x, Quads32(w), w.sum(-2, dtype=np.int32).reshape(-1), None, None, None, *end]
            ints = [1, 1, 1, *[1, 1, 1, 0] * 2]
            (made,) = call("qconv", ins, [(dtype, image.shape)], ints, [least, most], isa=isa)
            more, floats, summed = SUMS[outputs % 3].of(made, image, 7)
            ints, floats = [*ints, *more], [least, most, *floats]
            (found,) = call("qconv", [*ins, image], [(dtype, image.shape)], ints, floats, isa=isa)
            np.testing.assert_array_equal(found, summed)


@pytest.mark.parametrize(
    "fault", ["", "ints", "floats", "product", "zero", "scale", "planes", "dims", "apart"]
)
def test_refusals_of_sums(fault: str) -> None:
    apart = fault == "apart"
    x, image = np.zeros((1, 3, 3, 4), np.uint8), np.zeros((1, 3, 3, 2 if fault == "dims" else 4), np.uint8)
    w = np.zeros((1, 4), np.int8) if apart else Quads32(np.zeros((1, 4, 4), np.int8))
    one = np.ones((), np.float32)
    ins = [x, w, np.zeros(4, np.int32), None, None, None, one, one, one, None, image]
    ints = [4 if apart else 1, 1, int(fault != "planes"), *[1, 1, 1, 0] * 2, int(fault == "product"), 0, 0]
    ints += [] if fault == "ints" else [256 if fault == "zero" else 0]
    floats = [0, 255, 1, 0 if fault == "scale" else 1, 1, -inf] + ([] if fault == "floats" else [inf])
    if not fault:
        call("qconv", ins, [(np.uint8, (1, 3, 3, 4))], ints, floats)
        return
    shape = (1, 4, 3, 3) if fault == "planes" else (1, 3, 3, 4)
    with pytest.raises(KernelError):
        call("qconv", ins, [(np.uint8, shape)], ints, floats)


@pytest.mark.parametrize("fault", ["sums", "group", "window", "weights", "dims"])
def test_refusals(fault: str) -> None:
    x, w = np.zeros((1, 4, 5, 5), np.uint8), np.zeros((1, 12 if fault != "weights" else 8, 8), np.int8)
    sums = None if fault == "sums" else np.zeros(8, np.int32)
    ints = [3 if fault == "group" else 1, 0, 0, 1, 1, 1, 0, 3, 0 if fault == "window" else 1, 1, 1]
    ins = [x, Quads32(w), sums, None, None, None]
    with pytest.raises(KernelError):
        call("qconv", ins, [(np.int32, (1, 8, 5) if fault == "dims" else (1, 8, 5, 5))], ints, [0, 0])
