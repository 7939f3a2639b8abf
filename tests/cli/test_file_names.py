"""Names of files that are no UTF-8, as older file systems have them: usable as inputs and outputs, and shown
by number where text is written. And what is no file: refused, for it may never end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli import atc, op, toolkit
from ascend_ep.cli.atc_fusion import read_switches
from ascend_ep.errors import AscendError

NAME = os.fsdecode(b"mod\xe8le")
MODEL = """<ir_version: 8, opset_import: ["": 17]> layer (float[N, 4] x) => (float[N, 4] y) { y = Neg(x) }"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{NAME}.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    return tmp_path


def test_a_conversion(folder: Path) -> None:
    words = [f"--model={NAME}.onnx", "--framework=5", f"--output={NAME}", "--soc_version=Ascend910B3"]
    assert atc.main([*words, f"--json={NAME}.json", f"--html={NAME}.html"]) == 0
    assert json.loads((folder / f"{NAME}.json").read_bytes())["nodes"]
    x = np.ones((2, 4), np.float32)
    (y,) = ascend_ep.InferenceSession(f"{NAME}.om").run(None, {"x": x})
    np.testing.assert_array_equal(y, -x)
    node = onnx.load(f"{NAME}_ctx.onnx").graph.node[0]
    cache = next(a.s for a in node.attribute if a.name == "ep_cache_context")
    assert cache == os.fsencode(f"{NAME}.om")
    assert atc.main(["--mode=1", f"--om={NAME}.om", "--json=m.json"]) == 0
    assert b"mod\\\\udce8le" in (folder / "m.json").read_bytes()  # the command line


def test_a_toolkit(folder: Path) -> None:
    made = toolkit.make(folder / NAME)
    assert os.fsencode(made) in (made / "set_env.sh").read_bytes()


@pytest.mark.parametrize("name", ["/dev/full", "/dev/zero", "pipe"])
def test_what_never_ends(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe")
    assert op.main(["run", name]) == 1
    said = f"E41010: File [{name}] can't be read: it is no regular file."
    assert capsys.readouterr().err.startswith(said)
    with pytest.raises(AscendError, match="it is no regular file"):
        read_switches(Path(name))
