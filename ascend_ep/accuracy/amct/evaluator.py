"""Evaluators: a program's own objects that run a model to calibrate it, and say how good it is."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ascend_ep.accuracy.quantization.calibration_data import Input, read_samples, type_named
from ascend_ep.accuracy.quantization.observe import Sample
from ascend_ep.accuracy.quantization.quantization import Quantization
from ascend_ep.accuracy.quantization.saving import writing
from ascend_ep.errors import AscendError

from .steps import PathLike, calibrated, quantize_model


class AutoCalibrationEvaluatorBase(ABC):
    """What a program says of its model. `calibration` runs the model of this path on `batch_num` batches;
    `evaluate` gives a model's metric; `metric_eval` says whether a metric is good enough beside the float
    model's, and the loss."""

    @abstractmethod
    def calibration(self, model_file: str) -> None: ...

    @abstractmethod
    def evaluate(self, model_file: str) -> Any: ...

    @abstractmethod
    def metric_eval(self, original_metric: Any, new_metric: Any) -> tuple[bool, Any]: ...


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A folder for files that nobody needs afterwards. Raises AscendError E40002."""
    with writing(path):
        made = tempfile.TemporaryDirectory(prefix=".trials.", dir=path.absolute().parent)
    with made as name:
        yield Path(name)


def calibrated_by(
    evaluator: Any, config_file: PathLike, model_file: PathLike, folder: Path
) -> tuple[Quantization, list[Sample]]:
    """The quantisation, calibrated by what the evaluator runs, and its batches; the files are in `folder`."""
    model, record = folder / "calibration_model.onnx", folder / "record.txt"
    quantize_model(config_file, model_file, model, record)
    evaluator.calibration(os.fspath(model))
    return calibrated(model, record)


def load_evaluator(path: Path, modules: Path) -> Any:
    """The object with `calibration` that a script makes, or one of its only class that has it. `modules`: the
    folder of amct_onnx. Raises AscendError E10001; what the script raises goes on."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise AscendError("E10001", str(path), "--evaluator", "It is no Python script.")
    sys.path[:0] = [str(path.absolute().parent), str(modules)]
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    able = [v for v in vars(script).values() if callable(getattr(v, "calibration", None))]
    found = [v for v in able if not isinstance(v, type)]
    if not found:
        found = [v() for v in able if isinstance(v, type) and v.__module__ == script.__name__]
    if len(found) != 1:
        reason = f"It makes {len(found)} objects with a method calibration(model_file), and one is wanted."
        raise AscendError("E10001", str(path), "--evaluator", reason)
    return found[0]


def load_data(
    input_shape: Mapping[str, Sequence[int]],
    data_dir: Sequence[PathLike],
    data_types: Sequence[str],
    batch_num: int,
) -> list[Sample]:
    """At most `batch_num` batches of the .bin files in a folder for each input. Raises AscendError."""
    kinds = [type_named(name) for name in data_types]
    if len(kinds) != len(input_shape):
        reason = f"There are {len(input_shape)} inputs: {', '.join(input_shape)}."
        raise AscendError("E10001", ";".join(data_types), "data_types", reason)
    inputs = [
        Input(name, kind, tuple(int(d) if d > 0 else None for d in dims))
        for (name, dims), kind in zip(input_shape.items(), kinds, strict=True)
    ]
    return read_samples(";".join(os.fspath(d) for d in data_dir), inputs, batch_num, data_types)
