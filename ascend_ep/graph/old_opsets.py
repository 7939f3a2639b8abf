"""Models of ONNX's operator sets 1 to 6, brought to 7: from there on broadcasting is numpy's, and everything
that reads models knows the operators."""

from __future__ import annotations

import onnx
from onnx import version_converter

from ascend_ep.errors import AscendError
from ascend_ep.graph.proto_checks import DEFAULT_DOMAINS, Limits, check_model

OLDEST_READ = 7


def modernised(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """`model` itself, or one of version 7 that computes the same. `model` has been checked.

    Raises AscendError E10041 for what ONNX's own converter can't bring there.
    """
    version = next((o.version for o in model.opset_import if o.domain in DEFAULT_DOMAINS), OLDEST_READ)
    if version >= OLDEST_READ:
        return model

    def refuse(reason: str) -> AscendError:
        text = f"ONNX operator set {version} can't be brought to {OLDEST_READ}: {reason}"
        return AscendError("E10041", where, text, fix="Export again with a newer opset_version.")

    try:
        converted = _without_weights(model)
        _spread_slopes(converted)
    except Exception as error:  # the converter's own, RuntimeError, and what protobuf raises
        raise refuse((str(error).splitlines() or [type(error).__name__])[0][:300]) from error
    check_model(converted, where, Limits())
    return converted


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Converted with inputs in the place of initializers, whose data the converter doesn't need."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    graph, given = bare.graph, {i.name for i in model.graph.input}
    added = [t for t in graph.initializer if t.name not in given]
    graph.input.extend(onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in added)
    del graph.initializer[:]
    converted: onnx.ModelProto = version_converter.convert_version(bare, OLDEST_READ)
    kept = [i for i in converted.graph.input if i.name in given]
    del converted.graph.input[:]
    converted.graph.input.extend(kept)
    converted.graph.initializer.extend(model.graph.initializer)
    return converted


def _spread_slopes(model: onnx.ModelProto) -> None:
    """PRelu's slopes of before version 7 are one a channel; since then they broadcast as numpy does."""
    prelus = [node for node in model.graph.node if node.op_type == "PRelu"]
    if not prelus:
        return
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {
        v.name: v.type.tensor_type.shape.dim
        for v in (*graph.input, *graph.value_info, *graph.output)
        if v.type.tensor_type.HasField("shape")
    }
    weights = {t.name: t for t in model.graph.initializer}
    for node in prelus:
        value, slope = node.input[:2]
        if slope not in weights or value not in shapes:
            raise ValueError("the slopes of PRelu are no constant, or the rank of its input is unknown")
        if len(weights[slope].dims) == 1 and weights[slope].dims[0] > 1:
            weights[slope].dims.extend([1] * (len(shapes[value]) - 2))
