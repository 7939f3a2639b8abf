"""Numbers on the command line that Python's own functions are of two minds about."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

import ascend_ep
from ascend_ep.cli import atc, om

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[N, 4] x) => (float[N, 4] y) { y = Softmax(x) }"""
ATC = "--model=m.onnx --framework=5 --output=m --soc_version=Ascend910B3 "
#: A power that is a digit and no number, and more digits than Python reads as a number unless it is told to.
ODD = {"a power": "²", "a long one": "9" * 5000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("numbers")
    onnx.save(onnx.parser.parse_model(MODEL), made / "m.onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert atc.main([*ATC.split(), "--self_check=0"]) == 0
    return made


@pytest.mark.parametrize("number", ODD)
@pytest.mark.parametrize(
    "words", ["om run m.om --dim N=", f"atc {ATC}--out_nodes=y:", f"atc {ATC}--input_shape=x:4,"]
)
def test_an_odd_number_is_refused(
    words: str, number: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    name, *rest = words.split(" ")
    rest[-1] += ODD[number]
    assert {"om": om, "atc": atc}[name].main(rest) in (1, 255)
    said = "".join(capsys.readouterr())
    assert "E1" in said or "E4" in said
    assert "E19999" not in said


def test_what_is_a_digit_is_asked_where_it_can_be_converted() -> None:
    """`isdigit` is true of powers, which `int` refuses; `isdecimal` isn't."""
    package = Path(ascend_ep.__file__).parent
    found = [p.name for p in package.rglob("*.py") if ".isdigit(" in p.read_text(encoding="utf-8")]
    assert not found
