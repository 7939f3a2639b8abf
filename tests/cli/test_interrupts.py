"""Ctrl-C: one line and status 130 from every command, and nothing half-written."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

import _ascend_ep_start
from ascend_ep.cli import atc, atc_files, om_bench
from ascend_ep.cli.command import INTERRUPTED
from ascend_ep.cli.om import main as om
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.errors import AscendError

LINE = "E43108: Interrupted: nothing is left half-written.\n"
MODEL = """<ir_version: 8, opset_import: ["": 17]> layer (float[N, 4] x) => (float[N, 4] y) { y = Neg(x) }"""
WORDS = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3", "--log=error"]


def interrupt(*_: Any, **__: Any) -> Any:
    """What the terminal does."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's shell ignores it
    onnx.save(onnx.parser.parse_model(MODEL), "m.onnx")
    yield tmp_path
    signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    ("place", "name"),
    [(Conversion, "_check"), (Conversion, "context_model"), (Conversion, "write"), (atc_files.Path, "mkdir")],
)
def test_a_conversion(
    place: Any,
    name: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(place, name, interrupt)
    assert atc.main([word.replace("output=m", "output=new/deep/m") for word in WORDS]) == 130
    assert capsys.readouterr().err == LINE
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("name", ["write", "write_renamed"])
def test_a_conversion_that_is_nearly_done(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the bundle and before the model for onnxruntime that goes with it: both are there."""
    place: Any = Conversion if name == "write" else atc_files
    original = getattr(place, name)
    came: list[int] = []

    def late(*given: Any) -> None:
        if name == "write":
            original(*given)
        if not came:
            came.append(1)
            interrupt()
        if name != "write":
            original(*given)

    monkeypatch.setattr(place, name, late)
    assert atc.main(WORDS) == 130
    assert capsys.readouterr().err == LINE
    assert {path.name for path in folder.iterdir()} == {"m.onnx", "m.om", "m_ctx.onnx"}


def test_a_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert atc.main(WORDS) == 0
    monkeypatch.setattr(om_bench, "run_slot", interrupt)
    capsys.readouterr()
    assert om(["bench", "m.om"]) == 130
    assert capsys.readouterr().err == LINE


@pytest.mark.parametrize(
    ("module", "function"), [("op", "list"), ("ep", "doctor"), ("prof", "run"), ("serve", "x")]
)
def test_all_other_commands(
    module: str, function: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = importlib.import_module(f"ascend_ep.cli.{module}")
    monkeypatch.setattr(command, "parse" if module == "serve" else "command_parser", interrupt)
    assert command.main([function]) == 130
    assert capsys.readouterr().err == LINE


def impatient(module: str, start: str) -> str:
    """A program that begins with `start`; an import hook stands for the user, at a module's import."""
    return f"""
import importlib.abc, os, runpy, signal, sys
class Impatient(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Impatient())
{start}"""


@pytest.mark.parametrize(
    ("module", "start"),
    [
        ("ascend_ep", "import _ascend_ep_start; _ascend_ep_start.om()"),
        ("ascend_ep.cli", "sys.argv = ['x', 'om']; runpy.run_module('ascend_ep', run_name='__main__')"),
    ],
    ids=["its script", "python -m"],
)
def test_a_command_that_is_still_imported(module: str, start: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", impatient(module, start)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, LINE)


@pytest.mark.parametrize("module", ["ascend_ep", "ascend_ep.cli.om"])
def test_a_package_that_is_imported_before_its_command(module: str, tmp_path: Path) -> None:
    """`python -m` imports it first of all."""
    (tmp_path / "sitecustomize.py").write_text(impatient("numpy", ""))
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-m", module, "om", "--help"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, LINE)


@pytest.mark.parametrize("place", ["2>&-", "2>/dev/full", "2> >(exec true)"])
@pytest.mark.parametrize("module", ["ascend_ep", "ascend_ep.runtime.trust"], ids=["imported", "running"])
def test_nobody_reads_the_line(module: str, place: str) -> None:
    """Standard error is closed, full, or a pipe without a reader: the status says it all the same."""
    start = "sys.argv = ['x', 'trust', 'm']; import _ascend_ep_start as s; sys.exit(s.om())"
    line = f'exec "$0" -c "$1" {place}'
    words = ["bash", "-c", line, sys.executable, impatient(module, start)]
    assert subprocess.run(words, check=False, timeout=60).returncode == 130


def test_the_line_is_said_once() -> None:
    assert (str(AscendError("E43108")) + "\n", INTERRUPTED) == (
        _ascend_ep_start.LINE,
        _ascend_ep_start.INTERRUPTED,
    )


def test_an_interrupt_amid_locks_and_destructors() -> None:
    """Some hundred of them at random moments of waiting for threads: raised as what they are, or behind the
    destructor, and no lock stays taken, on which the pool would wait for ever."""
    program = """
import os, random, signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from ascend_ep.interrupt import watching
from ascend_ep.opbuild.proof.compilations import waited
class Slow:
    def __del__(self):
        for _ in range(20): pass
rng, main, raised = random.Random(0), threading.main_thread().ident, 0
for _ in range(150):
    pool = ThreadPoolExecutor(2)
    try:
        with watching():
            timer = threading.Timer(rng.uniform(1e-4, 5e-3), signal.pthread_kill, (main, signal.SIGINT))
            futures = [pool.submit(sum, range(50)) for _ in range(30)]
            timer.start()
            while True:
                for future in futures:
                    waited(future)
                Slow()
    except KeyboardInterrupt:
        raised += 1
    timer.join()
    pool.shutdown(wait=True, cancel_futures=True)
print(raised)"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("150\n", "")


LOST = {
    "extension module": """
import abc
register = abc.ABCMeta.register
def interrupted(*types):
    came.append(os.kill(os.getpid(), 2))
    return register(*types)
abc.ABCMeta.register = interrupted
import numpy.random._generator  # by Cython
""",
    "finalizer": """
import weakref
class Thing: pass
thing = Thing()
weakref.finalize(thing, lambda: came.append(os.kill(os.getpid(), 2)))
del thing
""",
}


@pytest.mark.parametrize("lost", LOST)
def test_an_interrupt_that_would_be_lost(lost: str) -> None:
    """In Python that C calls, and whose exceptions it passes over: it comes behind that."""
    program = f"""
import os, signal, sys, time
from ascend_ep.interrupt import watching
signal.signal(signal.SIGINT, signal.default_int_handler)
came = []
try:
    with watching():
        exec({LOST[lost]!r})
        for _ in range(200): time.sleep(0.01)
        print("lost")
except KeyboardInterrupt:
    print("raised", bool(came))"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("raised True\n", "")


AMID_LOCKS = """
import os, signal, threading
def interrupt_amid_locks():
    amid = {"__name__": "threading", "os": os}
    exec("def f(): os.kill(os.getpid(), 2)", amid)
    amid["f"]()
"""


@pytest.mark.parametrize(
    "place",
    ["threading.Event().wait()", "queue.Queue().get()", "taken.__enter__()", "held.join()"],
    ids=["condition", "queue", "lock", "thread"],
)
def test_a_program_that_stays_blocked(place: str) -> None:
    """In threading's own code, where nothing will ever wake it."""
    program = f"""
import os, queue, signal, threading
from ascend_ep.interrupt import watching
taken = threading.Condition()
ready = threading.Event()
def hold():
    taken.acquire()
    ready.set()
    threading.Event().wait()
held = threading.Thread(target=hold, daemon=True)
held.start()
ready.wait()
main = threading.main_thread().ident
try:
    with watching():
        threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
        {place}
except KeyboardInterrupt:
    os.write(1, b"raised")
    os._exit(0)"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("raised", "")


@pytest.mark.parametrize("delay", [0.05, 1e-3], ids=["to come", "meanwhile"])
def test_the_alarm_of_who_calls(delay: float) -> None:
    """It is borrowed for an interrupt that waits, and comes all the same."""
    program = f"""{AMID_LOCKS}
import time
from ascend_ep.interrupt import watching
came = []
def own(*_): came.append(1)
signal.signal(signal.SIGALRM, own)
with watching():
    print(signal.getsignal(signal.SIGALRM) is own)
signal.setitimer(signal.ITIMER_REAL, {delay})
try:
    with watching():
        interrupt_amid_locks()
        time.sleep(30)
except KeyboardInterrupt:
    print(signal.getsignal(signal.SIGALRM) is own)
while not came:
    time.sleep(0.01)
print(signal.getitimer(signal.ITIMER_REAL))"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("True\nTrue\n(0.0, 0.0)\n", "")


@pytest.mark.parametrize("end", ["return 0", "raise AscendError('E43002', 'cc', 'x')", "sys.exit(2)"])
def test_an_interrupt_that_is_pending_at_the_end(end: str) -> None:
    """Whatever the command would have ended in, it was interrupted."""
    program = f"""{AMID_LOCKS}
import sys
from ascend_ep import interrupt
from ascend_ep.cli.command import command
from ascend_ep.errors import AscendError
interrupt.AGAIN = 30
@command("x")
def main(arguments):
    interrupt_amid_locks()
    {end}
sys.exit(main([]))"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", LINE)


def test_conversions_that_have_failed_by_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What atc says of a failure isn't said of the compiler that Ctrl-C ended as well."""
    made: dict[str, Any] = {}
    exec(AMID_LOCKS, made)

    def fail(*_: Any) -> None:
        made["interrupt_amid_locks"]()
        raise AscendError("E43002", "cc", "x")

    monkeypatch.setattr("ascend_ep.interrupt.AGAIN", 30)
    monkeypatch.setattr(atc, "check_cores", fail)
    assert atc.main(WORDS) == 130
    said = capsys.readouterr()
    assert (said.err, "ATC run failed" in said.out) == (LINE, False)
