"""Scenarios below the preloaded library: `python -m fault_injection.scenarios FOLDER SCENARIO EVERY FIRST`.

The process imports and tries everything once, then forks for each failure: the child arms the library, goes
through the scenario, and says how it ended. Prints one JSON line: the number of calls, and for each failure
which call it was, the end, and its detail.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError

from . import commands
from .commands import COMMANDS
from .inputs import DOUBLES, MULTIPLY, TEXTS
from .served import LOOP, serve_once
from .whole import Reference

#: Of the child's own time, and of the clock's: a busy machine is no hang.
SECONDS, PATIENCE = 20, 300
#: Failures of a scenario at most, evenly spread.
MOST = 500
MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[N, 8] x) => (float[N, 8] y) <float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}>
{ h = Add(x, b) d = Relu(h) y = Softmax(d) }"""
FEED = {"x": np.ones((2, 8), np.float32)}

faults: Any = ctypes.CDLL(None)
faults.asc_faults_arm.argtypes = [ctypes.c_long]
faults.asc_faults_disarm.restype = ctypes.c_long
faults.asc_faults_failed.restype = ctypes.c_char_p


def convert_it(folder: Path) -> None:
    """A bundle with weights beside it, in place of one that is there."""
    convert(onnx.parser.parse_model(MODEL), ConvertOptions(codegen="off", external_weight=1)).write(
        folder / "m.om"
    )


def load_and_run(folder: Path) -> None:
    session = ascend_ep.InferenceSession(str(folder / "kept.om"))
    np.testing.assert_array_equal(session.run(None, FEED)[0], EXPECTED)


def load_in_onnxruntime(folder: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "kept_ctx.onnx"), providers=["AscendEP"])
    np.testing.assert_array_equal(session.run(None, FEED)[0], EXPECTED)


def serve(folder: Path) -> None:
    """A server of one model: a request while calls fail, which may be refused, and one after that."""
    serve_once(folder / "served", FEED["x"], EXPECTED, faults.asc_faults_disarm)


SCENARIOS: dict[str, Callable[[Path], None]] = {
    "convert": convert_it,
    "load": load_and_run,
    "onnxruntime": load_in_onnxruntime,
    "serve": serve,
    **COMMANDS,
}
EXPECTED = np.zeros(0, np.float32)


def prepare(folder: Path) -> None:
    """Models that are there before anything fails."""
    global EXPECTED
    made = convert(onnx.parser.parse_model(MODEL), ConvertOptions(codegen="off"))
    (folder / "served" / "m" / "1").mkdir(parents=True)
    for path in (folder / "kept.om", folder / "served" / "m" / "1" / "model.om"):
        made.write(path)
    (folder / "kept_ctx.onnx").write_bytes(made.context_model("kept.om"))
    for name, text in (("model", MODEL), ("doubles", DOUBLES), ("multiply", MULTIPLY)):
        onnx.save(onnx.parser.parse_model(text), folder / f"{name}.onnx")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "log").mkdir()
    (folder / "samples").mkdir()
    for i in range(2):
        np.save(folder / "samples" / f"{i}.npy", np.full((2, 4), i + 1, np.float32))
    ran = [sys.executable, "-m", "ascend_ep.cli.om", "run", "kept.om"]
    recorded = [sys.executable, "-m", "ascend_ep.cli.prof", "run", "--output", "profile", "--quiet", "--"]
    subprocess.run([*recorded, *ran], cwd=folder, check=True, capture_output=True)
    EXPECTED = ascend_ep.InferenceSession(str(folder / "kept.om")).run(None, FEED)[0]


def litter(folder: Path) -> list[str]:
    return [p.name for p in folder.rglob("*") if p.name.startswith(".")]


def damaged(folder: Path, reference: Reference) -> str:
    """What is wrong with the files that were written, "" when they are whole or absent."""
    if (said := reference.damaged(folder)) or not (folder / "m.om").exists():
        return said
    try:
        session = ascend_ep.InferenceSession(str(folder / "m.om"))
        session.bundle.model.verify_weights()
    except AscendError as error:
        return str(error)
    return ""


