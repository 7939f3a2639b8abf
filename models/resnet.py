"""ResNet-18 and ResNet-50, exported by PyTorch."""

from __future__ import annotations

import argparse

import onnx
import torch
from graph_builder import dimension, save_from_command_line
from torch import nn
from torch_export import EXPORTERS, export, randomise

#: blocks per stage, bottleneck?
DEPTHS = {18: ((2, 2, 2, 2), False), 50: ((3, 4, 6, 3), True)}


def normalised(fan_in: int, fan_out: int, kernel: int, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(fan_in, fan_out, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(fan_out))


class Block(nn.Module):
    def __init__(self, fan_in: int, width: int, fan_out: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        if bottleneck:
            self.first, self.last = normalised(fan_in, width, 1), normalised(width, fan_out, 1)
            self.middle = normalised(width, width, 3, stride)
        else:
            self.first, self.last = normalised(fan_in, width, 3, stride), normalised(width, fan_out, 3)
            self.middle = None
        same = stride == 1 and fan_in == fan_out
        self.shortcut = nn.Identity() if same else normalised(fan_in, fan_out, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        if self.middle is not None:
            y = torch.relu(self.middle(y))
        return torch.relu(self.last(y) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, depth: int, width: int, classes: int) -> None:
        super().__init__()
        counts, bottleneck = DEPTHS[depth]
        self.stem = normalised(3, width, 7, 2)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks: list[nn.Module] = []
        fan_in = width
        for stage, count in enumerate(counts):
            inner = width << stage
            fan_out = inner * 4 if bottleneck else inner
            for i in range(count):
                blocks.append(Block(fan_in, inner, fan_out, 2 if stage and i == 0 else 1, bottleneck))
                fan_in = fan_out
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(fan_in, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.pool(torch.relu(self.stem(x))))
        return self.classifier(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


def build(
    depth: int = 50,
    batch: int | str = 1,
    image: int = 224,
    width: int = 64,
    classes: int = 1000,
    opset: int = 17,
    exporter: str = "torchscript",
) -> onnx.ModelProto:
    """x [batch, 3, image, image] -> logits [batch, classes]; `width` 64 is the published network."""
    torch.manual_seed(0)
    module = randomise(ResNet(depth, width, classes))
    example = torch.randn(batch if isinstance(batch, int) else 2, 3, image, image)
    dynamic = {"x": {0: batch}} if isinstance(batch, str) else None
    return export(module, [example], ["x"], ["logits"], dynamic, opset, exporter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, choices=sorted(DEPTHS), default=50)
    parser.add_argument("--batch", type=dimension, default=1)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--exporter", choices=EXPORTERS, default="torchscript")
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()
