"""Folders that hold msprof's tables and no trace of ours: of chips, and our own without what was recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ascend_ep.cli.prof import main
from ascend_ep.errors import AscendError
from ascend_ep.profiling.dashboard import Dashboard
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.kernel_csv import metrics
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.msprof_files import OUTPUT
from ascend_ep.profiling.profile import Profile, open_profile
from ascend_ep.profiling.roofline import bounds
from ascend_ep.profiling.rules import findings
from ascend_ep.profiling.tables import by_type, text
from ascend_ep.profiling.torch_files import write_torch_files

MACHINE = Machine(1e11, 1e10, 1e9, 2)
#: Tasks as versions of CANN write them: of one operator launched three times, an AI CPU's, and a broadcast.
NEW = """Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),\
Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,\
Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,aicore_time(us),aic_total_cycles,\
aic_mac_ratio,aic_mte2_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,aiv_mte2_ratio
0,4294967295,1,7,mm,MatMulV3,dynamic,AI_CORE,1780676244313289.000\t,100.500,0,20,0,NO,"\""64,128;128,256"\"",\
DT_BF16;DT_BF16,ND;ND,"\""64,256"\"",DT_BF16,ND,N/A,90,1000,0.8,0.4,0,0,0,0
0,4294967295,2,7,mm,MatMulV3,dynamic,AI_CORE,1780676244313400.250\t,99.500,10.750,20,0,NO,\
"\""64,128;128,256"\"",DT_BF16;DT_BF16,ND;ND,"\""64,256"\"",DT_BF16,ND,N/A,90,1000,0.6,0.4,0,0,0,0
0,4294967295,3,7,add,Add,static,AI_VECTOR_CORE,1780676244314500.000\t,50,1000.250,20,0,NO,"\""64,256;"\"",\
FLOAT;INT64,ND;ND,"\""64,256"\"",FLOAT,ND,N/A,0,0,0,0,45,900,0.1,0.7
0,4294967295,4,7,cast,Cast,static,AI_CPU,1780676244314551.000\t,20,1,1,0,NO,N/A,N/A,N/A,N/A,N/A,N/A,N/A,\
N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A
0,4294967295,N/A,N/A,hcom_broadcast__1,hcom_broadcast_,N/A,COMMUNICATION,1780676244313289.000\t,300,0,0,N/A,\
N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A
"""
OLD = """Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time,Task Duration(us),Block Dim,\
total_cycles,vec_ratio,mac_ratio,mte2_ratio
1,1,4,add,Add,AI_CORE,1043640017380.831,82.11,8,78923,0.0229,0,0.3887
"""
TASK_TIME = """Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)
1,N/A,EVENT_RECORD,3,4,0.020,900000.000,900000.020
1,main_kernel,MIX_AIC,3,5,42.5,1000000.000,1000042.500
"""


def chip(
    folder: Path, name: str = f"PROF_000001_20260605161708478_ABC/{OUTPUT}/op_summary_20260605161737.csv"
) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NEW.replace('\\"', '"'))
    return path


def test_tasks_of_a_chip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chip(tmp_path)
    profile = open_profile(tmp_path)
    sums = {
        row.name: (row.kernel, row.calls, round(row.seconds * 1e9), row.bytes) for row in by_type(profile)
    }
    moved = 2 * 2 * (64 * 128 + 128 * 256 + 64 * 256)
    assert sums == {
        "MatMulV3": ("AI_CORE", 2, 200_000, moved),
        "Add": ("AI_VECTOR_CORE", 1, 50_000, 2 * 4 * 64 * 256 + 8),
        "Cast": ("AI_CPU", 1, 20_000, 0),
        "hcom_broadcast_": ("COMMUNICATION", 1, 300_000, 0),
    }
    assert profile.wall_ns == 300_000 + 1_282_000  # of two streams
    assert main(["analyze", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "1 device, 5 tasks" in shown
    assert "between tasks" in shown
    assert main(["analyze", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 5


def test_classes_and_rules_of_a_chip(tmp_path: Path) -> None:
    profile = open_profile(chip(tmp_path))
    classes = {bound.row.name: (bound.kind, round(bound.attained, 3)) for bound in bounds(profile, MACHINE)}
    weighted = round((100.5 * 0.8 + 99.5 * 0.6) / 200, 3)
    assert classes["mm"] == ("compute bound", weighted)
    assert classes["add"] == ("memory bound", 0.7)
    assert classes["cast"][0] == "unknown"
    found = {f.subtype: f.tuning for f in findings(profile, MACHINE)}
    assert found["AI CPU"] == ["cast"]
    assert found["Wait"] == ["add: 1000.2 us", "mm: 10.8 us"]
    assert "Data Type" not in found  # the scalar is the only INT64
    values = {name: value for name, value, *_ in metrics(profile, MACHINE)}
    assert values["AICORE Compute Efficiency"] == f"{100 * weighted:.1f}%"
    assert values["Vector Compute Ratio"] == "10.0%"
    assert values["L2 Cache Hit Rate"] == "N/A"


@pytest.mark.parametrize(
    ("name", "table", "seconds"),
    [
        ("PROF_1/device_0/summary/op_summary_0_1_1.csv", OLD, 82.11e-6),
        ("ASCEND_PROFILER_OUTPUT/kernel_details.csv", OLD.replace("Op Name", "Name"), 82.11e-6),
        ("x_ascend_pt/ASCEND_PROFILER_OUTPUT/task_time.csv", TASK_TIME, 42.52e-6),
    ],
)
def test_other_places_and_versions(name: str, table: str, seconds: float, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(table, encoding="utf-8-sig")
    assert open_profile(tmp_path).kernel_ns == pytest.approx(1e9 * seconds)


def test_dims_with_stars(tmp_path: Path) -> None:
    """`Input Shape`, as some versions have it."""
    path = tmp_path / "op_summary_20260605161737.csv"
    head = "Op Name,Task Duration(us),Input Shape,Input Data Type,Output Shape,Output Data Type"
    path.write_text(f'{head}\nadd,5,"1*512*4*8;4*8",FLOAT;FLOAT16,1*512*4*8,FLOAT\n')
    (row,) = by_type(open_profile(tmp_path))
    assert row.bytes == 2 * 4 * 512 * 32 + 2 * 32


def test_one_export_of_several(tmp_path: Path) -> None:
    """The newest alone, with all of its slices."""
    first = chip(tmp_path)
    for name in ("op_summary_slice_0_20260605171737.csv", "op_summary_slice_1_20260605171737.csv"):
        shutil.copy(first, first.with_name(name))
    assert sum(len(p.calls) for p in open_profile(tmp_path).processes) == 10


def test_own_tables_say_what_the_trace_says(profile: Profile, tmp_path: Path) -> None:
    """The same sums, by operator, out of op_summary and out of kernel_details."""
    written = write_files(profile, "PipeUtilization")
    torch = write_torch_files(profile, tmp_path / "torch")
    shutil.copy(written[0], tmp_path)
    expected = {(r.name, r.core): (r.calls, r.seconds, r.bytes) for r in by_type(profile)}
    for folder in (tmp_path, torch / "ASCEND_PROFILER_OUTPUT"):
        read = open_profile(folder)
        assert read.of_chip
        assert read.kernel_ns == profile.kernel_ns
        found = {(r.name, r.core): (r.calls, r.seconds, r.bytes) for r in by_type(read)}
        assert found.keys() == expected.keys()
        assert all(found[key][0] == expected[key][0] for key in expected)


def test_the_page_of_a_chip(tmp_path: Path) -> None:
    path = chip(tmp_path)
    assert main(["report", str(path), f"--output={tmp_path / 'page.html'}"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "hcom_broadcast__1" in page
    assert '"machine": null' in page
    assert "hcom_broadcast__1" in Dashboard(tmp_path, MACHINE).page()


def test_tables_of_others_are_not_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = chip(tmp_path)
    before = path.read_text()
    for words in (
        ["export"],
        ["export", "--type=pytorch"],
        ["msprof", "--export=on", f"--output={tmp_path}"],
    ):
        assert main([*words, *([] if words[0] == "msprof" else [str(tmp_path)])]) == 1
        assert "E44011" in capsys.readouterr().err
    assert main(["msprof", "--analyze=kernel", f"--output={tmp_path}"]) == 0
    assert (tmp_path / "kernel.csv").exists()
    assert path.read_text() == before
    assert {p.name for p in path.parent.iterdir()} == {path.name}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "it has no column [op name]"),
        ("Op Name,OP Type\na,b\n", "it has no column [task duration(us)]"),
        ("Op Name,Task Duration(us)\n", "it has no tasks"),
        ("Op Name,Task Duration(us)\na\n", "line 2 has 1 of 2 columns"),
        ("Op Name,Task Duration(us)\na,soon\n", "line 2: duration [soon] is no time"),
        ("Op Name,Task Duration(us)\na,-1\n", "line 2: duration [-1] is no time"),
        ("Op Name,Task Duration(us)\na,nan\n", "line 2: duration [nan] is no time"),
        ("Op Name,Task Duration(us)\n\udcff\udcfe,1\n", "it is no text of CSV"),
        ("Op Name,Task Duration(us)\na\0,1\n" + "b" * 200_000 + ",1\n", "it is no text of CSV"),
    ],
)
def test_what_is_no_table(table: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "op_summary_1.csv"
    path.write_bytes(table.encode("utf-8", "surrogateescape"))
    with pytest.raises(AscendError, match="E44010") as raised:
        open_profile(tmp_path)
    assert says in str(raised.value)


@pytest.mark.parametrize("steps", ["", "Step Id,"])
def test_pauses_between_steps_are_no_waits(steps: str, tmp_path: Path) -> None:
    """Of tables that number steps, and of those that don't: two seconds in which another batch was read."""
    starts = (0, 1020, 2_000_000, 2_001_020)
    lines = [f"{i // 2}," * bool(steps) + f"{'ab'[i % 2]},{start},1000" for i, start in enumerate(starts)]
    table = "\n".join([f"{steps}Op Name,Task Start Time(us),Task Duration(us)", *lines])
    (tmp_path / "op_summary.csv").write_text(table)
    profile = open_profile(tmp_path)
    assert profile.wall_ns == 2 * 2_020_000
    assert [f for f in findings(profile, MACHINE) if f.subtype == "Wait"] == []


@pytest.mark.parametrize("named", [True, False])
def test_sums_alone_say_what_they_lack(named: bool, tmp_path: Path) -> None:
    path = tmp_path / OUTPUT / "op_statistic_20260605161737.csv"
    path.parent.mkdir()
    path.write_text("Device_id,OP Type,Core Type,Count,Total Time(us)\n0,Add,AI_VECTOR_CORE,3,30\n")
    with pytest.raises(AscendError, match=r"E44010.*no row for a task") as raised:
        open_profile(path if named else tmp_path)
    assert "op_summary" in str(raised.value)


def test_tasks_without_a_start_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "op_summary.csv").write_text(
        "Op Name,Task Start Time(us),Task Duration(us)\na,5,1\nb,N/A,2\n"
    )
    profile = open_profile(tmp_path)
    assert profile.wall_ns == 3000
    assert "2 tasks" in text(profile)
