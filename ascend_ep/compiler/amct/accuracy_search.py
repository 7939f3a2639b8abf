"""accuracy_based_auto_calibration: layers go back to float until the program's own metric is content."""

from __future__ import annotations

import logging
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_ep.compiler.precision.keep_search import shortest_start
from ascend_ep.compiler.quantization.observe import Sample
from ascend_ep.compiler.quantization.quantization import Quantization
from ascend_ep.compiler.quantization.quantized import Quantized, quantised
from ascend_ep.compiler.quantization.saving import writing
from ascend_ep.errors import AscendError

from .steps import PathLike, calibrated, quantize_model, write_results

log = logging.getLogger("ascend_ep.amct")


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


def accuracy_based_auto_calibration(
    model_file: PathLike,
    model_evaluator: AutoCalibrationEvaluatorBase,
    config_file: PathLike,
    record_file: PathLike,
    save_dir: PathLike,
    strategy: str = "BinarySearch",
    sensitivity: str = "CosineSimilarity",
) -> Quantized:
    """Writes what `save_model` writes, with the fewest layers in float that content `metric_eval`, those with
    the largest errors of their own first. The models of trials are in a folder beside `record_file`, which is
    removed. Raises AscendError, E41024 when no choice of layers will do; nothing is written then."""
    for name, value, known in (
        ("strategy", strategy, "BinarySearch"),
        ("sensitivity", sensitivity, "CosineSimilarity"),
    ):
        if value != known:
            raise AscendError("E10001", value, name, f"It is {known} here.")
    original = model_evaluator.evaluate(os.fspath(model_file))
    record = Path(record_file).absolute()
    with writing(record):
        trials = tempfile.TemporaryDirectory(prefix=".trials.", dir=record.parent)
    with trials as folder:
        work, batches = _calibrated(model_file, config_file, Path(folder), model_evaluator)
        model = f"{folder}/{Path(save_dir).name}"

        def suffices(kept: Sequence[str]) -> bool:
            write_results(quantised(work, batches, kept), model)
            metric = model_evaluator.evaluate(f"{model}_fake_quant_model.onnx")
            enough, loss = model_evaluator.metric_eval(original, metric)
            shown = (len(kept), metric, original, loss)
            log.info("%d layers in float: metric %s, of the float model %s, loss %s", *shown)
            return enough

        errors = work.errors(batches)
        names = sorted(errors, key=lambda name: -errors[name])
        made = quantised(work, batches, shortest_start(names, suffices, log.info, "E41024"))
    write_results(made, save_dir, record_file)
    return made


def _calibrated(
    model_file: PathLike, config_file: PathLike, folder: Path, evaluator: AutoCalibrationEvaluatorBase
) -> tuple[Quantization, list[Sample]]:
    """The quantisation, calibrated by what the evaluator runs; its files are in `folder`."""
    model, record = folder / "calibration_model.onnx", folder / "record.txt"
    quantize_model(config_file, model_file, model, record)
    evaluator.calibration(os.fspath(model))
    return calibrated(model, record)
