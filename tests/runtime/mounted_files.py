"""What test_mounts.py runs in a mount namespace of its own: prints a line of JSON for each attempt."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import io
import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import onnx
import onnx.parser

import ascend_ep
from ascend_ep import atomic_file
from ascend_ep.cli import atc, om
from ascend_ep.errors import AscendError

libc: Any = ctypes.CDLL(None, use_errno=True)
READ_ONLY, REMOUNT, BIND = 1, 32, 4096
MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[2, 4] x) => (float[2, 4] y) { h = Relu(x) y = Softmax(h) }"""
CHIP = "--soc_version=Ascend910B3"


def mount(source: Path | str, target: Path, kind: str = "", flags: int = 0, data: str = "") -> bool:
    done = libc.mount(str(source).encode(), str(target).encode(), kind.encode(), flags, data.encode())
    return bool(done == 0)


def bound(folder: Path, name: str, content: bytes = b"old", flags: int = 0) -> tuple[Path, Path]:
    """A file of `folder` that is a mount point, and the file that is mounted there."""
    outside, inside = folder.parent / "outside" / name, folder / name
    outside.parent.mkdir(exist_ok=True)
    outside.write_bytes(content)
    inside.touch()
    assert mount(outside, inside, flags=BIND), os.strerror(ctypes.get_errno())
    if flags:
        assert mount("none", inside, flags=BIND | REMOUNT | flags)
    return inside, outside


def say(name: str, **told: Any) -> None:
    print(json.dumps({"name": name, **told}), flush=True)


def write_in_c(target: Path, content: bytes, whole: bool = True) -> None:
    """As what C writes for users, by replaced_file.c. Raises OSError."""
    acl = ctypes.CDLL(str(Path(ascend_ep.__file__).parent / "lib" / "libascendcl.so"), use_errno=True)
    acl.asc_replace_begin.restype = acl.asc_replace_end.restype = ctypes.c_bool
    replaced = (ctypes.c_void_p * 2000)()  # larger than the structure, which begins with its FILE
    if acl.asc_replace_begin(replaced, str(target).encode()):
        put = libc.fwrite(content, 1, len(content), ctypes.c_void_p(replaced[0]))
        if acl.asc_replace_end(replaced, whole and put == len(content)):
            return
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def attempt(name: str, target: Path, outside: Path, content: bytes, write: Any = atomic_file.write) -> None:
    """Writes the file, and says what is there then, and what is left in its folder."""
    error = ""
    try:
        write(target, content)
    except OSError as failed:
        error = str(failed.strerror)
    left = [p.name for p in (*target.parent.iterdir(), *outside.parent.iterdir()) if p.name.startswith(".")]
    say(name, error=error, now=outside.read_bytes()[:20].decode(), size=outside.stat().st_size, left=left)


def in_turn(folder: Path) -> None:
    attempt("writable", *bound(folder, "a"), b"new and longer")
    attempt("shorter", *bound(folder, "b", b"x" * 100), b"new")
    attempt("read only", *bound(folder, "c", flags=READ_ONLY), b"new")
    target, outside = bound(folder, "d")
    with contextlib.suppress(RuntimeError), atomic_file.replacing(target) as file:
        file.write(b"half")
        raise RuntimeError
    say("an error in between", now=outside.read_bytes().decode())
    target, outside = bound(folder, "e")
    (folder / "link").symlink_to(target)
    attempt("by a link", folder / "link", outside, b"new")
    target, outside = bound(folder, "f")
    made = folder / "made"
    made.write_bytes(b"new")
    atomic_file.put(made, target)
    say("put", now=outside.read_bytes().decode(), made=made.exists())
    (folder / "name").symlink_to(target)
    made.write_bytes(b"newer")
    atomic_file.put(made, folder / "name")
    say(
        "put over a link",
        now=outside.read_bytes().decode(),
        link=(folder / "name").is_symlink(),
        there=(folder / "name").read_bytes().decode(),
    )
    target, outside = bound(folder, "g")
    made.write_bytes(b"new")
    with mock.patch("os.fchmod", side_effect=PermissionError(errno.EPERM, "Operation not permitted")):
        atomic_file.copy(made, target)
    say("of another owner", now=outside.read_bytes().decode())


def in_c(folder: Path) -> None:
    attempt("C: writable", *bound(folder, "ca"), bytes(100_000) + b"x", write_in_c)
    attempt("C: shorter", *bound(folder, "cb", b"x" * 100), b"new", write_in_c)
    attempt("C: read only", *bound(folder, "cc", flags=READ_ONLY), b"new", write_in_c)
    attempt("C: not whole", *bound(folder, "cd"), b"half", functools.partial(write_in_c, whole=False))


def commands(folder: Path) -> None:
    model = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), model)
    convert = f"--framework=5 {CHIP} --self_check=0 --model={model}"
    target, outside = bound(folder, "m.om")
    run("ascend-atc", atc.main, f"{convert} --output={folder}/m", outside)
    bound(folder, "r.om", flags=READ_ONLY)
    run("ascend-atc, read only", atc.main, f"{convert} --output={folder}/r", outside)
    _, told = bound(folder, "m.json")
    run("--json", atc.main, f"--mode=1 --om={target} --json={folder}/m.json", told)
    bound(folder, "r.json", flags=READ_ONLY)
    run("--json, read only", atc.main, f"--mode=1 --om={target} --json={folder}/r.json", told)
    _, results = bound(folder, "out.npz")
    run("ascend-om run", om.main, f"run {target} --output {folder}/out.npz", results)


def run(name: str, main: Any, words: str, outside: Path) -> None:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            status = main(words.split())
        except AscendError as error:
            status = error.code
    say(name, status=status, said=said.getvalue(), begins=outside.read_bytes()[:4].decode("latin-1"))


def systems(folder: Path) -> None:
    """Whole folders that are mounted: over others, in memory and full, to be read only."""
    for part in ("lower", "upper", "work", "over", "small", "fixed"):
        (folder / part).mkdir()
    (folder / "lower" / "x").write_text("old")
    layers = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
    if mount("tmpfs", folder / "small", "tmpfs", data="size=64k"):
        (folder / "small" / "x").write_bytes(b"old")
        attempt("full", folder / "small" / "x", folder / "small" / "x", bytes(1 << 20))
        target, outside = folder / "y", folder / "small" / "y"
        target.touch()
        outside.write_bytes(b"old")
        assert mount(outside, target, flags=BIND)
        attempt("mounted and full", target, outside, bytes(1 << 20))
        attempt("C: mounted and full", target, outside, bytes(1 << 20), write_in_c)
    if mount("overlay", folder / "over", "overlay", data=layers):
        attempt("overlay", folder / "over" / "x", folder / "over" / "x", b"new")
        say("overlay below", now=(folder / "lower" / "x").read_text())
    target, outside = bound(folder / "fixed", "x")
    assert mount(folder / "fixed", folder / "fixed", flags=BIND | 16384)
    assert mount("none", folder / "fixed", flags=BIND | REMOUNT | READ_ONLY)
    attempt("writable in a folder that isn't", target, outside, b"new")
    attempt("C: writable in a folder that isn't", target, outside, b"newer", write_in_c)


if __name__ == "__main__":
    root = Path(sys.argv[1])
    root.mkdir()
    assert mount("none", Path("/"), flags=16384 | (1 << 18))  # what is mounted here stays here
    in_turn(root)
    in_c(root)
    systems(root)
    commands(root)
