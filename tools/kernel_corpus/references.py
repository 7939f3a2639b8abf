"""What kernels should compute, by what lies beside them: the inputs of a call, and the outputs.

Two layouts are known: `validation/{module,prepare_inputs}.py` with `test_cases.csv` (torch; a row is a case),
and `gen_data.py`, which writes input/*.bin and output/golden*.bin.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .found import KernelFile

Array = NDArray[Any]
SECONDS = 180


@dataclass(frozen=True)
class Case:
    """One call. inputs: in order, a list for a list of tensors; named: what a script calls them. scalars:
    arguments that are no arrays, in order (attributes of the operator); initial: those that the reference's
    module was made with; told: a script's own, by name. outputs: what should come out."""

    file: KernelFile
    name: str
    inputs: tuple[Array | list[Array], ...]
    outputs: tuple[Array, ...]
    scalars: tuple[Any, ...] = ()
    initial: tuple[Any, ...] = ()
    named: tuple[str, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)

    def placed(self, names: Sequence[str]) -> tuple[Array | list[Array], ...]:
        """The inputs in the order of these names, where each is one's: `input_dy.bin` is that of `dy`."""
        found = [[i for i, n in enumerate(self.named) if re.fullmatch(rf"(?:.*_)?{m}", n)] for m in names]
        order = [places[0] for places in found if len(places) == 1]
        complete = len(order) == len(names) and sorted(order) == list(range(len(self.inputs)))
        return tuple(self.inputs[i] for i in order) if complete else self.inputs


class NoReference(Exception):
    """A reference that can't be computed here."""


def cases_of(file: KernelFile, rows: int, largest: int) -> Iterator[Case]:
    """Up to `rows` cases of at most `largest` elements. Raises NoReference."""
    for above in list(file.path.parents)[1:5]:
        if (above / "validation" / "module.py").is_file():
            with tempfile.TemporaryDirectory(prefix="kernel-case-") as folder:
                torch_process().ask(above / "validation", Path(folder), rows, largest)
                yield from _read(file, Path(folder))
            return
    for script in _scripts_near(file.path):
        with tempfile.TemporaryDirectory(prefix="kernel-case-") as folder:
            _run(script, folder)
            yield from _read(file, Path(folder))
        return


class TorchProcess:
    """One process with torch, which takes seconds to start, that answers for all kernels."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("torch_case.py"))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._lock = threading.Lock()

    def ask(self, where: Path, into: Path, rows: int, largest: int) -> None:
        """Writes the cases of a validation folder. Raises NoReference."""
        read, write = self._process.stdout, self._process.stdin
        assert read is not None
        assert write is not None
        with self._lock:
            write.write(json.dumps([str(where), str(into), rows, largest]) + "\n")
            write.flush()
            answer = read.readline()
        if answer.strip() or not answer:
            raise NoReference(answer.strip() or "torch is not installed")


_STARTING = threading.Lock()


def torch_process() -> TorchProcess:
    """The one process."""
    with _STARTING:
        return _started()


_started = cache(TorchProcess)


def _scripts_near(path: Path) -> list[Path]:
    """gen_data.py of the kernel's own folder, or of one beside its project."""
    for above in list(path.parents)[:4]:
        found = sorted(p for p in above.glob("**/gen_data.py") if len(p.relative_to(above).parts) <= 4)
        if found:
            return found
    return []


def _run(script: Path, folder: str) -> None:
    """The files that a gen_data.py writes. Raises NoReference."""
    command = [sys.executable, str(Path(__file__).with_name("written_case.py")), str(script), folder]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise NoReference(f"{script.name} takes more than {SECONDS} s") from None
    if done.returncode:
        raise NoReference((done.stderr.strip().splitlines() or ["?"])[-1][:160])


def _read(file: KernelFile, folder: Path) -> Iterator[Case]:
    for entry in json.loads((folder / "cases.json").read_text(encoding="utf-8")):
        inputs = tuple(_loaded(folder, e) for e in entry["inputs"])
        outputs = tuple(_array(folder, e) for e in entry["outputs"])
        yield Case(
            file,
            entry["name"],
            inputs,
            outputs,
            tuple(entry.get("scalars", ())),
            tuple(entry.get("initial", ())),
            tuple("" if isinstance(e, list) else Path(e["file"]).stem for e in entry["inputs"]),
            entry.get("told", {}),
        )


def _loaded(folder: Path, entry: Any) -> Array | list[Array]:
    return [_array(folder, e) for e in entry] if isinstance(entry, list) else _array(folder, entry)


def _array(folder: Path, entry: Mapping[str, Any]) -> Array:
    data = (folder / entry["file"]).read_bytes()
    kind = ml_dtypes.bfloat16 if entry["dtype"] == "bfloat16" else entry["dtype"]
    return np.frombuffer(data, np.dtype(kind)).reshape(entry["shape"])
