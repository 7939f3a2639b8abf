"""MobileNetV2, exported by PyTorch."""

from __future__ import annotations

import argparse

import onnx
import torch
from graph_builder import dimension, save_from_command_line
from torch import nn
from torch_export import EXPORTERS, export, randomise

#: expansion, channels, repeats, stride of the first
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def convolution(fan_in: int, fan_out: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    layer = nn.Conv2d(fan_in, fan_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [layer, nn.BatchNorm2d(fan_out)]


class InvertedResidual(nn.Module):
    def __init__(self, fan_in: int, fan_out: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = fan_in * expansion
        layers = [*convolution(fan_in, hidden, 1), nn.ReLU6()] if expansion > 1 else []
        layers += [
            *convolution(hidden, hidden, 3, stride, hidden),
            nn.ReLU6(),
            *convolution(hidden, fan_out, 1),
        ]
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and fan_in == fan_out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes: int, width: float) -> None:
        super().__init__()
        fan_in = max(8, int(32 * width))
        layers: list[nn.Module] = [*convolution(3, fan_in, 3, 2), nn.ReLU6()]
        for expansion, channels, repeats, stride in STAGES:
            fan_out = max(8, int(channels * width))
            for i in range(repeats):
                layers.append(InvertedResidual(fan_in, fan_out, stride if i == 0 else 1, expansion))
                fan_in = fan_out
        last = max(64, int(1280 * width))
        layers += [*convolution(fan_in, last, 1), nn.ReLU6()]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(last, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


def build(
    batch: int | str = 1,
    image: int = 224,
    width: float = 1.0,
    classes: int = 1000,
    opset: int = 17,
    exporter: str = "torchscript",
) -> onnx.ModelProto:
    """x [batch, 3, image, image] -> logits [batch, classes]; `width` 1.0 is the published network."""
    torch.manual_seed(0)
    module = randomise(MobileNetV2(classes, width))
    example = torch.randn(batch if isinstance(batch, int) else 2, 3, image, image)
    dynamic = {"x": {0: batch}} if isinstance(batch, str) else None
    return export(module, [example], ["x"], ["logits"], dynamic, opset, exporter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=dimension, default=1)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--exporter", choices=EXPORTERS, default="torchscript")
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()
