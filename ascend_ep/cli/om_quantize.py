"""`ascend-om quantize M.onnx --data DIR`: a float model into one of integers, by samples of its inputs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import Any

from ascend_ep.cli.atc_files import check_target, existing
from ascend_ep.cli.atc_shapes import parse_input_shape
from ascend_ep.errors import AscendError

BOOLEANS = {"true": True, "false": False}


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="M.onnx")
    command.add_argument(
        "--data",
        "--data_dir",
        required=True,
        metavar="DIR[;DIR]",
        help="samples: a folder of .npy, .npz or .bin files; or one for each input, with ; between",
    )
    command.add_argument(
        "--data_types", default="", metavar="TYPE[;TYPE]", help="of .bin files (default: the inputs' own)"
    )
    command.add_argument("--output", "--save_path", default="", metavar="Q.onnx", help="default: M_int8.onnx")
    command.add_argument("--batch_num", type=int, metavar="N", help="samples to use (default: all)")
    command.add_argument(
        "--input_shape", default="", metavar="NAME:D,D;...", help="sizes of inputs, as atc's"
    )
    command.add_argument(
        "--accuracy", metavar="LIMIT", help="to reach: cosine=0.999, top1=0.99, rms=0.01 or 0.01 (relative)"
    )
    command.add_argument("--validation", metavar="DIR[;DIR]", help="samples to measure on (default: --data)")
    command.add_argument(
        "--method", default="ifmr", metavar="NAME", help="ifmr, min-max, percentile, entropy"
    )
    command.add_argument(
        "--percentile", type=float, default=99.999, metavar="P", help="of percentile and ifmr"
    )
    command.add_argument(
        "--activation_offset",
        choices=BOOLEANS,
        default="true",
        help="uint8 with zero points, or int8 without",
    )
    command.add_argument("--channel_wise", choices=BOOLEANS, default="true", help="scales of weights")
    command.add_argument(
        "--migration_strength", type=float, default=0.5, metavar="A", help="SmoothQuant's alpha; 0 is off"
    )
    command.add_argument("--weight_bits", type=int, default=8, metavar="8|4", help="4: weights alone")
    command.add_argument("--block_size", type=int, default=32, metavar="N", help="rows to a scale, of 4 bits")
    command.add_argument("--gptq", action="store_true", help="round weights of products as GPTQ does")
    command.add_argument(
        "--bias_correction", choices=BOOLEANS, default="true", help="take the mean error of a channel off"
    )
    command.add_argument("--skip_layers", default="", metavar="NAME;NAME", help="nodes that stay float")
    command.add_argument("--skip_layer_types", default="", metavar="TYPE;TYPE", help="operators that do")
    command.add_argument("--custom_op_info", action="append", default=[], metavar="FILE")
    command.add_argument("--custom_op", action="append", default=[], metavar="TYPE:LIBRARY")


def quantize(given: argparse.Namespace) -> tuple[dict[str, Any], str, bool]:
    """Writes the model. Raises AscendError; then nothing is written."""
    from ascend_ep.accuracy.keep_search import Accuracy, finite
    from ascend_ep.accuracy.quantization.quantized import quantize as run
    from ascend_ep.opdef.registry import Registry

    path = existing(given.model)
    if given.batch_num is not None and given.batch_num < 1:
        raise AscendError("E10001", given.batch_num, "--batch_num", "It is 1 or more.")
    settings = _settings(given)
    target = given.output or str(path.with_name(f"{path.stem}_int{settings.weight_bits}.onnx"))
    check_target(target, "--output")
    if target.endswith(".om"):
        raise AscendError("E10001", target, "--output", "What is written is ONNX; ascend-atc makes the .om.")
    made = run(
        str(path),
        given.data,
        settings,
        accuracy=None if given.accuracy is None else Accuracy.parse(given.accuracy),
        validation=given.validation,
        batch_num=given.batch_num,
        data_types=_words(given.data_types),
        registry=Registry.from_options(given.custom_op, given.custom_op_info),
        shapes=_shapes(given.input_shape),
        progress=lambda text: print(text, file=sys.stderr),
    )
    made.save(target)
    found = {
        "model": target,
        "samples": made.samples,
        "products": [
            {
                "name": r.name,
                "op_type": r.op_type,
                "quantised": r.quantised,
                "reason": r.reason,
                "error": r.error,
            }
            for r in made.rows
        ],
        "kept": made.kept,
        "bytes": {"before": made.sizes[0], "after": made.sizes[1]},
        "outputs": {
            name: {"relative": finite(m.relative), "rms": finite(m.rms), "cosine": m.cosine, "top1": m.top1}
            for name, m in made.outputs.items()
        },
    }
    return found, f"{made}\nwritten to {target}", True


def _settings(given: argparse.Namespace) -> Any:
    from ascend_ep.accuracy.quantization.settings import Settings

    values = {f.name: getattr(given, f.name) for f in fields(Settings)}
    for name in ("activation_offset", "channel_wise", "bias_correction"):
        values[name] = BOOLEANS[values[name]]
    for name in ("skip_layers", "skip_layer_types"):
        values[name] = frozenset(_words(values[name]))
    return Settings(**values)


def _words(text: str) -> list[str]:
    return [word for word in text.split(";") if word]


def _shapes(text: str) -> dict[str, list[int | str]]:
    if not text:
        return {}
    parsed = parse_input_shape(text, [])
    for name, dims in parsed.items():
        if not all(isinstance(d, int) and d > 0 for d in dims):
            raise AscendError("E10001", text, "--input_shape", f"Sizes of [{name}] are numbers here.")
    return {name: [d for d in dims if isinstance(d, int)] for name, dims in parsed.items()}
