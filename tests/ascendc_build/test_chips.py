"""Where nobody names a chip, an operator has one that its host code is for."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_ep.cann.soc import ALIASES, SOCS, find_soc
from ascend_ep.cli.op_run import add_run_command, kernel_request
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.cpp import find_cpp
from ascend_ep.opbuild.kernels.chips import chips_named, soc_of

Run = Callable[..., tuple[int, str, str]]
HOST = """
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend310p").AddConfig( "ascend310b", config);
"""


@pytest.mark.parametrize(
    ("chips", "name"),
    [
        ([], "Ascend910B1"),
        (["ascend310p"], "Ascend310P3"),
        (["ascend310p", "ascend910b"], "Ascend910B1"),
        (["kirin9020", "ascend310b"], "Ascend310B1"),
        (["ascend910_93"], "Ascend910_9391"),
        (["unheard-of"], "Ascend910B1"),
    ],
)
def test_the_default_is_a_chip_of_the_operator(chips: list[str], name: str) -> None:
    assert soc_of(chips).name == name


def test_a_run_has_the_chip_of_the_host_code_unless_one_is_named(tmp_path: Path) -> None:
    for part in ("op_host", "op_kernel"):
        (tmp_path / part).mkdir()
    (tmp_path / "op_host/one.cpp").write_text(f"OP_ADD(One); {HOST}")
    kernel = tmp_path / "op_kernel/one.cpp"
    kernel.write_text('extern "C" __global__ __aicore__ void one(GM_ADDR x, GM_ADDR y) {}')
    assert chips_named([tmp_path / "op_host/one.cpp"]) == ["ascend310p", "ascend310b"]
    parser = argparse.ArgumentParser()
    add_run_command(parser.add_subparsers())
    for words, name in (([], "Ascend310P3"), (["--soc_version", "Ascend910B4"], "Ascend910B4")):
        given = parser.parse_args(["run", str(kernel), "--input_shape", "[8]", *words])
        assert kernel_request(given, given.files)[0].soc.name == name


def test_the_memories_of_a_chip_are_those_of_one_table(tmp_path: Path) -> None:
    """The header's sizes, by which kernels' constants and memories go, are those that tiling is told."""
    names = [*SOCS, *ALIASES]
    rows = "".join(f'    show("{name}");\n' for name in names)
    (tmp_path / "chips.cpp").write_text(f"""#include <cstdio>
#include "cpu/memory.h"
static void show(const char *name) {{
    const asc_cpu::Chip chip = asc_cpu::chip_of(name);
    printf("%s %u %u %u %u %u\\n", name, chip.ub, chip.l1, chip.l0a, chip.l0b, chip.l0c);
}}
int main() {{
{rows}}}
""")
    program = tmp_path / "chips"
    folders = (f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}")
    command = [*find_cpp(), "-std=c++17", *folders, str(tmp_path / "chips.cpp"), "-o", str(program)]
    subprocess.run(command, check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    socs = [find_soc(name) for name in names]
    wanted = [f"{n} {s.ub} {s.l1} {s.l0a} {s.l0b} {s.l0c}" for n, s in zip(names, socs, strict=True)]
    assert said.splitlines() == wanted


#: The second has the usual chip's size: the first is compiled with another.
@pytest.mark.parametrize(
    ("chip", "bytes_"),
    [("Ascend310P3", 262144), pytest.param("Ascend910B4", 196608, marks=pytest.mark.slow)],
)
def test_sizes_are_constants_of_the_chip(tmp_path: Path, run: Run, chip: str, bytes_: int) -> None:
    (tmp_path / "k.cpp").write_text(f"""#include "kernel_operator.h"
extern "C" __global__ __aicore__ void sizes(GM_ADDR x, GM_ADDR y) {{
    static_assert(AscendC::TOTAL_UB_SIZE == {bytes_} && AscendC::GetUBSizeInBytes() == {bytes_});
    static_assert(AscendC::TOTAL_VEC_LOCAL_SIZE == {bytes_ - 8192});
    AscendC::GlobalTensor<int32_t> from, to;
    from.SetGlobalBuffer((__gm__ int32_t *)x, 1);
    to.SetGlobalBuffer((__gm__ int32_t *)y, 1);
    to.SetValue(0, from.GetValue(0));
    AscendC::PRINTF("%d of %.1f\\n", 7, half(0.5));
}}
""")
    call = ["run", tmp_path / "k.cpp", "--input_shape", "[1]", "--dtype", "int32", "--formula", "x"]
    status, said, err = run(*call, "--soc_version", chip)
    assert status == 0, err
    assert "printed   7 of 0.5\n" in said
