"""A shipped model in 8 bits: `python -m model_zoo.quantise NAME SOURCE TARGET`, by onnxruntime's tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import onnx
import onnxruntime
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.calibrate import CalibrationDataReader

from model_zoo.catalogue import MODELS
from model_zoo.inputs import DRAWS, draw
from model_zoo.model import Model
from model_zoo.trial import slots_of

FORMATS = {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}


class Draws(CalibrationDataReader):  # type: ignore[misc]
    """The inputs that the model will be tried with."""

    def __init__(self, model: Model, source: str) -> None:
        session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        slots = slots_of(session)
        self.left: Iterator[Any] = iter([draw(slots, model.axes, model.rules, i) for i in range(DRAWS)])

    def get_next(self) -> Any:
        return next(self.left, None)


def _has_axes(source: str) -> bool:
    """Whether QuantizeLinear has an axis at the model's operator set."""
    imports = onnx.load(source, load_external_data=False).opset_import
    return any(o.domain == "" and o.version >= 13 for o in imports)


def main() -> None:
    name, source, target = sys.argv[1:]
    model = next(m for m in MODELS if m.name == name)
    if model.made == "dynamic":
        quantize_dynamic(source, target)
    else:
        quantize_static(
            source,
            target,
            Draws(model, source),
            quant_format=FORMATS[model.made],
            per_channel=_has_axes(source),
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )


if __name__ == "__main__":
    main()
