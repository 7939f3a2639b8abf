"""DVPP's decoding and encoding of JPEG, and its decoding of PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from .conftest import Runner


def png(pixels: np.ndarray) -> bytes:
    """A file of [rows, columns, 3] bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, columns, _ = pixels.shape
    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("check", ["0", "1"])
def test_what_is_encoded_is_decoded(run: Runner, tmp_path: Path, check: str) -> None:
    pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    file = tmp_path / "x.png"
    file.write_bytes(png(pixels))
    done = run("media.c", file, ASCEND_EP_ACL_CHECK=check)
    if "no libjpeg" in done.err or "encoded 200006" in done.out:
        pytest.skip("this build has no libjpeg")
    assert done.status == 0, done.err
    said = dict(line.split(" ", 1) for line in done.out.splitlines())
    assert (said["room"], said["encoded"]) == ("0", "0 fits")
    for name in ("420", "swapped", "444"):
        grey, colour, size = said[name].split(" ", 2)
        assert int(grey) <= 2, name
        assert int(colour) <= 3, name
        assert size == "of 70 by 50"
    assert (said["rgb"], said["nothing"], said["no"]) == ("fails 100000", "fails 148052", "room 100000")
    assert said["head"] == "0 7 5 3 0 0 0"
    assert np.array_equal(np.array(said["png"].split(), int), pixels.ravel())
