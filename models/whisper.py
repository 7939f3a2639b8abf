"""Whisper: an encoder of spectrograms behind two convolutions, and a decoder that attends to it."""

from __future__ import annotations

import math

import torch
from decoders import VOCABULARY, WIDTH, causal_mask
from torch import nn
from torch.nn import functional as F

HEADS = 4


def sinusoids(length: int, width: int) -> torch.Tensor:
    """[length, width]: sines, then cosines, of geometrically spaced frequencies."""
    step = math.log(10000) / (width // 2 - 1)
    times = torch.arange(length)[:, None] * torch.exp(-step * torch.arange(width // 2))[None, :]
    return torch.cat([times.sin(), times.cos()], dim=1)


class Attention(nn.Module):
    """Keys have no bias; queries are scaled before the product."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.k = nn.Linear(WIDTH, WIDTH, bias=False)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], -1, HEADS, WIDTH // HEADS).transpose(1, 2).contiguous()

    def forward(
        self, x: torch.Tensor, source: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        q = self.split(self.q(x) * (WIDTH // HEADS) ** -0.5)
        k, v = self.split(self.k(source)), self.split(self.v(source))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)
        return self.o(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, decodes: bool) -> None:
        super().__init__()
        self.own, self.norm = Attention(), nn.LayerNorm(WIDTH)
        if decodes:
            self.cross, self.cross_norm = Attention(), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.last_norm = nn.LayerNorm(WIDTH)

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor | None = None, source: torch.Tensor | None = None
    ) -> torch.Tensor:
        normal = self.norm(x)
        x = x + self.own(normal, normal, mask)
        if source is not None:
            x = x + self.cross(self.cross_norm(x), source)
        x = x + self.down(F.gelu(self.up(self.last_norm(x))))
        if x.dtype == torch.float16:
            limit = torch.finfo(x.dtype).max - 1000
            x = torch.clamp(x, min=-limit, max=limit)
        return x


class Encoder(nn.Module):
    """input_features [B, mels, frames] -> [B, frames / 2, width]"""

    def __init__(self, mels: int = 16, positions: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.stem1 = nn.Conv1d(mels, WIDTH, kernel_size=3, padding=1)
        self.stem2 = nn.Conv1d(WIDTH, WIDTH, kernel_size=3, stride=2, padding=1)
        self.positions = nn.Parameter(sinusoids(positions, WIDTH), requires_grad=False)
        self.layers = nn.ModuleList(Layer(decodes=False) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, input_features: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.stem2(F.gelu(self.stem1(input_features)))).permute(0, 2, 1)
        x = x + self.positions[: x.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Decoder(nn.Module):
    """input_ids [B, S], encoder_hidden_states [B, T, width] -> logits [B, S, V]"""

    def __init__(self, positions: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.randn(positions, WIDTH) * 0.1)
        self.layers = nn.ModuleList(Layer(decodes=True) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, input_ids: torch.Tensor, encoder_hidden_states: torch.Tensor) -> torch.Tensor:
        length = input_ids.shape[1]
        x = self.words(input_ids) + self.positions[torch.arange(length, device=input_ids.device)]
        mask = causal_mask(x, length)
        for layer in self.layers:
            x = layer(x, mask, encoder_hidden_states)
        return F.linear(self.norm(x), self.words.weight)
