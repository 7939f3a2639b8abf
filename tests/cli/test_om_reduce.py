"""ascend-om reduce: the part that fails is found, and nothing else is taken for the failure."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from ascend_ep.cli.om import main

MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[N, 8] x) => (float[N, 8] y, float[N, 4] z) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
    a = Neg(x)  b = Abs(a)  c = Mul(b, w)  d = Exp(c)  e = Sigmoid(d)  f = Add(e, c)  g = Tanh(f)
    h = Relu(g)  y = Sqrt(h)  k, z = Split<axis = 1>(g) }"""

#: Fails with status 3 where Exp and Sigmoid are, with another status where Tanh is without Mul.
CHECK = """
has() { grep -aq "$1" "$model"; }
model="$1"
if has Exp && has Sigmoid; then echo "it is wrong"; exit 3; fi
if has Tanh && ! has Mul; then exit 5; fi
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), "m.onnx")
    Path("check.sh").write_text(CHECK)
    return tmp_path


@pytest.mark.parametrize("more", [[], ["--match", "it is wrong"]])
def test_the_nodes_that_fail_together_are_found(
    more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reduce", "m.onnx", "--check", "sh check.sh", "--json", *more]) == 0
    found = json.loads(capsys.readouterr().out)
    reduced = onnx.load("reduced.onnx")
    onnx.checker.check_model(reduced, full_check=True)
    assert [node.op_type for node in reduced.graph.node] == ["Exp", "Sigmoid"]
    assert [i.name for i in reduced.graph.input] == ["c"]
    assert [d.dim_param or d.dim_value for d in reduced.graph.input[0].type.tensor_type.shape.dim] == ["N", 8]
    assert (found["of"], len(found["nodes"])) == (10, 2)
    assert found["checks"] < 40


def test_the_model_goes_where_the_command_says(folder: Path) -> None:
    placed = "sh check.sh {} --and more"
    assert main(["reduce", "m.onnx", "--check", placed, "--output", "small.onnx"]) == 0
    assert len(onnx.load("small.onnx").graph.node) == 2


@pytest.mark.parametrize(
    ("check", "code"), [("true", "E40001"), ("no/such/command", "E40001"), ("", "E10004")]
)
def test_nothing_is_written_when_there_is_nothing_to_reduce(
    check: str, code: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reduce", "m.onnx", "--check", check]) == 1
    assert code in capsys.readouterr().err
    assert not Path("reduced.onnx").exists()
