"""ascend-ep doctor: what it finds here, and what it says when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_ep.cli.ep import main


def checks(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    status = main(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)["checks"]
    return status, {row["name"]: row for row in rows}


def test_a_good_machine(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = checks(capsys)
    assert status == 0
    assert {"python", "numpy", "onnxruntime", "isa", "threads", "compiler", "trust store"} <= set(found)
    assert main(["doctor"]) == 0


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("ASCEND_EP_CPU", "sse9", "isa"),
        ("ASCEND_EP_THREADS", "many", "threads"),
        ("ASCEND_CUSTOM_OPS", "/no/such/folder", "ASCEND_CUSTOM_OPS"),
    ],
)
def test_wrong_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str
) -> None:
    monkeypatch.setenv(variable, value)
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
