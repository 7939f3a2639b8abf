"""What kernels should compute, by what lies beside them: the inputs of a call, and the outputs.

Three layouts are known. `validation/{module,prepare_inputs}.py` with `test_cases.csv` (torch; a row is a case);
`scripts/gen_data.py`, which writes input/*.bin and output/golden*.bin; and a file of cases (--cases), a list of
{"file", "inputs": shapes, "dtypes", "attributes", "formula" or "golden", and what else `ascend-op run` takes}.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .found import KernelFile

Array = NDArray[Any]
SECONDS = 60


@dataclass(frozen=True)
class Case:
    """One call. inputs: in order, a list for a list of tensors. scalars: arguments that are no arrays, in order (attributes of the
    operator). outputs: what should come out."""

    file: KernelFile
    name: str
    inputs: tuple[Array | list[Array], ...]
    outputs: tuple[Array, ...]
    scalars: tuple[Any, ...] = ()
    flags: Mapping[str, Any] = field(default_factory=dict, hash=False)


class NoReference(Exception):
    """A reference that can't be computed here."""


def cases_of(file: KernelFile, rows: int, largest: int) -> Iterator[Case]:
    """Up to `rows` cases of at most `largest` elements. Raises NoReference."""
    for above in list(file.path.parents)[1:5]:
        if (above / "validation" / "module.py").is_file():
            yield from _by_script(file, "torch_case.py", above / "validation", rows, largest)
            return
    for script in _scripts_near(file.path):
        yield from _by_script(file, "written_case.py", script, 1, largest)
        return


def _scripts_near(path: Path) -> list[Path]:
    """gen_data.py of the kernel's own folder, or of one beside its project."""
    for above in list(path.parents)[:4]:
        found = sorted(p for p in above.glob("**/gen_data.py") if len(p.relative_to(above).parts) <= 3)
        if found:
            return found
    return []


def _by_script(file: KernelFile, script: str, where: Path, rows: int, largest: int) -> Iterator[Case]:
    with tempfile.TemporaryDirectory(prefix="kernel-case-") as folder:
        command = [
            sys.executable,
            str(Path(__file__).with_name(script)),
            str(where),
            folder,
            str(rows),
            str(largest),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder
            )
        except subprocess.TimeoutExpired:
            raise NoReference(f"{where.name} takes more than {SECONDS} s") from None
        if done.returncode:
            raise NoReference((done.stderr.strip().splitlines() or ["?"])[-1][:160])
        for entry in json.loads((Path(folder) / "cases.json").read_text(encoding="utf-8")):
            inputs = tuple(_loaded(folder, e) for e in entry["inputs"])
            outputs = tuple(_array(folder, e) for e in entry["outputs"])
            yield Case(file, entry["name"], inputs, outputs, tuple(entry.get("scalars", ())))


def _loaded(folder: str, entry: Any) -> Array | list[Array]:
    return [_array(folder, e) for e in entry] if isinstance(entry, list) else _array(folder, entry)


def _array(folder: str, entry: Mapping[str, Any]) -> Array:
    data = (Path(folder) / entry["file"]).read_bytes()
    kind = ml_dtypes.bfloat16 if entry["dtype"] == "bfloat16" else entry["dtype"]
    return np.frombuffer(data, np.dtype(kind)).reshape(entry["shape"])
