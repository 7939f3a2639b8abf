"""What ends a kernel's process is explained: a division by zero, and the tiling data that nobody gave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Run = Callable[..., tuple[int, str, str]]
KERNEL = """#include "kernel_operator.h"
struct Parts { uint32_t total, tiles; };
extern "C" __global__ __aicore__ void parts(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(Parts, data, tiling);
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 1024);
    AscendC::Duplicate(buffer.Get<float>(), 1.0f, 64);
    const uint32_t share = data.total / data.tiles;
    AscendC::GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, 16);
    to.SetGlobalBuffer((__gm__ float *)y, 16);
    for (uint32_t i = 0; i < share; i++) to.SetValue(i, from.GetValue(i));
}
"""
GIVEN = '--tiling "total=...,tiles=..."'


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all tests: what includes it is compiled once."""
    path = tmp_path_factory.mktemp("parts") / "parts.cpp"
    path.write_text(KERNEL)
    return path


def test_zero_tiling_data_is_named(kernel: Path, run: Run) -> None:
    status, _, err = run("run", kernel, "--input_shape", "[16]")
    assert status == 1
    assert "SIGFPE: it divides an integer by zero at " in err
    assert "parts.cpp:9, behind" in err
    assert "parts.cpp:8, block 0" in err
    assert f"all of its tiling data is zero, as nothing gives it ({GIVEN})" in err
    status, _, err = run("run", kernel, "--input_shape", "[16]", "--tiling", "total=16")
    assert status == 1
    assert "SIGFPE" in err
    assert "tiling data" not in err


def test_given_tiling_data_is_not_named(kernel: Path, run: Run) -> None:
    np.save(kernel.with_name("x.npy"), np.arange(16, dtype=np.float32))
    call = ["run", kernel, "--input", kernel.with_name("x.npy"), "--formula", "x"]
    status, out, err = run(*call, "--tiling", "total=16,tiles=1")
    assert status == 0, err
    assert "tiling data is zero" not in out


def test_what_reads_no_tiling_data_misses_none(tmp_path: Path, run: Run) -> None:
    kernel = tmp_path / "parts.cpp"
    text = KERNEL.replace("GET_TILING_DATA_WITH_STRUCT(Parts, data, tiling);", "Parts data{16, 1};")
    kernel.write_text(text.replace("GM_ADDR tiling", "GM_ADDR more"))
    _, out, err = run("run", kernel, "--input_shape", "[16];[16];[16]")
    assert "tiling data is zero" not in out + err


def test_what_divides_by_zero_is_not_built(kernel: Path, run: Run) -> None:
    status, _, err = run("build", kernel, "--input_shape", "[16]", "--output", kernel.parent / "out")
    assert status == 1
    assert "parts.cpp:9, behind" in err
    assert not (kernel.parent / "out" / "parts.so").exists()
