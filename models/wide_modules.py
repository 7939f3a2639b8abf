"""Networks in real sizes of which no package makes one: recurrent, U-Net, detector, super-resolution,
diffusion, temporal convolutions, a table's classifier."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from convnets import UNet, Yolo
from torch import nn
from torch.nn import functional


class Recurrent(nn.Module):
    """x [B, S, features] -> the last state through a linear layer [B, 10]."""

    def __init__(self, kind: type[nn.RNNBase], features: int = 128, hidden: int = 256) -> None:
        super().__init__()
        self.layers = kind(features, hidden, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.layers(x)
        return self.out(states[:, -1])


class SuperResolution(nn.Module):
    """x [B, 3, h, w] -> [B, 3, 2h, 2w]: residual blocks without normalisation, and a pixel shuffle (EDSR)."""

    def __init__(self, width: int = 64, blocks: int = 8) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
            )
            for _ in range(blocks)
        )
        self.tail = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2))
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = first = self.head(x)
        for block in self.blocks:
            y = y + block(y)
        return self.out(self.tail(y + first))


class TemporalConvolutions(nn.Module):
    """x [B, channels, S] -> [B, 10]: causal convolutions, each dilated twice as far (TCN)."""

    def __init__(self, channels: int = 32, width: int = 128, layers: int = 8) -> None:
        super().__init__()
        sizes = [channels, *[width] * layers]
        self.layers = nn.ModuleList(
            nn.Conv1d(a, b, 3, dilation=1 << i) for i, (a, b) in enumerate(pairwise(sizes))
        )
        self.out = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers):
            y = torch.relu(layer(functional.pad(x, (2 << i, 0))))
            x = x + y if i else y
        return self.out(x[:, :, -1])


class DiffusionBlock(nn.Module):
    """GroupNorm, SiLU and a 3x3 convolution, twice, beside the input."""

    def __init__(self, fan_in: int, fan_out: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(32, fan_in), nn.SiLU(), nn.Conv2d(fan_in, fan_out, 3, padding=1)
        )
        self.last = nn.Sequential(
            nn.GroupNorm(32, fan_out), nn.SiLU(), nn.Conv2d(fan_out, fan_out, 3, padding=1)
        )
        self.beside = nn.Identity() if fan_in == fan_out else nn.Conv2d(fan_in, fan_out, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.beside(x) + self.last(self.first(x))


class SelfAttention(nn.Module):
    """Attention between the pixels of a map."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(32, width), heads
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, width, height, columns = x.shape
        parts = self.qkv(self.norm(x)).reshape(batch, 3, self.heads, width // self.heads, -1)
        q, k, v = parts.transpose(-1, -2).unbind(1)
        y = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(batch, width, height, columns))


class DiffusionUNet(nn.Module):
    """x [B, 4, h, w] -> [B, 4, h, w]: two steps down and up, with attention at the bottom."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.head = nn.Conv2d(4, width, 3, padding=1)
        self.down1, self.down2 = DiffusionBlock(width, width), DiffusionBlock(width, 2 * width)
        self.pool1, self.pool2 = (nn.Conv2d(c, c, 3, 2, 1) for c in (width, 2 * width))
        self.middle = nn.Sequential(
            DiffusionBlock(2 * width, 2 * width),
            SelfAttention(2 * width),
            DiffusionBlock(2 * width, 2 * width),
        )
        self.up2, self.up1 = DiffusionBlock(4 * width, width), DiffusionBlock(2 * width, width)
        self.out = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(self.head(x))
        second = self.down2(self.pool1(first))
        y = self.middle(self.pool2(second))
        y = self.up2(torch.cat([functional.interpolate(y, scale_factor=2.0), second], 1))
        y = self.up1(torch.cat([functional.interpolate(y, scale_factor=2.0), first], 1))
        return self.out(y)


def table_classifier() -> nn.Module:
    """x [B, 64] -> [B, 10]"""
    sizes = (64, 512, 512, 256)
    layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 10))


MODULES: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "unet": lambda: UNet(32),
    "detector": lambda: Yolo(32),
    "super_resolution": SuperResolution,
    "diffusion_unet": DiffusionUNet,
    "tcn": TemporalConvolutions,
    "table": table_classifier,
}
