"""ascend-ep doctor: what it finds here, and what it says when something is wrong."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

import pytest

from ascend_ep.cli import doctor
from ascend_ep.cli.environment import VARIABLES
from ascend_ep.cli.ep import main


def checks(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    status = main(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)["checks"]
    return status, {row["name"]: row for row in rows}


def test_a_good_machine(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = checks(capsys)
    assert status == 0
    assert {
        "python",
        "numpy",
        "convert",
        "onnxruntime",
        "serve",
        "provider",
        "variables",
        "isa",
        "threads",
        "compiler",
        "trust store",
    } <= set(found)
    assert main(["doctor"]) == 0


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("ASCEND_EP_CPU", "sse9", "isa"),
        ("ASCEND_EP_THREADS", "many", "threads"),
        ("ASCEND_CUSTOM_OPS", "/no/such/folder", "ASCEND_CUSTOM_OPS"),
        ("ASCEND_EP_THREAD", "2", "variables"),
        ("ASCEND_EP_CACHE", "/proc/no", "cache"),
        ("PATH", "{bin}:/bin:/usr/bin", "commands"),
        ("CC", "{bin}/cc", "compiler"),
        ("CC", "{bin}/no-cc", "compiler"),
    ],
)
def test_wrong_settings(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variable: str,
    value: str,
    name: str,
) -> None:
    for command, text in {
        "ascend-atc": "#!/elsewhere/python\n",
        "cc": '#!/bin/sh\n[ "$1" = --version ] && echo broken compiler 1.0\n',
    }.items():
        (tmp_path / command).write_text(text)
        (tmp_path / command).chmod(0o755)
    monkeypatch.setenv(variable, value.format(bin=tmp_path))
    status, found = checks(capsys)
    assert status == 1
    assert found[name]["state"] == "wrong"
    assert found[name]["fix"]


def test_a_store_that_others_may_write(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = tmp_path / "trust"
    store.touch()
    store.chmod(0o666)
    monkeypatch.setenv("ASCEND_EP_TRUST", str(store))
    status, found = checks(capsys)
    assert (status, found["trust store"]["state"]) == (1, "wrong")


def test_no_compiler_is_a_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    status, found = checks(capsys)
    assert (status, found["compiler"]["state"]) == (0, "note")


@pytest.mark.parametrize(
    ("there", "state"),
    [
        ({}, "note"),
        ({"protobuf": "6.31"}, "note"),
        ({"onnx": "1.21.0"}, "wrong"),
        (
            {"onnx": "1.2", "onnx-ir": "1.0", "jsonschema": "5.0", "ml_dtypes": "0.5", "protobuf": "6.0"},
            "wrong",
        ),
        (
            {"onnx": "1.22", "onnx-ir": "1.0", "jsonschema": "5.0", "ml_dtypes": "0.5", "protobuf": "6.0"},
            "good",
        ),
    ],
)
def test_an_extra_is_there_or_not_or_wrong(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, str], state: str
) -> None:
    def version(name: str) -> str:
        if name not in there:
            raise importlib.metadata.PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    check = doctor._extra("convert")
    assert check.state == state
    assert check.fix == ("" if state == "good" else 'pip install "ascend-ep[convert]"')


def test_every_variable_that_is_read_is_known() -> None:
    """A misspelt one is told by its absence from the list."""
    root = Path(__file__).parents[2]
    sources = [*root.glob("ascend_ep/**/*.py"), *root.glob("native/**/*.c")]
    reading = re.compile(r'(?:getenv\(|environ[^"\n]{0,9}|VARIABLE = |number\()"(ASCEND_EP_[A-Z_]+)"')
    read = {name for source in sources for name in reading.findall(source.read_text())}
    fuzzing = {"ASCEND_EP_FUZZ_PYTHON", "ASCEND_EP_FUZZ_TARGETS"}
    assert read - fuzzing <= VARIABLES
    text = "".join(source.read_text() for source in sources if source.name != "environment.py")
    assert {name for name in VARIABLES if f'"{name}"' not in text} == set()
