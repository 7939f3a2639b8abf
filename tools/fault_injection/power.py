"""Files that are replaced while the power fails: `python -m fault_injection.power FOLDER [WRITER ...]`.

Below the preloaded library. Each writer puts a second version in the place of a first. Before each call that
writes, in turn, the power fails: what no fsync followed is cut, and the process ends by SIGKILL. Then every
file is the old one, the new one, or absent if it was. Prints one JSON line: for each writer its name, the
number of calls, and for each failure which call it was, the end, and its detail.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
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

Writer = Callable[[Path, int], None]


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
    put_in_place([folder], {"op.json": b"{}" * version * 3000, "op.so": bytes([version]) * 9000}, [])


def baseline(folder: Path, version: int) -> None:
    source = folder / "source.om"
    atomic_file.write(source, bytes([version]) * 9000)
    record(source, folder / "baseline.json")


def trusted(folder: Path, version: int) -> None:
    os.environ["ASCEND_EP_TRUST"] = str(folder / "trust")
    trust.trust([(f"{version:064x}", "native code of a model")])


WRITERS: dict[str, Writer] = {
    writer.__name__: writer
    for writer in (bundle, bundle_and_weights, report, cache, operator, baseline, trusted)
}


def files(folder: Path) -> dict[str, bytes]:
    """What is in the folder, but what a killed program leaves beside its targets."""
    found = (p for p in folder.rglob("*") if p.is_file())
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in found
        if not any(part.startswith(".") for part in p.relative_to(folder).parts)
    }


def wrong(folder: Path, name: str, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """What is torn or lost; "" for nothing."""
    now = files(folder)
    if name == "trusted":  # a line that was cut trusts nothing, and spoils none that comes after it
        before = trust.trusted()
        trusted(folder, 3)
        kept = {f"{1:064x}", f"{3:064x}"} <= set(trust.trusted())
        return "" if kept and set(before) <= {f"{n:064x}" for n in (1, 2)} else "lines were lost"
    if name == "cache" and not is_whole(folder / "made.so"):
        return ""  # it is made again
    if name == "bundle_and_weights":
        InferenceSession(folder / "m.om").bundle.model.verify_weights()
    for path in sorted(old.keys() | new.keys() | now.keys()):
        if path not in now and path in old and path in new:
            return f"{path} is gone"
        if path in now and now[path] not in (old.get(path), new.get(path)):
            return f"{path} is torn: {len(now[path])} bytes of {len(new.get(path, b''))}"
    return ""


def fail(folder: Path, write: Writer, at: int) -> tuple[int, int]:
    """The status of a process in which the power fails at that call, and how many calls it made."""
    read, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        faults.asc_faults_arm(ctypes.c_long(at))
        write(folder, 2)
        if at:  # as after the last call
            faults.asc_faults_power_off()
        os.write(out, str(faults.asc_faults_disarm()).encode())
        os._exit(0)
    os.close(out)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), int(said or 0)


def sweep(folder: Path, name: str) -> tuple[str, int, list[tuple[int, str, str]]]:
    write, kept, whole = WRITERS[name], folder / "kept", folder / "whole"
    for made, last in ((kept, 1), (whole, 2)):
        made.mkdir(parents=True)
        for version in range(1, last + 1):
            write(made, version)
    shutil.copytree(kept, folder / "counted")
    status, calls = fail(folder / "counted", write, 0)
    assert (status, calls > 1) == (0, True), (name, status, calls)
    found = []
    for at in range(1, calls + 2):
        own = folder / f"run-{at}"
        shutil.copytree(kept, own)
        status, _ = fail(own, write, at)
        said = "" if status == -signal.SIGKILL else f"ended with status {status}"
        try:
            said = said or wrong(own, name, files(kept), files(whole))
        except Exception as error:  # of any kind: the bundle can't be opened
            said = f"{type(error).__name__}: {error}"
        found.append((at, "a torn file" if said else "as without it", said))
        shutil.rmtree(own)
    return name, calls, found


if __name__ == "__main__":
    names = sys.argv[2:] or list(WRITERS)
    print(json.dumps([sweep(Path(sys.argv[1]) / name, name) for name in names]))
