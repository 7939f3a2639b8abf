"""Commands whose result goes to a link: it leads where it did, and the result is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ascend_ep.accuracy.quantization import saving
from ascend_ep.cli import compile_tool, toolkit
from ascend_ep.cli.atc_files import check_target, write_text
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc import cpp


def test_a_report_to_standard_output_that_is_a_file(tmp_path: Path) -> None:
    link, out = tmp_path / "lnk", tmp_path / "out.txt"
    with open(out, "wb") as file:
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        check_target(str(link), "--json")
        write_text(str(link), "{}", "--json")
    assert (out.read_text(), link.is_symlink()) == ("{}", True)


@pytest.mark.parametrize(
    ("leads_to", "said"), [("none/x.json", r"no folder \[.*/none\]"), ("x.json", "symbolic links")]
)
def test_a_link_that_leads_nowhere(tmp_path: Path, leads_to: str, said: str) -> None:
    link = tmp_path / "x.json"
    link.symlink_to(leads_to)
    with pytest.raises(AscendError, match=f"E10001.*{said}"):
        check_target(str(link), "--json")


def test_an_object_goes_to_a_device_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`asc_compile ... -o /dev/null`, as of a configure script."""
    source, made, real = tmp_path / "one.cpp", tmp_path / "one.o", tmp_path / "real.o"
    source.write_text("")
    made.symlink_to(real)

    def compiled(command: object, text: str, sources: object, target: Path, work: Path) -> str:
        target.write_bytes(b"object")
        return ""

    monkeypatch.setattr(cpp, "asks_for_more", lambda text, sources: True)
    monkeypatch.setattr(cpp, "compile_for_cores", compiled)
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    before = os.stat("/dev/null")
    for target in (null, made):
        assert compile_tool.main(["c++", "-c", str(source), "-o", str(target)]) == 0
        assert target.is_symlink()
    assert real.read_bytes() == b"object"
    assert os.stat("/dev/null").st_mode == before.st_mode


def test_the_toolkit_writes_no_program_that_a_link_leads_to(tmp_path: Path) -> None:
    other, place = tmp_path / "own-atc", tmp_path / "bin" / "atc"
    other.write_text("a program of the user's")
    place.parent.mkdir()
    place.symlink_to(other)
    toolkit._script(place, ("ascend_ep.cli.atc",))
    assert other.read_text() == "a program of the user's"
    assert sys.executable in place.read_text()
    assert place.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("most", [0, saving.MOST_INSIDE])
def test_a_quantised_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(saving, "MOST_INSIDE", most)
    weight = np.arange(4096, dtype=np.float32)
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(weight, "w")])
    real, link = tmp_path / "real" / "m.onnx", tmp_path / "m.onnx"
    real.parent.mkdir()
    real.touch(0o600)
    link.symlink_to(real)
    saving.save_onnx(helper.make_model(graph), link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    (found,) = onnx.load(real).graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(found), weight)
    beside = [p.name for p in real.parent.iterdir() if p != real]
    assert len(beside) == (not most)
    assert all(name.startswith("m.onnx.") and name.endswith(".data") for name in beside)
