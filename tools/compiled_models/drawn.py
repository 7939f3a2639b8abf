"""Models that nobody picked: drawn by a seed from all that timm, torchvision and transformers list."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiled_models.model import Family, Model
from compiled_models.picked import without_its_library

#: Larger ones are passed over.
MOST_WEIGHTS = 40_000_000
EDGE = 64


class PassedOver(Exception):
    """A model that isn't tried, and why."""


def drawn(names: Sequence[str], seed: int) -> list[str]:
    return random.Random(seed).sample(sorted(names), len(names))


def of_timm(seed: int) -> Family:
    without_its_library()
    import timm

    for name in drawn(timm.list_models(), seed):
        yield name, lambda name=name: _timm(name)


def _timm(name: str) -> Model:
    import timm

    with torch.device("meta"):
        _small(timm.create_model(name, pretrained=False))
    for more in ({"img_size": 96}, {"img_size": 128}, {}):
        try:
            model = timm.create_model(name, pretrained=False, **more)
            channels, *edges = model.default_cfg["input_size"]
            edge = more.get("img_size") or (
                128 if not model.default_cfg.get("fixed_input_size") else edges[-1]
            )
            with torch.no_grad():
                model.eval()(torch.randn(1, channels, edge, edge))
        except Exception:  # one that takes no size, or not this one
            continue
        return Model(model, _pictures("x", channels, edge))
    raise PassedOver("no size of picture is known that it takes")


def _pictures(name: str, channels: int, edge: int) -> Callable[[int], dict[str, torch.Tensor]]:
    return lambda n: {name: torch.randn(n, channels, edge, edge)}


def of_torchvision(seed: int) -> Family:
    without_its_library()
    import torchvision

    names = [n for n in torchvision.models.list_models() if "quantized" not in n]
    for name in drawn(names, seed):
        yield name, lambda name=name: _torchvision(name)


def _torchvision(name: str) -> Model:
    import torchvision

    builder = torchvision.models.get_model_builder(name)
    where = builder.__module__.split(".")[2]
    more: dict[str, Any] = {"weights": None}
    if where in ("detection", "segmentation"):
        more["weights_backbone"] = None
    with torch.device("meta"):
        _small(builder(**more))
    model = builder(**more)
    if where == "detection":
        pictures = lambda n: {"images": [torch.rand(3, 96, 128) for _ in range(min(n, 2))]}  # noqa: E731
        model.transform.min_size, model.transform.max_size = (96,), 128  # but of those that fix one size
        return Model(model, pictures, trains=False)
    if where == "video":
        edge = 224 if name.startswith(("mvit", "swin")) else 64
        return Model(model, lambda n: {"x": torch.randn(n, 3, 16, edge, edge)})
    if where == "optical_flow":
        two = ("image1", "image2")
        return Model(model, lambda n: {k: torch.randn(n, 3, 128, 128) for k in two})
    for edge in (EDGE, 224, 299):
        try:
            with torch.no_grad():
                model.eval()(torch.randn(1, 3, edge, edge))
        except Exception:  # too small a picture
            continue
        only = "input" if where == "inception" else "x"
        return Model(_Positional(model), _pictures(only, 3, edge))
    raise PassedOver("no size of picture is known that it takes")


class _Positional(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, **given: torch.Tensor) -> Any:
        return self.inner(*given.values())


def of_transformers(seed: int) -> Family:
    without_its_library()
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    for name in drawn(list(MODEL_MAPPING_NAMES), seed):
        yield name, lambda name=name: _transformers(name)


def _transformers(name: str) -> Model:
    from model_families.tiny import LeftOut, ways

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module, inputs = next(ways(name))
    except LeftOut as reason:
        raise PassedOver(str(reason)) from reason
    rows = [v.shape[0] for v in inputs.values()]

    def make(n: int) -> dict[str, torch.Tensor]:
        if set(rows) != {2} or module.constants:
            return inputs
        return {k: v[torch.arange(n) % 2] for k, v in inputs.items()}

    return Model(_Positional(module), make)


def _small(model: torch.nn.Module) -> None:
    weights = sum(p.numel() for p in model.parameters())
    if weights > MOST_WEIGHTS:
        raise PassedOver(f"{weights} weights")
