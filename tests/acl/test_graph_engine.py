"""Models that a C++ program compiles through the graph engine, and the process that does it."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli import converter

MODEL = '<ir_version: 8, opset_import: ["": 17]> m (float[n, 3] x) => (float[n, 3] y) { y = Neg(x) }'
PROGRAM = Path(__file__).parent / "programs" / "graph.cpp"
LIBRARIES = ("ascendcl", "graph", "ge_compiler", "fmk_onnx_parser")


@pytest.fixture
def program(toolkit: Path, tmp_path: Path) -> Path:
    built = tmp_path / "graph"
    flags = [f"-I{toolkit}/include", f"-L{toolkit}/lib64", *(f"-l{name}" for name in LIBRARIES)]
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", str(PROGRAM), "-o", str(built), *flags]
    subprocess.run(command, check=True, timeout=120)
    return built


def test_a_program_compiles_and_runs_a_model(program: Path, toolkit: Path, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    env = {**os.environ, "LD_LIBRARY_PATH": f"{toolkit}/lib64", "ASCEND_HOME_PATH": str(toolkit)}
    done = subprocess.run(
        [str(program), "m.onnx", "new/folder/saved"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    said = next(line for line in lines if line.startswith("said "))
    assert "aclgrphBuildModel failed with" in said
    assert "the model has no such input; it has x" in said
    lines.remove(said)
    assert [line for line in lines if line] == [
        "garbage 0",
        "parse 1",
        "too early 0",
        "unknown option 1",
        "initialize 1",
        "no model 0",
        "refused 0",
        "build 1",
        "execute 0 -0 -1 -2 -3 -4 -5",
        "file 1",
        "build 1",
        "save 1",
        "no folder 0",
        "load 0",
        "name 1 from a file",
    ]
    assert "[ge.socVersions]; there are ge.socVersion, ge.exec.precision_mode" in done.stderr
    session = ascend_ep.InferenceSession(tmp_path / "new" / "folder" / "saved.om")
    assert np.array_equal(session.run(None, {"x": np.ones((2, 3), np.float32)})[0], -np.ones((2, 3)))


def test_the_converter_answers_until_it_is_left(tmp_path: Path) -> None:
    """Every command line in its caller's folder and environment, with what it prints in the caller's file."""
    near, far = socket.socketpair()
    program = """
import os, sys
from ascend_ep.cli import converter
def convert(flags):
    print(os.getcwd(), os.environ["WHO"], *flags)
    if "--raise" in flags:
        raise RuntimeError("no")
    return len(flags)
try:
    converter.answer(0, convert)
except EOFError:
    print("left", file=sys.stderr)
"""
    process = subprocess.Popen(["python", "-c", program], stdin=far)
    far.close()

    def words(*all_of_them: str) -> bytes:
        return struct.pack("=I", len(all_of_them)) + b"".join(w.encode() + b"\0" for w in all_of_them)

    def ask(log: Path, *flags: str) -> int:
        request = (
            words(str(tmp_path), str(log)) + words(*flags) + words("WHO=us", f"PATH={os.environ['PATH']}")
        )
        for byte in (request[:7], request[7:]):  # in parts, as a socket may bring it
            near.sendall(byte)
        (status,) = struct.unpack("=i", near.recv(4, socket.MSG_WAITALL))
        return int(status)

    assert ask(tmp_path / "a", "--one", "--two") == 2
    assert ask(tmp_path / "b", "--raise") == converter.ENDED
    assert ask(tmp_path / "c") == 0
    assert (tmp_path / "a").read_text() == f"{tmp_path} us --one --two\n"
    assert "RuntimeError: no" in (tmp_path / "b").read_text()
    near.close()
    assert process.wait(30) == 0


def test_forks_and_threads_have_conversions_of_their_own(toolkit: Path, tmp_path: Path) -> None:
    """As processes of torch's loaders do it: a fork after the first conversion."""
    program = f"""
import ctypes, os, threading
library = ctypes.CDLL("{toolkit}/lib64/libascendcl.so")
def convert(name):
    flags = (ctypes.c_char_p * 2)(b"--mode=99", None)
    os.makedirs(name, exist_ok=True)
    code = library.asc_convert(name.encode(), flags, b"it")
    return code == 500002 and "E10001" in open(name + "/log").read()
right = [convert("first")]
child = os.fork()
if not child:
    os._exit(0 if convert("child") else 1)
threads = [threading.Thread(target=lambda i=i: right.append(convert(f"thread{{i}}"))) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(os.waitpid(child, 0)[1], right)
try:
    os.wait()
except ChildProcessError:
    print("no child is left")
"""
    env = {**os.environ, "ASCEND_HOME_PATH": str(toolkit)}
    done = subprocess.run(
        ["python", "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "0 [True, True, True, True]\nno child is left\n", done.stderr
