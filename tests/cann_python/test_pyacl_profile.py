"""A program on pyACL, as tutorials write them, under `ascend-prof run`: its model's calls are recorded."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import acl_bundles
import pytest

from ascend_ep.cli.prof import main as prof
from ascend_ep.cli.toolkit import MODULES

PROGRAM = """
import sys
import acl

def checked(ret):
    assert ret == 0, ret

def buffers(count, size_of):
    dataset = acl.mdl.create_dataset()
    for i in range(count):
        size = size_of(desc, i)
        memory, ret = acl.rt.malloc(size, 0)
        checked(ret)
        _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(memory, size))
        checked(ret)
    return dataset

checked(acl.init())
checked(acl.rt.set_device(0))
context, ret = acl.rt.create_context(0)
model, ret = acl.mdl.load_from_file(sys.argv[1])
checked(ret)
desc = acl.mdl.create_desc()
checked(acl.mdl.get_desc(desc, model))
given = buffers(acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index)
made = buffers(acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)
if len(sys.argv) > 2:  # as the documents profile a part of a program
    checked(acl.prof.init(sys.argv[2]))
    config = acl.prof.create_config([0], 0, 0, 0x0001 | 0x0002 | 0x0004)
    checked(acl.prof.start(config))
for _ in range(5):
    checked(acl.mdl.execute(model, given, made))
if len(sys.argv) > 2:
    checked(acl.prof.stop(config))
    checked(acl.prof.destroy_config(config))
    checked(acl.prof.finalize())
checked(acl.mdl.unload(model))
checked(acl.rt.destroy_context(context))
checked(acl.rt.reset_device(0))
checked(acl.finalize())
"""


@pytest.mark.parametrize("itself", [False, True])
def test_a_program_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, itself: bool) -> None:
    """By ascend-prof, or by its own calls, whose folder msprof exports."""
    bundle = acl_bundles.make(tmp_path, "static")["static"]
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(MODULES), *filter(None, sys.path)]))
    command = [sys.executable, str(tmp_path / "program.py"), bundle]
    if itself:
        subprocess.run([*command, str(recorded)], check=True)
        assert prof(["msprof", "--export=on", f"--output={recorded}"]) == 0
    else:
        assert prof(["run", "--quiet", f"--output={recorded}", "--", *command]) == 0
    (summary,) = recorded.rglob("op_summary_*.csv")
    with open(summary, newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["Model Name"] for row in rows} == {Path(bundle).stem}
    assert [row["Infer ID"] for row in rows if row["Op Name"] == rows[0]["Op Name"]] == list("12345")
    assert all(row["cpu_schedule"] for row in rows)
