"""The cache of compilations: what is cut, what stays, and two processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascend_ep.codegen import cache
from ascend_ep.codegen.c_source import InputType, generate_c
from ascend_ep.codegen.cache import FRESH, OLD, limit, locked, note_use, prune
from ascend_ep.codegen.compiled_library import compile_library
from ascend_ep.errors import AscendError
from ascend_ep.opdef.expression import Apply, Constant, Input, Program
from ascend_ep.runtime.cache_folder import open_cache

HOUR = 3600.0


def entry(folder: Path, digit: int, hours: float, suffix: str = "so", size: int = 40_000) -> Path:
    """A file that was used some hours ago."""
    path = folder / f"{digit:064x}.{suffix}"
    path.write_bytes(b"\x7fELF" + bytes(size))
    os.utime(path, (time.time() - hours * HOUR,) * 2)
    return path


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    files = [entry(tmp_path, i, hours) for i, hours in enumerate((5, 9, 2, 7))]
    each = files[0].stat().st_blocks * 512
    assert prune(tmp_path, None) == 0
    assert prune(tmp_path, 2 * each) == 2 * each
    assert [f.exists() for f in files] == [True, False, True, False]
    assert prune(tmp_path, 2 * each) == 0


def test_files_of_one_key_go_together_and_what_is_fresh_stays(tmp_path: Path) -> None:
    old = [entry(tmp_path, 1, 8, s) for s in ("so", "o", "search.json")]
    lock = tmp_path / f"{1:064x}.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    fresh = entry(tmp_path, 2, FRESH / HOUR / 2)
    partly = entry(tmp_path, 3, 8), entry(tmp_path, 3, 0.1, "o")
    prune(tmp_path, 1)
    assert not any(f.exists() for f in (*old, lock))
    assert fresh.exists()
    assert all(f.exists() for f in partly)


def test_old_files_and_abandoned_compilations_go_whatever_the_size(tmp_path: Path) -> None:
    old, young = entry(tmp_path, 1, OLD / HOUR + 1), entry(tmp_path, 2, OLD / HOUR - 1)
    killed, running = tmp_path / ".compile-abc", tmp_path / ".compile-def"
    for folder in (killed, running):
        folder.mkdir()
        (folder / "operator.c").write_text("int x;")
    os.utime(killed, (0, 0))
    prune(tmp_path, None)
    assert [p.exists() for p in (old, young, killed, running)] == [False, True, False, True]


def test_nothing_else_is_touched(tmp_path: Path) -> None:
    key = f"{5:064x}"
    others = [
        tmp_path / n
        for n in ("notes.txt", f"{key}.so.bak", f"{key}.lock.sha256", f"{key}.install.lock", "short.so")
    ]
    for path in others:
        path.write_bytes(bytes(50_000))
        os.utime(path, (0, 0))
    (tmp_path / f"{key}.so").symlink_to(others[0])
    (tmp_path / f"{6:064x}.o").mkdir()
    prune(tmp_path, 1)
    assert all(p.exists() for p in (*others, tmp_path / f"{key}.so", tmp_path / f"{6:064x}.o"))


def test_what_another_process_holds_stays(tmp_path: Path) -> None:
    path = entry(tmp_path, 1, 9)
    code = (
        "import sys, pathlib\nfrom ascend_ep.codegen.cache import locked\n"
        f"with locked(pathlib.Path({str(tmp_path / f'{1:064x}.lock')!r})):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        prune(tmp_path, 1)
        assert path.exists()
        holder.communicate()
    prune(tmp_path, 1)
    assert not path.exists()


def test_a_lock_whose_file_was_removed_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waited on a removed lock file holds nothing that a later process would see."""
    path = tmp_path / "x.lock"
    lock, waits = cache.fcntl.flock, []

    def removed_meanwhile(handle: int, how: int) -> None:
        lock(handle, how)
        if not waits:
            path.unlink()
        waits.append(handle)

    monkeypatch.setattr(cache.fcntl, "flock", removed_meanwhile)
    with locked(path):
        assert path.exists()
    assert len(waits) == 2


def test_compiling_cuts_the_cache_and_a_use_counts(
    tmp_path: Path, compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    stale = entry(tmp_path, 1, 9, size=2 << 20)
    program = Program((), (("y", Apply("add", (Input("x"), Constant(1.5)))),))
    source = generate_c("Cut", program, ["x"], [InputType(1, ("n",))], [1])
    monkeypatch.setenv("ASCEND_EP_CACHE_LIMIT", "1")
    library = compile_library(source, cache=tmp_path)
    assert not stale.exists()
    os.utime(library.path, (time.time() - 5 * HOUR,) * 2)
    assert compile_library(source, cache=tmp_path).cached
    assert time.time() - library.path.stat().st_mtime < HOUR
    note_use(tmp_path / "absent")


@pytest.mark.parametrize("damage", ["cut", "changed", "a header alone"])
def test_a_damaged_entry_is_made_again(tmp_path: Path, compiler: None, damage: str) -> None:
    tmp_path.chmod(0o700)
    program = Program((), (("y", Apply("add", (Input("x"), Constant(2.5)))),))
    source = generate_c("Damaged", program, ["x"], [InputType(1, ("n",))], [1])
    first = compile_library(source, cache=tmp_path)
    for file in [*tmp_path.glob("*.so"), *tmp_path.glob("*.o")]:
        content = file.read_bytes()
        half = len(content) // 2
        made = {"cut": content[:half], "changed": content[:half] + bytes(half), "a header alone": b"\x7fELF"}
        file.write_bytes(made[damage])
    again = compile_library(source, cache=tmp_path)
    assert not again.cached
    assert again.sha256 == first.sha256
    assert compile_library(source, cache=tmp_path).cached


@pytest.mark.parametrize(("text", "wanted"), [("", 512 << 20), ("0", None), ("7", 7 << 20)])
def test_the_limit(monkeypatch: pytest.MonkeyPatch, text: str, wanted: int | None) -> None:
    monkeypatch.setenv("ASCEND_EP_CACHE_LIMIT", text)
    assert limit() == wanted


@pytest.mark.parametrize("text", ["-1", "1G", "9" * 20, "٣"])
def test_a_wrong_limit_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ASCEND_EP_CACHE_LIMIT", text)
    with pytest.raises(AscendError, match="ASCEND_EP_CACHE_LIMIT") as caught:
        limit()
    assert caught.value.code == "E10001"


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_link_of_another_user_is_no_cache(tmp_path: Path) -> None:
    """It leads to a folder of this user's now, and to one of its owner's once that was looked at."""
    own, link = tmp_path / "own", tmp_path / "link"
    own.mkdir(mode=0o700)
    link.symlink_to(own)
    assert open_cache(link) == link
    os.lchown(link, 65534, 65534)
    with pytest.raises(AscendError, match="must belong to this user"):
        open_cache(link)
