"""The model of a chip: columns of its own, sums by hand, and nothing for what isn't known."""

from __future__ import annotations

import csv
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_ep.cann.chip_rates import ChipRates, chip_rates
from ascend_ep.cann.soc import SOCS, find_soc
from ascend_ep.cli.prof import main
from ascend_ep.errors import AscendError
from ascend_ep.profiling import chip_model, pipe_utilization
from ascend_ep.profiling.msprof_files import op_statistic, op_summary, op_summary_header, write_csv_files
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.trace_file import KernelCall, Operand
from ascend_ep.profiling.work import Work, core_type, work_of

CHIP = "Ascend910B3"


@pytest.fixture
def rates() -> ChipRates:
    return chip_rates(find_soc(CHIP))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rates_are_what_configurations_say() -> None:
    """Peaks that are public elsewhere come out of them: 262 TFLOPS of Ascend910A, 245.76 of Ascend910B4."""
    assert chip_rates(find_soc("Ascend910A")).products(2) == pytest.approx(262.144e12)
    assert chip_rates(find_soc("Ascend910B4")).products(2) == pytest.approx(245.76e12)
    assert chip_rates(find_soc("Ascend910B4")).products(1) == pytest.approx(491.52e12)
    assert chip_rates(find_soc("Ascend910B4")).memory == pytest.approx(960e9)


def test_units_of_a_launch_by_hand(profile: Profile, rates: ChipRates) -> None:
    """Of 50 cores on 40, by turns: the busiest one's repeats and accesses, 32 bytes a cycle each way."""
    site = next(iter(profile.sites.values()))[0]
    all_, most = (
        "scalar=0 vector=900 cube=0 read=6400 written=50",
        "scalar=7 vector=20 cube=0 read=320 written=64",
    )
    most = " ".join(f"most_{part}" for part in most.split())
    launched = replace(site, call=replace(site.call, schedule=f"work cores=50 {all_} {most}"))
    cycle = 1 / 1.8e9
    seconds = pipe_utilization.unit_seconds(launched, rates)
    wanted = {"cube": 0.0, "vec": 2 * 20, "scalar": 2 * 7, "mte2": 2 * 10, "mte3": 2 * 2}
    assert seconds == pytest.approx({unit: count * cycle for unit, count in wanted.items()})
    row = dict(zip(pipe_utilization.HEADER, pipe_utilization.pipe_row(launched, rates), strict=True))
    assert (row["model_limit"], row["model_total_cycles"], row["model_mte2_ratio"]) == ("vec", 40, "0.500")
    cube = replace(
        launched, call=replace(launched.call, schedule=launched.call.schedule.replace("cube=0", "cube=3"))
    )
    row = dict(zip(pipe_utilization.HEADER, pipe_utilization.pipe_row(cube, rates), strict=True))
    assert (row["model_cube_ratio"], row["model_vec_ratio"]) == ("N/A", "1.000")


@pytest.mark.parametrize("chip", sorted(name for name, soc in SOCS.items() if not soc.mhz))
def test_chips_without_a_known_clock_are_refused(chip: str) -> None:
    with pytest.raises(AscendError, match="no public source") as refused:
        chip_rates(find_soc(chip))
    assert refused.value.code == "E44009"


def test_a_product_by_hand(profile: Profile, rates: ChipRates) -> None:
    """Of rows by a matrix of 64 by 64 in float32: 2 * rows * 64 * 64 operations, its operands moved once."""
    for sites in profile.sites.values():
        site = sites[0]
        rows = site.call.inputs[0].dims[0] if site.call.inputs[0] else 0
        times = chip_model.site_times(site, rates)
        assert times is not None
        assert times.cube == pytest.approx(2 * rows * 64 * 64 / (2 * 4096 * 20 * 1.8e9))
        assert times.memory == pytest.approx((2 * rows * 256 + 64 * 64 * 4) / (32 * 20 * 1.8e9))
        assert times.limit == "memory"
        assert times.overlapped == times.memory <= times.in_turn


def test_measured_columns_stay_as_they_are(profile: Profile, rates: ChipRates) -> None:
    plain, modelled = list(op_summary(profile, "Memory")), list(op_summary(profile, "Memory", rates))
    head = op_summary_header(profile, "Memory", rates)
    count = len(chip_model.OF_CALLS)
    assert [row[:-count] for row in modelled] == plain
    assert head[:-count] == op_summary_header(profile, "Memory")
    assert all(re.match("model_", name) for name in head[-count:])
    assert not any(name.startswith("model_") for name in head[:-count])
    assert [row[:-2] for row in op_statistic(profile, rates)] == list(op_statistic(profile))


