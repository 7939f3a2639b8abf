"""ViT, and SegFormer: overlapping patches, attention to a shortened sequence, and a head that resizes."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class VitLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, c = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, n, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Vit(nn.Module):
    """x [B, 3, 32, 32] -> logits [B, 10]"""

    def __init__(self, image: int = 32, patch: int = 8, width: int = 48, heads: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width) * 0.1)
        self.layers = nn.Sequential(*(VitLayer(width, heads) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


class ReducedAttention(nn.Module):
    """Keys and values of a sequence that a strided convolution has made `ratio`² times shorter."""

    def __init__(self, width: int, heads: int, ratio: int) -> None:
        super().__init__()
        self.heads, self.ratio = heads, ratio
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        if ratio > 1:
            self.reduce, self.norm = nn.Conv2d(width, width, ratio, ratio), nn.LayerNorm(width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        b, _, c = x.shape
        return x.view(b, -1, self.heads, c // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, height: int, width: int) -> torch.Tensor:
        b, n, c = x.shape
        q = self.split(self.q(x))
        source = x
        if self.ratio > 1:
            image = x.permute(0, 2, 1).reshape(b, c, height, width)
            source = self.norm(self.reduce(image).reshape(b, c, -1).permute(0, 2, 1))
        k, v = self.split(self.k(source)), self.split(self.v(source))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (c // self.heads) ** 0.5
        return self.o(torch.matmul(scores.softmax(-1), v).permute(0, 2, 1, 3).contiguous().view(b, n, c))


class MixLayer(nn.Module):
    """Attention, then a feed-forward layer with a depthwise convolution instead of positions."""

    def __init__(self, width: int, heads: int, ratio: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = ReducedAttention(width, heads, ratio)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.mix = nn.Conv2d(2 * width, 2 * width, 3, 1, 1, groups=2 * width)

    def forward(self, x: torch.Tensor, height: int, width: int) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), height, width)
        h = self.up(self.norm2(x))
        b, _, c = h.shape
        h = self.mix(h.transpose(1, 2).view(b, c, height, width)).flatten(2).transpose(1, 2)
        return x + self.down(F.gelu(h))


class SegFormer(nn.Module):
    """x [B, 3, H, W] -> logits [B, 5, H/4, W/4]"""

    WIDTHS, HEADS, RATIOS, STRIDES = (16, 24, 32), (1, 2, 4), (4, 2, 1), (4, 2, 2)

    def __init__(self) -> None:
        super().__init__()
        before = (3, *self.WIDTHS)
        self.patches = nn.ModuleList(
            nn.Conv2d(before[i], w, 2 * s - 1, s, s - 1)
            for i, (w, s) in enumerate(zip(self.WIDTHS, self.STRIDES, strict=True))
        )
        self.patch_norms = nn.ModuleList(nn.LayerNorm(w) for w in self.WIDTHS)
        self.layers = nn.ModuleList(
            MixLayer(*each) for each in zip(self.WIDTHS, self.HEADS, self.RATIOS, strict=True)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(w) for w in self.WIDTHS)
        self.projections = nn.ModuleList(nn.Linear(w, 24) for w in self.WIDTHS)
        self.fuse, self.fuse_norm = nn.Conv2d(72, 24, 1, bias=False), nn.BatchNorm2d(24)
        self.classifier = nn.Conv2d(24, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = []
        for patches, patch_norm, layer, norm in zip(
            self.patches, self.patch_norms, self.layers, self.norms, strict=True
        ):
            image = patches(x)
            b, c, height, width = image.shape
            tokens = layer(patch_norm(image.flatten(2).transpose(1, 2)), height, width)
            x = norm(tokens).reshape(b, height, width, c).permute(0, 3, 1, 2).contiguous()
            levels.append(x)
        raised = []
        for level, project in zip(levels, self.projections, strict=True):
            b, _, height, width = level.shape
            image = project(level.flatten(2).transpose(1, 2)).permute(0, 2, 1).reshape(b, -1, height, width)
            size = levels[0].shape[2:]
            raised.append(F.interpolate(image, size=size, mode="bilinear", align_corners=False))
        fused = F.relu(self.fuse_norm(self.fuse(torch.cat(raised[::-1], dim=1))))
        return self.classifier(fused)
