"""Architectures of torchvision and transformers in their real sizes, and some of neither, with random
weights: what nobody tuned for.

`build("densenet121", batch=1)` gives the ONNX model as PyTorch's exporter writes it. Needs torchvision and
transformers, which tests don't.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from graph_builder import save_from_command_line
from numpy.typing import NDArray
from torch import nn
from torch_export import export, randomise
from wide_modules import MODULES
from wide_names import CLASSIFIERS, IMAGE, MODULE_SHAPES, SEGMENTERS, SHAPES, TOKENS, TRANSFORMERS, Shape


class First(nn.Module):
    """The first of what a module returns, by whatever name."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.inner(x)
        if isinstance(found, torch.Tensor):
            return found
        if hasattr(found, "values"):
            found = tuple(found.values())
        first: torch.Tensor = found[0]
        return first


@dataclass(frozen=True)
class Architecture:
    """`make()` gives the module, whose only input has this shape behind the batch."""

    make: Callable[[], nn.Module]
    shape: Shape

    def sample(self, batch: int) -> torch.Tensor:
        torch.manual_seed(batch)
        if len(self.shape) == 1 and self.shape[0] == TOKENS:
            return torch.randint(5, 1000, (batch, *self.shape))
        return torch.randn(batch, *self.shape)


def _import_torchvision() -> None:
    """torchvision's own library doesn't load beside a build of torch for CPUs alone, and then torchvision
    fails at the operators that it describes unasked. None of these networks has them."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(
                f"torchvision::{name}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor"
            )
        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        importlib.import_module("torchvision")


def _torchvision(name: str) -> nn.Module:
    import torchvision.models as made

    family = made.segmentation if name in SEGMENTERS else made
    options = {"weights_backbone": None} if name in SEGMENTERS else {}
    options |= {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    module: nn.Module = getattr(family, name)(weights=None, **options)
    return module


def _transformers(name: str) -> nn.Module:
    import transformers

    kind, given, _ = TRANSFORMERS[name]
    module = getattr(transformers, kind, None)
    if module is None:
        from transformers.models.whisper.modeling_whisper import WhisperEncoder as module
    config = module.config_class(**given)
    config.use_cache = False
    made: nn.Module = module(config)
    return made


def _architectures() -> dict[str, Architecture]:
    found = {n: Architecture(lambda n=n: _torchvision(n), IMAGE) for n in (*CLASSIFIERS, *SEGMENTERS)}
    found["inception_v3"] = Architecture(lambda: _torchvision("inception_v3"), (3, 299, 299))
    for name, (_, _, kind) in TRANSFORMERS.items():
        found[name] = Architecture(lambda n=name: _transformers(n), SHAPES[kind])
    found |= {name: Architecture(make, MODULE_SHAPES[name]) for name, make in MODULES.items()}
    return found


_import_torchvision()
ARCHITECTURES = _architectures()


def build(architecture: str, batch: int = 1, opset: int = 18) -> onnx.ModelProto:
    """x [batch, ..] -> y: the named architecture with fixed sizes. Raises KeyError."""
    chosen = ARCHITECTURES[architecture]
    torch.manual_seed(0)
    module = First(randomise(chosen.make()).eval())
    return export(module, [chosen.sample(batch)], ["x"], ["y"], None, opset, "dynamo")


def sample_inputs(architecture: str, batch: int = 1) -> dict[str, NDArray[np.generic]]:
    return {"x": ARCHITECTURES[architecture].sample(batch).numpy()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("architecture", choices=sorted(ARCHITECTURES))
    parser.add_argument("--batch", type=int, default=1)
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()
