"""--framework=3: docs/tensorflow.md in an environment of its own, whose Python ASCEND_EP_TEST_TENSORFLOW
names; and what ascend-atc makes of that process, with a program in its place."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli.atc import main
from ascend_ep.frameworks.tensorflow import PYTHON

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tensorflow.md"
sys.path.insert(0, str(PAGE.parents[1] / "tests" / "acceptance"))

from page_commands import PRELUDE, blocks, ran  # noqa: E402

REAL = os.environ.get("ASCEND_EP_TEST_TENSORFLOW", "")
CONVERT = ["--framework=3", "--soc_version=Ascend910B3", "--precision_mode_v2=origin"]
MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[unk, 4] Placeholder) => (float[unk, 4] Neg) { Neg = Neg(Placeholder) }"""


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of Python with tf2onnx: keeps what it is asked, and gives MODEL or fails."""
    model = onnx.parser.parse_model(MODEL)
    model.graph.node[0].output[0] = model.graph.output[0].name = "Neg:0"  # as tf2onnx calls it
    onnx.save(model, tmp_path / "made.onnx")
    program = tmp_path / "python"
    program.write_text(
        f"""#!{sys.executable}
import pathlib, shutil, sys
here = pathlib.Path({str(tmp_path)!r})
(here / "asked.json").write_text(sys.argv[4])
if pathlib.Path(sys.argv[2]).read_bytes() == b"broken":
    sys.exit("talk\\nDecodeError: Error parsing message")
shutil.copy(here / "made.onnx", sys.argv[3])
"""
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(PYTHON, str(program))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sizes_and_outputs_reach_the_converter(converter: Path) -> None:
    (converter / "frozen.pb").write_bytes(b"graph")
    words = [
        "--model=frozen.pb",
        "--output=m",
        "--input_shape=Placeholder:1~8,4",
        "--out_nodes=Neg:0",
        *CONVERT,
    ]
    assert main(words) == 0
    asked = json.loads((converter / "asked.json").read_text())
    assert asked == {"shapes": {"Placeholder": [-1, 4]}, "outputs": ["Neg:0"]}
    x = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(ascend_ep.InferenceSession("m.om").run(None, {"Placeholder": x})[0], -x)


def test_a_report_has_the_name_of_the_model(converter: Path) -> None:
    (converter / "frozen.pb").write_bytes(b"graph")
    assert main(["--mode=3", "--model=frozen.pb", "--check_report=report.json", *CONVERT]) == 0
    assert json.loads((converter / "report.json").read_text())["name"] == "frozen.onnx"


def test_what_the_converter_says_is_said(converter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (converter / "frozen.pb").write_bytes(b"broken")
    assert main(["--model=frozen.pb", "--output=m", *CONVERT]) == 255
    said = capsys.readouterr().out
    assert "E10041" in said
    assert "[frozen.pb]" in said
    assert "tf2onnx: DecodeError: Error parsing message" in said
    assert not (converter / "m.om").exists()


def test_nothing_is_converted_for_a_command_line_that_is_wrong(
    converter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (converter / "saved").mkdir()
    (converter / "frozen.pb").write_bytes(b"graph")
    for words, code in (
        (["--model=saved", "--output=m"], "E41010"),
        (["--model=frozen.pb"], "E10054"),
        (["--model=frozen.pb", "--output=saved/"], "E10022"),
        (["--mode=6", "--om=m.om"], "E10057"),
    ):
        assert main([*words, *CONVERT]) == 255
        assert code in capsys.readouterr().out
    assert not (converter / "asked.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="ASCEND_EP_TEST_TENSORFLOW names no Python with tensorflow and tf2onnx")
def test_the_page_of_tensorflow(tmp_path: Path) -> None:
    made, converted, compared = blocks(PAGE.read_text())
    ran(tmp_path, *made, python=REAL)
    os.environ[PYTHON] = REAL
    try:
        ran(tmp_path, *converted, seconds=600)
    finally:
        del os.environ[PYTHON]
    assert ran(tmp_path, *compared).count("agrees") == 2
    unknown = (
        f"ASCEND_EP_TENSORFLOW_PYTHON={shlex.quote(REAL)} ascend-atc --model=frozen.pb --out_nodes=missing:0 "
    )
    unknown += "--framework=3 --output=m --soc_version=Ascend910B3 && exit 1 || true"
    assert "there is no node missing" in ran(tmp_path, "sh", unknown, PRELUDE)
