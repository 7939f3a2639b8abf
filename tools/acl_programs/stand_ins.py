"""Models with random weights in place of those that a sample downloads: inputs as its atc line has them,
outputs by the family that the model's name says. Small, and every output depends on every input."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

FEATURES = 16


@dataclass(frozen=True)
class Output:
    """`dims` without the batch; `whole`: the batch is among them; "same": an image of the input's size."""

    dims: tuple[int, ...] | str
    last: str = "Sigmoid"
    scale: float = 1.0
    dtype: int = TensorProto.FLOAT
    whole: bool = False


_BOXES = (Output((6 * 1024,), scale=200.0), Output((8,), dtype=TensorProto.INT32, scale=6.0))
#: The first whose pattern is in the name of the model or its bundle.
FAMILIES: tuple[tuple[str, tuple[Output, ...]], ...] = (
    (r"yolov?3.*(resnet18)|mask_detection", (Output((8, 5040)), Output((1,), dtype=TensorProto.INT32))),
    (r"yolov?3_tf", tuple(Output((s, s, 255)) for s in (13, 26, 52))),
    (r"yolov?4_bs|yolov4_dynamic", tuple(Output((255, s, s)) for s in (76, 38, 19))),
    (r"yolov?4", (Output((10647, 4)), Output((10647, 80)))),
    (r"yolov?[57]", (Output((25200, 85)),)),
    (r"yolov?(8|11)\w*-?_?pose", (Output((56, 8400)),)),
    (r"yolov?(8|11)\w*-?_?seg", (Output((116, 8400)), Output((32, 160, 160)))),
    (r"yolov?10", (Output((300, 6), scale=300.0),)),
    (r"yolov?(8|11)", (Output((84, 8400)),)),
    (r"yolov?3|object_detection", _BOXES),
    (r"ssd", (Output((8,), dtype=TensorProto.INT32, scale=6.0), Output((200, 8)))),
    (r"face_detection", (Output((8,), dtype=TensorProto.INT32, scale=6.0), Output((80, 8)))),
    (r"color_dvpp|color_dynamic|carcolor", (Output((12,), "Softmax"),)),
    (
        r"cartoon|anime|blur|derain|dehaze|hdr|enhance|srcnn|espcn|vdsr|fsrcnn|hifill|ai.?paint",
        (Output("same"),),
    ),
    (r"colori", (Output((2, 56, 56), scale=50.0),)),
    (r"deeplab", (Output((513, 513), scale=20.0),)),
    (r"vessel", (Output((512, 512)),)),
    (r"portrait", (Output((224, 224, 2)),)),
    (r"segment", (Output((512, 512, 2)),)),
    (r"crowd", (Output((1, 80, 80)), Output((1,)))),
    (r"pose", (Output((25, 16, 16)), Output((52, 16, 16)))),
    (r"vgg16_cat_dog", (Output((2,), "Softmax"),)),
    (r"bert_text", (Output((5,), "Softmax"),)),
    (r"mnist|\blenet", (Output((10,), "Softmax"),)),
    (r"", (Output((1000,), "Softmax", 1.0),)),
)
#: Inputs of models whose lines have none.
USUAL_INPUTS = (
    (r"yolov?3.*\.prototxt", "data:1,3,416,416;img_info:1,4"),
    (r"yolo", "images:1,3,640,640"),
    (r"googlenet|resnet|vgg|crowd|\.prototxt", "data:1,3,224,224"),
)


def inputs_of(options: dict[str, str]) -> dict[str, list[int]]:
    """Name -> dims of the line's inputs; -1 where a dim varies."""
    shapes = options.get("input_shape", "")
    if not shapes:
        name = f"{options.get('output', '')} {options.get('model', '')}".lower()
        shapes = next(
            (usual for pattern, usual in USUAL_INPUTS if re.search(pattern, name)), "data:1,3,224,224"
        )
    found = {}
    for part in filter(str.strip, shapes.split(";")):
        name, _, dims = part.rpartition(":")
        found[name.strip()] = [int(d) for d in dims.split(",")]
    return found


