"""The bundles that the C program runs: small and read, large and mapped, with files of weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

from .native import RUNS


def product(size: int) -> ModelProto:
    """y = softmax(x w), x of [N, size]."""
    weight = numpy_helper.from_array(np.ones((size, size), np.float32), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "product", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(folder: Path) -> dict[str, list[str]]:
    """What the program is told, by a name."""
    found = {}
    for name, size, external in (("read", 32, 0), ("mapped", 1024, 0), ("weights beside it", 1024, 1)):
        path = folder / name.replace(" ", "-") / "m.om"
        path.parent.mkdir()
        options = ConvertOptions(codegen="off", external_weight=external, self_check=False)
        convert(product(size), options).write(path)
        found[name] = [str(path), str(RUNS), f"4x{size}"]
    return found
