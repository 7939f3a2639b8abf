"""Ctrl-C at random moments of whole commands, as a terminal gives it, from the import to the end: one line
and status 130, or the end that the command has anyway, and files and folders that are whole or not there.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

LINE = "E43108: Interrupted: nothing is left half-written.\n"
MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[N, 4] x) => (float[N, 4] y) { h = Softmax(x)  y = Neg(h) }"""
#: What `ascend-op gen` takes.
TENSOR = {"param_type": "required", "format": ["ND"], "type": ["float32"]}
OPERATOR = [
    {"op": "MyThing", "input_desc": [{"name": "x"} | TENSOR], "output_desc": [{"name": "y"} | TENSOR]}
]
COMMANDS = {
    "atc": "atc --model=m.onnx --framework=5 --output=new/o --soc_version=Ascend910B3",
    "bench": "om bench m.om --rounds 2 --seconds 0.1 --export-times new/t.json",
    "diff": "om diff m.onnx m.om --input x.npy",
    "quantize": "om quantize m.onnx --data x.npy --output new/q.onnx",
    "reduce": "om reduce m.onnx --check false --output new/r.onnx --timeout 5",
    "gen": "op gen -i operator.json -f onnx -c ai_core-Ascend910B3 -lan cpp -out new/p",
    "build": "op build --prompt F(x)=x*sigmoid(x) --input_shape [8] --search 0.1 --output new/b",
    "doctor": "ep doctor",
    "prof run": "prof run --output new/profiles sleep 0.3",
    "serve": "serve --model-repository=. --check",
    "serve-load": "serve-load -m layer -u localhost:9 -p 100 -r 1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("storm")
    onnx.save(onnx.parser.parse_model(MODEL), made / "m.onnx")
    np.save(made / "x.npy", np.ones((2, 4), np.float32))
    (made / "operator.json").write_text(json.dumps(OPERATOR))
    words = [sys.executable, "-m", "ascend_ep", *COMMANDS["atc"].replace("=new/o ", "=m ").split()]
    subprocess.run(words, cwd=made, check=True, capture_output=True, timeout=120)
    return made


def start(words: list[str], place: Path) -> subprocess.Popen[str]:
    """In a group of its own, where Ctrl-C isn't ignored, as a shell's background job ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            words,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
            env={**os.environ, "ASCEND_EP_CACHE": str(place / "cache")},
        )
    finally:
        signal.signal(signal.SIGINT, before)


def left(place: Path, given: Path) -> list[str]:
    """The files and folders that a command has made, but for the cache and what is there before."""
    found = {str(path.relative_to(place)) for path in place.rglob("*")}
    before = {str(path.relative_to(given)) for path in given.rglob("*")}
    return sorted(name for name in found - before if not name.startswith("cache"))


def storm(name: str, given: Path, tmp_path: Path, times: int) -> None:
    words = [sys.executable, "-m", "ascend_ep", *COMMANDS[name].split()]
    rng = random.Random(name)
    whole = tmp_path / "whole"
    shutil.copytree(given, whole)
    began = time.monotonic()
    running = start(words, whole)
    out, err = running.communicate(timeout=600)
    length, status = time.monotonic() - began, running.returncode
    files = left(whole, given)
    assert err != LINE, out
    for number in range(times):
        place = tmp_path / str(number)
        shutil.copytree(given, place)
        running = start(words, place)
        time.sleep(rng.uniform(0.0, 1.0) * length)
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGINT)
        out, said = running.communicate(timeout=60)
        made = left(place, given)
        assert not [path for path in made if ".part" in path or ".ascend-" in path], made
        if is_pythons(said, running.returncode):
            assert (made, out) == ([], "")
            continue
        if running.returncode == 130 or said.endswith(LINE):  # Python itself says -2 after an exec()
            assert said.endswith(LINE)
            assert running.returncode in (130, -signal.SIGINT)
            assert "Traceback" not in said
            assert len(made) in (0, len(files)), made
        else:
            assert running.returncode == status, said
            assert len(made) == len(files)
        shutil.rmtree(place)


def is_pythons(said: str, status: int) -> bool:
    """Whether the interpreter itself still came up: no command has begun."""
    begun = "_ascend_ep_start/__init__.py" in said and "in run" in said
    is_silent = not said and status == -signal.SIGINT  # it has no handler yet
    return is_silent or ("KeyboardInterrupt" in said and status in (1, -signal.SIGINT) and not begun)


@pytest.mark.parametrize("name", ["atc", "bench", "serve-load"])
def test_a_few_moments(name: str, folder: Path, tmp_path: Path) -> None:
    storm(name, folder, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_many_moments(name: str, folder: Path, tmp_path: Path) -> None:
    storm(name, folder, tmp_path, 8 if name == "build" else 25)  # which takes as long as all others
