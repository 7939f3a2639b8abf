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


@pytest.mark.parametrize(
    "name", ["/proc/self/fd/{}", "/proc/thread-self/fd/{}", "/dev/fd/{}", "{folder}/fds/{}"]
)
def test_a_link_to_an_open_file_adds_to_that(tmp_path: Path, name: str) -> None:
    """As /dev/stdout does, where output goes to a regular file."""
    (tmp_path / "fds").symlink_to("/dev/fd")
    link, out = tmp_path / "link", tmp_path / "out.txt"
    with open(out, "wb", buffering=0) as file:
        link.symlink_to(name.format(file.fileno(), folder=tmp_path))
        file.write(b"before, ")
        atomic_file.write(link, "text")
        atomic_file.write(Path(os.readlink(link)), ", again")
        file.write(b", after")
    assert out.read_text() == "before, text, again, after"
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["fds", "link", "out.txt"]


def test_a_copy_to_a_device_leaves_its_mode(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("x")
    source.chmod(0o700)
    with open(out, "wb") as file:
        os.fchmod(file.fileno(), 0o640)
        atomic_file.copy(source, Path(f"/dev/fd/{file.fileno()}"))
    assert (out.read_text(), out.stat().st_mode & 0o777) == ("x", 0o640)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_the_file_it_leads_to_is_replaced(tmp_path: Path, is_there: bool) -> None:
    real, link = tmp_path / "real" / "m.om", tmp_path / "m.om"
    real.parent.mkdir()
    link.symlink_to("real/m.om")
    if is_there:
        real.write_text("old")
    atomic_file.write(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert (os.listdir(real.parent), sorted(os.listdir(tmp_path))) == (["m.om"], ["m.om", "real"])


def test_links_in_a_loop_are_refused(tmp_path: Path) -> None:
    link = tmp_path / "m.om"
    link.symlink_to("m.om")
    with pytest.raises(OSError, match="symbolic links"):
        atomic_file.write(link, "new")
    assert link.is_symlink()


def test_a_file_keeps_its_mode_from_the_first_byte_on(tmp_path: Path) -> None:
    target = tmp_path / "m.om"
    for mode in (0o600, 0o666):
        target.write_text("old")
        target.chmod(mode)
        with atomic_file.replacing(target) as file:
            assert os.fstat(file.fileno()).st_mode & 0o777 == mode
            file.write(b"new")
        assert target.stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    target = tmp_path / "m.om"
    target.write_text("old")
    os.chown(target, 12, 34)
    atomic_file.write(target, "new")
    assert (target.stat().st_uid, target.stat().st_gid) == (12, 34)


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


def test_a_folder_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (".", "/"):
        with pytest.raises(IsADirectoryError):
            atomic_file.write(Path(name), "x")
