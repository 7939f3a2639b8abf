"""The model that a program runs to calibrate: the float model, whose inputs the operator Record
(native/onnxruntime/calibration.c) keeps, a file for each batch."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.accuracy.quantization.observe import Array, Sample
from ascend_ep.accuracy.quantization.saving import save_onnx, writing
from ascend_ep.errors import AscendError

DOMAIN = "ascend_ep.calibration"


def folder_of(record_file: str | os.PathLike[str]) -> Path:
    """Where the batches of a calibration lie until its model is saved."""
    path = Path(record_file).absolute()
    return path.with_name(f"{path.name}.batches")


def write_calibration_model(
    model: onnx.ModelProto, path: str | os.PathLike[str], record_file: str | os.PathLike[str], batch_num: int
) -> None:
    """Writes `model` to `path` with a Record of all inputs, and empties the folder of batches."""
    folder = folder_of(record_file)
    with writing(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    graph, names = model.graph, inputs_of(model)
    place = np.frombuffer(os.fsencode(folder), np.uint8)
    numbers = np.array([batch_num, len(names)], np.int64)
    operands = [f"{DOMAIN}.folder", f"{DOMAIN}.numbers"]
    graph.initializer.append(numpy_helper.from_array(place, operands[0]))
    graph.initializer.append(numpy_helper.from_array(numbers, operands[1]))
    label = f"{DOMAIN}.batch"
    graph.node.append(helper.make_node("Record", [*operands, *names], [label], label, domain=DOMAIN))
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    save_onnx(model, path)


def inputs_of(model: onnx.ModelProto) -> list[str]:
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
    if not names:
        raise AscendError(
            "E40001", "the model has no inputs", fix="Quantise a model that computes of inputs."
        )
    return names


def read_batches(record_file: str | os.PathLike[str], names: list[str], batch_num: int) -> list[Sample]:
    """What the calibration model was run on. Raises AscendError E40001 where that was less."""
    folder = folder_of(record_file)
    for batch in range(batch_num):
        if not (folder / str(batch)).exists():
            raise AscendError(
                "E40001",
                f"the calibration model ran on {batch} of {batch_num} batches [batch_num]",
                where=os.fspath(record_file),
                fix="Run modified_onnx_file on them, in a session with amct_onnx.AMCT_SO, before save_model.",
            )
    return [_batch(folder / str(batch), names) for batch in range(batch_num)]


def _batch(path: Path, names: list[str]) -> Sample:
    """What Record wrote: of each input the element type, the rank and the dims as int64, and the elements."""
    fix = "Run quantize_model and the model that it writes once more."
    found: dict[str, Array] = {}
    try:
        content, at = path.read_bytes(), 0
        for name in names:
            kind, rank = map(int, np.frombuffer(content, np.int64, 2, at))
            dims = [int(d) for d in np.frombuffer(content, np.int64, max(rank, 0), at + 16)]
            if rank < 0 or min(dims, default=0) < 0:
                raise ValueError(f"{name} has the rank {rank} and the dims {dims}")
            at += 16 + 8 * rank
            dtype = helper.tensor_dtype_to_np_dtype(kind)
            found[name] = np.frombuffer(content, dtype, math.prod(dims), at).reshape(dims)
            at += found[name].nbytes
        if at < len(content):
            raise ValueError(f"{len(content) - at} bytes are left")
    except OSError as error:
        raise AscendError("E40002", f"can't read [{path}]: {error.strerror}", fix=fix) from error
    except (ValueError, KeyError, OverflowError) as error:
        raise AscendError("E40001", f"[{path}] is no whole batch: {error}", fix=fix) from error
    return found
