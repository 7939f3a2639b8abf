"""RoiAlign, Col2Im, DeformConv and Det on every ISA level, against onnxruntime, PyTorch and NumPy.

Tolerance: positions are float32, so weights of neighbours are off by up to 1e-6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from isa_levels import each_isa, isa_levels
from kernel_call import KernelError, call
from lowered import check, reference
from onnx import helper

rng = np.random.default_rng(37)
RUN_ERROR = 11


def f32(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


# ---- RoiAlign --------------------------------------------------------------------------------------

ROIS = np.array([[1, 2, 9, 8], [-3, -2, 4, 5], [0, 0, 15, 11], [30, 30, 40, 40], [5, 5, 4, 4]], np.float32)
IMAGES = np.array([0, 1, 1, 0, 1])


@pytest.mark.parametrize("maximum", [0, 1])
@pytest.mark.parametrize(("samples", "half_pixel"), [(0, 1), (2, 1), (0, 0), (3, 0)])
def test_roi_align_as_onnxruntime(maximum: int, samples: int, half_pixel: int) -> None:
    x = f32(2, 3, 12, 16)
    node = helper.make_node(
        "RoiAlign", ["x", "r", "i"], ["y"], mode=("avg", "max")[maximum], sampling_ratio=samples,
        spatial_scale=0.8,
        output_height=3, output_width=4,
        coordinate_transformation_mode=("output_half_pixel", "half_pixel")[half_pixel],
    )  # fmt: skip
    want = reference(node, {"x": x, "r": ROIS, "i": IMAGES}, 16)["y"]
    for isa in isa_levels():
        ints = [maximum, samples, half_pixel]
        (y,) = call("roi_align", [x, ROIS, IMAGES], [(np.float32, want.shape)], ints, [0.8], isa=isa)
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("image", "roi"), [(2, 1.0), (-1, 1.0), (0, 1e30), (0, np.nan)])
def test_a_region_that_can_not_be_is_named(image: int, roi: float) -> None:
    rois = np.array([[0, 0, roi, roi]], np.float32)
    given = [f32(2, 1, 4, 4), rois, np.array([image])]
    with pytest.raises(KernelError, match=r"index|samples") as error:
        call("roi_align", given, [(np.float32, (1, 1, 2, 2))], [0, 0, 1], [1.0])
    assert error.value.code == RUN_ERROR


# ---- Col2Im ----------------------------------------------------------------------------------------


@each_isa
def test_col2im_as_pytorch(isa: int) -> None:
    how: dict[str, Any] = {"dilation": (1, 2), "padding": (1, 2), "stride": (2, 1)}
    image, block = (9, 11), (3, 2)
    columns = rng.standard_normal((2, 3 * 6, 5 * 13))
    want = torch.nn.functional.fold(torch.from_numpy(columns), image, block, **how).numpy()
    ints = [3, 1, 2, 1, 1, 2, 2, 1, 2, 2]
    given = columns.astype(np.float32)
    (y,) = call("col2im", [given], [(np.float32, want.shape)], ints, isa=isa)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)
    ints[0] = ints[5] = 1  # the block comes with the data
    (again,) = call("col2im", [given, np.array(block)], [(np.float32, want.shape)], ints, isa=isa)
    np.testing.assert_array_equal(again, y)
    with pytest.raises(KernelError, match="col2im"):
        call("col2im", [given, np.array([2, 2])], [(np.float32, want.shape)], ints, isa=isa)


def test_col2im_of_one_and_three_axes() -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    (line,) = call("col2im", [x], [(np.float32, (1, 1, 6))], [3, 1, 1, 0, 0])
    np.testing.assert_array_equal(line, [[[0, 5, 15, 18, 17, 11]]])
    ones = np.ones((1, 8, 8), np.float32)
    (volume,) = call("col2im", [ones], [(np.float32, (1, 1, 3, 3, 3))], [2, 1, 1, 0, 0] * 3)
    assert volume[0, 0, 1, 1, 1] == 8
    assert volume.sum() == 64


# ---- DeformConv ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "offset_group", "masked", "biased"), [(1, 1, 0, 0), (2, 1, 1, 1), (1, 2, 1, 0)]
)
def test_deform_conv_as_onnxruntime(group: int, offset_group: int, masked: int, biased: int) -> None:
    inputs = {"x": f32(2, 4, 7, 8), "w": f32(6, 4 // group, 3, 2), "o": 2 * f32(2, offset_group * 12, 4, 8)}
    names = ["x", "w", "o"]
    if biased:
        inputs["b"] = f32(6)
    if masked:
        inputs["m"] = rng.random((2, offset_group * 6, 4, 8)).astype(np.float32)
        names += ["b" if biased else "", "m"]
    node = helper.make_node(
        "DeformConv", names, ["y"], group=group, offset_group=offset_group, strides=[2, 1], pads=[1, 1, 1, 1],
        dilations=[1, 2], kernel_shape=[3, 2],
    )  # fmt: skip
    check("deform_conv", node, inputs, 19, rtol=1e-4, atol=1e-4)


def test_offsets_far_outside_read_nothing() -> None:
    x, offset = np.full((1, 1, 3, 3), np.inf, np.float32), np.full((1, 2, 3, 3), np.nan, np.float32)
    offset[0, :, 0] = [[1e30], [-np.inf]]
    (y,) = call("deform_columns", [x, offset], [(np.float32, (1, 1, 9))], [1, 1, 1, 1, 1, 1, 0, 0, 3, 3, 1])
    np.testing.assert_array_equal(y, np.zeros((1, 1, 9)))


# ---- Det -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 5, 17])
def test_determinants(n: int) -> None:
    x = f32(3, 2, n, n)
    want = np.linalg.det(x.astype(np.float64))
    for threads in (1, 3):
        (y,) = call("det", [x], [(np.float32, (3, 2))], threads=threads)
        np.testing.assert_allclose(y, want, rtol=1e-6)
    if n > 1:
        x[..., 0, :] = x[..., 1, :]
        np.testing.assert_allclose(call("det", [x], [(np.float32, (3, 2))])[0], 0, atol=1e-3)


@pytest.mark.parametrize(
    ("op", "shapes", "out", "ints", "floats"),
    [
        ("roi_align", [(2, 3, 4, 4), (1, 5), (1,)], (1, 3, 2, 2), [0, 0, 1], [1.0]),
        ("roi_align", [(2, 3, 4, 4), (1, 4), (2,)], (1, 3, 2, 2), [0, 0, 1], [1.0]),
        ("roi_align", [(2, 3, 4, 4), (1, 4), (1,)], (1, 2, 2, 2), [0, 0, 1], [1.0]),
        ("roi_align", [(2, 3, 4, 4), (1, 4), (1,)], (1, 3, 2, 2), [0, -1, 1], [1.0]),
        ("roi_align", [(2, 3, 4, 4), (1, 4), (1,)], (1, 3, 2, 2), [0, 0, 1], [np.inf]),
        ("roi_align", [(2, 3, 0, 4), (1, 4), (1,)], (1, 3, 2, 2), [0, 0, 1], [1.0]),
        ("col2im", [(1, 4, 4)], (1, 1, 3, 3), [2, 1, 1, 0, 0], []),
        ("col2im", [(1, 4, 4)], (1, 1, 3, 3), [2, 1, 0, 0, 0] * 2, []),
        ("col2im", [(1, 4, 5)], (1, 1, 3, 3), [2, 1, 1, 0, 0] * 2, []),
        ("col2im", [(1, 4, 4)], (1, 1), [], []),
        ("deform_columns", [(1, 1, 3, 3), (1, 2, 3, 3)], (1, 1, 8), [1, 1, 1, 1, 1, 1, 0, 0, 3, 3, 1], []),
        ("deform_columns", [(1, 1, 3, 3), (1, 2, 3, 3)], (1, 1, 9), [1, 1, 1, 1, 1, 1, 0, 0, 3, 3, 2], []),
        ("deform_columns", [(1, 1, 3, 3), (1, 2, 3, 3)], (1, 1, 9), [1, 1, 1, 1, 1, 1, -1, 0, 3, 3, 1], []),
        ("det", [(2, 3, 4)], (2,), [], []),
        ("det", [(2, 3, 3)], (3,), [], []),
    ],
)
def test_what_does_not_fit_is_refused(
    op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], ints: list[int], floats: list[float]
) -> None:
    given = [
        np.zeros(s, np.int64 if op == "roi_align" and i == 2 else np.float32) for i, s in enumerate(shapes)
    ]
    with pytest.raises(KernelError, match=op) as error:
        call(op, given, [(np.float32, out)], ints, floats)
    assert error.value.code == 7
