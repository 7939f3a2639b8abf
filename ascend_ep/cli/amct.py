"""amct_onnx: AMCT's command line for ONNX models, `calibration` and `convert`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep.cli.atc_files import existing
from ascend_ep.cli.atc_shapes import parse_input_shape
from ascend_ep.cli.command import Parser, command
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.accuracy.quantization.calibration_data import Input
    from ascend_ep.accuracy.quantization.observe import Sample
    from ascend_ep.accuracy.quantization.quantization import Quantization


@command("amct_onnx")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    given = _parser().parse_args(arguments)
    status: int = given.run(given)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="amct_onnx", description="Quantises ONNX models, in AMCT's words.")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    calibration = commands.add_parser("calibration", help="post-training quantisation by samples")
    convert = commands.add_parser("convert", help="a model of quantisation-aware training, with QDQ nodes")
    for each, run in ((calibration, _calibrate), (convert, _convert)):
        each.set_defaults(run=run)
        each.add_argument("--model", required=True, help="the ONNX model")
        each.add_argument("--save_path", required=True, help="folder and beginning of the results' names")
    add = calibration.add_argument
    add("--input_shape", default="", help='of a batch: "name:n,c,h,w;name2:..."')
    add("--data_dir", default="", help='folders of .bin files, a file for each batch: "dir1;dir2"')
    add("--data_types", default="", help='of the .bin files: "float32;int64"')
    add("--evaluator", default="", help="a script whose object runs the model to calibrate, instead of data")
    add("--calibration_config", default="", help="a .cfg file")
    add("--batch_num", type=int, help="batches to calibrate by (default: 1, or the .cfg's)")
    return parser


def _calibrate(given: argparse.Namespace) -> int:
    from ascend_ep.accuracy.amct import configuration
    from ascend_ep.accuracy.amct.steps import write_results
    from ascend_ep.accuracy.quantization.quantized import quantised
    from ascend_ep.opdef.registry import Registry

    given.model = str(existing(given.model))
    config = given.calibration_config or None
    made = configuration.create(given.model, Registry.from_options(), definition=config)
    if given.batch_num is not None:
        made["batch_num"] = given.batch_num
    work, samples = (_evaluated if given.evaluator else _by_data)(given, made)
    found = quantised(work, samples, ())
    print(found)
    for path in write_results(found, given.save_path):
        print(f"written: {path}")
    return 0


def _by_data(given: argparse.Namespace, made: dict[str, Any]) -> tuple[Quantization, list[Sample]]:
    """Calibrated by files."""
    from ascend_ep.accuracy.amct import configuration
    from ascend_ep.accuracy.quantization.calibration_data import read_samples
    from ascend_ep.accuracy.quantization.quantization import Quantization
    from ascend_ep.opdef.registry import Registry

    if not given.data_dir:
        raise AscendError("E10007", "data_dir", "folders of .bin, .npy or .npz files")
    registry = Registry.from_options()
    told = configuration.understood(made, given.model, registry, given.calibration_config)
    work = Quantization(given.model, told.settings, registry, progress=print)
    shapes = _shapes(given.input_shape, work.inputs)
    inputs = [replace(i, dims=shapes.get(i.name, i.dims)) for i in work.inputs]
    types = [word for word in given.data_types.split(";") if word]
    samples = read_samples(given.data_dir, inputs, told.batch_num, types)
    work.calibrate(samples)
    return work, samples


def _evaluated(given: argparse.Namespace, made: dict[str, Any]) -> tuple[Quantization, list[Sample]]:
    """Calibrated by what the script's object runs."""
    from ascend_ep.accuracy.amct.evaluator import calibrated_by, folder_beside, load_evaluator
    from ascend_ep.accuracy.amct.steps import write_json
    from ascend_ep.cli.toolkit import MODULES

    for name in ("input_shape", "data_dir", "data_types"):
        if getattr(given, name):
            reason = "It says what --evaluator says, too: give one of them."
            raise AscendError("E10001", getattr(given, name), f"--{name}", reason)
    evaluator = load_evaluator(existing(given.evaluator), MODULES)
    with folder_beside(Path(given.save_path)) as folder:
        write_json(folder / "config.json", made)
        return calibrated_by(evaluator, folder / "config.json", given.model, folder)


def _convert(given: argparse.Namespace) -> int:
    from ascend_ep.accuracy.amct.steps import convert_qat_model

    convert_qat_model(existing(given.model), given.save_path)
    print(f"written: {given.save_path}_deploy_model.onnx, {given.save_path}_fake_quant_model.onnx")
    return 0


def _shapes(text: str, inputs: Sequence[Input]) -> dict[str, tuple[int | None, ...]]:
    """The sizes of a batch, None where they are -1. Raises AscendError E10001 where the model has others."""
    known = {i.name: i.dims for i in inputs}
    found: dict[str, tuple[int | None, ...]] = {}
    for name, dims in (parse_input_shape(text, list(known)) if text else {}).items():
        if name not in known:
            raise AscendError("E10001", text, "--input_shape", f"The inputs are {', '.join(known)}.")
        sizes = tuple(d if isinstance(d, int) and d > 0 else None for d in dims)
        own = known[name]
        if len(sizes) != len(own) or any(a and b and a != b for a, b in zip(sizes, own, strict=True)):
            shown = ",".join("-1" if d is None else str(d) for d in own)
            raise AscendError("E10001", text, "--input_shape", f"The model says [{name}:{shown}].")
        found[name] = tuple(a or b for a, b in zip(sizes, own, strict=True))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
