"""TensorFlow models as ONNX, by tf2onnx in a process of its own, so that TensorFlow stays out of this one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.extras import of_module

#: Names a Python that has tensorflow and tf2onnx, where this one hasn't.
PYTHON = "ASCEND_EP_TENSORFLOW_PYTHON"
PROGRAM = Path(__file__).with_name("convert_model.py")


def write_onnx(
    model: Path, target: Path, shapes: Mapping[str, Sequence[int]], outputs: Sequence[str]
) -> None:
    """Writes a frozen graph or the folder of a SavedModel as ONNX.

    `shapes`: of a frozen graph's placeholders, -1 for a free size. `outputs`: tensors, as "node:0"; none:
    what nothing reads, or the signature's. Inputs have the names of their nodes, or of the signature.
    Raises AscendError E40020 where tf2onnx is missing, E10041 with the reason for what isn't converted.
    """
    request = json.dumps({"shapes": {n: list(s) for n, s in shapes.items()}, "outputs": list(outputs)})
    command = [_python(), str(PROGRAM), str(model), str(target), request]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise AscendError("E40002", f"${PYTHON} can't be run: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"its process ended with {done.returncode}"]
        raise AscendError("E10041", str(model), details=[f"tf2onnx: {said[-1]}"])


def _python() -> str:
    if named := os.environ.get(PYTHON):
        return named
    for module in ("tf2onnx", "tensorflow"):
        if importlib.util.find_spec(module) is None:
            elsewhere = f"${PYTHON} may name another Python that has tensorflow and tf2onnx"
            raise AscendError("E40020", *of_module("tf2onnx"), details=[elsewhere])
    return sys.executable
