"""What newcomers mistype, for every command: the code, what is wrong and where, and what to do instead.

mistakes.json is the table. Each row has a command line, its exit status, and what must be said. The lines run
one after another in a folder with the files that `folder` makes.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep

TABLE = json.loads(Path(__file__).with_name("mistakes.json").read_text())
MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[{rows}, 4] x) => (float[{rows}, 4] y) {{ h = {op}(x)  y = Neg(h) }}"""
DEFINITION = {
    "op": "MyThing",
    "inputs": [{"name": "x"}],
    "outputs": [{"name": "y"}],
    "formula": "x*sigmoid(x)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("newcomer")
    for name, rows, op in (("m", "N", "Softmax"), ("s", "2", "Softmax"), ("unknown", "N", "MyThing")):
        onnx.save(onnx.parser.parse_model(MODEL.format(rows=rows, op=op)), made / f"{name}.onnx")
    bundle = ascend_ep.convert(str(made / "m.onnx")).save(made / "m").read_bytes()
    flipped = bytearray(bundle)
    flipped[len(bundle) // 2] ^= 1
    texts = {
        "text.onnx": "hello",
        "empty.onnx": "",
        "bad.json": '{"op": "A",}',
        "list.json": "[1]",
        "nokey.json": '{"op":"A","inputz":[]}',
        "typo.json": json.dumps(DEFINITION | {"formula": "x*sigmod(x)"}),
        "good.json": json.dumps(DEFINITION),
        "bad.npy": "no",
        "kernel.cpp": "int x;",
    }
    for name, text in texts.items():
        (made / name).write_text(text)
    (made / "flipped.om").write_bytes(flipped)
    (made / "short.om").write_bytes(bundle[:500])
    (made / "folder").mkdir()
    shutil.copy(made / "m.onnx", made / "was_ctx.onnx")
    np.save(made / "objects.npy", np.array([{}], object))
    np.save(made / "x64.npy", np.ones((2, 4)))
    np.save(made / "x5.npy", np.ones((2, 5), np.float32))
    np.save(made / "x.npy", np.ones((2, 4), np.float32))
    return made


def test_the_table_covers_every_command() -> None:
    assert len(TABLE) >= 120
    assert len({row["line"] for row in TABLE}) == len(TABLE)
    assert {row["line"].split()[0] for row in TABLE} == {
        f"ascend-{name}" for name in ("atc", "om", "op", "ep", "prof", "serve", "serve-load")
    }


@pytest.mark.parametrize("row", TABLE, ids=[row["line"] for row in TABLE])
def test_what_is_said(
    row: dict[str, object], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    command, *words = shlex.split(str(row["line"]))
    main = importlib.import_module(f"ascend_ep.cli.{command.removeprefix('ascend-').replace('-', '_')}").main
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code
    said = "".join(capsys.readouterr())
    assert status == row["status"], said
    assert "Traceback (" not in said
    assert "E19999" not in said
    assert re.search(
        r"\bE\d{5}\b|^ERROR: |^usage: |There is no code|did you mean|\[WARNING\]", said, re.MULTILINE
    )
    for fragment in row["says"]:  # type: ignore[attr-defined]
        assert fragment in said
    if status:
        assert {path.name for path in folder.iterdir()} - before <= {"m.json", "check_result.json"}, (
            "half done"
        )
