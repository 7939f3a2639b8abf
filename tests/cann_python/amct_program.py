"""What programs on amct_onnx do with a model: one of two convolutions and a product, and batches for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import helper, numpy_helper

RNG = np.random.default_rng(7)
BATCHES: list[NDArray[np.float32]] = [RNG.normal(size=(4, 3, 8, 8)).astype(np.float32) for _ in range(3)]


def save_model(path: str) -> None:
    shapes = {"w": (64, 3, 3, 3), "b": (64,), "v": (8, 64, 1, 1), "fc": (8, 4)}
    rng = np.random.default_rng(0)
    tensors = [numpy_helper.from_array(rng.normal(0, 0.3, d).astype("f4"), n) for n, d in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "fc"], ["y"], "classifier"),
    ]
    infos = [helper.make_tensor_value_info(n, 1, d) for n, d in (("x", ["N", 3, 8, 8]), ("y", ["N", 4]))]
    graph = helper.make_graph(nodes, "small", infos[:1], infos[1:], tensors)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def forward(amct: Any, path: str, batches: list[NDArray[np.float32]] = BATCHES) -> NDArray[np.float32]:
    session = ort.InferenceSession(path, amct.AMCT_SO)
    return np.concatenate([session.run(["y"], {"x": x})[0] for x in batches])


def quantise(amct: Any, batch_num: int = 2, **options: Any) -> dict[str, Any]:
    amct.create_quant_config("tmp/config.json", "m.onnx", batch_num=batch_num, **options)
    amct.quantize_model(
        config_file="tmp/config.json",
        model_file="m.onnx",
        modified_onnx_file="tmp/modified.onnx",
        record_file="tmp/record.txt",
    )
    found: dict[str, Any] = json.loads(Path("tmp/config.json").read_text())
    return found
