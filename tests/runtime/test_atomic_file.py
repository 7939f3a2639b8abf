"""Files are replaced whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from ascend_ep import atomic_file


def test_the_old_content_stays_until_the_block_has_ended(tmp_path: Path) -> None:
    target = tmp_path / "m.om"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_file.replacing(target):
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    with atomic_file.replacing(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["m.om"]


@pytest.mark.parametrize(("number", "is_minded"), [(errno.EIO, True), (errno.EINVAL, False)])
def test_data_that_does_not_reach_the_disk_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_minded: bool
) -> None:
    """EINVAL is of file systems that can't sync."""

    def fsync(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setenv("ASCEND_EP_SYNC", "1")
    monkeypatch.setattr(os, "fsync", fsync)
    target = tmp_path / "report.json"
    target.write_text("old")
    if is_minded:
        with pytest.raises(OSError, match="Input/output error"):
            atomic_file.write(target, "new")
    else:
        atomic_file.write(target, "new")
    assert target.read_text() == ("old" if is_minded else "new")
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "out"
    link.symlink_to("/dev/null")
    for target in (Path("/dev/null"), link):
        atomic_file.write(target, "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert link.is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic_file.write(pipe, "text")
    assert os.read(handle, 10) == b"text"
    os.close(handle)


def test_a_line_that_was_cut_spoils_no_other(tmp_path: Path) -> None:
    target = tmp_path / "trust"
    target.write_text("one\ntw")
    atomic_file.append(target, "three\n")
    atomic_file.append(target, "four\n")
    assert target.read_text() == "one\ntw\nthree\nfour\n"


def test_a_long_name_leaves_room_for_the_file_beside_it(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 127)
    atomic_file.write(target, "text")
    assert target.read_text() == "text"


def test_a_copy_has_the_mode_too(tmp_path: Path) -> None:
    source = tmp_path / "tool"
    source.write_text("x")
    source.chmod(0o700)
    atomic_file.copy(source, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
