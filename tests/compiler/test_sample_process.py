"""Sample runs of bundles with host partitions: in another process, whose end is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.runtime import sample_process

#: Texts are left to onnxruntime.
HOST = """<ir_version: 9, opset_import: ["" : 19]>
agraph (float[2,2] x) => (bool[2,2] y) { text = Cast<to = 8>(x) y = Equal(text, text) }"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No process of an earlier test."""
    sample_process.close_idle()
    yield
    sample_process.close_idle()


def converted() -> bytes:
    return convert(onnx.parser.parse_model(HOST), ConvertOptions(codegen="off")).to_bytes()


def process() -> int:
    (one,) = sample_process.idle
    return one.number


@pytest.mark.parametrize(
    ("ending", "how"),
    [
        ("os.abort()", "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("os._exit(3)", "exit status 3"),
        ("os._exit(0)", "exit status 0"),
    ],
)
def test_an_end_of_the_process_is_an_error(
    ending: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_at_once.py").write_text(f"import os\nos.read(0, 100)\n{ending}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sample_process, "_MODULE", "ends_at_once")
    with pytest.raises(AscendError, match=rf"onnxruntime.*{how}") as caught:
        converted()
    assert caught.value.code == "E41025"
    assert "Equal" in str(caught.value)
    assert not sample_process.idle


def test_one_process_serves_all_and_another_takes_the_place_of_one_that_is_gone() -> None:
    written = converted()
    first = process()
    assert converted() == written
    assert process() == first != os.getpid()
    os.kill(first, 9)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert converted() == written
    assert process() != first


def test_where_no_process_can_be_started_there_is_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    written = converted()
    sample_process.close_idle()
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert len(converted()) < len(written)
    assert not sample_process.idle


def test_a_fork_leaves_the_process_to_its_parent() -> None:
    written = converted()
    first = process()
    child = os.fork()
    if child == 0:
        fine = not sample_process.idle and converted() == written and process() != first
        sample_process.close_idle()
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert converted() == written
    assert process() == first
