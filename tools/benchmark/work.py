"""How much a model must do at the least: bytes to move, floating-point operations, transcendental functions.

Each tensor of the boundary is read or written once and each weight is read once; what lies between can stay
in caches. A product of matrices or a convolution costs two operations per multiply-add; an exponential, and
what is made of one, costs one transcendental per element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import onnx
from onnx import TensorProto, numpy_helper

Shape = tuple[int, ...]

TRANSCENDENTAL = {"Exp", "Erf", "Tanh", "Sigmoid", "Softmax", "Gelu", "Swish", "Softplus", "Mish"}


@dataclass(frozen=True)
class Work:
    """`weight_bytes` of what products and convolutions multiply by, at the size stored; `other_bytes` of
    inputs and other constants."""

    weight_bytes: int
    other_bytes: int
    output_bytes: int
    flops: int
    transcendentals: int

    def as_json(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, int]) -> Work:
        return cls(**found)


def work_of(model: onnx.ModelProto) -> Work:
    """Of one inference of a model whose shapes are all fixed."""
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    shapes = _shapes(graph)
    constants = {t.name: t for t in graph.initializer}
    operators = [n for n in graph.node if n.op_type in ("MatMul", "Gemm", "Conv")]
    multiplied = {name for n in operators for name in n.input[1:2]}
    restored = [n for n in graph.node if n.op_type == "DequantizeLinear" and n.output[0] in multiplied]
    multiplied |= {n.input[0] for n in restored}
    gathered = {n.input[0] for n in graph.node if n.op_type == "Gather"}
    boundary = [*graph.input, *graph.output]
    sizes = {i.name: _bytes(i.type.tensor_type.elem_type, shapes[i.name]) for i in boundary}
    weights = {name: _bytes(t.data_type, tuple(t.dims)) for name, t in constants.items()}
    return Work(
        weight_bytes=sum(size for name, size in weights.items() if name in multiplied),
        other_bytes=sum(sizes[i.name] for i in graph.input)
        + sum(size for name, size in weights.items() if name not in multiplied | gathered),
        output_bytes=sum(sizes[o.name] for o in graph.output),
        flops=sum(_flops(n, shapes) for n in operators),
        transcendentals=sum(
            math.prod(shapes[n.output[0]]) for n in graph.node if n.op_type in TRANSCENDENTAL
        ),
    )


def _shapes(graph: onnx.GraphProto) -> dict[str, Shape]:
    found = {t.name: tuple(t.dims) for t in graph.initializer}
    for info in (*graph.input, *graph.output, *graph.value_info):
        found[info.name] = tuple(d.dim_value for d in info.type.tensor_type.shape.dim)
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t).shape
    return found


def _flops(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int:
    """2 * results * terms of each."""
    results = math.prod(shapes[node.output[0]])
    if node.op_type == "Conv":
        return 2 * results * math.prod(shapes[node.input[1]][1:])
    transposed = any(a.name == "transA" and a.i for a in node.attribute)
    return 2 * results * shapes[node.input[0]][-2 if transposed else -1]


def _bytes(data_type: int, shape: Shape) -> int:
    wide: Any = onnx.helper.tensor_dtype_to_np_dtype(data_type) if data_type != TensorProto.STRING else None
    return 0 if wide is None else int(wide.itemsize) * math.prod(shape)
