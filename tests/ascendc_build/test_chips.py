"""Where nobody names a chip, an operator has one that its host code is for."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from ascend_ep.cli.op_run import add_run_command, kernel_request
from ascend_ep.opbuild.kernels.chips import chips_named, soc_of

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
