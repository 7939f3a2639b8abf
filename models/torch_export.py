"""What the PyTorch-made models share: exporting a module with either of torch's exporters."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import onnx
import torch

EXPORTERS = ("torchscript", "dynamo")


def export(
    module: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
    input_names: Sequence[str],
    output_names: Sequence[str],
    dynamic: dict[str, dict[int, str]] | None = None,
    opset: int = 17,
    exporter: str = "torchscript",
) -> onnx.ModelProto:
    """Exports in evaluation mode; `dynamic` names the free dimensions per input."""
    module = module.eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if exporter == "torchscript":
            buffer = io.BytesIO()
            torch.onnx.export(
                module,
                tuple(inputs),
                buffer,
                input_names=list(input_names),
                output_names=list(output_names),
                dynamic_axes=dynamic,
                opset_version=opset,
                dynamo=False,
            )
            return onnx.load_from_string(buffer.getvalue())
        shapes = None
        if dynamic:
            dims = {name: torch.export.Dim(name) for axes in dynamic.values() for name in axes.values()}
            shapes = tuple({a: dims[n] for a, n in dynamic.get(name, {}).items()} for name in input_names)
        program = torch.onnx.export(
            module,
            tuple(inputs),
            input_names=list(input_names),
            output_names=list(output_names),
            dynamic_shapes=shapes,
            opset_version=max(opset, 18),
            dynamo=True,
            verbose=False,
        )
        return program.model_proto


def randomise(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """Gives normalisation layers statistics that a trained model could have, so folding them shows."""
    generator = torch.Generator().manual_seed(seed)
    for layer in module.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1, generator=generator)
            layer.running_var.uniform_(0.8, 1.2, generator=generator)
            layer.weight.data.uniform_(0.8, 1.2, generator=generator)
            layer.bias.data.normal_(0, 0.1, generator=generator)
    return module
