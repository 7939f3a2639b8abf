"""Command lines as users type them (command_lines.json): text, status, and what each option did.

Each entry has the `line`. A success may state `inputs` and `outputs` of the bundle ("name type dims", ? a
free dim), `files` beside it, what it `says` and `warns` (without it: nothing), shapes that it `runs` and
`refuses`; a failure its code and sentence (`fails`), or the line on standard error (`usage`).
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from atc_models import run
from command_line_files import write_files

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.cli.atc_arguments import parse
from ascend_ep.cli.atc_precision import FLOAT16_IS_DEFAULT

LINES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "command_lines.json").read_text())
GOOD = [entry for entry in LINES if not {"fails", "usage"} & entry.keys()]
FAILING = [entry for entry in LINES if "fails" in entry]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)


def words(entry: dict[str, Any]) -> list[str]:
    return shlex.split(entry["line"])[1:]


def described(values: Any) -> list[str]:
    return [
        f"{v.name} {v.type[7:-1]} {','.join(str(d) if isinstance(d, int) else '?' for d in v.shape)}"
        for v in values
    ]


def random(shape: list[int], kind: str) -> np.ndarray:
    if kind == "tensor(float)":
        return np.random.default_rng(0).standard_normal(shape, np.float32)
    return np.ones(shape, {"tensor(int64)": np.int64, "tensor(uint8)": np.uint8}[kind])


def checked_bundle(entry: dict[str, Any], path: str) -> None:
    session = ascend_ep.InferenceSession(path)
    assert described(session.get_inputs()) == entry.get("inputs", described(session.get_inputs()))
    assert described(session.get_outputs()) == entry.get("outputs", described(session.get_outputs()))
    kinds = {v.name: v.type for v in session.get_inputs()}
    if "runs" in entry:
        session.run(None, {name: random(shape, kinds[name]) for name, shape in entry["runs"].items()})
    if "refuses" in entry:
        with pytest.raises(ascend_ep.AscendError):
            session.run(None, {name: random(s, kinds[name]) for name, s in entry["refuses"].items()})


@pytest.mark.parametrize("entry", GOOD, ids=lambda entry: f"{GOOD.index(entry)}")
def test_success(entry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, said = run(capsys, *words(entry))
    assert status == 0, (lines, said)
    if entry.get("help"):
        assert lines[0].startswith("usage: ")
        return
    assert lines[0] == atc.START
    assert lines[-2:] == ["...", atc.SUCCESS]
    assert all(text in "\n".join(lines) for text in entry.get("says", []))
    assert all(text in said for text in entry.get("warns", [])), said
    unasked = f"[WARNING] {FLOAT16_IS_DEFAULT}\n"
    given = parse(words(entry))
    if given.keys() & {"precision_mode", "precision_mode_v2"} or given.get("log") == "error":
        assert unasked not in said
    assert "warns" in entry or said.replace(unasked, "") == "", said
    path = entry.get("om", f"{parse(words(entry)).get('output')}.om")
    if path:
        checked_bundle(entry, path)
    assert all(Path(name).exists() for name in entry.get("files", []))


@pytest.mark.parametrize("entry", FAILING, ids=lambda entry: f"{FAILING.index(entry)}")
def test_failure(entry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    code, sentence = entry["fails"]
    status, lines, _ = run(capsys, *words(entry))
    assert status == 255
    at = lines.index(atc.FAILURE)
    assert (lines[0], lines[at - 1]) == (atc.START, "...")
    assert re.match(
        rf"{code}: \[PID: \d+\] \d{{4}}(-\d\d){{3}}:\d\d:\d\d\.\d{{3}}\.\d{{3}} ", lines[at + 1]
    ), lines
    assert sentence in lines[at + 1]
    assert lines[at + 2].startswith("        Solution: ")
    assert not list(Path().rglob("*.om"))


@pytest.mark.parametrize("entry", [e for e in LINES if "usage" in e], ids=lambda entry: entry["line"][-12:])
def test_a_line_that_cannot_be_read(entry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, said = run(capsys, *words(entry))
    assert (status, said) == (255, f"ERROR: {entry['usage']}\n")
    assert lines == [atc.START, "...", atc.FAILURE]


def test_there_are_enough_of_them() -> None:
    """60 at least, with the options in about the shares that public scripts have them."""
    assert len(LINES) >= 60
    given = [parse(words(entry)) for entry in LINES if "usage" not in entry]
    share = {
        name: sum(name in line for line in given) / len(given)
        for name in ("input_shape", "log", "soc_version")
    }
    assert share["soc_version"] > 0.9
    assert share["input_shape"] > 0.4
    assert share["log"] > 0.3


def test_a_bundle_in_the_other_modes(capsys: pytest.CaptureFixture[str]) -> None:
    """Modes 1 and 6 read what mode 0 wrote."""
    line = "--model=yolov5s.onnx --framework=5 --output=m --soc_version=Ascend310 --log=error"
    assert run(capsys, *line.split())[0] == 0
    status, lines, said = run(capsys, "--mode=1", "--om=m.om", "--json=m.json")
    assert (status, lines, said) == (0, [atc.START, "...", atc.SUCCESS], "")
    found = json.loads(Path("m.json").read_text())
    attributes = {entry["key"]: entry["value"] for entry in found["attr"]}
    assert attributes["soc_version"] == {"s": "Ascend310"}
    assert attributes["atc_cmdline"] == {"s": f"ascend-atc {line}"}
    status, lines, _ = run(capsys, "--mode=6", "--om=m.om")
    assert status == 0
    assert lines[1] == "============ Display Model Info start ============"
    assert lines[2] == f"Original Atc command line: ascend-atc {line}"
    assert re.match(
        r"resource info: memory_size\[\d+ B\], weight_size\[\d+ B\], stream_num\[1\], event_num\[0\]\.",
        lines[4],
    )
    assert lines[-3] == "============ Display Model Info end   ============"
