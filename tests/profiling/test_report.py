"""The page: complete in itself, and its script runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from profiled import RUNS

from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.report import contents, layer_of, side_by_side, write_report
from ascend_ep.profiling.source_lines import SCOPES, Source, line_of, read_model, sources_of
from ascend_ep.profiling.source_lines import STACK as STACK_KEY
from ascend_ep.profiling.trace_file import CALLS
from ascend_ep.profiling.trace_file import RUNS as RUN_TYPE

MACHINE = Machine(1e11, 1e10, 1e9, 2)
NODE = shutil.which("node")


def run_page(page: Path) -> dict[str, Any]:
    if NODE is None:
        pytest.skip("there is no node to run the page's script")
    stub = Path(__file__).with_name("page_stub.js")
    ran = subprocess.run([NODE, str(stub), str(page)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_contents(profile: Profile) -> None:
    found = contents(profile, MACHINE)
    assert found["timeline"]["count"] == 3 * RUNS
    assert {site[0] for site in found["timeline"]["sites"]} == {"matmul_0", "softmax_1", "elementwise_2"}
    spent = sum(row["seconds"] for row in found["operators"])
    assert spent == pytest.approx(found["summary"]["kernels"])
    assert sum(row["seconds"] for row in found["layers"]) == pytest.approx(spent)
    product, softmax = found["between"][:2]
    assert (product["maker"], product["readers"]) == ("matmul", ["softmax"])
    assert (softmax["maker"], softmax["readers"]) == ("softmax", ["elementwise"])
    assert max(m["arena"] for m in found["memory"]) >= max(max(m["alive"]) for m in found["memory"]) > 0


def test_the_page(profile: Profile, tmp_path: Path) -> None:
    write_report(profile, MACHINE, tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    assert not re.findall(r"(?:src|href)\s*=|url\(|fetch\(|import ", text)
    found = run_page(tmp_path / "p.html")
    assert "MatMul" in found["texts"]["operators"]
    assert "latency bound" in found["texts"]["classes"]
    assert "not counted" in found["texts"]["head"] or profile.processes[0].absent_counters == ()
    assert found["drawn"] > 0
    assert found["hit"].startswith(f"{RUNS} calls")


@pytest.mark.parametrize("name", ["</script><b>", "<!--<script>", "<!-- -->", "]]>&lt;"])
def test_names_are_no_markup(profile: Profile, tmp_path: Path, name: str) -> None:
    """Of these, the second would keep the script from ending."""
    process = profile.processes[0]
    bounds = [replace(b, calls=tuple(replace(c, node=name) for c in b.calls)) for b in process.bounds]
    write_report(Profile(tmp_path, [replace(process, bounds=bounds)]), MACHINE, tmp_path / "p.html")
    before, _, rest = (tmp_path / "p.html").read_text().partition("const data = ")
    (data,) = re.findall(r"\A(.*);$", rest.partition("\n")[0])
    assert "<" not in data
    assert {site[0] for site in json.loads(data)["timeline"]["sites"]} == {name}
    assert before.count("<script>") == 1


@pytest.mark.measures
def test_a_million_calls(profile: Profile, tmp_path: Path) -> None:
    """The script is done within three seconds."""
    process = profile.processes[0]
    count = 333_334
    runs, calls = np.zeros(count, RUN_TYPE), np.zeros(3 * count, CALLS)
    runs["start"] = np.arange(count) * 1000
    runs["end"], runs["n_calls"], runs["first_call"] = runs["start"] + 900, 3, 3 * np.arange(count)
    calls["index"], calls["run"] = np.arange(3 * count) % 3, np.arange(3 * count) // 3
    calls["start"] = 1000 * calls["run"].astype(np.uint64) + 300 * calls["index"]
    calls["end"] = calls["start"] + 250
    many = Profile(tmp_path, [replace(process, runs=runs, calls=calls, counts=np.empty((0, 0), np.uint64))])
    write_report(many, MACHINE, tmp_path / "p.html")
    found = run_page(tmp_path / "p.html")
    assert "1000002 kernel calls" in found["texts"]["head"]
    assert found["spent"] < 3000


def test_of_a_bundle(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "p.html"
    assert main(["report", str(small), f"--output={target}", "--seconds=0.05"]) == 0
    assert capsys.readouterr().out == f"{target}\n"
    assert run_page(target)["texts"]["title"] == str(small)
    assert main(["report", str(small), f"--output={target}", "--seconds=0"]) == 0
    assert run_page(target)["hit"].startswith("1 calls")
    assert main(["report", str(tmp_path / "none.om")]) == 1
    assert main(["report", str(small), f"--output={tmp_path / 'no' / 'p.html'}", "--seconds=0.01"]) == 1
    assert f"no folder [{tmp_path / 'no'}]" in capsys.readouterr().err


STACK = """File "/usr/lib/python3/site-packages/torch/nn/container.py", line 253, in forward
    input = module(input)
  File "/home/me/net.py", line 6, in forward
    h = gelu(self.up(h))
  File "/usr/lib/python3/site-packages/torch/nn/linear.py", line 134, in forward
    return F.linear(input)"""


def test_lines_of_the_source(small: Path, tmp_path: Path) -> None:
    """Of the metadata that torch's exporter writes."""
    import onnx
    from profiled import model

    made = model()
    made.graph.node[0].name = "matmul"
    for key, value in ((STACK_KEY, STACK), (SCOPES, "['', '0', '0.up', 'linear']")):
        made.graph.node[0].metadata_props.add(key=key, value=value)
    onnx.save(made, tmp_path / "m.onnx")
    assert sources_of(read_model(tmp_path / "m.onnx")) == {
        "matmul": Source("net.py:6 forward: h = gelu(self.up(h))", "0.up")
    }
    (tmp_path / "m.om").write_bytes(convert(made).to_bytes())
    flags = [f"--model={tmp_path / 'm.onnx'}", f"--beside={small}", "--seconds=0.02"]
    assert main(["report", str(tmp_path / "m.om"), f"--output={tmp_path / 'p.html'}", *flags]) == 0
    texts = run_page(tmp_path / "p.html")["texts"]
    assert "net.py:6 forward: h = gelu(self.up(h))" in texts["lines"]
    assert "(unknown)" in texts["lines"]
    assert "0.up" in texts["layers"]
    assert texts["besideNames"].startswith(f"{small} and {tmp_path / 'm.om'}")
    assert "Softmax" in texts["besideOperators"]


def test_two_profiles_side_by_side(profile: Profile) -> None:
    same = side_by_side(profile, profile)
    assert {row[0] for row in same["operators"]} == {"MatMul+Relu", "Softmax", "Add+Tanh"}
    assert all(old == new > 0 for _, old, new in same["operators"])


@pytest.mark.parametrize(
    ("stack", "line"),
    [("", ""), (STACK.split("  File")[0], "container.py:253 forward: input = module(input)")],
)
def test_stacks(stack: str, line: str) -> None:
    assert line_of(stack) == line


@pytest.mark.parametrize(
    ("node", "layer"),
    [
        ("/model/layers.3/attn/MatMul", "model/layers.3"),
        ("/conv1/Conv", "conv1"),
        ("MatMul_7", "MatMul_7"),
        ("", "(unnamed)"),
    ],
)
def test_layers(node: str, layer: str) -> None:
    assert layer_of(node) == layer
