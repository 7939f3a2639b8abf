"""The record file: scales and offsets of every layer, in the text form of protocol buffers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from ascend_ep import atomic_file
from ascend_ep.compiler.quantization.choice import PRODUCTS
from ascend_ep.errors import AscendError


@dataclass(frozen=True)
class Factors:
    """`data`, `weight`: scales; an element is (integer - offset) * scale, the integers int8."""

    data: float
    data_offset: int
    weight: list[float]
    weight_offset: int = 0


def factors_of(model: onnx.ModelProto) -> dict[str, Factors]:
    """Of each product of a quantised model, by name, the factors of its DequantizeLinear nodes."""
    constants: Mapping[str, onnx.TensorProto] = {t.name: t for t in model.graph.initializer}
    sources = {o: n for n in model.graph.node for o in n.output if n.op_type == "DequantizeLinear"}
    found = {}
    for node in model.graph.node:
        if node.op_type not in PRODUCTS or not all(i in sources for i in node.input[:2]):
            continue
        data, weight = (sources[i] for i in node.input[:2])
        zero = numpy_helper.to_array(constants[data.input[2]])
        offset = int(zero) - (128 if zero.dtype == np.uint8 else 0)
        scale = float(numpy_helper.to_array(constants[data.input[1]]))
        scales = numpy_helper.to_array(constants[weight.input[1]])
        found[node.name or node.output[0]] = Factors(scale, offset, [float(s) for s in scales.reshape(-1)])
    return found


def write_record(path: str | os.PathLike[str], factors: Mapping[str, Factors]) -> None:
    """Writes the record file; an empty one without factors."""
    lines = []
    for name, each in factors.items():
        lines += ["record {", f'  key: "{name}"', "  value {"]
        lines += [f"    scale_d: {each.data!r}", f"    offset_d: {each.data_offset}"]
        lines += [f"    scale_w: {scale!r}" for scale in each.weight]
        lines += [f"    offset_w: {each.weight_offset}" for _ in each.weight]
        lines += ["  }", "}"]
    try:
        atomic_file.make_folder(Path(path).absolute().parent)
        atomic_file.write(Path(path), "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise AscendError("E40002", f"can't write [{os.fspath(path)}]: {error.strerror}") from error
