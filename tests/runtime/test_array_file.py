"""Files of arrays, with any bytes: numpy reads headers with Python's own parsers, and raises what they do."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from ascend_ep import array_file


def _files() -> list[bytes]:
    made = [io.BytesIO() for _ in range(4)]
    np.save(made[0], np.ones((2, 3), np.float32))
    np.save(made[1], np.zeros(2, [("a", "f4"), ("b", "i2")]))
    np.savez(made[2], a=np.ones(3), b=np.zeros((2, 2)))
    np.savez_compressed(made[3], a=np.ones(3))
    return [file.getvalue() for file in made]


def test_any_bytes_are_arrays_or_a_value_error(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "x.npy"
    read = 0
    for content in _files():
        for _ in range(400):
            changed = bytearray(content)
            for _ in range(rng.integers(1, 4)):
                at = int(rng.integers(len(changed)))
                kind = rng.integers(3)
                if kind == 0:
                    changed[at] ^= 1 << int(rng.integers(8))
                elif kind == 1:
                    changed[at] = rng.choice(list(b"0129,()[]{}'\"<>|LOfV \n\\\x00\xff"))
                else:
                    del changed[at : at + int(rng.integers(1, 8))]
            path.write_bytes(changed)
            with contextlib.suppress(ValueError), warnings.catch_warnings(action="ignore"):
                array_file.load(path)
                read += 1
    assert read  # some are still arrays


def test_neither_pipe_nor_device_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="no regular file"):
            array_file.load(path)


def test_one_array_and_several_are_told_apart(tmp_path: Path) -> None:
    for name, content in zip(("x.npy", "x.npz"), _files()[::2], strict=True):
        (tmp_path / name).write_bytes(content)
    assert array_file.load_one(tmp_path / "x.npy").shape == (2, 3)
    assert set(array_file.load_several(tmp_path / "x.npz")) == {"a", "b"}
    with pytest.raises(ValueError, match="several arrays"):
        array_file.load_one(tmp_path / "x.npz")
    with pytest.raises(ValueError, match="one array"):
        array_file.load_several(tmp_path / "x.npy")
