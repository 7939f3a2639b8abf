"""T5: encoder and decoder with buckets of relative positions, unscaled attention, norms without a mean."""

from __future__ import annotations

import math

import torch
from decoders import VOCABULARY, WIDTH, RMSNorm, causal_mask
from torch import nn

HEADS = 4


def bucket(distance: torch.Tensor, both_ways: bool, buckets: int = 8, farthest: int = 16) -> torch.Tensor:
    """Bucket of each distance key - query: exact when near, logarithmic when far."""
    found = torch.zeros_like(distance)
    if both_ways:
        buckets //= 2
        found = found + (distance > 0).to(torch.long) * buckets
        distance = torch.abs(distance)
    else:
        distance = -torch.min(distance, torch.zeros_like(distance))
    exact = buckets // 2
    far = torch.log(distance.float() / exact) / math.log(farthest / exact) * (buckets - exact)
    beyond = exact + far.to(torch.long)
    beyond = torch.min(beyond, torch.full_like(beyond, buckets - 1))
    return found + torch.where(distance < exact, distance, beyond)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor, source: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        b = x.shape[0]
        q = self.q(x).view(b, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
        k = self.k(source).view(b, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
        v = self.v(source).view(b, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(3, 2)) + bias
        weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        return self.o(torch.matmul(weights, v).transpose(1, 2).contiguous().view(b, -1, WIDTH))


class GatedGelu(nn.Module):
    """Of T5 1.1; the first T5 has a ReLU between two layers."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.gelu(self.gate(x), approximate="tanh") * self.up(x))


class Stack(nn.Module):
    def __init__(self, layers: int, decodes: bool) -> None:
        super().__init__()
        self.decodes = decodes
        self.bias = nn.Embedding(8, HEADS)
        self.own = nn.ModuleList(Attention() for _ in range(layers))
        self.cross = nn.ModuleList(Attention() for _ in range(layers if decodes else 0))
        self.feed_forward = nn.ModuleList(GatedGelu() for _ in range(layers))
        self.norms = nn.ModuleList(RMSNorm(WIDTH) for _ in range(3 * layers + 1))

    def position_bias(self, x: torch.Tensor) -> torch.Tensor:
        """[1, heads, S, S]"""
        places = torch.arange(x.shape[1], dtype=torch.long, device=x.device)
        buckets = bucket(places[None, :] - places[:, None], not self.decodes)
        return self.bias(buckets).permute(2, 0, 1).unsqueeze(0)

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor | None = None
    ) -> torch.Tensor:
        bias = self.position_bias(x)
        own = bias + causal_mask(x, x.shape[1]) if self.decodes else bias + mask
        for i, (attention, feed_forward) in enumerate(zip(self.own, self.feed_forward, strict=True)):
            normal = self.norms[3 * i](x)
            x = x + attention(normal, normal, own)
            if source is not None:
                x = x + self.cross[i](self.norms[3 * i + 1](x), source, mask)
            x = x + feed_forward(self.norms[3 * i + 2](x))
        return self.norms[-1](x)


class T5(nn.Module):
    """input_ids, attention_mask [B, S], decoder_input_ids [B, T] -> logits [B, T, V]."""

    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder, self.decoder = Stack(layers, decodes=False), Stack(layers, decodes=True)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, decoder_input_ids: torch.Tensor
    ) -> torch.Tensor:
        mask = attention_mask[:, None, None, :].to(self.words.weight.dtype)
        mask = (1.0 - mask) * torch.finfo(mask.dtype).min
        encoded = self.encoder(self.words(input_ids), mask)
        decoded = self.decoder(self.words(decoder_input_ids), mask, encoded)
        return nn.functional.linear(decoded * WIDTH**-0.5, self.words.weight)
