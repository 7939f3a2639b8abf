"""A language model beside the advice: what it proposes is tried, what it says stands behind the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from served_model import Model

from ascend_ep.cli.prof import main

PROPOSED = '["--precision_mode_v2=fp16", "--output=/etc/passwd", "--oo_level=O1", "--oo_level=../x"]'


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        layer (float[8, 64] x) => (float[8, 64] y) { y = MatMul(x, w) }""")
    weight = np.eye(64, dtype=np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    onnx.save(made, tmp_path / "layer.onnx")
    return tmp_path / "layer.onnx"


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model([f"I would try {PROPOSED}", "Leave it\x1b[31m as it is."])
    yield made
    made.close()


def advised(layer: Path, *more: str) -> int:
    return main(["advise", str(layer), "--each=0.02", "--seconds=5", "--threads=1", *more])


def test_proposals_are_tried_and_the_report_is_worded(
    layer: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advised(layer, f"--llm-url={model.url}", "--llm-model=coder") == 0
    said = capsys.readouterr().out
    rows = {line.split()[0] for line in said.splitlines() if line.strip()}
    assert {"precision_mode_v2=fp16", "oo_level=O1"} <= rows | {r.rstrip(":") for r in rows}
    assert "/etc/passwd" not in said
    assert said.endswith("in the words of coder, which measured nothing:\nLeave it[31m as it is.\n")
    asked = [json.dumps(r["messages"]) for r in model.requests]
    assert len(asked) == 2
    assert "fast_functions" in asked[0]
    assert "what bounds it" in asked[1]


def test_json_has_the_proposals_and_no_words(
    layer: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advised(layer, f"--llm-url={model.url}", "--llm-model=coder", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["oo_level=O1"]["weakness"] == "proposed by coder"
    assert len(model.requests) == 1


def test_an_endpoint_that_is_away_costs_no_advice(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advised(layer, "--llm-url=http://127.0.0.1:9/v1", "--llm-model=coder") == 0
    said = capsys.readouterr()
    assert "tried without gain" in said.out
    assert said.err.count("[WARNING]") == 2
    assert "E42104" in said.err


def test_a_model_without_an_endpoint(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advised(layer, "--llm-model=coder") == 1
    assert "E10001" in capsys.readouterr().err


def test_nothing_is_asked_where_nothing_is_measured(
    layer: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--apply=opset", f"--output={layer.with_name('o.onnx')}", "--llm-model=coder")
    assert advised(layer, f"--llm-url={model.url}", *more) == 1
    assert "E10001" in capsys.readouterr().err
    assert not model.requests
