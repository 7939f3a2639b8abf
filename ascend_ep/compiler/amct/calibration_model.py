"""The model that a program runs to calibrate: the float model, whose inputs are kept as files by the operator
Record (native/onnxruntime/calibration.c), batch by batch."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.compiler.quantization.observe import Array, Sample
from ascend_ep.compiler.quantization.saving import save_onnx, writing
from ascend_ep.errors import AscendError

DOMAIN = "ascend_ep.calibration"


def folder_of(record_file: str | os.PathLike[str]) -> Path:
    """Where the batches of a calibration lie until its model is saved."""
    path = Path(record_file).absolute()
    return path.with_name(f"{path.name}.batches")


def write_calibration_model(
    model: onnx.ModelProto, path: str | os.PathLike[str], record_file: str | os.PathLike[str], batch_num: int
) -> None:
    """Writes `model` to `path` with a Record on each input of numbers, and empties the folder of batches."""
    folder = folder_of(record_file)
    with writing(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    place = np.frombuffer(os.fsencode(folder), np.uint8)
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(place, f"{DOMAIN}.folder"))
    for number, name in enumerate(recorded(model)):
        numbers = numpy_helper.from_array(np.array([number, batch_num], np.int64), f"{DOMAIN}.{number}")
        graph.initializer.append(numbers)
        operands = [name, f"{DOMAIN}.folder", numbers.name]
        label = f"{DOMAIN}.batch_{number}"
        graph.node.append(helper.make_node("Record", operands, [label], label, domain=DOMAIN))
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    save_onnx(model, path)


def recorded(model: onnx.ModelProto) -> list[str]:
    """The inputs that samples have: all but initializers of old models."""
    constants = {t.name for t in model.graph.initializer}
    names = []
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type.elem_type
        if kind == TensorProto.STRING or not value.type.HasField("tensor_type"):
            raise AscendError(
                "E40001", f"the input [{value.name}] holds no numbers", fix="Cut the model behind it."
            )
        names.append(value.name)
    return names


def read_batches(record_file: str | os.PathLike[str], names: list[str], batch_num: int) -> list[Sample]:
    """What the calibration model was run on. Raises AscendError E40001 where that was less."""
    folder = folder_of(record_file)
    batches: list[list[Path]] = []
    while len(batches) < batch_num:
        paths = [folder / f"{len(batches)}_{i}" for i in range(len(names))]
        if not folder.is_dir() or not all(p.exists() for p in paths):
            raise AscendError(
                "E40001",
                f"the calibration model ran on {len(batches)} of {batch_num} batches [batch_num]",
                where=os.fspath(record_file),
                fix="Run modified_onnx_file on them, in a session with amct_onnx.AMCT_SO, before save_model.",
            )
        batches.append(paths)
    return [{n: _array(p) for n, p in zip(names, paths, strict=True)} for paths in batches]


def _array(path: Path) -> Array:
    """What Record wrote: the element type, the rank and the dims as int64, and the elements."""
    fix = "Run quantize_model and the model that it writes once more."
    try:
        content = path.read_bytes()
        kind, rank = map(int, np.frombuffer(content, np.int64, 2))
        if rank < 0:
            raise ValueError(f"the rank is {rank}")
        dims = np.frombuffer(content, np.int64, rank, offset=16)
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        return np.frombuffer(content, dtype, offset=16 + 8 * rank).reshape(dims)
    except OSError as error:
        raise AscendError("E40002", f"can't read [{path}]: {error.strerror}", fix=fix) from error
    except (ValueError, KeyError, OverflowError) as error:
        raise AscendError("E40001", f"[{path}] is no whole batch: {error}", fix=fix) from error
