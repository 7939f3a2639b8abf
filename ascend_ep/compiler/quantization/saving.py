"""Models as ONNX files: whole or not at all, the weights beside where a file can't hold them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import onnx

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError

#: Bytes of weights that go into the file itself; protocol buffers end at 2 GiB.
MOST_INSIDE = (1 << 31) - (1 << 24)


def save_onnx(model: onnx.ModelProto, path: str | os.PathLike[str]) -> Path:
    """Writes a model, and makes its folder. Weights that are too many go to NAME.data, beside the file that a
    link leads to. Raises AscendError E40002."""
    target = Path(path)
    try:
        atomic_file.make_folder(target.parent)
        if sum(len(t.raw_data) for t in model.graph.initializer) > MOST_INSIDE:
            _save_apart(model, Path(os.path.realpath(target)))
        else:
            with atomic_file.replacing(target) as file:
                onnx.save(model, file)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{target}]: {error.strerror or error}") from error
    return target


def _save_apart(model: onnx.ModelProto, target: Path) -> None:
    data, sibling = f"{target.name}.data", atomic_file.beside_of(target)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)  # onnx takes the weights out of what it writes
    try:
        target.with_name(data).unlink(missing_ok=True)  # onnx would append to it
        onnx.save(copy, sibling, save_as_external_data=True, location=data)
        if target.exists():
            shutil.copymode(target, sibling)
        atomic_file.put(sibling, target)
    finally:
        sibling.unlink(missing_ok=True)
