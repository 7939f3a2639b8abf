"""The models and configurations that the checked-in command lines name: small ones, with familiar names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from atc_models import model, save, weight
from onnx import TensorProto, helper, numpy_helper

F, I64 = TensorProto.FLOAT, TensorProto.INT64


def value(name: str, dtype: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, list(shape) or None)


def classifier() -> onnx.ModelProto:
    """actual_input_1 [N, 3, H, W] -> output1 [N, 10]; the names are those of PyTorch's old exporter."""
    nodes = [
        helper.make_node("Conv", ["actual_input_1", "conv1.weight"], ["v0"], name="Conv_0", pads=[1] * 4),
        helper.make_node("Relu", ["v0"], ["v1"], name="Relu_1"),
        helper.make_node("GlobalAveragePool", ["v1"], ["v2"], name="GlobalAveragePool_2"),
        helper.make_node("Flatten", ["v2"], ["v3"], name="Flatten_3"),
        helper.make_node("Gemm", ["v3", "fc.weight"], ["output1"], name="Gemm_4"),
    ]
    weights = [weight("conv1.weight", 8, 3, 3, 3), weight("fc.weight", 8, 10)]
    inputs = [value("actual_input_1", F, "N", 3, "H", "W")]
    return model(nodes, inputs, [value("output1", F)], weights, opset=11)


def detector() -> onnx.ModelProto:
    """images [1, 3, 16, 16] -> two heads: Conv_418, Sigmoid_419 and Conv_434, Sigmoid_435."""
    nodes = [
        helper.make_node("Conv", ["images", "w1"], ["v0"], name="Conv_0", pads=[1] * 4),
        helper.make_node("LeakyRelu", ["v0"], ["v1"], name="LeakyRelu_1", alpha=0.1),
        helper.make_node("Conv", ["v1", "w2"], ["v2"], name="Conv_418"),
        helper.make_node("Sigmoid", ["v2"], ["out0"], name="Sigmoid_419"),
        helper.make_node("Conv", ["v1", "w3"], ["v3"], name="Conv_434"),
        helper.make_node("Sigmoid", ["v3"], ["out1"], name="Sigmoid_435"),
    ]
    weights = [weight("w1", 8, 3, 3, 3), weight("w2", 6, 8, 1, 1), weight("w3", 5, 8, 1, 1)]
    outputs = [value("out0", F), value("out1", F)]
    return model(nodes, [value("images", F, 1, 3, 16, 16)], outputs, weights, opset=12)


def encoder() -> onnx.ModelProto:
    """input_ids, attention_mask [B, S] int64 -> logits [B, S, 4]."""
    nodes = [
        helper.make_node("Gather", ["embedding", "input_ids"], ["e"], name="Gather_0"),
        helper.make_node("Cast", ["attention_mask"], ["f"], name="Cast_1", to=F),
        helper.make_node("Unsqueeze", ["f", "last"], ["u"], name="Unsqueeze_2"),
        helper.make_node("Mul", ["e", "u"], ["m"], name="Mul_3"),
        helper.make_node("MatMul", ["m", "w1"], ["a"], name="MatMul_4"),
        helper.make_node("Sigmoid", ["a"], ["g"], name="Sigmoid_5"),
        helper.make_node("MatMul", ["g", "w2"], ["logits"], name="MatMul_6"),
    ]
    weights = [weight("embedding", 20, 8), weight("w1", 8, 16), weight("w2", 16, 4)]
    weights.append(numpy_helper.from_array(np.array([-1], np.int64), "last"))
    inputs = [value("input_ids", I64, "B", "S"), value("attention_mask", I64, "B", "S")]
    return model(nodes, inputs, [value("logits", F)], weights, opset=13)


def own_operator(op_type: str) -> onnx.ModelProto:
    """x [4, 8] -> MatMul -> an operator that isn't ONNX's -> y."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="fc"),
        helper.make_node(op_type, ["h"], ["y"], name="act"),
    ]
    return model(nodes, [value("x", F, 4, 8)], [value("y", F)], [weight("w", 8, 8)])


MODELS = {
    "resnet50.onnx": classifier,
    "yolov5s.onnx": detector,
    "bert.onnx": encoder,
    "swish.onnx": lambda: own_operator("Swish"),
    "smooth.onnx": lambda: own_operator("SmoothStep"),
}

RGB = "aipp_op {\n  aipp_mode: static\n  input_format: RGB888_U8\n  rbuv_swap_switch: true\n"
MEAN = "  mean_chn_0: 124\n  mean_chn_1: 117\n  mean_chn_2: 104\n  var_reci_chn_0: 0.0171\n}\n"
TENSOR = {"format": "ND", "shape": [3, 3], "type": "int32"}
FORMULA = "t = min(max(x, 0), 1)\ny = t*t*(3 - 2*t)"

TEXTS = {
    "aipp.cfg": RGB + MEAN,
    "aipp_crop.cfg": RGB
    + "  crop: true\n  src_image_size_w: 20\n  src_image_size_h: 18\n  load_start_pos_w: 2\n"
    + MEAN,
    "aipp_yuv.cfg": "aipp_op { aipp_mode: static input_format: YUV420SP_U8 csc_switch: true }\n",
    "aipp_dynamic.cfg": "aipp_op { aipp_mode: dynamic max_src_image_size: 752640 }\n",
    "aipp_wrong.cfg": RGB + "  mean_chn_0: 300\n}\n",
    "switch.cfg": "ElementwiseChainFusionPass:off\n",
    "switch.json": '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}',
    "precision.ini": "Sigmoid=high_precision\n",
    "keep.cfg": "Gemm_4\n",
    "mix.json": '{"black-list": {"to-add": ["Sigmoid"]}}',
    "op_list.json": json.dumps([{"op": "Add", "input_desc": [TENSOR] * 2, "output_desc": [TENSOR]}]),
    "bad_list.json": json.dumps(
        [{"op": "Add", "input_desc": [TENSOR | {"type": "int33"}], "output_desc": [TENSOR]}]
    ),
    "swish_op.json": '{"op": "Swish", "input_num": 1, "output_num": 1, "attr": []}',
    "smooth_op.json": json.dumps(
        {
            "op": "SmoothStep",
            "inputs": [{"name": "x", "type": "float32"}],
            "outputs": [{"name": "y", "type": "float32"}],
            "formula": FORMULA,
        }
    ),
    "text.onnx": "not a model",
}


def write_files(folder: Path) -> None:
    for name, make in MODELS.items():
        save(make(), folder / name)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
