"""--framework=3 of ascend-atc: the command line of a TensorFlow model as that of the ONNX one it becomes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_ep.cli.atc_files import existing, output_stem
from ascend_ep.cli.atc_options import Given, require
from ascend_ep.cli.atc_shapes import parse_input_shape, parse_out_nodes

TENSORFLOW, ONNX = "3", "5"
#: The modes that read a model, and the flag that names it.
MODEL_FLAGS = {"0": "model", "1": "om", "3": "model"}


@contextmanager
def onnx_source(given: dict[str, str]) -> Iterator[dict[str, str]]:
    """What is given, with the ONNX form of a TensorFlow model in its place while this lasts.

    Inputs keep the names of their nodes, outputs are "node:index", so --input_shape and --out_nodes stay.
    """
    flag = MODEL_FLAGS.get(given.get("mode", "0"))
    if given.get("framework") != TENSORFLOW or flag is None or "singleop" in given:
        yield given
        return
    if given.get("mode", "0") == "0":
        require(given, "model", "output", "soc_version")
        output_stem(given["output"])
    require(given, flag)
    from ascend_ep.frameworks.tensorflow import write_onnx

    model = Path(given[flag])
    if not (model / "saved_model.pb").is_file():
        model = existing(given[flag])
    with tempfile.TemporaryDirectory(prefix="ascend_ep_tensorflow_") as folder:
        target = Path(folder) / f"{model.resolve().stem}.onnx"  # reports have its name
        write_onnx(model, target, _shapes(given), _outputs(given))
        yield {**given, flag: str(target), "framework": ONNX}


def _shapes(given: Given) -> dict[str, list[int]]:
    """--input_shape by name; a size that isn't one number is free."""
    text = given.get("input_shape", "")
    parsed = parse_input_shape(text, ()) if ":" in text else {}
    return {name: [d if isinstance(d, int) else -1 for d in dims] for name, dims in parsed.items()}


def _outputs(given: Given) -> list[str]:
    text = given.get("out_nodes", "")
    return [f"{name}:{index or 0}" for name, index in parse_out_nodes(text)] if text else []