def model(options: dict[str, str]) -> onnx.ModelProto:
    """A model in place of the one that an atc line converts."""
    inputs = inputs_of(options)
    name = f"{options.get('output', '')} {options.get('model', '')}".lower()
    outputs = next(found for pattern, found in FAMILIES if re.search(pattern, name))
    made = _Graph(np.random.default_rng(7))
    features = [made.features(key, dims) for key, dims in inputs.items()]
    joined = made.node("Concat", features, axis=1) if len(features) > 1 else features[0]
    first, first_dims = next(iter(inputs.items()))
    for i, output in enumerate(outputs):
        if isinstance(output.dims, str):
            made.same_image(first, first_dims, joined, f"output_{i}")
        else:
            made.head(joined, FEATURES * len(features), output, f"output_{i}")
    return made.finish(inputs, outputs)


class _Graph:
    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def node(self, kind: str, inputs: list[str], output: str = "", **attributes: object) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"n{len(self.nodes)}", **attributes))
        return output

    def constant(self, values: NDArray[np.generic]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant((scale * self.random.standard_normal(shape)).astype(np.float32))

    def features(self, name: str, dims: list[int]) -> str:
        """[N, FEATURES] of an input."""
        if len(dims) == 4:
            at = name if _channels_first(dims) else self.node("Transpose", [name], perm=[0, 3, 1, 2])
            channels = dims[1] if _channels_first(dims) else dims[3]
            for wide in (8, FEATURES):
                weight = self.weights(wide, channels, 3, 3, scale=1 / math.sqrt(9 * channels))
                step = [2, 2] if min(d for d in dims if d > 0) < 64 else [4, 4]
                at = self.node("Conv", [at, weight], kernel_shape=[3, 3], strides=step, pads=[1, 1, 1, 1])
                at = self.node("LeakyRelu", [at])
                channels = wide
            flat = self.node("Flatten", [self.node("GlobalAveragePool", [at])])
            return self.node("Softsign", [self.node("Mul", [flat, self.constant(np.float32(0.05))])])
        count = math.prod(dims[1:]) if len(dims) > 1 else dims[0]
        shape = [0, -1] if len(dims) > 1 else [1, -1]
        flat = self.node("Reshape", [name, self.constant(np.array(shape, np.int64))])
        squeezed = self.node("Tanh", [flat])
        return self.node("MatMul", [squeezed, self.weights(count, FEATURES, scale=1 / math.sqrt(count))])

    def head(self, features: str, width: int, output: Output, name: str) -> None:
        assert not isinstance(output.dims, str)
        count = math.prod(output.dims)
        scale = 6.0 if output.last == "Softmax" else 2.0
        inner = min(width, 4) if count > 100000 else width
        at = features
        if inner != width:
            at = self.node("MatMul", [at, self.weights(width, inner)])
        at = self.node("MatMul", [at, self.weights(inner, count, scale=scale / math.sqrt(inner))])
        at = self.node("Add", [at, self.weights(count)])
        at = self.node(output.last, [at], **({"axis": 1} if output.last == "Softmax" else {}))
        if output.scale != 1.0:
            at = self.node("Mul", [at, self.constant(np.float32(output.scale))])
        shape = self.constant(np.array([-1, *output.dims], np.int64))
        if output.dtype == TensorProto.FLOAT:
            self.node("Reshape", [at, shape], name)
        else:
            at = self.node("Cast", [at], to=output.dtype)
            self.node("Reshape", [at, shape], name)

    def same_image(self, name: str, dims: list[int], features: str, output: str) -> None:
        """The image, weighed by what all inputs have in common."""
        weight = self.node("Sigmoid", [self.node("ReduceMean", [features], axes=[1], keepdims=1)])
        lifted = self.node(
            "Reshape", [weight, self.constant(np.array([-1] + [1] * (len(dims) - 1), np.int64))]
        )
        self.node("Mul", [name, lifted], output)

    def finish(self, inputs: dict[str, list[int]], outputs: tuple[Output, ...]) -> onnx.ModelProto:
        def shape(name: str, dims: list[int]) -> list[str | int]:
            return [f"{name}_{i}" if d < 0 else d for i, d in enumerate(dims)]

        given = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape(name.replace("/", "_"), dims))
            for name, dims in inputs.items()
        ]
        first = next(iter(inputs.values()))
        made = []
        for i, o in enumerate(outputs):
            batch = first[0] if len(first) > 1 else 1
            dims = first if isinstance(o.dims, str) else [batch, *o.dims]
            made.append(helper.make_tensor_value_info(f"output_{i}", o.dtype, shape(f"o{i}", dims)))
        graph = helper.make_graph(self.nodes, "stand_in", given, made, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def _channels_first(dims: list[int]) -> bool:
    return dims[1] in (1, 2, 3, 4) or dims[3] not in (1, 2, 3, 4)
