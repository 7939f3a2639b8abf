"""The command line of ais_bench, in the names of all its versions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from ascend_ep.cann.aclruntime.failure import Failure
from ascend_ep.cann.aclruntime.shape_choice import parse_shapes
from ascend_ep.errors import AscendError, did_you_mean

from .log import logger


class Parser(argparse.ArgumentParser):
    """Says what is wrong as every command here does, and ends with 2, as argparse does."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        if unknown:
            known = [option for action in self._actions for option in action.option_strings]
            message += "." + did_you_mean(unknown[1].partition("=")[0], known).rstrip("?")
        found = re.match(r"argument (\S+): (?:E\w+: )?(.*)", message, re.S)
        option = found[1].split("/")[0].lstrip("-") if found else ""
        error = AscendError("E45002", message) if found is None else AscendError("E45001", option, found[2])
        self.exit(2, f"{self.prog}: {error}\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line. Ends the program for --help and for a wrong one.

    Raises Failure E45002 where they contradict each other.
    """
    given = parser().parse_args(arguments)
    if given.profiler and given.dump:
        raise Failure("E45002", "--profiler and --dump can't both be on")
    if (given.profiler or given.dump) and given.output is None:
        raise Failure("E45002", "--profiler and --dump need --output, the folder of what they write")
    if given.output_dirname is not None and given.output is None:
        raise Failure("E45002", "--output_dirname is a folder in --output, which is missing")
    chosen = [o for o in ("dymBatch", "dymHW", "dymDims", "dymShape") if getattr(given, o)]
    if len(chosen) > 1:
        raise Failure("E45002", f"--{chosen[0]} and --{chosen[1]} choose the same shapes")
    if given.threads > 1 and not given.pipeline:
        raise Failure("E45002", "--threads needs --pipeline 1")
    if given.backend or given.perf:
        raise Failure("E45007", "--backend", "bundles run in one way", fix="Leave out --backend and --perf.")
    if given.profiler and given.warmup_count and given.input is not None:
        logger.info("profiler mode with input change warmup_count to 0")
        given.warmup_count = 0
    _remark(given)
    return given


def _remark(given: argparse.Namespace) -> None:
    """A line for each option that has no effect here."""
    said = {
        "energy_consumption": "this machine's power isn't measured",
        "npu_id": "it names the chip whose power is measured; no power is",
        "dump_npy": "msaccucmp of mindstudio-probe converts what --dump writes",
        "aipp_config": "no input of the model takes parameters of AIPP",
    }
    for option, why in said.items():
        if getattr(given, option):
            logger.warning(f"--{option} has no effect: {why}")


def parser() -> Parser:
    made = Parser(prog="ais_bench", description="Times a model of ascend-atc, and writes what it computes.")
    add = made.add_argument
    add("--model", "-m", "-om", "--om-model", required=True, type=_model, help="the .om file")
    add("--input", "-i", type=str, help="files or folders, by commas, for each input; without: made-up data")
    add("--output", "-o", help="folder for results, in a folder named by date")
    add("--output_dirname", "--output-dirname", "-od", help="its name, instead of the date")
    add("--outfmt", default="BIN", choices=["NPY", "BIN", "TXT"], help="format of results (default BIN)")
    add("--loop", "-l", type=_positive, default=1, help="runs of each input (default 1)")
    add("--debug", type=_switch, default=False, help="also describe the model")
    add(
        "--device",
        "-d",
        type=_devices,
        default=0,
        help="number of the device; several, by commas, run at once",
    )
    add("--dymBatch", "--dym-batch", "-db", type=_whole, default=0, help="2: the batch of a profile")
    add("--dymHW", "--dym-hw", "-dhw", type=_image, help="300,500: the height and width of a profile")
    add("--dymDims", "--dym-dims", "-dd", type=_shapes, help="a:1,600;b:1,600: the shapes of a profile")
    add(
        "--dymShape",
        "--dym-shape",
        "-ds",
        type=_shapes,
        help="a:1,600;b:1,600: shapes within the model's ranges",
    )
    add("--dymShape_range", "--dym-shape-range", "-dr", help="a:1,600~700;b:1,600-700: times every shape")
    add("--outputSize", "--output-size", "-outsize", type=_sizes, help="bytes for each output, by commas")
    add(
        "--auto_set_dymshape_mode",
        "--auto-set-dymshape-mode",
        "-asdsm",
        type=_switch,
        default=False,
        help="shapes are the files'",
    )
    add(
        "--auto_set_dymdims_mode",
        "--auto-set-dymdims-mode",
        "-asddm",
        type=_switch,
        default=False,
        help="profiles are the files'",
    )
    add("--batchsize", "--batch-size", type=_positive, help="batch for the throughput (default: the model's)")
    kinds = ["zero", "random"]
    add(
        "--pure_data_type",
        "--pure-data-type",
        "-pdt",
        default="zero",
        choices=kinds,
        help="kind of made-up data",
    )
    add(
        "--profiler", "-pf", type=_switch, default=False, help="write the times of kernels to OUTPUT/profiler"
    )
    add(
        "--profiler_rename",
        "--profiler-rename",
        type=_switch,
        default=True,
        help="of no effect: names are unique",
    )
    add("--dump", type=_switch, default=False, help="write what operators read and write to OUTPUT/dump")
    add("--dump_npy", "--dump-npy", type=_switch, default=False, help="of no effect here")
    add("--acl_json_path", "--acl-json-path", "-acl", type=_file, help="settings file, instead of the two")
    axis = "--output_batchsize_axis", "--output-batchsize-axis", "-oba"
    add(*axis, type=_whole, default=0, help="axis along which outputs are split into samples (default 0)")
    modes = ["array", "files", "tensor", "full"]
    add("--run_mode", "--run-mode", "-rm", default="array", choices=modes, help="how inputs are read")
    add(
        "--display_all_summary",
        "--display-all-summary",
        "-das",
        type=_switch,
        default=False,
        help="also the times of copies",
    )
    add("--warmup_count", "--warmup-count", "-wcount", type=_whole, default=1, help="runs before (default 1)")
    add("--aipp_config", "--aipp-config", "-aipp", type=_file, help="of no effect here")
    add(
        "--energy_consumption",
        "--energy-consumption",
        "-ec",
        type=_switch,
        default=False,
        help="of no effect here",
    )
    add("--npu_id", "--npu-id", type=_whole, default=0, help="of no effect here")
    add("--backend", choices=["trtexec"], help="refused: bundles run in one way")
    add("--perf", type=_switch, default=False, help="refused, as --backend")
    add("--pipeline", type=_switch, default=False, help="read, run and write at the same time")
    add("--divide_input", "--divide-input", type=_switch, default=False, help="devices share the input files")
    add("--threads", "--thread", type=_positive, default=1, help="runs at the same time, with --pipeline")
    return made


def _bad(text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(text)


def _switch(text: str) -> bool:
    if text.lower() in ("yes", "true", "t", "y", "1"):
        return True
    if text.lower() in ("no", "false", "f", "n", "0"):
        return False
    raise _bad(f"[{text}] is neither 1 nor 0")


def _number(least: int) -> Callable[[str], int]:
    def parse_number(text: str) -> int:
        if not re.fullmatch(r"\+?\d{1,18}", text.strip()) or int(text) < least:
            raise _bad(f"[{text}] is no whole number of at least {least}")
        return int(text)

    return parse_number


_positive, _whole = _number(1), _number(0)


def _devices(text: str) -> int | list[int]:
    numbers = [_whole(part) for part in text.split(",")]
    if any(n > 255 for n in numbers):
        raise _bad(f"[{text}] has a number beyond 0 to 255")
    return numbers if "," in text else numbers[0]


def _image(text: str) -> str:
    if not re.fullmatch(r"\s*\d+\s*,\s*\d+\s*", text):
        raise _bad(f"[{text}] isn't height,width")
    return text


def _shapes(text: str) -> str:
    try:
        parse_shapes(text)
    except Failure as error:
        raise _bad(f"{error.text} {error.fix}") from None
    return text


def _sizes(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise _bad(f"there is no file [{text}]")
    return text


def _model(text: str) -> str:
    return _file(text)
