"""Models from both of PyTorch's exporters, and whether a fused one computes the same."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import torch
from torch import nn

from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.registry import Registry

EXPORTERS = ["torchscript", "dynamo"]
#: per input, the names of its free axes
Free = Sequence[dict[int, str]]


def export(
    module: nn.Module, inputs: Sequence[torch.Tensor], exporter: str, free: Free = (), opset: int = 18
) -> onnx.ModelProto:
    """The model with inputs x0, x1, ... and output y."""
    names = [f"x{i}" for i in range(len(inputs))]
    module.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            shapes = tuple({a: torch.export.Dim(n) for a, n in axes.items()} for axes in free) or None
            program = torch.onnx.export(
                module, tuple(inputs), input_names=names, output_names=["y"], opset_version=opset,
                dynamo=True, dynamic_shapes=shapes, verbose=False,
            )  # fmt: skip
            return program.model_proto
        buffer = io.BytesIO()
        torch.onnx.export(
            module, tuple(inputs), buffer, input_names=names, output_names=["y"], opset_version=opset,
            dynamo=False, dynamic_axes=dict(zip(names, free, strict=False)),
        )  # fmt: skip
    return onnx.load_from_string(buffer.getvalue())


def assert_same(
    original: onnx.ModelProto, model: ir.Model, inputs: Sequence[torch.Tensor], registry: Registry
) -> None:
    """Fused operators by their definitions and by their bodies, in float64, and the bodies in onnxruntime."""
    feeds = {f"x{i}": t.numpy() for i, t in enumerate(inputs)}
    wanted = reference_run(original, feeds, registry)["y"]
    proto = ir.to_proto(model)
    proto.ir_version = 10
    by_definition = reference_run(proto, feeds, registry)["y"]
    np.testing.assert_allclose(by_definition, wanted, rtol=1e-5, atol=1e-6)  # literals are float32
    by_body = reference_run(proto, feeds, Registry(builtin=False))["y"]
    np.testing.assert_allclose(by_body, wanted, rtol=1e-10, atol=1e-12)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, feeds)[0], wanted, rtol=1e-4, atol=1e-5)
