"""Models in 8 bits, as onnxruntime's quantiser writes them, and as ours does.

`build("resnet", "qdq")` gives ResNet-50 with calibrated scales; FORMS names the forms.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from graph_builder import save_from_command_line
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

import ascend_ep

#: QuantizeLinear and DequantizeLinear around each operator, activations uint8 or int8 (`qdq_int8`), weights
#: int8 per channel, or both uint8 per tensor (`qdq_uint8`), as edge models have them; QLinearConv and so on;
#: products alone, whose activations are quantised as the model runs; what `ascend_ep.quantize` makes.
FORMS = ("qdq", "qdq_int8", "qdq_uint8", "qoperator", "dynamic", "ascend_ep")
#: What `build` makes: a builder beside this file and its arguments, in the published sizes.
SIZES: dict[str, dict[str, Any]] = {
    "resnet": {},
    "mobilenet_v2": {},
    "bert": {"size": "base", "seq": 128},
    "llama": {"size": "base", "form": "exported", "seq": 128},
}
Feeds = Mapping[str, np.ndarray]


class Samples(CalibrationDataReader):  # type: ignore[misc]
    """Inputs to calibrate with, each once."""

    def __init__(self, *feeds: Feeds) -> None:
        self.feeds = feeds
        self._rest: Iterator[Feeds] = iter(feeds)

    def get_next(self) -> Feeds | None:
        return next(self._rest, None)


def quantise(
    model: onnx.ModelProto, form: str, samples: Samples, reduce_range: bool = False
) -> onnx.ModelProto:
    """The model in one of FORMS; weights of 7 bits with `reduce_range`."""
    if form == "ascend_ep":
        made: onnx.ModelProto = ascend_ep.quantize(model, samples.feeds).model
        return made
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "q.onnx"
        if form == "dynamic":
            quantize_dynamic(model, target, weight_type=QuantType.QInt8, reduce_range=reduce_range)
            return onnx.load(target)
        quantize_static(
            model,
            target,
            samples,
            QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ,
            activation_type=QuantType.QInt8 if form == "qdq_int8" else QuantType.QUInt8,
            weight_type=QuantType.QUInt8 if form == "qdq_uint8" else QuantType.QInt8,
            per_channel=form in ("qdq", "qdq_int8"),
            reduce_range=reduce_range,
        )
        return onnx.load(target)


def build(of: str, form: str) -> onnx.ModelProto:
    """A model of SIZES, calibrated with two samples. Raises KeyError and ValueError for a form not known."""
    if form not in FORMS:
        raise ValueError(f"no form [{form}]; there are {', '.join(FORMS)}")
    proto = _float(of)
    return quantise(proto, form, Samples(*(_sample(of, proto, seed) for seed in (1, 2))))


def sample_inputs(of: str) -> dict[str, np.ndarray]:
    """Inputs of the model `of`, other ones than those it was calibrated with."""
    return _sample(of, _float(of), 0)


def _float(of: str) -> onnx.ModelProto:
    proto: onnx.ModelProto = importlib.import_module(of).build(**SIZES[of])
    return proto


def _sample(of: str, model: onnx.ModelProto, seed: int) -> dict[str, np.ndarray]:
    maker = getattr(importlib.import_module(of), "sample_inputs", None)
    if maker is None:
        maker = importlib.import_module("blocks").sample_inputs
    takes = inspect.signature(maker).parameters
    given = {"model": model, "seed": seed, **SIZES[of]}
    found: dict[str, np.ndarray] = maker(**{name: given[name] for name in takes if name in given})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("of", choices=sorted(SIZES))
    parser.add_argument("--form", choices=FORMS, default="qdq")
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()
