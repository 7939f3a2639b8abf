"""accuracy_based_auto_calibration: layers go back to float until the program's own metric is content."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_ep.compiler.precision.keep_search import shortest_start
from ascend_ep.compiler.quantization.quantized import Quantized, quantised
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
    the largest errors of their own first. Raises AscendError; E41023, and no model, when none does."""
    for name, value, known in (
        ("strategy", strategy, "BinarySearch"),
        ("sensitivity", sensitivity, "CosineSimilarity"),
    ):
        if value != known:
            raise AscendError("E10001", value, name, f"It is {known} here.")
    original = model_evaluator.evaluate(os.fspath(model_file))
    calibration_model = f"{os.fspath(record_file)}.calibration_model.onnx"
    quantize_model(config_file, model_file, calibration_model, record_file)
    model_evaluator.calibration(calibration_model)
    work, batches = calibrated(calibration_model, record_file)
    for path in Path(calibration_model).parent.glob(f"{Path(calibration_model).name}*"):
        path.unlink()

    def try_out(kept: Sequence[str]) -> tuple[Quantized, bool]:
        made = quantised(work, batches, kept)
        write_results(made, save_dir, record_file)
        metric = model_evaluator.evaluate(f"{os.fspath(save_dir)}_fake_quant_model.onnx")
        enough, loss = model_evaluator.metric_eval(original, metric)
        log.info(
            "%d layers in float: metric %s, of the float model %s, loss %s", len(kept), metric, original, loss
        )
        return made, enough

    errors = work.errors(batches)
    names = sorted(errors, key=lambda name: -errors[name])
    try:
        kept = shortest_start(names, lambda kept: try_out(kept)[1], log.info)
    except AscendError:
        for end in ("deploy_model.onnx", "fake_quant_model.onnx", "quant.json"):
            Path(f"{os.fspath(save_dir)}_{end}").unlink(missing_ok=True)
        raise
    made = quantised(work, batches, kept)
    write_results(made, save_dir, record_file)
    return made
