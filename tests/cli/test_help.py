"""Help, versions, completion and JSON: what commands say of themselves."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import pytest

import ascend_ep
from ascend_ep.__main__ import COMMANDS
from ascend_ep.cli import atc, ep, om, op
from ascend_ep.cli.atc_flags import FLAGS


@pytest.mark.parametrize("name", [*COMMANDS, "ep"])
def test_every_command_has_a_version(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"ascend_ep.cli.{name.replace('-', '_')}")
    assert module.main(["--version"]) == 0
    assert capsys.readouterr().out == f"ascend-{name} {ascend_ep.__version__}\n"


@pytest.mark.parametrize(("words", "first"), [(["atc", "--help"], "usage: ascend-atc"), (["doctor"], "ok")])
def test_commands_without_their_scripts(words: list[str], first: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ascend_ep", *words], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(first), done.stderr


@pytest.mark.parametrize("columns", [70, 100])
def test_help_is_grouped_and_as_wide_as_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = {}
    for asked in ("--help", "--help=all"):
        assert atc.main([asked]) == 0
        shown[asked] = capsys.readouterr().out
    lines = shown["--help"].splitlines()[1:]
    assert max(len(line) for line in lines if line.startswith("  ")) <= columns
    assert "\nShapes:\n" in shown["--help"]
    for flag in FLAGS:
        assert shown["--help=all"].count(f"\n  --{flag.name}") >= 1
        assert (f"\n  --{flag.name} " in shown["--help"] + " ") is flag.acts or f"--{flag.name}\n" in shown[
            "--help"
        ]


def completed(line: str) -> list[str]:
    script = subprocess.run(
        [sys.executable, "-m", "ascend_ep", "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    words = line.split(" ")
    ask = f"COMP_WORDS=({' '.join(words)!s}); COMP_CWORD={len(words) - 1}; compopt() {{ :; }}\n"
    ask += '_ascend_ep_complete; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", script + ask],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    return done.stdout.split()


def test_the_shell_completes() -> None:
    assert completed("ascend-om in") == ["inspect"]
    assert completed("ascend-om bench --thr") == ["--threads"]
    assert completed("ascend-atc --precision_mode_") == ["--precision_mode_v2="]


def test_json_of_operators(capsys: pytest.CaptureFixture[str]) -> None:
    assert op.main(["explain", "Swish", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["op"], found["semantics"]) == ("Swish", "formula")
    assert op.main(["list", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)["operators"]}
    assert {"RoPE", "ai.onnx::Softmax"} <= names


def test_flags_for_builds(capsys: pytest.CaptureFixture[str]) -> None:
    assert ep.main(["config", "--cflags", "--libs"]) == 0
    words = capsys.readouterr().out.split()
    assert words[0] == f"-I{ascend_ep.get_include()}"
    assert os.path.dirname(ascend_ep.get_runtime_library_path()) == words[1].removeprefix("-L")


def test_two_dashes_are_a_flags_value() -> None:
    assert op.command_parser().parse_args(["list", "--custom_op=--"]).custom_op == ["--"]


@pytest.mark.parametrize("words", [["bench", "m.om"], ["run", "m.om"], ["diff", "m.onnx", "m.om"]])
def test_a_seed_is_no_negative_number(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        om.command_parser().parse_args([*words, "--seed", "-1"])
    assert "E40021" in capsys.readouterr().err
