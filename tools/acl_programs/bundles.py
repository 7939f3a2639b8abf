"""The bundles that a program loads: its page's atc lines, with a stand-in for each model that isn't there."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import onnx

from acl_programs import aipp, stand_ins
from acl_programs.programs import Program, code_of

#: Options of the line that a stand-in has no use for.
DROPPED = {
    "weight",
    "framework",
    "model",
    "output",
    "out_nodes",
    "save_original_model",
    "singleop",
    "log",
    "output_type",
}
SECONDS = 240


@dataclass(frozen=True)
class Bundle:
    """`source` is the ONNX model; `preprocessing` the text of its AIPP file."""

    path: Path
    source: Path
    dims: dict[str, list[int]]
    preprocessing: str = ""


class NoBundle(Exception):
    """Why there is none, in a line."""


def convert_all(program: Program, environment: dict[str, str], keep: bool = False) -> list[Bundle]:
    """Runs every atc line of the program's page, and puts bundles under the names that its sources open.
    `keep`: bundles that are there are taken as they are."""
    models, operators = [], [o for o in program.conversions if "singleop" in o]
    for options in operators:
        _convert_operators(program, options, environment, keep)
    for options in program.conversions:
        if "singleop" not in options and options.get("output"):
            models.append(_convert(program, options, environment, keep))
    _under_opened_names(program, models)
    return models


def _folder(program: Program, path: str) -> Path:
    first = Path(path).parts[0] if Path(path).parts else ""
    inner = len(Path(path).parts) > 1 and first not in (".", "..")
    return program.root if inner else program.root / "model"


def _convert(program: Program, options: dict[str, str], environment: dict[str, str], keep: bool) -> Bundle:
    folder = _folder(program, options["output"])
    target = folder / options["output"]
    target.parent.mkdir(parents=True, exist_ok=True)
    options = _channels_first(options)
    dims = stand_ins.inputs_of(options)
    source = folder / options.get("model", "")
    made = target.with_name(target.name + ".om")
    if source.suffix != ".onnx" or not source.exists():
        source = target.with_name(target.name + "_stand_in.onnx")
    keep = keep and made.exists() and source.exists()
    if not keep and source.name.endswith("_stand_in.onnx"):
        onnx.save(stand_ins.model(options), source)
    given = {k: v for k, v in options.items() if k not in DROPPED}
    given |= {"soc_version": _chip(options.get("soc_version", "")), "precision_mode_v2": "origin"}
    given.pop("precision_mode", None)
    if given.get("input_format") in ("NHWC", "NDHWC"):
        given["input_format"] = "ND"  # what atc takes for ONNX
    text = ""
    if "insert_op_conf" in options:
        rows = _gives_rows(program)
        given["insert_op_conf"], text = _preprocessing(folder, options, next(iter(dims.values())), rows, keep)
    if not given.get("input_shape") and not re.search(r"\.onnx$", options.get("model", "")):
        given["input_shape"] = ";".join(f"{n}:{','.join(map(str, d))}" for n, d in dims.items())
    if keep:
        return Bundle(made, source, dims, text)
    command = ["atc", f"--model={source}", "--framework=5", f"--output={target}"]
    command += [f"--{name}={value}" for name, value in given.items()]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise NoBundle(f"atc: {_reason(done.stdout + done.stderr)}")
    return Bundle(made, source, dims, text)


def _channels_first(options: dict[str, str]) -> dict[str, str]:
    """AIPP gives ONNX models [N, C, H, W]; the image that comes in is the same."""
    shapes = options.get("input_shape", "")
    found = re.fullmatch(r"([^:;]+:)([-\d]+),([-\d]+),([-\d]+),([134])", shapes.strip())
    if "insert_op_conf" not in options or not found:
        return options
    name, batch, rows, columns, channels = found.groups()
    shape = f"{name}{batch},{channels},{rows},{columns}"
    return {**options, "input_shape": shape, "input_format": "NCHW"}


def _chip(said: str) -> str:
    return said if re.fullmatch(r"Ascend\d+\w*", said) and "xxx" not in said else "Ascend310"


def _reason(text: str) -> str:
    text = re.sub(r"\[PID: \d+\] [\d.:-]+ |(/\S+/)(?=[\w.-]+)", "", text)
    lines = [line.strip() for line in text.splitlines() if re.search(r"E\d{5}", line)]
    return (lines or text.strip().splitlines()[-1:] or ["no reason"])[0][:160]


def _gives_rows(program: Program) -> bool:
    """Whether images come from OpenCV or Pillow, as rows of pixels, and not from DVPP."""
    code = code_of(program)
    by_library = "imread" in code or "Image.open" in code
    return by_library and not re.search(r"acldvpp|JpegD\(|[.>]Resize\(|jpegd|dvpp_", code)


def _preprocessing(
    folder: Path, options: dict[str, str], dims: list[int], rows: bool, keep: bool
) -> tuple[str, str]:
    file = folder / options["insert_op_conf"]
    if not file.is_file():
        first = dims[1] in (1, 3, 4) and len(dims) == 4
        height, width = (dims[2], dims[3]) if first else (dims[1], dims[2])
        file = folder / "aipp_stand_in.cfg"
        if not (keep and file.exists()):
            file.write_text(aipp.settings_text(options, height, width, rows))
    return str(file), file.read_text()


def _convert_operators(
    program: Program, options: dict[str, str], environment: dict[str, str], keep: bool
) -> None:
    wanted = Path(options["singleop"]).name
    found = next((f for f in sorted(program.root.rglob(wanted)) if "build" not in f.parts), None)
    if found is None:
        raise NoBundle(f"{options['singleop']} isn't in the folder")
    targets = {program.root / "run" / "out" / "op_models", program.root / "out" / "op_models"}
    if options["output"].startswith("."):
        targets = {found.parent / options["output"]}
    for target in targets:
        if keep and list(target.glob("*.om")):
            continue
        command = [
            "atc",
            f"--singleop={found}",
            f"--soc_version={_chip(options.get('soc_version', ''))}",
            f"--output={target}",
            "--precision_mode_v2=origin",  # as models are converted: else float32 is computed in float16
        ]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if done.returncode:
            raise NoBundle(f"atc: {_reason(done.stdout + done.stderr)}")


def _under_opened_names(program: Program, made: list[Bundle]) -> None:
    """A bundle that the page converts may be opened by another name, or from another folder: the one of the
    sources is made too."""
    opened = re.findall(r"[\"']([^\"'\s]*?)([\w.-]+\.om)[\"']", code_of(program))
    for place, name in opened if made else []:
        base = program.root / "out" / place if place.startswith("..") else program.root / place
        target = Path(os.path.normpath(base)) / name
        likest = max(made, key=lambda b: (b.path.name == name, _alike(b.path.stem, Path(name).stem)))
        alike = likest.path.name == name or _alike(likest.path.stem, Path(name).stem) > 2
        if alike and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(likest.path, target)


def _alike(a: str, b: str) -> int:
    """How many letters they begin with in common."""
    return sum(
        1 for _ in itertools.takewhile(lambda p: p[0] == p[1], zip(a.lower(), b.lower(), strict=False))
    )