def test_sums(profile: Profile, rates: ChipRates, tmp_path: Path) -> None:
    files = {p.name.rsplit("_", 1)[0]: p for p in write_csv_files(profile, "Memory", tmp_path, rates)}
    calls, types = table(files["op_summary"]), table(files["op_statistic"])
    assert {row["model_chip"] for row in calls} == {CHIP}
    for row in types:
        mine = [float(c["model_time(us)"]) for c in calls if c["OP Type"] == row["OP Type"]]
        assert float(row["model_total(us)"]) == pytest.approx(sum(mine), abs=0.0006 * len(mine))
    assert all(
        float(c["model_time(us)"])
        == max(float(c[f"model_{unit}(us)"]) for unit in ("cube", "vector", "memory"))
        for c in calls
    )


def test_commands(profile: Profile, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [str(profile.folder), "--model-time", f"--soc_version={CHIP}"]
    assert main(["analyze", *asked]) == 0
    assert f"model of {CHIP}: at least" in capsys.readouterr().out
    assert main(["analyze", "--json", *asked]) == 0
    assert '"least_seconds"' in capsys.readouterr().out
    assert main(["export", *asked]) == 0
    (summary,) = profile.folder.rglob("op_summary*.csv")
    assert "model_time(us)" in summary.read_text().splitlines()[0]
    assert main(["export", str(profile.folder)]) == 0
    assert "model_" not in summary.read_text().splitlines()[0]
    other = ["export", str(profile.folder), "--type=pytorch", "--model-time", f"--soc_version={CHIP}"]
    assert main(other) == 1
    assert "E10001" in capsys.readouterr().err
    for wrong in (["--model-time"], [f"--soc_version={CHIP}"], ["--model-time", "--soc_version=Ascend310P3"]):
        assert main(["analyze", str(profile.folder), *wrong]) == 1
    assert "E44009" in capsys.readouterr().err


def test_nothing_limits_a_call_that_does_nothing(profile: Profile, rates: ChipRates) -> None:
    """Of no rows and no bytes."""
    site = next(iter(profile.sites.values()))[0]
    idle = replace(site, work=Work(0, 0, 0), call=replace(site.call, inputs=(), outputs=()))
    assert chip_model.call_columns(idle, rates) == [CHIP, "0.000", "N/A", "0.000", "0.000", "0.000"]


@pytest.mark.parametrize("analyze", ["on", "kernel"])
def test_msprofs_line(
    profile: Profile, analyze: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / profile.folder.name
    shutil.copytree(profile.folder, folder)
    line = ["msprof", f"--analyze={analyze}", f"--output={folder}", f"--soc_version={CHIP}"]
    assert main([*line, "--model-time=on"]) == 0
    (summary,) = folder.rglob("op_summary*.csv")
    assert "model_time(us)" in summary.read_text().splitlines()[0]
    assert main([*line, "--model-time=yes"]) == 1
    assert "The value must be on or off" in capsys.readouterr().err
    if analyze == "on":
        assert main([*line, "--model-time=on", "--type=db"]) == 1
        assert "E10001" in capsys.readouterr().err


def operand(*dims: int) -> Operand:
    return Operand(0, "input", 1, dims, 0, 4 * math.prod(dims))


@pytest.mark.parametrize(
    ("kernel", "inputs", "output", "products"),
    [
        ("aclnnMv", [(5, 7), (7,)], (5,), 2 * 5 * 7),
        ("aclnnAddmv", [(5,), (5, 7), (7,)], (5,), 2 * 5 * 7),
        ("aclnnAddmm", [(5, 9), (5, 7), (7, 9)], (5, 9), 2 * 5 * 7 * 9),
        ("aclnnAddbmm", [(5, 9), (4, 5, 7), (4, 7, 9)], (5, 9), 2 * 4 * 5 * 7 * 9),
        # two layers with biases of a width of 6, of inputs of a width of 3
        (
            "aclnnLSTM",
            [(11, 2, 3), *([(24, 3), (24, 6), (24,), (24,)]), *([(24, 6), (24, 6), (24,), (24,)]), (2, 2, 6)],
            (11, 2, 6),
            2 * 11 * 2 * 24 * (3 + 6 + 6 + 6),
        ),
        ("aclnnGRU", [(22, 3), (18, 3), (18, 6), (1, 2, 6), (11,)], (22, 6), 2 * 22 * 18 * (3 + 6)),
    ],
)
def test_products_of_launched_operators(
    kernel: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], products: int
) -> None:
    sides = tuple(operand(*dims) for dims in inputs), (operand(*output),)
    call = KernelCall(kernel, kernel, kernel[5:], *sides, (), (), False)
    assert work_of(call) == Work(products=products)
    assert core_type(call) == "AI_CORE"
