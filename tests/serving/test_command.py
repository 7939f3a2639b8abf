"""ascend-serve as a user types it: flags, their refusals, --check."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ascend_ep.cli import serve
from ascend_ep.cli.serve_arguments import parse
from ascend_ep.cli.serve_flags import FLAGS, IDLE, REFUSED
from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Limits, Settings


def test_defaults(tmp_path: Path) -> None:
    settings = parse([f"--model-repository={tmp_path}"]).settings
    assert (settings.http_address, settings.http_port, settings.grpc_port, settings.metrics_port) == (
        "127.0.0.1",
        8000,
        8001,
        8002,
    )
    assert settings.drain_delay == 0


def test_values(tmp_path: Path) -> None:
    given = parse(
        [
            "--model-repository",
            str(tmp_path),
            "--http-port=0",
            "--allow-grpc=false",
            "--http-max-input-size=1000",
            "--load-model=a",
            "--load-model=b",
            "--model-control-mode=explicit",
            "--exit-on-error=False",
            "--drain-delay-secs=2.5",
            "--pinned-memory-pool-byte-size=5",
            "--http-thread-count",
            "8",
        ]
    )
    settings = given.settings
    assert (settings.http_port, settings.grpc_port, settings.limits.body) == (0, None, 1000)
    assert (settings.load_models, settings.model_control_mode) == (("a", "b"), "explicit")
    assert (settings.exit_on_error, settings.drain_delay) == (False, 2.5)
    assert len(given.notes) == 2
    assert "no GPU" in given.notes[0]


@pytest.mark.parametrize(
    ("flag", "code", "words"),
    [
        ("--http-prt=1", "E50031", "Did you mean [--http-port]?"),
        ("--http-port=65536", "E50030", "0 to 65535"),
        ("--instances=0", "E50030", "a number from 1"),
        ("--exit-timeout-secs=nan", "E50030", "seconds"),
        ("--exit-timeout-secs=-1", "E50030", "seconds"),
        ("--allow-http=maybe", "E50030", "true or false"),
        ("--model-control-mode=often", "E50030", "none, poll, explicit"),
        ("--grpc-use-ssl=true", "E50033", "--ssl-certificate-file"),
        ("--load-model=a", "E50032", "--model-control-mode=explicit"),
        ("--trust=all", "E50030", "64 hex digits"),
        ("--sagemaker-port=1", "E50031", "no flag"),
        ("--allow-sagemaker=true", "E50033", "no such endpoint"),
        ("--http", "E50031", "no flag"),
        ("models", "E50031", "no flag"),
        ("--http-port", "E50032", "expected one argument"),
        ("--http-port=8001", "E50032", "--http-port and --grpc-port are both 8001"),
        ("--model-repository=/nowhere", "E50021", "/nowhere"),
    ],
)
def test_refused(tmp_path: Path, flag: str, code: str, words: str) -> None:
    with pytest.raises(AscendError) as refused:
        parse([f"--model-repository={tmp_path}", flag])
    assert refused.value.code == code
    assert words in str(refused.value)


@pytest.mark.usefixtures("root_logger")
def test_status_of_wrong_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main([]) == 2
    assert "--model-repository is required" in capsys.readouterr().err


def test_help_has_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        serve.main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(f"--{flag.name}" in shown for flag in FLAGS)


def test_every_setting_has_a_flag() -> None:
    settings = {f.name for f in fields(Settings)} - {"limits"}
    wanted = settings | {f"limits.{f.name}" for f in fields(Limits)}
    assert {flag.field for flag in FLAGS} - {""} == wanted


def test_a_name_stands_in_one_table() -> None:
    names = [f.name for f in FLAGS] + list(IDLE) + list(REFUSED)
    assert len(names) == len(set(names))


@pytest.mark.usefixtures("root_logger")
def test_check(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main([f"--model-repository={repository}", "--check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(", ")[0] for line in lines if line.startswith("rows")] == [
        "rows 1: x FP32[-1, 8] -> y FP32[-1, 4]",
        "rows 2: x FP32[-1, 8] -> y FP32[-1, 4]",
    ]
