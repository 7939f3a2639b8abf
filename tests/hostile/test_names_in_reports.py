"""What a stranger writes into names of a bundle forges no line of a report, and no terminal obeys it."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from test_error_texts import HOSTILE

from ascend_ep.cli.om import main as om
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

EVIL = "".join(HOSTILE.values()).replace("\0", "")
COMMANDS = ("inspect", "verify", "run", "bench --rounds 1 --seconds 0.001", "trust", "diff")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """m.onnx and m.om, in which every name is hostile."""
    made: Path = tmp_path_factory.mktemp("named")
    info = (helper.make_tensor_value_info(f"{n}{EVIL}", TensorProto.FLOAT, [f"N{EVIL}", 4]) for n in "xy")
    nodes = [
        helper.make_node("Sigmoid", [f"x{EVIL}"], [f"h{EVIL}"], name=EVIL),
        helper.make_node("Softmax", [f"h{EVIL}"], [f"y{EVIL}"], name=f"{EVIL}2"),
    ]
    graph = helper.make_graph(nodes, EVIL, [next(info)], [next(info)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    model.metadata_props.add(key=EVIL, value=EVIL)
    onnx.save(model, made / "m.onnx")
    convert(model, ConvertOptions(codegen="off")).write(made / "m.om")
    return made


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_name_is_more_than_a_name(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    as_json: bool,
) -> None:
    monkeypatch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
    name, *flags = command.split()
    given = [str(folder / "m.onnx")] if name == "diff" else []
    om([name, *given, str(folder / "m.om"), *flags, *(["--json"] if as_json else [])])
    captured = capsys.readouterr()
    for said in (captured.out, captured.err):
        assert not any(line.startswith("E10000") for line in said.splitlines())
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in said.replace("\n", ""))
    if as_json:
        found = json.loads(captured.out)
        assert name in ("trust", "bench", "diff") or _has(found)


def _has(data: object) -> bool:
    """Whether the name is in it, as it is: a program gets what was written."""
    if isinstance(data, dict):
        return any(map(_has, (*data.keys(), *data.values())))
    return any(map(_has, data)) if isinstance(data, list) else isinstance(data, str) and EVIL in data
