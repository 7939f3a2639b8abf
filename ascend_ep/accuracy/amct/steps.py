"""The steps of amct_onnx: a configuration, a model to calibrate, and the models that follow from it."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx_ir as ir

from ascend_ep import atomic_file
from ascend_ep.accuracy.quantization.observe import Sample
from ascend_ep.accuracy.quantization.quantization import Quantization
from ascend_ep.accuracy.quantization.quantized import Quantized, quantised
from ascend_ep.accuracy.quantization.saving import save_onnx, writing
from ascend_ep.errors import AscendError
from ascend_ep.graph.load import load_model
from ascend_ep.opdef.registry import Registry

from . import configuration
from .calibration_model import folder_of, inputs_of, read_batches, write_calibration_model
from .record_file import factors_of, weight_factors, write_record

PathLike = str | os.PathLike[str]


class Prepared:
    """What `quantize_model` was told, for `save_model` of the same process, as AMCT wants it."""

    def __init__(self, model: PathLike, inputs: list[str], told: configuration.Configuration) -> None:
        self.model, self.inputs = os.fspath(model), inputs
        self.settings, self.batch_num = told.settings, told.batch_num
        self._lock = threading.Lock()
        self._found: tuple[Quantization, list[Sample]] | None = None

    def calibrate(self, record_file: Path) -> tuple[Quantization, list[Sample]]:
        """By the batches in the folder, once. Raises AscendError E40001 where they are too few."""
        with self._lock:
            if self._found is None:
                work = Quantization(self.model, self.settings, _registry())
                batches = read_batches(record_file, self.inputs, self.batch_num)
                work.calibrate(batches)
                self._found = work, batches
            return self._found

    def forget(self) -> None:
        """Gives the batches free: the next calibration is by others."""
        with self._lock:
            self._found = None


_prepared: dict[Path, Prepared] = {}


def recorded(folder: str) -> None:
    """A batch was kept in `folder`. With the last, the record file gets the factors of activations, too."""
    for record_file, told in list(_prepared.items()):
        enough = os.fspath(folder_of(record_file)) == folder and len(os.listdir(folder)) >= told.batch_num
        if enough:
            work, _ = told.calibrate(record_file)
            write_record(record_file, factors_of(ir.from_proto(work.model())))


def create_quant_config(
    config_file: PathLike,
    model_file: PathLike,
    skip_layers: Sequence[str] | None = None,
    batch_num: int = 1,
    activation_offset: bool = True,
    config_defination: PathLike | None = None,
    updated_model: PathLike | None = None,
) -> None:
    """Writes the layers of a model that can be quantised, with their settings, as JSON. `updated_model`: the
    file for the model itself, with a name for every layer. Raises AscendError."""
    found = configuration.create(
        model_file, _registry(), skip_layers or (), batch_num, activation_offset, config_defination
    )
    write_json(config_file, found)
    if updated_model:
        model = ir.to_proto(load_model(os.fspath(model_file)))
        for node in model.graph.node:
            node.name = node.name or node.output[0]
        save_onnx(model, updated_model)


def quantize_model(
    config_file: PathLike, model_file: PathLike, modified_onnx_file: PathLike, record_file: PathLike
) -> None:
    """Writes the model that is to be run on `batch_num` batches, in a session with AMCT_SO, and the factors
    of the weights to `record_file`. Raises AscendError."""
    found = configuration.load(config_file, model_file, _registry())
    model = ir.to_proto(load_model(os.fspath(model_file)))
    inputs = inputs_of(model)
    write_calibration_model(model, modified_onnx_file, record_file, found.batch_num)
    write_record(record_file, weight_factors(found.products, found.settings.channel_wise))
    _prepared[Path(record_file).absolute()] = Prepared(model_file, inputs, found)


def save_model(modified_onnx_file: PathLike, record_file: PathLike, save_path: PathLike) -> Quantized:
    """Quantises by the batches that the calibration model saw, and writes `save_path`_deploy_model.onnx,
    _fake_quant_model.onnx and _quant.json, and the record file. Raises AscendError."""
    work, batches = calibrated(modified_onnx_file, record_file)
    made = quantised(work, batches, ())
    write_results(made, save_path, record_file)
    return made


def calibrated(modified_onnx_file: PathLike, record_file: PathLike) -> tuple[Quantization, list[Sample]]:
    """The quantisation that `quantize_model` began, calibrated by the batches, which are read and removed."""
    key = Path(record_file).absolute()
    if key not in _prepared:
        reason = "No quantize_model of this program wrote this record file."
        raise AscendError("E10001", os.fspath(record_file), "record_file", reason)
    told = _prepared[key]
    names = [str(value.name) for value in load_model(os.fspath(modified_onnx_file)).graph.inputs]
    if names != told.inputs:
        reason = "It isn't the model that quantize_model wrote with this record file."
        raise AscendError("E10001", os.fspath(modified_onnx_file), "modified_onnx_file", reason)
    found = told.calibrate(key)
    told.forget()
    shutil.rmtree(folder_of(record_file), ignore_errors=True)
    return found


def write_results(made: Quantized, save_path: PathLike, record_file: PathLike | None = None) -> list[Path]:
    """The models and their description, whose names begin with `save_path`. Deploy and fake_quant model are
    the same QuantizeLinear and DequantizeLinear, which onnxruntime and ascend-atc both read."""
    prefix = os.fspath(save_path)
    factors = factors_of(ir.from_proto(made.model))
    paths = [Path(f"{prefix}_{name}_model.onnx") for name in ("deploy", "fake_quant")]
    for path in paths:
        save_onnx(made.model, path)
    rows = {
        r.name: {"type": r.op_type, "quantised": r.quantised, "reason": r.reason, "error": r.error}
        | (asdict(factors[r.name]) if r.name in factors else {})
        for r in made.rows
    }
    description = Path(f"{prefix}_quant.json")
    write_json(description, {"layers": rows})
    if record_file is not None:
        write_record(record_file, factors)
    return [*paths, description]


def convert_qat_model(model_file: PathLike, save_path: PathLike, record_file: PathLike | None = None) -> None:
    """Takes a model of quantisation-aware training, with QuantizeLinear and DequantizeLinear, as deploy and
    fake_quant model, and writes its factors to `record_file`. Raises AscendError E40001 for others."""
    model = load_model(os.fspath(model_file))
    kinds = {n.op_type for n in model.graph}
    if not {"QuantizeLinear", "DequantizeLinear"} <= kinds:
        fix = "Export it with QuantizeLinear and DequantizeLinear, or calibrate it: amct_onnx calibration."
        raise AscendError("E40001", "the model isn't quantised", where=os.fspath(model_file), fix=fix)
    factors = factors_of(model, os.fspath(model_file)) if record_file is not None else {}
    for name in ("deploy", "fake_quant"):
        save_onnx(ir.to_proto(model), f"{os.fspath(save_path)}_{name}_model.onnx")
    if record_file is not None:
        write_record(record_file, factors)


def _registry() -> Registry:
    return Registry.from_options()


def write_json(path: PathLike, content: dict[str, Any]) -> None:
    """Writes JSON; makes its folder. Raises AscendError E40002."""
    with writing(Path(path)):
        atomic_file.write(Path(path), json.dumps(content, indent=4, ensure_ascii=False) + "\n")
