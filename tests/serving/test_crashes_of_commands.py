"""Commands that try models outlive the libraries of users that these run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from moody_models import Mood, library

from ascend_ep.cli import om
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime import trust
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.sample_process import close_idle

OWN = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
agraph (float[N, 4] x) => (float[N, 4] y) { y = own.Moody(x) }"""
DOUBLE = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[N, 4] x) => (float[N, 4] y) { y = Add(x, x) }"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("crashes")
    library(made)
    for name, text in (("own", OWN), ("double", DOUBLE)):
        onnx.save(onnx.parser.parse_model(text), made / f"{name}.onnx")
    for name, value in (("good", 1.0), ("crash", float(Mood.CRASHES)), ("exit", float(Mood.EXITS))):
        np.save(made / f"{name}.npy", np.full((2, 4), value, np.float32))
    return made


@pytest.fixture(autouse=True)
def trusted(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle of the library, whose native code may run."""
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))
    close_idle()  # one that reads another store
    options = ConvertOptions(registry=Registry(libraries={"Moody": folder / "moody.so"}), precision="origin")
    convert(onnx.parser.parse_model(OWN), options).write(folder / "m.om")
    natives = Bundle(open_model(folder / "m.om", flags=lib.ASC_OPEN_NO_NATIVE)).natives
    trust.trust([(n.sha256, "") for n in natives])


@pytest.mark.parametrize("words", ["diff double.onnx m.om", "diff double.onnx m.om --per-node"])
def test_a_crash_is_an_error(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for value, how in (("crash", "SIGSEGV"), ("exit", "exit status 3"), ("good", "")):
        status = om.main([*words.split(), "--input", f"{value}.npy"])
        said = "".join(capsys.readouterr())
        if how:
            assert (status, "E41026" in said, how in said) == (1, True, True), said
        elif "per-node" not in words:
            assert status == 0, said


def test_a_crash_while_samples_are_observed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    words = ["quantize", "own.onnx", "--data", "crash.npy", "--custom_op", "Moody:./moody.so"]
    assert om.main([*words, "--output", str(tmp_path / "q.onnx")]) == 1
    assert "E41026" in "".join(capsys.readouterr())
    assert not list(tmp_path.glob("*.onnx"))
