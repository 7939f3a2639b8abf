"""Installing is all or nothing: failures in the middle, Ctrl-C, and two builds of one name at once."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from build_commands import SWISH, Run

from ascend_ep.errors import AscendError
from ascend_ep.interrupt import watching
from ascend_ep.opbuild.operators.install import put_in_place
from ascend_ep.opbuild.operators.operator_files import check_writable
from ascend_ep.opdef.loader import load_definitions

pytestmark = pytest.mark.usefixtures("compiler")

OLD = {"a.so": b"old library", "kernel_meta/a.o": b"old object", "a.json": b"old definition"}
NEW = {name: data.replace(b"old", b"new") for name, data in OLD.items()}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def leftovers(folder: Path) -> list[str]:
    return [p.name for p in folder.rglob(".ascend-op-*")]


@pytest.mark.parametrize("before", [{}, OLD], ids=["nothing there", "replaced"])
@pytest.mark.parametrize("failing", range(6))
def test_a_failed_move_puts_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, bytes], failing: int
) -> None:
    folders = [tmp_path / "out", tmp_path / "ops"]
    for folder in folders:
        folder.mkdir()
        if before:
            put_in_place([folder], before, [])
    (tmp_path / "ops" / "other.json").write_bytes(b"of another name")
    counted = iter(range(100))
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if next(counted) == failing:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        if Path(source).relative_to(tmp_path).parts[0] != Path(target).relative_to(tmp_path).parts[0]:
            raise OSError(errno.EXDEV, "Invalid cross-device link", str(target))  # as of two file systems
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(AscendError, match=r"E43104.*No space left"):
        put_in_place(folders, NEW, [tmp_path / "ops" / "other.json"])
    assert files(folders[0]) == before
    assert files(folders[1]) == {**before, "other.json": b"of another name"}
    assert not leftovers(tmp_path)


def test_an_interrupt_while_files_move_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, before = os.replace, signal.getsignal(signal.SIGINT)

    def interrupted(source: Path, target: Path) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        replace(source, target)

    put_in_place([tmp_path], OLD, [])
    monkeypatch.setattr(os, "replace", interrupted)
    put_in_place([tmp_path], NEW, [])
    assert files(tmp_path) == NEW
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_that_waited_until_files_move(tmp_path: Path) -> None:
    """It is raised before the first of them."""
    with watching() as interrupt:
        interrupt.is_pending = True
        with pytest.raises(KeyboardInterrupt):
            put_in_place([tmp_path / "out" / "b"], NEW, [])
    assert list(tmp_path.iterdir()) == []


def test_an_alarm_while_files_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when all are there."""
    seen: list[dict[str, bytes]] = []
    replace = os.replace

    def alarmed(source: Path, target: Path) -> None:
        os.kill(os.getpid(), signal.SIGALRM)
        replace(source, target)

    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(files(tmp_path)))
    try:
        monkeypatch.setattr(os, "replace", alarmed)
        put_in_place([tmp_path], NEW, [])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [{name: found[name] for name in NEW} for found in seen] == [NEW]


@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_while_a_folder_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """It comes when what was made for the trial is gone."""
    mkdir = os.mkdir

    def interrupted(path: Any, *mode: int) -> None:
        mkdir(path, *mode)
        os.kill(os.getpid(), signal.SIGINT)
        if fails:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(os, "mkdir", interrupted)
        with pytest.raises(KeyboardInterrupt):
            check_writable(tmp_path / "new" / "out")
    finally:
        signal.signal(signal.SIGINT, before)
    assert [path for path in tmp_path.iterdir() if not fails] == []


#: ascend-op with short proofs.
SHORT = f"""
import sys
import pytest
sys.path.insert(0, {str(Path(__file__).parent)!r})
from build_commands import shorten_proofs
from ascend_ep.cli.op import main
shorten_proofs(pytest.MonkeyPatch())
raise SystemExit(main())
"""


def start(
    tmp_path: Path, *arguments: str, proof: Literal["whole", "short"] = "whole"
) -> subprocess.Popen[str]:
    program = ["-m", "ascend_ep.cli.op"] if proof == "whole" else ["-c", SHORT]
    command = [sys.executable, *program, "build", *arguments]
    environ = {**os.environ, "ASCEND_CUSTOM_OPS": str(tmp_path / "ops"), "PYTHONUNBUFFERED": "1"}
    command += ["--output", str(tmp_path / "out")]
    pipe = subprocess.PIPE
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's shell ignores it
    try:
        return subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=environ, start_new_session=True
        )
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("stage", ["expression", "search", "compile", "proof"])
def test_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    """As a terminal gives it: to the command and the compilers it has started, one of which takes long."""
    slow = tmp_path / "slowcc"
    slow.write_text('#!/bin/sh\ncase "$*" in *sanitize=thread*) sleep 20;; esac\nexec cc "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("CC", str(slow))
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path / "cache"))
    running = start(tmp_path, *SWISH, "--search", "30" if stage == "expression" else "0")
    assert running.stdout is not None
    for line in running.stdout:
        if f"] {stage}: " in line:
            break
    if stage == "expression":
        time.sleep(0.3)  # in the search
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    # Python itself ends by the signal, which a shell reports alike, when the interrupt passed an exec().
    assert running.returncode in (130, -signal.SIGINT), err
    assert err.splitlines() == ["E43108: Interrupted: nothing is left half-written."]
    assert {path.name for path in tmp_path.iterdir()} <= {"slowcc", "cache"}


def test_two_builds_of_one_name_at_once(tmp_path: Path, run: Run) -> None:
    """The same definition: both end well. Different ones: one is installed, the other refused."""
    same = [start(tmp_path, *SWISH, "--search=0", proof="short") for _ in range(2)]
    for one in same:
        _, err = one.communicate(timeout=120)
        assert one.returncode == 0, err
    assert run("verify", "Swish", installed=tmp_path / "ops")[0] == 0
    shape = ("--input_shape", "[64]", "--output_name", "twice", "--search=0", "--ascend_c", "0")
    prompts = [("--prompt", f"Twice(x) = x*{k} + sin(x)") for k in (2, 3)]
    different = [start(tmp_path, *prompt, *shape, proof="short") for prompt in prompts]
    ends = [(one.communicate(timeout=120), one.returncode) for one in different]
    assert sorted(status for _, status in ends) == [0, 1]
    ((_, refused),) = [said for said, status in ends if status == 1]
    assert refused.startswith("E43101")
    winner = next(k for k, (_, status) in zip((2, 3), ends, strict=True) if status == 0)
    for folder in (tmp_path / "out", tmp_path / "ops"):
        (opdef,) = load_definitions(folder / "twice.json")
        assert f"x*{winner}" in opdef.semantics.text  # type: ignore[union-attr]
        assert not leftovers(folder)
        assert run("verify", str(folder / "twice.json"))[0] == 0
