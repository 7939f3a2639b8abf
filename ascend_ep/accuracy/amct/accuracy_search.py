"""accuracy_based_auto_calibration: layers go back to float until the program's own metric is content."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_ep.accuracy.keep_search import shortest_start
from ascend_ep.accuracy.quantization.quantized import Quantized, quantised
from ascend_ep.errors import AscendError

from .evaluator import AutoCalibrationEvaluatorBase, calibrated_by, folder_beside
from .steps import PathLike, write_results

log = logging.getLogger("ascend_ep.amct")

#: Whether layers suffice that stay in float, by name, and the loss.
Trial = Callable[[Sequence[str]], tuple[bool, Any]]


class AutoCalibrationStrategyBase:
    """A program's own search. `initialize` is told how like its float result each layer's is, 1 the same;
    `update_quant_config`, after each trial, what metric_eval said of it, and gives `stop_flag` and
    `roll_back_config`, of each layer whether it is quantised in the next trial, or in the end."""

    def __init__(self) -> None:
        self.result: dict[str, Any] = {}

    def initialize(self, ranking_info: dict[str, float]) -> None:
        raise NotImplementedError

    def update_quant_config(self, metric_eval: tuple[bool, Any]) -> dict[str, Any]:
        raise NotImplementedError


def accuracy_based_auto_calibration(
    model_file: PathLike,
    model_evaluator: AutoCalibrationEvaluatorBase,
    config_file: PathLike,
    record_file: PathLike,
    save_dir: PathLike,
    strategy: str | AutoCalibrationStrategyBase = "BinarySearch",
    sensitivity: str = "CosineSimilarity",
) -> Quantized:
    """Writes what `save_model` writes, with the layers in float that `strategy` chooses: BinarySearch, the
    fewest that content `metric_eval`, those with the largest errors of their own first. The models of trials
    are in a folder beside `record_file`, which is removed. Raises AscendError, E41024 when no choice of
    layers will do; nothing is written then."""
    if strategy != "BinarySearch" and not hasattr(strategy, "update_quant_config"):
        raise AscendError("E10001", strategy, "strategy", "It is BinarySearch, or an object.")
    if sensitivity != "CosineSimilarity":
        raise AscendError("E10001", sensitivity, "sensitivity", "It is CosineSimilarity here.")
    original = model_evaluator.evaluate(os.fspath(model_file))
    with folder_beside(Path(record_file)) as folder:
        work, batches = calibrated_by(model_evaluator, config_file, model_file, folder)
        model = f"{folder}/{Path(save_dir).name}"

        def trial(kept: Sequence[str]) -> tuple[bool, Any]:
            write_results(quantised(work, batches, kept), model)
            metric = model_evaluator.evaluate(f"{model}_fake_quant_model.onnx")
            enough, loss = model_evaluator.metric_eval(original, metric)
            shown = (len(kept), metric, original, loss)
            log.info("%d layers in float: metric %s, of the float model %s, loss %s", *shown)
            return bool(enough), loss

        errors = work.errors(batches)
        if isinstance(strategy, str):
            names = sorted(errors, key=lambda name: -errors[name])
            kept = shortest_start(names, lambda kept: trial(kept)[0], log.info, "E41024")
        else:
            kept = _asked(strategy, errors, trial)
        made = quantised(work, batches, kept)
    write_results(made, save_dir, record_file)
    return made


def _asked(strategy: AutoCalibrationStrategyBase, errors: Mapping[str, float], trial: Trial) -> list[str]:
    """The layers in float that a program's strategy ends with. The likeness that it is told is the cosine of
    a result with an error of this root mean square, which has nothing to do with it."""
    strategy.initialize({name: (1 + error**2) ** -0.5 for name, error in errors.items()})
    kept, stopped = frozenset[str](), False
    tried: dict[frozenset[str], bool] = {}
    while not stopped:
        tried[kept], loss = trial(sorted(kept))
        told = strategy.update_quant_config((tried[kept], loss))
        try:
            stopped, quantised_layers = bool(told["stop_flag"]), dict(told["roll_back_config"])
        except (TypeError, KeyError, ValueError) as error:
            reason = "update_quant_config gives a dict with stop_flag and roll_back_config."
            raise AscendError("E10001", told, "strategy", reason) from error
        kept = frozenset(name for name in errors if not quantised_layers.get(name, True))
    if not (tried[kept] if kept in tried else trial(sorted(kept))[0]):
        raise AscendError("E41024", str(len(kept)))
    return sorted(kept)
