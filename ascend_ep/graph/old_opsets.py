"""Models of ONNX's operator sets 1 to 6, brought to 7: from there on broadcasting is numpy's, and everything
that reads models knows the operators."""

from __future__ import annotations

import onnx
from onnx import version_converter

from ascend_ep.errors import AscendError
from ascend_ep.graph.proto_checks import DEFAULT_DOMAINS, Limits, check_model, graph_tensors

OLDEST_READ = 7


def modernised(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """`model` itself, or one of version 7 that computes the same. `model` has been checked.

    Raises AscendError E10041 for what ONNX's own converter can't bring there, and for old models with data
    outside the protobuf.
    """
    version = next((o.version for o in model.opset_import if o.domain in DEFAULT_DOMAINS), OLDEST_READ)
    if version >= OLDEST_READ:
        return model

    def refuse(reason: str) -> AscendError:
        text = f"ONNX operator set {version} can't be brought to {OLDEST_READ}: {reason}"
        return AscendError("E10041", where, text, fix="Export again with a newer opset_version.")

    if any(t.data_location == onnx.TensorProto.EXTERNAL for t in graph_tensors(model.graph)):
        raise refuse("its weights are external data")
    try:
        converted = version_converter.convert_version(model, OLDEST_READ)
    except Exception as error:  # the converter's own, RuntimeError, and what protobuf raises
        raise refuse((str(error).splitlines() or [type(error).__name__])[0][:300]) from error
    check_model(converted, where, Limits())
    return converted
