"""Lines that nobody picked: whatever is mistyped, a command ends in time, with a code and no traceback.

drawn_lines.py draws them. Each runs in a process of its own, in a fresh copy of the folder.
"""

from __future__ import annotations

import fcntl
import importlib
import itertools
import json
import logging
import os
import re
import shutil
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest
from drawn_lines import GOOD, SPECIAL, draw, of_special_files

import ascend_ep

MODULES = dict.fromkeys(words[0] for words in GOOD)
#: A line's seconds; what waits for more than a mistake needs, hangs.
SECONDS = 60
MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[{rows}, 4] x) => (float[{rows}, 4] y) {{ h = {op}(x)  y = Neg(h) }}"""
CODED = re.compile(r"\bE\d{5}\b|^ERROR: |^usage: |There is no code", re.MULTILINE)
ABSENT = re.compile(r"\[(\S+)\] does not exist")
#: A user's program that these run ends as it ends.
RUNS_PROGRAMS = (("ep", "run"), ("prof", "run"))
#: Where a line's output goes to: most have a file.
PLACES = ("file", "file", "file", "file", "closed", "/dev/full", "ascii")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("drawn") / "deep" / "user"
    (made / "folder").mkdir(parents=True)
    (made / "a b").mkdir()
    for name, rows, op in (("m", "N", "Softmax"), ("s", "2", "Softmax"), ("unknown", "N", "MyThing")):
        onnx.save(onnx.parser.parse_model(MODEL.format(rows=rows, op=op)), made / f"{name}.onnx")
    bundle = ascend_ep.convert(str(made / "m.onnx")).save(made / "m").read_bytes()
    middle = len(bundle) // 2
    texts = {
        "text.onnx": "hello",
        "empty.onnx": "",
        "bad.json": '{"op": "A",}',
        "list.json": "[1]",
        "good.json": json.dumps({"op": "A", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}]}),
        "baseline.json": "{}",
        "bad.npy": "no",
        "bad.npz": "PK",
        "program.py": "print('ran')",
        "bad.txt": "y = x +* 2",
        "kernel.cpp": "int x;",
        "list.txt": "0 x.npy",
    }
    for name, text in texts.items():
        (made / name).write_text(text)
    shutil.copy(made / "m.onnx", made / "модель 模型.onnx")
    shutil.copy(made / "m.onnx", made / "a b/m.onnx")
    (made / "noise.bin").write_bytes(np.random.default_rng(0).bytes(3000))
    (made / "flipped.om").write_bytes(bundle[:middle] + bytes([bundle[middle] ^ 1]) + bundle[middle + 1 :])
    (made / "short.om").write_bytes(bundle[:500])
    np.save(made / "objects.npy", np.array([{}], object))
    np.save(made / "x64.npy", np.ones((2, 4)))
    np.save(made / "x5.npy", np.ones((2, 5), np.float32))
    np.save(made / "x.npy", np.ones((2, 4), np.float32))
    with ascend_ep.profile() as recording:
        ascend_ep.InferenceSession(str(made / "m.om")).run(None, {"x": np.ones((2, 4), np.float32)})
    recording.export_msprof(made / "profile")
    return made


def devices(folder: Path) -> None:
    """Devices and a pipe: a command must not put a file in place of them, nor wait for what comes of them."""
    os.mkfifo(folder / "pipe")
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    (folder / "failing").symlink_to("/proc/self/mem")
    (folder / "dangling").symlink_to("nowhere/at/all")
    (folder / "locked").touch(0)
    for name, minor in (("null", 3), ("full", 7)):
        try:
            os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        except PermissionError:
            (folder / name).symlink_to(f"/dev/{name}")


def ended(line: list[str], folder: Path, place: str = "file") -> tuple[int, str]:
    """The status of a command's own process, less than 0 for a signal, and what it printed, with an output as
    PLACES has it."""
    output = folder.parent / "output"
    pipe = os.open(folder / "pipe", os.O_RDWR)  # what is written there has room, what reads there waits
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    child = os.fork()
    if child == 0:
        status = 250
        try:
            os.chdir(folder)
            os.environ.update(HOME=str(folder.parent), XDG_CACHE_HOME=str(folder.parent / "cache"))
            os.environ["XDG_CONFIG_HOME"] = str(folder.parent / "config")
            os.environ["ASCEND_PROCESS_LOG_PATH"] = str(folder.parent / "log")
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            out = os.open(place, os.O_WRONLY) if place.startswith("/") else file
            for number, target in enumerate((os.open(os.devnull, os.O_RDONLY), out, file)):
                os.dup2(target, number)
            for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
                encoding = "ascii" if place == "ascii" else "utf-8"
                errors = "backslashreplace" if number == 2 else "strict"
                stream = os.fdopen(number, "w" if number else "r", encoding=encoding, errors=errors)
                setattr(sys, name, stream)
                setattr(sys, f"__{name}__", stream)
            if place == "closed":  # as Python begins then
                os.close(1)
                sys.stdout = sys.__stdout__ = None  # type: ignore[assignment, misc]
            logging.root.handlers.clear()  # ais_bench's, which other commands don't import
            try:
                status = importlib.import_module(f"ascend_ep.cli.{line[0]}").main(line[1:])
            except SystemExit as end:
                status = end.code
                if isinstance(status, str):
                    print(status, file=sys.stderr)
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stderr.flush()
        finally:
            os._exit(status if isinstance(status, int) else bool(status))
    end = threading.Timer(SECONDS, os.kill, (child, signal.SIGKILL))  # which no command takes for Ctrl-C
    end.start()
    _, found = os.waitpid(child, 0)
    end.cancel()
    os.close(pipe)
    return os.waitstatus_to_exitcode(found), output.read_text(errors="replace")


def objection(line: list[str], status: int, said: str) -> str:
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    runs_programs = tuple(line[:2]) in RUNS_PROGRAMS
    if "Traceback (" in said and not runs_programs:
        return "a traceback"
    if "E19999" in said:
        return "an inner error"
    if (named := ABSENT.search(said)) and named[1] in SPECIAL and named[1] != "dangling":
        return "what is there is called absent"
    if status and not runs_programs and not CODED.search(said):
        return "no code"
    return ""


def tried(lines: Iterable[list[str]], folder: Path, place: Path) -> list[str]:
    """Those that end badly, with what they print. They run in a copy of the folder, which stays the same
    but for what commands write."""
    for name in MODULES:
        importlib.import_module(f"ascend_ep.cli.{name}")
    found = []
    for number, line in enumerate(lines):
        own = place / str(number) / "deep" / "user"
        shutil.copytree(folder, own)
        devices(own)
        place_of_output = PLACES[number % len(PLACES)]
        status, said = ended(line, own, place_of_output)
        why = objection(line, status, said)
        shutil.rmtree(place / str(number))
        if why:
            found.append(f"{why}: {line!r}, output: {place_of_output}\n{said[-1500:]}")
    return found


@pytest.mark.parametrize("count", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_no_line_ends_in_a_traceback(count: int, folder: Path, tmp_path: Path) -> None:
    bad = tried(draw(count, count), folder, tmp_path)
    assert not bad, "\n\n".join(bad)


@pytest.mark.parametrize("every", [101, pytest.param(1, marks=pytest.mark.slow)])
def test_no_special_file_ends_a_line_badly(every: int, folder: Path, tmp_path: Path) -> None:
    bad = tried(itertools.islice(of_special_files(), 0, None, every), folder, tmp_path)
    assert not bad, "\n\n".join(bad)
