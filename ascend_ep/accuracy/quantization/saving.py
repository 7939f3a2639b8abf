"""Models as ONNX files: whole or not at all, the weights beside where a file can't hold them.

Weights beside a model are in a file named after the model and after what they are, so that the weights of a
model that is replaced stay until the new one is there.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import set_external_data

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError

#: Bytes of weights that go into the file itself; protocol buffers end at 2 GiB.
MOST_INSIDE = (1 << 31) - (1 << 24)
#: Smaller tensors stay in the model; the others begin at multiples of a page, to be mapped.
_LEAST_BESIDE, _PAGE = 1024, 4096


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Makes the folder of `target`, which the block writes. Raises AscendError E40002 for what the system
    refuses, E40001 for a name or content that no file can have."""
    try:
        atomic_file.make_folder(target.absolute().parent)
        yield
    except AscendError:
        raise
    except OSError as error:
        raise AscendError("E40002", f"can't write [{target}]: {error.strerror or error}") from error
    except ValueError as error:
        fix = "Check its name, and that it holds less than 2 GiB."
        raise AscendError("E40001", f"can't write [{target}]: {error}", fix=fix) from error


def save_onnx(model: onnx.ModelProto, path: str | os.PathLike[str]) -> Path:
    """Writes a model, and makes its folder. Weights that are too many go to NAME.DIGEST.data beside it, or
    beside the file that a link leads to; those of a model that was replaced are removed. Raises AscendError
    E40002, E40001."""
    target = Path(path)
    with writing(target):
        target = Path(os.path.realpath(target)) if target.is_symlink() else target
        replaced = _weights_of(target)
        beside, is_new = None, False
        if sum(len(t.raw_data) for t in model.graph.initializer) > MOST_INSIDE:
            model, beside, is_new = _with_weights_beside(model, target)
        try:
            with atomic_file.replacing(target) as file:
                file.write(model.SerializeToString())
        except BaseException:
            if beside is not None and is_new:
                beside.unlink(missing_ok=True)
            raise
        for old in replaced - {beside}:
            with suppress(OSError):
                old.unlink()
    return Path(path)


def _with_weights_beside(model: onnx.ModelProto, target: Path) -> tuple[onnx.ModelProto, Path, bool]:
    """A copy of the model whose weights are in a file, which is on the disk then; this file, and whether it
    wasn't there before."""
    if target.exists() and not target.is_file():
        fix = "Give the name of a file."
        raise AscendError(
            "E40001", f"[{target}] is no file, beside which the model's weights could be", fix=fix
        )
    weights = [n for n, t in enumerate(model.graph.initializer) if len(t.raw_data) >= _LEAST_BESIDE]
    digest = hashlib.sha256()
    for number in weights:
        digest.update(model.graph.initializer[number].raw_data)
    beside = target.with_name(f"{target.name}.{digest.hexdigest()[:16]}.data")
    is_new = not beside.exists()
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    with atomic_file.replacing(beside) as file:
        for number in weights:
            tensor = copy.graph.initializer[number]
            file.seek(-file.tell() % _PAGE, os.SEEK_CUR)
            set_external_data(tensor, beside.name, file.tell(), len(tensor.raw_data))
            file.write(tensor.raw_data)
            tensor.ClearField("raw_data")
    return copy, beside, is_new


def _weights_of(target: Path) -> set[Path]:
    """The files that hold weights of the model at `target`, of those that `save_onnx` names."""
    name = re.compile(re.escape(target.name) + r"(\.[0-9a-f]{16})?\.data")  # once without a digest
    try:
        found = {path for path in target.parent.iterdir() if name.fullmatch(path.name)}
        if not found or not target.is_file():
            return set()
        tensors = onnx.ModelProto.FromString(target.read_bytes()).graph.initializer
    except (OSError, DecodeError):
        return set()
    used = {entry.value for t in tensors for entry in t.external_data if entry.key == "location"}
    return {path for path in found if path.name in used}
