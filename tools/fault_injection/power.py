"""Files that are replaced while the power fails: `python -m fault_injection.power FOLDER [SWEEP ...]`.

Below the preloaded library. Each writer puts a first version where nothing is, and a second in its place.
Before each call that writes, in turn, and after the last, the power fails: what no fsync followed is cut, and
the process ends by SIGKILL. Names that no fsync of their folder followed are all kept, all lost, or those of
one call are: the first, the second or the third. Then every file is the old one or the new one, files that
belong together fit, and after the last call everything is new. A SWEEP is WRITER/VERSION/NAMES; without any
all are tried. Prints one JSON line: for each its name, the number of calls, and for each failure which call
it was, the end, and its detail.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx.parser

from ascend_ep import atomic_file
from ascend_ep.cli.atc_files import write_text
from ascend_ep.codegen.cache import is_whole, keep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opbuild.operators.install import put_in_place
from ascend_ep.profiling.gate import record
from ascend_ep.runtime import trust
from ascend_ep.runtime.session import InferenceSession

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[N, 4] x) => (float[N, 4] y) <float[4] b = {%d, 2, 3, 4}> { h = Add(x, b) y = Softmax(h) }"""

faults: Any = ctypes.CDLL(None)

NAMES = ("kept", "lost", "1", "2", "3")


def bundle(folder: Path, version: int, external: int = 0) -> None:
    options = ConvertOptions(codegen="off", external_weight=external, self_check=False)
    convert(onnx.parser.parse_model(MODEL % version), options).write(folder / "m.om")


def bundle_and_weights(folder: Path, version: int) -> None:
    bundle(folder, version, external=1)


def report(folder: Path, version: int) -> None:
    write_text(str(folder / "report.json"), json.dumps([version] * 4000), "--json")


def cache(folder: Path, version: int) -> None:
    made = folder / ".making"
    atomic_file.write(made, bytes([version]) * 70_000)
    keep(made, folder / "made.so")


def operator(folder: Path, version: int) -> None:
    contents = {"meta/op.o": bytes([version]) * 9000, "op.json": b"{}" * version * 3000}
    put_in_place([folder], contents, [])


def baseline(folder: Path, version: int) -> None:
    source = folder / f"source-{version}.om"
    atomic_file.write(source, bytes([version]) * 9000)
    record(source, folder / "baseline.json")


def trusted(folder: Path, version: int) -> None:
    os.environ["ASCEND_EP_TRUST"] = str(folder / "config" / "trust")
    trust.trust([(f"{version:064x}", "native code of a model")])


@dataclass(frozen=True)
class Writer:
    """`last`: the file that is written after all others, so that they are new where it is."""

    write: Callable[[Path, int], None]
    last: str


WRITERS = {
    "bundle": Writer(bundle, "m.om"),
    "bundle_and_weights": Writer(bundle_and_weights, "m.om"),
    "report": Writer(report, "report.json"),
    "cache": Writer(cache, "made.so"),
    "operator": Writer(operator, "op.json"),
    "baseline": Writer(baseline, "baseline.json"),
    "trusted": Writer(trusted, "config/trust"),
}


def files(folder: Path) -> dict[str, bytes]:
    """What is in the folder, but what a killed program leaves beside its targets."""
    found = (p for p in folder.rglob("*") if p.is_file())
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in found
        if not any(part.startswith(".") for part in p.relative_to(folder).parts)
    }


Files = dict[str, bytes]


def wrong(folder: Path, name: str, old: Files, new: Files, is_done: bool) -> str:
    """What is torn or lost; "" for nothing. is_done: the writer had ended."""
    if name == "trusted":
        return wrong_trust(folder, 1 if old else 0, is_done)
    if name == "cache" and not is_done and not is_whole(folder / "made.so"):
        return ""  # it is made again
    if name == "bundle_and_weights" and (folder / "m.om").exists():
        InferenceSession(folder / "m.om").bundle.model.verify_weights()
    now, last = files(folder), WRITERS[name].last
    is_new = now.get(last) == new[last]
    for path in sorted(old.keys() | new.keys() | now.keys()):
        if path not in now and path in old and path in new:
            return f"{path} is gone"
        if path in now and now[path] not in (old.get(path), new.get(path)):
            return f"{path} is torn: {len(now[path])} bytes of {len(new.get(path, b''))}"
        if is_new and now.get(path) != new.get(path):
            return f"{last} is new, and {path} isn't"
    return f"{last} isn't new" if is_done and not is_new else ""


def wrong_trust(folder: Path, old: int, is_done: bool) -> str:
    """A line that was cut trusts nothing, and spoils none that comes after it."""
    os.environ["ASCEND_EP_TRUST"] = str(folder / "config" / "trust")
    before = set(trust.trusted())
    trusted(folder, 3)
    lines = [f"{n:064x}" for n in range(4)]
    least = {*lines[1 : old + 1], *(lines[old + 1 : old + 2] if is_done else [])}
    fits = least <= before <= set(lines[1 : old + 2]) and {*before, lines[3]} == set(trust.trusted())
    return "" if fits else f"of {old + 1} lines these are trusted: {sorted(before)}"


def fail(folder: Path, writer: Writer, version: int, at: int, names: str) -> tuple[int, int]:
    """The status of a process in which the power fails at that call, and how many calls it made."""
    read, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.environ["ASC_FAULTS_NAMES"] = names
        faults.asc_faults_arm(ctypes.c_long(at))
        writer.write(folder, version)
        if at:  # as after the last call
            faults.asc_faults_power_off()
        os.write(out, str(faults.asc_faults_disarm()).encode())
        os._exit(0)
    os.close(out)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), int(said or 0)


Swept = tuple[str, int, list[tuple[int, str, str]]]


def sweep(folder: Path, which: str) -> Swept:
    """The writer's version in the place of the one before."""
    name, number, names = which.split("/")
    version = int(number)
    writer, kept, whole = WRITERS[name], folder / "kept", folder / "whole"
    for made, last in ((kept, version - 1), (whole, version)):
        made.mkdir(parents=True)
        for each in range(1, last + 1):
            writer.write(made, each)
    shutil.copytree(kept, folder / "counted")
    status, calls = fail(folder / "counted", writer, version, 0, names)
    assert (status, calls > 1) == (0, True), (name, status, calls)
    found = []
    for at in range(1, calls + 2):
        own = folder / f"run-{at}"
        shutil.copytree(kept, own)
        status, _ = fail(own, writer, version, at, names)
        said = "" if status == -signal.SIGKILL else f"ended with status {status}"
        try:
            said = said or wrong(own, name, files(kept), files(whole), at > calls)
        except Exception as error:  # of any kind: the bundle can't be opened
            said = f"{type(error).__name__}: {error}"
        found.append((at, "a torn file" if said else "as without it", said))
        shutil.rmtree(own)
    return which, calls, found


def main(folder: Path, sweeps: list[str]) -> list[Swept]:
    for name in {which.split("/")[0] for which in sweeps}:
        made = folder / "first" / name
        made.mkdir(parents=True)
        WRITERS[name].write(made, 1)  # imports what it needs
    return [sweep(folder / which, which) for which in sweeps]


if __name__ == "__main__":
    every = [f"{name}/{version}/{names}" for name in WRITERS for version in (1, 2) for names in NAMES]
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2:] or every)))
