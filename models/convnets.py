"""ConvNeXt, EfficientNet, a UNet and a YOLO-style detector, tiny."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class ConvNextBlock(nn.Module):
    """A 7x7 depthwise convolution; norm and two linear layers over channels last; a learned scale."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, 1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(h)))).permute(0, 3, 1, 2)


class ChannelNorm(nn.Module):
    """LayerNorm of channels first, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class ConvNext(nn.Module):
    """x [B, 3, H, W] -> logits [B, 10]"""

    def __init__(self, widths: tuple[int, ...] = (16, 32)) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0])]
        for i, width in enumerate(widths):
            if i:
                layers += [ChannelNorm(widths[i - 1]), nn.Conv2d(widths[i - 1], width, 2, 2)]
            layers.append(ConvNextBlock(width))
        self.features = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(widths[-1], 1e-6), nn.Linear(widths[-1], 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.features(x).mean([-2, -1])))


def convolution(
    fan_in: int, fan_out: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    layer = nn.Conv2d(fan_in, fan_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(fan_out), nn.SiLU())


class MbConv(nn.Module):
    """EfficientNet's block: expand, depthwise, squeeze and excite, project."""

    def __init__(self, fan_in: int, fan_out: int, kernel: int, stride: int, expansion: int = 4) -> None:
        super().__init__()
        hidden = fan_in * expansion
        self.expand = convolution(fan_in, hidden)
        self.depthwise = convolution(hidden, hidden, kernel, stride, hidden)
        self.squeeze, self.excite = nn.Conv2d(hidden, fan_in // 2, 1), nn.Conv2d(fan_in // 2, hidden, 1)
        self.project = convolution(hidden, fan_out)[:2]
        self.residual = stride == 1 and fan_in == fan_out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.depthwise(self.expand(x))
        gate = self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(h, 1))))
        h = self.project(h * torch.sigmoid(gate))
        return x + h if self.residual else h


class EfficientNet(nn.Module):
    """x [B, 3, H, W] -> logits [B, 10]"""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            convolution(3, 8, 3, 2),
            MbConv(8, 16, 3, 2),
            MbConv(16, 16, 5, 1),
            MbConv(16, 24, 5, 2),
            convolution(24, 64),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


class DoubleConvolution(nn.Sequential):
    def __init__(self, fan_in: int, fan_out: int) -> None:
        layers: list[nn.Module] = []
        for width in (fan_in, fan_out):
            layers += [nn.Conv2d(width, fan_out, 3, padding=1), nn.BatchNorm2d(fan_out), nn.ReLU(True)]
        super().__init__(*layers)


class UNet(nn.Module):
    """x [B, 3, H, W] -> mask logits [B, 1, H, W]; one way up is transposed, the other bilinear.

    What comes up is padded to the size of the level it joins.
    """

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.enter = DoubleConvolution(3, width)
        self.down1, self.down2 = DoubleConvolution(width, 2 * width), DoubleConvolution(2 * width, 4 * width)
        self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.join1, self.join2 = DoubleConvolution(4 * width, 2 * width), DoubleConvolution(3 * width, width)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.out = nn.Conv2d(width, 1, 1)

    @staticmethod
    def joined(x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        rows, columns = level.size(2) - x.size(2), level.size(3) - x.size(3)
        x = F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return torch.cat([level, x], dim=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        level0 = self.enter(x)
        level1 = self.down1(F.max_pool2d(level0, 2))
        level2 = self.down2(F.max_pool2d(level1, 2))
        x = self.join1(self.joined(self.up1(level2), level1))
        return self.out(self.join2(self.joined(self.up2(x), level0)))


class Pyramid(nn.Module):
    """YOLO's SPPF: one 5x5 pooling three times over, all four concatenated."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter, self.leave = convolution(width, width // 2), convolution(2 * width, width)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        once = self.pool(x)
        twice = self.pool(once)
        return self.leave(torch.cat((x, once, twice, self.pool(twice)), 1))


class Yolo(nn.Module):
    """x [B, 3, H, W] -> [B, boxes, 5 + classes]: centre and size in pixels, then scores."""

    ANCHORS = (((10.0, 13.0), (16.0, 30.0)), ((30.0, 61.0), (62.0, 45.0)))
    STRIDES = (4, 8)

    def __init__(self, width: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.outputs = 5 + classes
        w = width
        self.stem = nn.Sequential(convolution(3, w, 3, 2), convolution(w, 2 * w, 3, 2))
        self.deep = nn.Sequential(convolution(2 * w, 4 * w, 3, 2), Pyramid(4 * w))
        self.lateral, self.merge = convolution(4 * w, 2 * w), convolution(4 * w, 2 * w, 3)
        self.heads = nn.ModuleList(nn.Conv2d(c, 2 * self.outputs, 1) for c in (2 * w, 4 * w))
        self.register_buffer("anchors", torch.tensor(self.ANCHORS), persistent=False)

    def boxes(self, x: torch.Tensor, level: int) -> torch.Tensor:
        b, _, rows, columns = x.shape
        x = x.view(b, 2, self.outputs, rows, columns).permute(0, 1, 3, 4, 2).contiguous()
        y, z = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        grid = torch.stack((z, y), 2).expand(1, 2, rows, columns, 2).to(x.dtype) - 0.5
        size = self.anchors[level].view(1, 2, 1, 1, 2)
        place, extent, scores = x.sigmoid().split((2, 2, self.outputs - 4), 4)
        place = (place * 2 + grid) * self.STRIDES[level]
        extent = (extent * 2) ** 2 * size
        return torch.cat((place, extent, scores), 4).view(b, -1, self.outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shallow = self.stem(x)
        deep = self.deep(shallow)
        raised = F.interpolate(self.lateral(deep), scale_factor=2.0, mode="nearest")
        merged = self.merge(torch.cat((raised, shallow), 1))
        return torch.cat(
            [self.boxes(h(f), i) for i, (h, f) in enumerate(zip(self.heads, (merged, deep), strict=True))], 1
        )
