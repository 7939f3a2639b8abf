"""What the onnx-made models share: a graph under construction and its random weights."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IR_VERSION = 10  # read by onnxruntime 1.25


class GraphBuilder:
    """Collects nodes, initializers and the boundary of one graph; node outputs are named as they are made."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def output(self, name: str, shape: Sequence[int | str], dtype: int = TensorProto.FLOAT) -> str:
        self.outputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def constant(self, name: str, value: np.ndarray | list[int]) -> str:
        array = np.asarray(value, np.int64) if isinstance(value, list) else value
        self.initializers[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str, *shape: int, scale: float | None = None) -> str:
        """A float32 weight, normal with deviation `scale` (1/sqrt of the first dim unless given)."""
        deviation = shape[0] ** -0.5 if scale is None else scale
        return self.constant(name, (self.random.standard_normal(shape) * deviation).astype(np.float32))

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        output: str | Sequence[str],
        domain: str = "",
        **attributes: object,
    ) -> str:
        """Adds a node and returns the name of its first output."""
        outputs = [output] if isinstance(output, str) else list(output)
        name = f"/{outputs[0]}/{op}"
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def model(self, opset: int, *domains: str) -> onnx.ModelProto:
        weights = list(self.initializers.values())
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, weights)
        imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
        return helper.make_model(
            graph, opset_imports=imports, ir_version=IR_VERSION, producer_name="ascend-ep models"
        )


def dimension(text: str) -> int | str:
    """A dimension on the command line: a number, or the name of a free one."""
    return int(text) if text.isdigit() else text


def save_from_command_line(build: Callable[..., onnx.ModelProto], parser: argparse.ArgumentParser) -> None:
    """Parses the arguments, builds with them as keywords, and writes the model."""
    parser.add_argument("output", help="the .onnx file to write")
    options = vars(parser.parse_args())
    output = options.pop("output")
    onnx.save(build(**options), output)
