"""GridSample: reading at places inside and far outside, against onnxruntime and a float64 reference.

Tolerance: coordinates are float32; one part in 2^23 of a coordinate up to 20 moves a weight by 3e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from isa_levels import each_isa, isa_levels
from kernel_call import KernelError, call
from lowered import reference
from onnx import helper

rng = np.random.default_rng(31)
MODES = {0: "linear", 1: "nearest", 2: "cubic"}
PADDINGS = {0: "zeros", 1: "border", 2: "reflection"}


def sampled(
    x: np.ndarray, grid: np.ndarray, *ints: int, isa: int | None = None, threads: int = 2
) -> np.ndarray:
    shape = (*x.shape[:2], *grid.shape[1:-1])
    (y,) = call("grid_sample", [x, grid], [(np.float32, shape)], ints, isa=isa, threads=threads)
    return y


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
def test_images_as_onnxruntime(mode: int, padding: int, align: int) -> None:
    x = rng.standard_normal((2, 3, 5, 7)).astype(np.float32)
    grid = rng.uniform(-2.5, 2.5, (2, 9, 11, 2)).astype(np.float32)
    node = helper.make_node(
        "GridSample", ["x", "g"], ["y"], mode=MODES[mode], padding_mode=PADDINGS[padding], align_corners=align
    )
    want = reference(node, {"x": x, "g": grid}, 20)["y"]
    for isa in isa_levels():
        np.testing.assert_allclose(
            sampled(x, grid, mode, padding, align, isa=isa), want, rtol=1e-5, atol=1e-5
        )


@each_isa
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", [0, 1])
def test_volumes_against_float64(isa: int, mode: int, padding: int) -> None:
    x = rng.standard_normal((1, 2, 4, 5, 6))
    grid = rng.uniform(-1.7, 1.7, (1, 3, 5, 7, 3)).astype(np.float32)
    given = torch.from_numpy(x), torch.from_numpy(grid).double()
    how = ("bilinear", "nearest")[mode], PADDINGS[padding]
    want = torch.nn.functional.grid_sample(*given, *how, align_corners=False).numpy()
    got = sampled(x.astype(np.float32), grid, mode, padding, 0, isa=isa)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


def test_what_lies_outside_reads_nothing() -> None:
    x = np.full((1, 1, 3, 3), np.inf, np.float32)
    grid = np.array([9, 9, 1e30, 0, 0, -1e30, -3, 5], np.float32).reshape(1, 1, 4, 2)
    for mode in MODES:
        np.testing.assert_array_equal(sampled(x, grid, mode, 0, 0), np.zeros((1, 1, 1, 4)))


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_places_that_are_no_numbers_are_nan_where_pytorch_weighs_with_them(
    mode: int, padding: int, align: int
) -> None:
    """PyTorch's nearest and reflected places are of integers made of NaN, which says nothing."""
    x = rng.standard_normal((1, 2, 3, 4)).astype(np.float32)
    places = [np.nan, 0, 0.2, np.nan, np.nan, np.nan, np.inf, 0, 0.1, -np.inf, 0.3, -0.2, 7, 7, 0, 0]
    grid = np.array(places, np.float32).reshape(1, 2, 4, 2)
    given = torch.from_numpy(x), torch.from_numpy(grid)
    name = ("bilinear", "nearest", "bicubic")[mode]
    want = torch.nn.functional.grid_sample(*given, name, PADDINGS[padding], bool(align)).numpy()
    got = sampled(x, grid, mode, padding, align)
    known = np.isfinite(grid[0]).all(-1) | (mode == 2 or (mode, padding) == (0, 0))
    np.testing.assert_allclose(got[0][:, known], want[0][:, known], rtol=1e-5, atol=2e-5)


def test_threads_and_empty_tensors() -> None:
    x = rng.standard_normal((3, 4, 33, 35)).astype(np.float32)
    grid = rng.uniform(-1.2, 1.2, (3, 41, 43, 2)).astype(np.float32)
    one, three = (sampled(x, grid, 0, 0, 0, threads=t) for t in (1, 3))
    np.testing.assert_array_equal(one, three)
    assert sampled(x[:, :0], grid, 0, 0, 0).shape == (3, 0, 41, 43)
    assert sampled(x[:, :, :0], grid[:, :0], 0, 0, 0).shape == (3, 4, 0, 43)


@pytest.mark.parametrize(
    ("grid", "out", "ints"),
    [
        ((2, 5, 6, 3), (2, 3, 5, 6), [0, 0, 0]),
        ((1, 5, 6, 2), (2, 3, 5, 6), [0, 0, 0]),
        ((2, 5, 6, 2), (2, 3, 6, 5), [0, 0, 0]),
        ((2, 5, 6, 2), (2, 3, 5, 6), [3, 0, 0]),
        ((2, 5, 6, 2), (2, 3, 5, 6), [0, 3, 0]),
        ((2, 5, 6, 2), (2, 3, 5, 6), [0, 0]),
    ],
)
def test_what_does_not_fit_is_refused(grid: tuple[int, ...], out: tuple[int, ...], ints: list[int]) -> None:
    with pytest.raises(KernelError, match="grid_sample"):
        call(
            "grid_sample",
            [np.zeros((2, 3, 4, 4), np.float32), np.zeros(grid, np.float32)],
            [(np.float32, out)],
            ints,
        )
