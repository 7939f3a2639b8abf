"""A library of operators run on arrays in a process of its own, which it may crash, end or hang.

`python -m ascend_ep.codegen.library_process FOLDER`: the folder has `job.json` and the inputs,
and gets the outputs; on standard output a line for each sample that is done, or why one is refused.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ascend_ep.codegen.library_call import Array, element_type, run_library
from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.plan.plan import AttrValue

#: Seconds and bytes of memory that a library may take for its samples.
SECONDS, BYTES = 20, 2 << 30
Sample = Sequence[Array | None]


@dataclass
class Trial:
    """outputs: of the samples that were done, in order. failure: why the next one wasn't; "" when all were.
    ended: whether that was the end of the process."""

    outputs: list[list[Array]] = field(default_factory=list)
    failure: str = ""
    ended: bool = False


def try_library(
    path: Path, op_type: str, samples: Sequence[Sample], n_outputs: int, attributes: Mapping[str, AttrValue]
) -> Trial:
    """Runs the samples one after the other; the first that fails is the last."""
    with tempfile.TemporaryDirectory(prefix="ascend-library-") as work:
        folder = Path(work)
        job = {"library": str(path), "op": op_type, "outputs": n_outputs, "attributes": dict(attributes)}
        kinds = [_write(folder / f"in{k}", sample) for k, sample in enumerate(samples)]
        (folder / "job.json").write_text(json.dumps(job | {"samples": kinds}))
        command = [sys.executable, "-m", __name__, str(folder)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            said, failure = error.stdout or b"", f"it doesn't end within {SECONDS} s"
        else:
            said, failure = done.stdout, _failure(done.returncode)
        return _read(folder, said.decode("utf-8", "replace").splitlines(), len(samples), failure)


def _failure(status: int) -> str:
    if status < 0:
        return f"it ends the process by {signal.Signals(-status).name}"
    return f"it ends the process with status {status}"


def _read(folder: Path, lines: Sequence[str], wanted: int, failure: str) -> Trial:
    trial = Trial()
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "done":
            made = _load(folder / f"out{len(trial.outputs)}", json.loads(rest))
            trial.outputs.append([a for a in made if a is not None])
        elif word == "refused":
            trial.failure = f"it refuses: {rest}"
    if len(trial.outputs) < wanted and not trial.failure:
        trial.failure, trial.ended = failure, True
    return trial


def _write(stem: Path, arrays: Sample) -> list[int | None]:
    """Writes arrays beside each other; their element types."""
    for i, array in enumerate(arrays):
        if array is not None:
            np.save(f"{stem}.{i}.npy", array.view(np.uint16) if array.dtype == numpy_dtype(16) else array)
    return [None if a is None else element_type(a) for a in arrays]


def _load(stem: Path, kinds: Sequence[int | None]) -> list[Array | None]:
    arrays = [None if k is None else np.load(f"{stem}.{i}.npy") for i, k in enumerate(kinds)]
    pairs = zip(arrays, kinds, strict=True)
    return [None if a is None or k is None else a.view(numpy_dtype(k)) for a, k in pairs]


def main(folder: Path) -> int:
    """The process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    job = json.loads((folder / "job.json").read_text())
    for k, kinds in enumerate(job["samples"]):
        inputs = _load(folder / f"in{k}", kinds)
        try:
            made = run_library(Path(job["library"]), job["op"], inputs, job["outputs"], job["attributes"])
        except AscendError as error:
            print("refused", " ".join(error.text.split()), flush=True)
            return 0
        print("done", json.dumps(_write(folder / f"out{k}", made)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
