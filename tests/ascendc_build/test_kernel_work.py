"""What a kernel asks of a chip: counted by its cores, weighed by the chip's rates."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cann.chip_rates import chip_rates
from ascend_ep.cann.soc import find_soc
from ascend_ep.cli.op import main
from ascend_ep.opbuild.ascendc.call_request import WORK_KINDS
from ascend_ep.opbuild.kernels.run_kernel import RunRequest, run_kernel
from ascend_ep.opbuild.kernels.sources import find_sources

KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void work(GM_ADDR x, GM_ADDR y, uint32_t each, uint32_t scalars) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    GlobalTensor<half> from, to;
    uint32_t begin = GetBlockIdx() * each;
    from.SetGlobalBuffer((__gm__ half *)x + begin, each);
    to.SetGlobalBuffer((__gm__ half *)y + begin, each);
    pipe.InitBuffer(buffer, each * sizeof(half));
    LocalTensor<half> local = buffer.Get<half>();
    DataCopy(local, from, each);
    PipeBarrier<PIPE_ALL>();
    Adds(local, local, half(1), each);
    PipeBarrier<PIPE_ALL>();
    if (GetBlockIdx() == 0)
        for (uint32_t i = 0; i < scalars; i++) local.SetValue(i, half(float(local.GetValue(i)) * 2));
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, local, each);
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all tests: what includes it is compiled once."""
    path = tmp_path_factory.mktemp("work") / "work.cpp"
    path.write_text(KERNEL)
    return path


@pytest.mark.parametrize(("blocks", "each", "scalars"), [(1, 128, 0), (2, 160, 8), (5, 2048, 96)])
def test_counts(kernel: Path, blocks: int, each: int, scalars: int) -> None:
    x = np.arange(blocks * each).astype(np.float16) % 7
    values = {"each": str(each), "scalars": str(scalars)}
    soc = find_soc("Ascend910B1")
    made = run_kernel(RunRequest(find_sources([kernel], [], "", []), soc, [x], values=values, blocks=blocks))
    assert not made.answer.failed, made.answer.lines
    wanted = x + np.float16(1)
    wanted[:scalars] *= 2
    np.testing.assert_array_equal(made.answer.outputs[0], wanted)
    work = made.answer.work
    assert work is not None
    assert work.cores == blocks
    repeats = -(-each * 2 // 256)
    assert dict(zip(WORK_KINDS, work.most, strict=True)) == {
        "scalar": 2 * scalars,
        "vector": repeats,
        "cube": 0,
        "read": 2 * each,
        "written": 2 * each,
    }
    assert list(work.all) == [2 * scalars, blocks * repeats, 0, 2 * each * blocks, 2 * each * blocks]


def test_cores_beyond_the_chips_take_turns() -> None:
    rates = chip_rates(find_soc("Ascend910B3"))
    few, many = (rates.kernel_times(cores, 1000, 500, 4096, cores * 4096) for cores in (40, 41))
    assert (few.scalar, few.vector) == (1000 / 1.8e9, 500 / 1.8e9)
    assert (many.scalar, many.vector) == (2 * few.scalar, 2 * few.vector)
    assert few.limit == "scalar"
    assert few.overlapped == few.scalar < few.in_turn


PROGRAM = KERNEL + "int main() { return 0; }\n"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ([], ""),
        (["--no-check"], "E43103"),
        (["--soc_version=Ascend310P3"], "E44009"),
        (["no arguments"], "E43103"),
    ],
    ids=["a kernel", "without checks", "a chip without a clock", "a program"],
)
def test_the_command_refuses_before_it_runs(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], code: str
) -> None:
    source = kernel
    if "no arguments" in flags:
        (source := tmp_path / "program.cpp").write_text(PROGRAM)
    call = ["--input_shape=[256]", "--dtype=float16", "--block_dim=2", "--arg", "each=128"]
    call = [*call, "--arg", "scalars=4", *flags] if flags != ["no arguments"] else []
    assert main(["run", str(source), "--model-time", *call]) == (1 if code else 0)
    said = capsys.readouterr()
    assert code in said.err
    assert ("model" in said.out, said.out == "") == (not code, bool(code))
    if not code:
        assert re.search(r"Ascend910B1: at least \S+ us, \S+ us if its units", said.out)
        assert "8 scalar accesses, 2 repeats, 1024 bytes moved" in said.out
