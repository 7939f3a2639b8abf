"""The unmodified torch_npu on our library: the pages' programs, architectures beside PyTorch on the CPU, and
`torch.distributed` on several devices.

The wheel is kept in the cache folder. Without it, and without a registry that has it, these are skipped.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from ascend_ep.runtime.cache_folder import cache_path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "torch-npu.md"
SEVERAL_DEVICES = ROOT / "docs" / "hccl.md"
HEADER = "include/aclnnop/operators.h"
WHEEL = "2.13.0"
#: Of the largest magnitude, in float32: sums of another order.
CLOSE = 1e-4
#: Of the loss after 30 steps.
TRAINED = 1e-3
#: Not mobilenet_v2: its batch norms see two values, and 1e-7 more in the input changes PyTorch's own loss.
NAMES = ("bert", "segformer", "llama", "t5")
SAMPLED = (
    "nn.functional.pad:reflect",
    "scatter_reduce:mean",
    "cummax",
    "nn.functional.interpolate:bicubic",
    "index_add",
)


@pytest.fixture(scope="module")
def torch_npu() -> Path:
    """The folder that has the package torch_npu."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        pytest.skip("PyTorch is not installed")
    if torch.partition("+")[0] != WHEEL or sys.version_info[:2] != (3, 11):
        pytest.skip(f"the wheel of torch_npu {WHEEL} is for PyTorch {WHEEL} and Python 3.11")
    folder = cache_path() / f"torch_npu-{WHEEL}"
    if not (folder / "torch_npu").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", f"--target={folder}"]
        done = subprocess.run(
            [*command, f"torch_npu=={WHEEL}"], capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            pytest.skip(f"no registry gives torch_npu {WHEEL}: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def run(toolkit: Path, torch_npu: Path, *command: str, **environment: str) -> str:
    """In the environment that the page describes."""
    line = f'. {toolkit}/set_env.sh && exec "$@"'
    path = os.pathsep.join([str(torch_npu), str(ROOT), str(ROOT / "models"), str(ROOT / "tools")])
    done = subprocess.run(
        ["bash", "-c", line, "bash", *command],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_the_page(toolkit: Path, torch_npu: Path, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    (tmp_path / "train.py").write_text(program)
    printed = run(toolkit, torch_npu, sys.executable, str(tmp_path / "train.py"))
    assert "npu:0" in printed
    assert float(printed.split()[-1]) < 0.05


@pytest.mark.slow
def test_architectures(toolkit: Path, torch_npu: Path) -> None:
    program = ROOT / "tests" / "acl" / "programs" / "torch_npu_architectures.py"
    printed = run(toolkit, torch_npu, sys.executable, str(program), *NAMES)
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["name"] for row in rows] == list(NAMES)
    for row in rows:
        assert "error" not in row, row
        assert max(row["forward"], row["backward"]) < CLOSE, row
        assert max(row["SGD"], row["Adam"], row["AdamW"]) < TRAINED, row


@pytest.mark.slow
@pytest.mark.parametrize("queue", ["0", "1"])
def test_its_profiler(toolkit: Path, torch_npu: Path, tmp_path: Path, queue: str) -> None:
    """Records by our aclprof... and reads what our msprof exports. Kernels are found in their steps, though
    with a queue each may run long after its step launched it."""
    program = ROOT / "tests" / "acl" / "programs" / "torch_npu_profiler.py"
    printed = run(toolkit, torch_npu, sys.executable, str(program), str(tmp_path), TASK_QUEUE_ENABLE=queue)
    folders = [Path(text) / "ASCEND_PROFILER_OUTPUT" for text in json.loads(printed.splitlines()[-1])]
    assert [folder.parents[1].name for folder in folders] == ["scheduled", "trained"]

    def rows(folder: Path, name: str) -> list[dict[str, str]]:
        with open(folder / name, newline="") as file:
            return list(csv.DictReader(file))

    kernels = rows(folders[0], "kernel_details.csv")
    assert [row["Type"] for row in kernels] == ["Addmm", "Gelu", "Addmm"] * 5
    assert [row["Step Id"] for row in kernels] == [str(step) for step in range(2, 7) for _ in range(3)]
    assert {row["aic_mac_ratio"] for row in kernels} == {"N/A"}
    steps = rows(folders[0], "step_trace_time.csv")
    for step in steps:
        spent = sum(float(r["Duration(us)"]) for r in kernels if r["Step Id"] == step["Step"])
        assert float(step["Computing"]) == pytest.approx(spent, rel=0.01)
    softmax = [e for e in json.loads((tmp_path / "timeline.json").read_text()) if "Softmax" in e["name"]]
    assert len(softmax) >= 3
    assert rows(folders[1], "operator_memory.csv")
    assert (folders[1] / "ascend_pytorch_profiler.db").exists()
    for log in folders[0].parent.glob("logs/*"):
        assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_recurrent_layers(toolkit: Path, torch_npu: Path) -> None:
    """Those of several layers and directions are DynamicRNN, which is compiled on the way."""
    program = ROOT / "tests" / "acl" / "programs" / "torch_npu_recurrent.py"
    printed = run(toolkit, torch_npu, sys.executable, str(program))
    rows = [json.loads(line) for line in printed.splitlines()]
    assert len(rows) == 32
    assert [row for row in rows if not row["apart"] < 1e-5] == []


@pytest.mark.slow
def test_samples_of_operators(toolkit: Path, torch_npu: Path) -> None:
    """A few of what tools/sweep_torch_npu runs."""
    pytest.importorskip("expecttest", reason="PyTorch's samples need it")
    program = ROOT / "tests" / "acl" / "programs" / "torch_npu_samples.py"
    names = "\n".join(f"{name} float32" for name in SAMPLED)
    script = f"echo '{names}' | {sys.executable} {program}"
    rows = [json.loads(n) for n in run(toolkit, torch_npu, "bash", "-c", script).splitlines() if n[0] == "{"]
    assert [row["name"] for row in rows] == names.splitlines()
    assert {row["result"] for row in rows} == {"agrees"}, rows


TESTS = """\
import unittest
import torch
import torch_npu


class Some(unittest.TestCase):
    def test_sum(self) -> None:
        self.assertEqual((torch.ones(3).npu() + 1).sum().item(), 6)

    def test_wrong(self) -> None:
        self.assertEqual(torch.ones(3).npu().sum().item(), 4)

    def test_lacking(self) -> None:
        raise RuntimeError("aclnnNone or aclnnNoneGetWorkspaceSize not in libopapi.so")

    @unittest.skip("another chip")
    def test_skipped(self) -> None:
        raise AssertionError

    def test_ends_its_process(self) -> None:
        import os

        os._exit(3)
"""


@pytest.mark.slow
def test_tests_of_others(torch_npu: Path, tmp_path: Path) -> None:
    """tools/run_torch_npu_tests: each test in a process of its own."""
    (tmp_path / "test_some.py").write_text(TESTS)
    pytest.importorskip("expecttest", reason="torch_npu's tests need it")
    command = [str(ROOT / "tools" / "run_torch_npu_tests"), str(tmp_path), "--wheel", str(torch_npu)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=900)
    *failed, lacking, counts = done.stdout.splitlines()
    assert counts == "1 files: 3 failed, 1 passed, 1 skipped"
    assert lacking == "lacking: aclnnNone (1 files)"
    assert [line.split()[2] for line in sorted(failed)] == [
        f"Some.test_{name}:" for name in ("ends_its_process", "lacking", "wrong")
    ]
    assert done.returncode == 1


MISTAKES = [
    (["nothing"], "[nothing] is no folder"),
    ([".", "--every", "0"], "argument --every: [0] is below 1"),
    ([".", "--seconds", "-1"], "argument --seconds: [-1] is below 1"),
]


@pytest.mark.parametrize(("given", "said"), MISTAKES)
def test_the_tool_says_what_is_wrong(given: list[str], said: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / "run_torch_npu_tests"), *given]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_several_devices(toolkit: Path, torch_npu: Path, ranks: int) -> None:
    program = ROOT / "tests" / "acl" / "programs" / "torch_npu_distributed.py"
    printed = run(toolkit, torch_npu, sys.executable, str(program), str(ranks))
    rows = sorted((json.loads(line) for line in printed.splitlines()), key=lambda row: row["rank"])
    assert [row["rank"] for row in rows] == list(range(ranks))
    for row in rows:
        assert not row["wrong"], row
        assert row["apart"] < 1e-6, row


@pytest.mark.slow
def test_the_page_on_several_devices(toolkit: Path, torch_npu: Path, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", SEVERAL_DEVICES.read_text(), flags=re.S)
    (tmp_path / "train.py").write_text(program)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    printed = run(toolkit, torch_npu, *launch, str(tmp_path / "train.py"), ASCEND_EP_DEVICES="2")
    (first, gradient), (second, other) = sorted(line.split() for line in printed.splitlines())
    assert (first, second, gradient) == ("0", "1", other)


def test_the_page_counts_the_operators(toolkit: Path) -> None:
    headers = (toolkit / HEADER).parent.glob("*.h")  # some are declared in their own alone
    names = {n for h in headers for n in re.findall(r"(aclnn\w+)GetWorkspaceSize\(", h.read_text())}
    (counted,) = re.findall(r"The library has (\d+) operators", PAGE.read_text())
    assert int(counted) == len(names)
