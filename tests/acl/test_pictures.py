"""DVPP's scaling and cropping of pictures in YUV 420, and the heads of JPEG files."""

from __future__ import annotations

import numpy as np

from .conftest import Runner

WIDTH, HEIGHT = 16, 8


def planes(numbers: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    grey, colour = np.split(numbers, [width * height])
    return grey.reshape(height, width), colour.reshape(height // 2, width // 2, 2)


def test_regions_and_sizes(run: Runner) -> None:
    done = run("pictures.c", ASCEND_EP_ACL_CHECK="0")
    assert done.status == 0, done.err
    rows = {}
    for line in done.out.splitlines():
        name, _, rest = line.partition(" 0 ") if " 0 " in line else line.rpartition(" ")
        rows[name] = rest
    source = np.arange(WIDTH * HEIGHT * 3 // 2, dtype=np.uint8)
    grey, colour = planes(source, WIDTH, HEIGHT)

    def got(name: str, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        return planes(np.array(rows[name].split(), int), width, height)

    for name, channels in (("same", [0, 1]), ("swapped", [1, 0])):
        y, uv = got(name, WIDTH, HEIGHT)
        assert np.array_equal(y, grey)
        assert np.array_equal(uv, colour[..., channels])
    y, uv = got("half", WIDTH // 2, HEIGHT // 2)
    assert np.array_equal(y, np.floor(grey.reshape(4, 2, 8, 2).mean((1, 3)) + 0.5))
    assert np.array_equal(uv, np.floor(colour.reshape(2, 2, 4, 2, 2).mean((1, 3)) + 0.5))
    y, uv = got("crop", WIDTH // 2, HEIGHT // 2)
    assert np.array_equal(y, grey[2:6, 4:12])
    assert np.array_equal(uv, colour[1:3, 2:6])
    y, uv = got("paste", WIDTH, HEIGHT)
    assert np.array_equal(y[4:, 8:], grey[2:6, 4:12])
    assert np.array_equal(uv[2:, 4:], colour[1:3, 2:6])
    assert not y[:4].any()
    assert not y[:, :8].any()
    assert (rows["no channel"], rows["beyond"], rows["colours"]) == ("100000", "100000", "200006")
    assert rows["jpeg"] == f"300 200 3 2 {384 * 208 * 3 // 2}"
    assert "cut at" not in done.out
