"""ascend-op list and explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_ep.cli.op import main

SWISH = '{"op": "Swish", "input_num": 1, "output_num": 1, "attr": []}'


def run(
    capsys: pytest.CaptureFixture[str], *arguments: str, environ: dict[str, str] | None = None
) -> tuple[int, str, str]:
    status = main(arguments, environ or {})
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_list_shows_every_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "swish_op.json").write_text(SWISH)
    status, out, _ = run(capsys, "list", "--custom_op_info", str(tmp_path / "swish_op.json"))
    rows = [line.split() for line in out.splitlines()]
    assert status == 0
    assert ["Swish", "(declared", "only)", "--custom_op_info", f"({tmp_path}/swish_op.json:1)"] in rows
    assert ["Swish", "formula", "built-in", "(activation/Swish.json)"] in rows


def test_explain_shows_the_whole_definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "swish_op.json").write_text(SWISH)
    status, out, _ = run(capsys, "explain", "my::Swish", "--custom_op_info", str(tmp_path / "swish_op.json"))
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "Swish(x) -> y"
    assert f"from: built-in (activation/Swish.json), declared in {tmp_path}/swish_op.json:1" in lines
    assert "attribute alpha: float, default 1.0" in lines
    assert "input x: T = float32, float16, bfloat16" in lines
    assert "shape of y: x" in lines
    assert lines[-2:] == ["formula:", "  y = x*sigmoid(alpha*beta*scale*x)"]


def test_explain_kernels_and_standard_operators(capsys: pytest.CaptureFixture[str]) -> None:
    assert "semantics: kernel topk" in run(capsys, "explain", "ai.custom::TopK")[1]
    out = run(capsys, "explain", "ai.onnx::Add", "--opset", "7")[1]
    assert "domain: ai.onnx, since version: 7" in out
    assert "shape of C: as ONNX says" in out


def test_unknown_operators_name_the_places_and_similar_ones(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "explain", "my::Swihs")
    assert (status, out) == (1, "")
    assert "E19010: No parser is registered for Op [Swihs, optype [my::1::Swihs]]." in err
    assert "$ASCEND_CUSTOM_OPS: not set" in err
    assert "similar: Swish" in err


def test_errors_of_files_are_printed_and_wrong_usage_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "op.json"
    file.write_text('{"op": "A", "formla": "x"}')
    status, _, err = run(capsys, "list", "--custom_op_info", str(file))
    assert status == 1
    assert "Did you mean [formula]?" in err
    with pytest.raises(SystemExit) as caught:
        main(["explain"], {})
    assert caught.value.code == 2
