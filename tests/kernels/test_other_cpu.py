"""Kernels in another process give this library's bits: what tools/test_arm trusts in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import kernel_call
import numpy as np
import pytest
from isa_levels import isa_name
from kernel_call import KernelError, Pairs32, call
from other_cpu import OtherCpu, other_cpu

import ascend_ep
from ascend_ep.codegen.compilers import find_compiler, has_compiler
from ascend_ep.runtime._rt import lib

PROGRAM = Path(__file__).resolve().parents[2] / "native/test/serve_kernels.c"
pytestmark = [
    pytest.mark.skipif(not has_compiler(), reason="there is no C compiler"),
    pytest.mark.skipif(other_cpu() is not None, reason="compares with this machine's kernels"),
]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherCpu]:
    program = tmp_path_factory.mktemp("other") / "serve_kernels"
    package = Path(ascend_ep.__file__).parent
    command = [*find_compiler().command, "-w", f"-I{package / 'include'}", str(PROGRAM), "-o", str(program)]
    subprocess.run(
        [*command, f"-L{package / 'lib'}", "-lascend_rt", f"-Wl,-rpath,{package / 'lib'}"], check=True
    )
    process = OtherCpu([str(program)])
    yield process
    process.end()


def test_levels_are_those_of_the_library(other: OtherCpu) -> None:
    assert other.levels == {i: isa_name(i) for i in range(lib.ASC_ISA_COUNT) if lib.asc_isa_supported(i)}


def test_calls_give_the_same_bits(other: OtherCpu, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((9, 7), np.float32), rng.standard_normal((7, 5), np.float32)
    empty = np.zeros((0, 7), np.float32)

    def results() -> list[np.ndarray]:
        made = []
        for a in (x, x[::-1, ::1], np.asfortranarray(x), empty):
            shape = (a.shape[0], 5)
            made += call("matmul", [a, w, None], [(np.float32, shape)], (0, 0, 0), (1, 1, 0, 0), isa=0)
            made += call("matmul", [a, Pairs32(w), None], [(np.float32, shape)], (0, 0, 0), (1, 1, 0, 0))
        return made

    here = results()
    monkeypatch.setattr(kernel_call, "other_cpu", lambda: other)
    for mine, theirs in zip(here, results(), strict=True):
        np.testing.assert_array_equal(mine.view(np.uint32), theirs.view(np.uint32))


def test_a_refusal_has_its_code_and_text(other: OtherCpu, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KernelError) as here:
        call("matmul", [np.zeros((2, 3), np.float32)] * 2, [(np.float32, (2, 3))], (0, 0, 0), (1, 1, 0, 0))
    monkeypatch.setattr(kernel_call, "other_cpu", lambda: other)
    with pytest.raises(KernelError) as there:
        call("matmul", [np.zeros((2, 3), np.float32)] * 2, [(np.float32, (2, 3))], (0, 0, 0), (1, 1, 0, 0))
    assert str(there.value) == str(here.value)
