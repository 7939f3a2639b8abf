"""The record file: scales and offsets of every layer, in the text form of protocol buffers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep import atomic_file
from ascend_ep.accuracy.quantization.choice import PRODUCTS, Product
from ascend_ep.accuracy.quantization.saving import writing
from ascend_ep.accuracy.quantization.weights import channel_scales
from ascend_ep.errors import AscendError
from ascend_ep.graph.naming import label
from ascend_ep.graph.passes.rewire import attribute, is_standard


@dataclass(frozen=True)
class Factors:
    """`data`, `weight`: scales; an element is (integer - offset) * scale, the integers signed, as int8.
    Weights have one scale and offset, or one for each output channel; data has none before calibration."""

    data: float | None
    data_offset: int | None
    weight: list[float]
    weight_offset: list[int]


def weight_factors(products: Iterable[Product], channel_wise: bool) -> dict[str, Factors]:
    """What is known before calibration: the scales of weights by themselves."""
    found = {}
    for product in products:
        scales = channel_scales(product.array(), product.axis, channel_wise).reshape(-1)
        found[product.name] = Factors(None, None, [float(s) for s in scales], [0] * len(scales))
    return found


def factors_of(model: ir.Model, where: str = "") -> dict[str, Factors]:
    """Of each product of a quantised model, by name, the factors of its DequantizeLinear nodes. Raises
    AscendError E40001 for those that a record file can't hold; `where` names the model."""
    found = {}
    for node in model.graph:
        sources = [value.producer() if value is not None else None for value in node.inputs[:2]]
        if not is_standard(node, *PRODUCTS) or not all(
            s is not None and is_standard(s, "DequantizeLinear") for s in sources
        ):
            continue
        data, weight = (_Scales(s, label(node), where) for s in sources if s is not None)
        if len(data.scales) != 1:
            what = f"the activation of [{label(node)}] has {len(data.scales)} scales; a record file holds one"
            fix = "Train with one scale for each activation, or leave the record file out."
            raise AscendError("E40001", what, where=where, fix=fix)
        found[label(node)] = Factors(data.scales[0], data.offsets[0], weight.scales, weight.offsets)
    return found


class _Scales:
    """Of a DequantizeLinear, of the layer `layer`: `scales`, and as many `offsets`, of signed integers."""

    def __init__(self, node: ir.Node, layer: str, where: str) -> None:
        self._layer, self._where = layer, where
        scales = self._constant(node, 1)
        zeros = self._constant(node, 2) if len(node.inputs) > 2 and node.inputs[2] is not None else None
        dtype = _dtype_of(node)
        least = 1 << dtype.bitwidth - 1 if dtype.is_integer() and not dtype.is_signed() else 0
        points = np.zeros(1, np.int64) if zeros is None else zeros.reshape(-1).astype(np.int64)
        self.scales = [float(s) for s in scales.reshape(-1)]
        if len(points) not in (1, len(self.scales)):
            what = f"[{layer}] has {len(self.scales)} scales and {len(points)} zero points"
            raise AscendError("E40001", what, where=where, fix="Give it as many of the one as of the other.")
        self.offsets = [int(z) - least for z in np.broadcast_to(points, len(self.scales))]

    def _constant(self, node: ir.Node, index: int) -> NDArray[Any]:
        value = node.inputs[index] if len(node.inputs) > index else None
        tensor = ir.convenience.get_const_tensor(value) if value is not None else None
        if tensor is None:
            what = f"[{self._layer}] has a scale or zero point that is no constant"
            fix = "Export the model with constant folding, or leave the record file out."
            raise AscendError("E40001", what, where=self._where, fix=fix)
        return tensor.numpy()


def _dtype_of(node: ir.Node) -> ir.DataType:
    """The integers that a DequantizeLinear reads: of its zero point, or what gives them."""
    for value in (node.inputs[2] if len(node.inputs) > 2 else None, node.inputs[0]):
        tensor = ir.convenience.get_const_tensor(value) if value is not None else None
        if tensor is not None:
            return tensor.dtype
    x = node.inputs[0]
    maker = x.producer() if x is not None else None
    if maker is not None and is_standard(maker, "QuantizeLinear"):
        if len(maker.inputs) > 2 and (zero := maker.inputs[2]) is not None:
            tensor = ir.convenience.get_const_tensor(zero)
            if tensor is not None:
                return tensor.dtype
        asked = attribute(maker, "output_dtype")
        return ir.DataType(asked) if isinstance(asked, int) and asked else ir.DataType.UINT8
    return (x.dtype if x is not None else None) or ir.DataType.INT8


def write_record(path: str | os.PathLike[str], factors: Mapping[str, Factors]) -> None:
    """Writes the record file. Raises AscendError E40002."""
    lines = []
    for name, each in factors.items():
        lines += ["record {", f"  key: {json.dumps(name, ensure_ascii=False)}", "  value {"]
        if each.data is not None:
            lines += [f"    scale_d: {each.data!r}", f"    offset_d: {each.data_offset}"]
        lines += [f"    scale_w: {scale!r}" for scale in each.weight]
        lines += [f"    offset_w: {offset}" for offset in each.weight_offset]
        lines += ["  }", "}"]
    with writing(Path(path)):
        atomic_file.write(Path(path), "".join(f"{line}\n" for line in lines))
