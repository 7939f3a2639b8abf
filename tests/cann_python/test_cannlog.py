"""The log of a process where CANN's users look for it, and `cannlog`, which reads it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import acl_bundles
import pytest

from ascend_ep.cann.log_files import LogFiles, records
from ascend_ep.cli.ep import main

PROGRAM = """import acl
acl.init()
acl.app_log(acl.ACL_ERROR, 'the first\\nof two lines')
acl.app_log(acl.ACL_INFO, 'nothing much')
acl.rt.set_device(99)
"""


def test_what_programs_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their own lines libascendcl's failures, in the folder below $HOME."""
    (tmp_path / "prog.py").write_text(PROGRAM)
    logs = {"ASCEND_PROCESS_LOG_PATH": "", "HOME": str(tmp_path), "ASCEND_GLOBAL_LOG_LEVEL": "1"}
    ended = acl_bundles.run(tmp_path, "prog.py", **logs)
    assert "nothing much" not in ended.stdout
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ASCEND_PROCESS_LOG_PATH", raising=False)
    found = records(tmp_path / "ascend" / "log")
    assert [(r.level, r.module) for r in found] == [
        *(("ERROR", "APP"), ("INFO", "APP"), ("ERROR", "ASCENDCL"))
    ]
    assert found[0].text.endswith("the first\nof two lines")
    assert "aclrtSetDevice failed with" in found[2].text
    assert main(["cannlog", "--level=error"]) == 0
    shown = capsys.readouterr().out
    assert "nothing much" not in shown
    assert "2 entries from ERROR on" in shown
    assert main(["cannlog", "--level=INFO", "--module=APP", "--last=1", "--json"]) == 0
    (last,) = json.loads(capsys.readouterr().out)
    assert last["text"].endswith("nothing much")
    assert main(["cannlog", f"--dir={tmp_path / 'none'}"]) == 1
    assert "E40002" in capsys.readouterr().err


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """Costs the log and no program."""
    (tmp_path / "prog.py").write_text(PROGRAM + "print('ended')\n")
    ended = acl_bundles.run(tmp_path, "prog.py", ASCEND_PROCESS_LOG_PATH="/proc/nowhere")
    assert ended.stdout.endswith("ended\n")


def test_python_logging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "2")
    logger = logging.Logger("one")
    logger.addHandler(LogFiles())
    logger.info("too low")
    logger.warning("a %s", "warning")
    (found,) = records(tmp_path)
    assert (found.level, found.module, found.text) == ("WARNING", "ASCEND_EP", "a warning")
    assert found.place.startswith("test_cannlog.py:")
    monkeypatch.setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1")
    logger.error("to stdout")
    assert capsys.readouterr().out.endswith("to stdout\n")
    assert len(records(tmp_path)) == 1


def test_nothing_logged_yet_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ASCEND_PROCESS_LOG_PATH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["cannlog"]) == 0
    assert f"0 entries: nothing logged to {tmp_path / 'ascend' / 'log'}" in capsys.readouterr().out
    assert main(["cannlog", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"
    assert main(["cannlog", f"--dir={tmp_path / 'none'}"]) == 1
    assert main(["cannlog", "--last=-1"]) == 1
    assert "E10001" in capsys.readouterr().err