def open_files() -> list[str]:
    """What this process has open, but onnxruntime's records of its own use."""
    gc.collect()
    links = sorted(Path("/proc/self/fd").iterdir(), key=lambda p: int(p.name))
    found = [os.readlink(p) for p in links if p.is_symlink()]
    return [name for name in found if "onnxruntime.db" not in name]


def is_of_onnxruntime(error: BaseException) -> bool:
    """Whether it is onnxruntime's own: of its types, or raised by its code and not by what that calls."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    raised_in = str(frames[-1].f_globals.get("__name__")) if frames else ""
    return any(name.split(".")[0] == "onnxruntime" for name in (type(error).__module__, raised_in))


def child(scenario: Callable[[Path], None], folder: Path, at: int, out: int, reference: Reference) -> None:
    """Goes through the scenario with one failure, and writes how it ended."""
    own = folder / f"run-{at}"
    shutil.copytree(folder / "kept", own, symlinks=True)
    os.environ["ASCEND_EP_TRUST"] = str(own / "trust")
    before = open_files()
    end, detail = "as without it", ""
    LOOP.start()
    faults.asc_faults_arm(at)
    try:
        scenario(own)
    except (AscendError, MemoryError) as error:
        faults.asc_faults_disarm()
        end, detail = "an error", str(error)[:200]
    except OSError as error:
        faults.asc_faults_disarm()
        end = "an error" if is_of_onnxruntime(error) else "an error without a code"
        detail = f"{type(error).__name__}: {error}"[:200]
    except BaseException as error:
        faults.asc_faults_disarm()
        end = "an error" if is_of_onnxruntime(error) else "a traceback"
        detail = f"{type(error).__name__}: {error}"[-400:]  # where it was raised
        del error
    seen = faults.asc_faults_disarm()
    try:
        LOOP.stop()
    except RuntimeError as error:
        end, detail = "a hang", f"the server's loop: {error}; {end}; {detail}"
    if len(now := open_files()) > len(before):
        end, detail = "an open file", f"{now[len(before) - len(now) :]}; {end}; {detail}"
    if said := damaged(own, reference):
        end, detail = "a damaged file", f"{said}; {end}; {detail}"
    if left := sorted(set(litter(own)) - set(litter(folder / "kept"))):
        end, detail = "litter", f"{left}; {detail}"
    shutil.rmtree(own, ignore_errors=True)
    detail = f"{faults.asc_faults_failed().decode()}: {detail}"
    os.write(out, json.dumps([at, end, detail, seen]).encode())
    os._exit(0)


def one(scenario: Callable[[Path], None], folder: Path, at: int, reference: Reference) -> list[Any]:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        child(scenario, folder, at, write, reference)
    os.close(write)
    deadline = time.monotonic() + PATIENCE
    status = None
    while status is None and time.monotonic() < deadline:
        found, code = os.waitpid(pid, os.WNOHANG)
        status = code if found else None
        time.sleep(0.002)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    if status is None:
        return [at, "a hang", "", 0]
    if status or not said:
        code = os.waitstatus_to_exitcode(status)
        name = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return [at, name, "", 0]
    return list(json.loads(said))


def main(folder: Path, name: str, every: int, first: int) -> None:
    warnings.simplefilter("ignore")
    subprocess._USE_VFORK = False  # type: ignore[misc] # the library lets fork fail
    scenario = SCENARIOS[name]
    (folder / "kept").mkdir(parents=True)
    os.environ["ASCEND_EP_CACHE"] = str(folder / "cache")
    prepare(folder / "kept")
    commands.prepare(name, folder / "kept")
    os.environ["ASCEND_EP_TRUST"] = str(folder / "kept" / "trust")
    reference = Reference(folder / "kept")
    for _ in range(2):
        LOOP.start()
        scenario(folder / "kept")
        LOOP.stop()
        reference.note(folder / "kept")
    plain = one(scenario, folder, 0, reference)
    assert plain[1] == "as without it", plain
    calls = plain[3]
    found = [
        one(scenario, folder, at, reference)[:3] for at in range(first, calls + 1, max(every, calls // MOST))
    ]
    print(json.dumps([calls, found]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
