"""The media functions of the second version (acl/dvpp/hi_dvpp.h): pictures, JPEG and PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from .conftest import Runner

WIDTH, HEIGHT = 16, 8
UNSUPPORTED, PARAMETER, UNKNOWN = "8", "3", "5"


@pytest.fixture
def vpc(run: Runner) -> dict[str, list[str]]:
    """Of each step, its code and what follows."""
    done = run("hi_vpc.c", ASCEND_EP_ACL_CHECK="1")
    assert done.status == 0, done.err
    return {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}


def planes(bytes_of: list[str], width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    grey, colour = np.split(np.array(bytes_of, int), [width * height])
    return grey.reshape(height, width), colour.reshape(height // 2, width // 2, 2)


def test_pictures(vpc: dict[str, list[str]]) -> None:
    grey, colour = planes([str(i) for i in range(WIDTH * HEIGHT * 3 // 2)], WIDTH, HEIGHT)

    def got(name: str, width: int = WIDTH, height: int = HEIGHT) -> tuple[np.ndarray, np.ndarray]:
        assert vpc[name][0] == "0", name
        return planes(vpc[name][1:], width, height)

    y, uv = got("half", WIDTH // 2, HEIGHT // 2)
    assert np.array_equal(y, np.floor(grey.reshape(4, 2, 8, 2).mean((1, 3)) + 0.5))
    y, uv = got("nearest", WIDTH // 2, HEIGHT // 2)
    assert np.array_equal(y, grey[::2, ::2])
    assert np.array_equal(uv, colour[::2, ::2])
    y, uv = got("crop", WIDTH // 2, HEIGHT // 2)
    assert np.array_equal(y, grey[2:6, 4:12])
    assert np.array_equal(uv, colour[1:3, 2:6])
    y, uv = got("paste")
    assert np.array_equal(y[4:, 8:], grey[2:6, 4:12])
    assert not y[:4].any()
    y, uv = got("constant")
    assert np.array_equal(y[4:, 8:], grey[2:6, 4:12])
    assert (y[:4] == 7).all()
    assert (uv[:2] == [8, 9]).all()
    y, uv = got("replicate")
    inner = np.pad(grey[2:6, 4:12], ((4, 0), (8, 0)), mode="edge")
    assert np.array_equal(y, inner)
    y, _ = got("mapped")
    assert np.array_equal(y, 255 - grey)
    assert vpc["counts"] == ["0", "1", "0", "32", "32"]
    level = (grey[::2, ::2] + grey[::2, 1::2] + 1) // 2
    mirrored = np.pad(level, ((0, 0), (0, 1)), mode="reflect")
    expected = (mirrored[::2, ::2][:, :4] + mirrored[::2, 1::2][:, :4] + 1) // 2
    assert np.array_equal(np.array(vpc["level"][1:9], int).reshape(2, 4), expected)


def test_colours(vpc: dict[str, list[str]]) -> None:
    grey, colour = planes([str(i) for i in range(WIDTH * HEIGHT * 3 // 2)], WIDTH, HEIGHT)
    flat = {name: np.array(vpc[name][1:], int) for name in ("bgr", "argb", "packed", "narrow")}
    bgr = flat["bgr"].reshape(HEIGHT, WIDTH, 3)
    argb = flat["argb"].reshape(HEIGHT, WIDTH, 4)
    assert np.array_equal(argb[..., 3:0:-1], bgr)
    assert (argb[..., 0] == 255).all()
    # The mean of two by two pixels, which share one colour.
    u, v = colour[1, 3] - 128
    y = grey[2:4, 6:8].mean()
    blue, red = y + 1.772 * u, y + 1.402 * v
    green = y - 0.344136 * u - 0.714136 * v
    assert np.abs(bgr[2:4, 6:8].mean((0, 1)) - np.clip([blue, green, red], 0, 255)).max() < 2
    narrow = flat["narrow"].reshape(HEIGHT, WIDTH, 3)[2:4, 6:8].mean((0, 1))
    wider = 1.164383 * (y - 16)
    expected = [
        wider + 2.017232 * u,
        wider - 0.391762 * u - 0.812968 * v,
        wider + 1.596027 * v,
    ]
    assert np.abs(narrow - np.clip(expected, 0, 255)).max() < 2.5
    packed = flat["packed"].reshape(HEIGHT, WIDTH // 2, 4)
    assert np.array_equal(packed[..., [0, 2]].reshape(HEIGHT, WIDTH), grey)
    assert np.array_equal(packed[0, :, 1], colour[0, :, 0])


def test_codes(vpc: dict[str, list[str]]) -> None:
    codes = {name: vpc[name][0] for name in vpc}
    assert codes["early"] == "a0028010"
    assert codes["unready"] == "a0078010"
    assert vpc["channel"] == ["0", "1"]
    assert (codes["none"], codes["again"], codes["gone"]) == ("a0078005", "a0078004", "a0078005")
    assert (codes["beyond"], codes["sizes"], codes["task"]) == ("a0078003",) * 3
    assert codes["planar"] == "a0078008"
    assert (codes["matrix"], codes["destroyed"]) == ("0", "0")


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of [rows, columns, 3] bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("check", ["0", "1"])
def test_files(run: Runner, tmp_path: Path, check: str) -> None:
    pixels = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    (tmp_path / "p.png").write_bytes(png(pixels))
    done = run("hi_codec.c", tmp_path / "p.png", ASCEND_EP_ACL_CHECK=check)
    if "no libjpeg" in done.err + done.out:
        pytest.skip("built without libjpeg")
    assert done.status == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    rows = {" ".join(line[:-1]): line[-1] for line in lines}
    assert rows["h264"] == "a0088008"
    assert rows["h265"] == "a0058008"
    assert (rows["encoder"], rows["stopped"], rows["quality"]) == ("0", "a0088009", "a0088003")
    assert (rows["empty"], rows["quiet"], rows["rung 1"], rows["quiet again"]) == ("a008800e", "0", "1", "0")
    assert (rows["input"], rows["predicted"], rows["released"], rows["closed"]) == ("1", "1", "0", "0")
    assert ["info", "0", "64", "48", "64", "48", "4608"] in lines
    assert (rows["unstarted"], rows["nothing"], rows["frame"]) == ("a0058009", "a005800e", "0")
    assert ["shown", "64", "48", "1", "0", "1"] in lines
    assert (rows["difference"], rows["broken"], rows["short"], rows["last"]) == ("1", "1", "a0058003", "0")
    assert ["png", "0", "3", "2", "384", "16", "2"] in lines
    assert (rows["read"], rows["drained"]) == ("0", "a009800e")
    assert ["pixels", *map(str, range(18))] in lines
