"""A project whose kernel multiplies matrices with the tiling of its host; its vector cores take the tiles."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parent / "projects" / "MatmulLeaky"
pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler is installed")


def test_a_mixed_kernel_runs_with_the_tiling_of_its_host(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    draw = np.random.default_rng(1)
    a, b = (
        draw.integers(-3, 4, (70, 40)).astype(np.float16),
        draw.integers(-3, 4, (40, 90)).astype(np.float16),
    )
    bias = draw.integers(-9, 9, 90).astype(np.float32)
    y = a.astype(np.float32) @ b.astype(np.float32) + bias
    for name, array in (("a", a), ("b", b), ("bias", bias), ("c", np.where(y >= 0, y, y * np.float32(0.25)))):
        np.save(tmp_path / f"{name}.npy", array)
    inputs = [word for name in ("a", "b", "bias") for word in ("--input", tmp_path / f"{name}.npy")]
    status, said, _ = run("run", PROJECT, *inputs, "--golden", tmp_path / "c.npy", "--attr", "alpha=0.25")
    assert status == 0
    assert "2 blocks, tiling key 1" in said
    assert "largest difference 0 " in said
