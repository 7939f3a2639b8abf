"""Tries drawn attacks of a kind, each in a limit of time: `try_drawn.py KIND FIRST COUNT FOLDER`.

Prints as JSON what broke a promise: the seed, and what became of it. A process that is ended prints none."""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import drawn_definitions
import drawn_models
import onnx.parser

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.registry import Registry

SECONDS, BYTES = 20, 6 << 30
OWN = """<ir_version: 9, opset_import: ["" : 18, "own" : 1]>
agraph (float[2,8] x) => (float[2,8] y) { y = own.Drawn(x) }"""


def model(seed: int, folder: Path) -> None:
    path = folder / "m.onnx"
    path.write_bytes(drawn_models.model(seed))
    convert(path, ConvertOptions(codegen="off")).to_bytes()


def definition(seed: int, folder: Path) -> None:
    path = folder / "d.json"
    text = drawn_definitions.definition(seed)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    parse_definitions(text)
    registry = Registry.from_options(custom_op_info=[str(path)])
    convert(onnx.parser.parse_model(OWN), ConvertOptions(codegen="off", registry=registry)).to_bytes()


def prompt(seed: int, folder: Path) -> None:
    for text in (drawn_definitions.prompt(seed), drawn_definitions.formula(seed)):
        try:
            describe(text)
        except AscendError as error:
            if error.code == "E19999":
                raise


KINDS: dict[str, Callable[[int, Path], None]] = {"model": model, "definition": definition, "prompt": prompt}


def on_alarm(number: int, frame: object) -> None:
    raise TimeoutError(f"it took more than {SECONDS} s")


def broken(attack: Callable[[int, Path], None], seed: int, folder: Path) -> str:
    """What was wrong, "" for nothing."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            attack(seed, folder)
        except AscendError as error:
            if error.code == "E19999":
                return str(error)
        except BaseException as error:  # what a traceback would be
            return f"{type(error).__name__}: {error}; {traceback.format_exc().splitlines()[-4:-1]}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return next((str(w.message) for w in told if "a mistake of ascend-ep" in str(w.message)), "")


def main(kind: str, first: int, count: int, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    signal.signal(signal.SIGPROF, on_alarm)
    found = {}
    before = {p.name for p in folder.iterdir()}
    for seed in range(first, first + count):
        start = time.process_time()
        if said := broken(KINDS[kind], seed, folder):
            found[seed] = said[-1500:]
            print(seed, f"{time.process_time() - start:.1f} s", said[-1500:], file=sys.stderr, flush=True)
    left = {p.name for p in folder.iterdir()} - before - {"m.onnx", "d.json"}
    if left:
        found[-1] = f"files were written: {sorted(left)}"
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
