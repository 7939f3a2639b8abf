"""Causal language models as transformers writes them: GPT-2, Llama, Qwen2 and Gemma 2, tiny."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 128
WIDTH = 32


class Conv1D(nn.Module):
    """GPT-2's linear layer: the weight is [in, out], the product an addmm."""

    def __init__(self, fan_in: int, fan_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(fan_in, fan_out) * fan_in**-0.5)
        self.bias = nn.Parameter(torch.randn(fan_out) * 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return flat.view(*x.shape[:-1], self.bias.numel())


class Gpt2Block(nn.Module):
    def __init__(self, heads: int = 4, positions: int = 64) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = Conv1D(WIDTH, 3 * WIDTH), Conv1D(WIDTH, WIDTH)
        self.up, self.down = Conv1D(WIDTH, 4 * WIDTH), Conv1D(4 * WIDTH, WIDTH)
        allowed = torch.ones(positions, positions, dtype=torch.bool).tril()
        self.register_buffer("allowed", allowed[None, None], persistent=False)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:-1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.split(t) for t in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / q.size(-1) ** 0.5
        steps, keys = q.size(-2), k.size(-2)
        allowed = self.allowed[:, :, keys - steps : keys, :keys]
        low = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype, device=scores.device)
        weights = torch.where(allowed, scores, low).softmax(-1)
        mixed = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
        x = x + self.out(mixed.view(*mixed.shape[:-2], WIDTH))
        h = self.up(self.norm2(x))
        h = 0.5 * h * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (h + 0.044715 * torch.pow(h, 3.0))))
        return x + self.down(h)


class Gpt2(nn.Module):
    """input_ids [B, S] -> logits [B, S, V], the head tied to the embedding."""

    def __init__(self, layers: int = 2, positions: int = 64) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(positions, WIDTH)
        self.blocks = nn.ModuleList(Gpt2Block(positions=positions) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        shape = input_ids.size()
        ids = input_ids.view(-1, shape[-1])
        positions = torch.arange(0, shape[-1], dtype=torch.long, device=ids.device).unsqueeze(0)
        x = self.words(ids) + self.places(positions)
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x).view(*shape, WIDTH), self.words.weight)


@dataclass(frozen=True)
class Style:
    """What tells the descendants of Llama apart."""

    heads: int = 4
    kv_heads: int = 2
    qkv_bias: bool = False  # Qwen2
    gemma: bool = False  # (1 + w) norms around both halves, GeGLU, scaled embedding
    soft_cap: float = 0.0  # of the attention's logits; the head's is 30
    window: int = 0  # of every second layer


LLAMA = Style()
QWEN2 = Style(qkv_bias=True)
GEMMA = Style(gemma=True, soft_cap=50.0, window=4)


class RMSNorm(nn.Module):
    """In float32 whatever the input is; Gemma multiplies by 1 + w before it narrows, Llama by w after."""

    def __init__(self, width: int, gemma: bool = False, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.gemma, self.epsilon = gemma, epsilon
        self.weight = nn.Parameter(torch.randn(width) * 0.1 + (0.0 if gemma else 1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        if self.gemma:
            return (normal * (1.0 + self.weight.float())).type_as(x)
        return self.weight * normal.to(x.dtype)


class Rotary(nn.Module):
    """cos and sin [B, S, D] of the positions' angles, computed in float32."""

    def __init__(self, size: int, base: float = 10000.0) -> None:
        super().__init__()
        frequency = 1.0 / base ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
        self.register_buffer("frequency", frequency, persistent=False)

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.frequency[None, :, None].float().expand(position_ids.shape[0], -1, 1)
        angles = (rows @ position_ids[:, None, :].float()).transpose(1, 2)
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x [B, H, S, D] rotated by the angles of [B, S, D]."""
    return x * cos.unsqueeze(1) + rotate_half(x) * sin.unsqueeze(1)


def repeat_heads(x: torch.Tensor, groups: int) -> torch.Tensor:
    """[B, KV, S, D] -> [B, KV * groups, S, D]"""
    batch, heads, length, size = x.shape
    wide = x[:, :, None, :, :].expand(batch, heads, groups, length, size)
    return wide.reshape(batch, heads * groups, length, size)


def causal_mask(x: torch.Tensor, total: int, window: int = 0) -> torch.Tensor:
    """[S, T]: the lowest float where a key is after the query, or `window` or more before it; else 0."""
    steps = x.shape[1]
    queries = torch.arange(total - steps, total, device=x.device)[:, None]
    keys = torch.arange(total, device=x.device)[None, :]
    hidden = keys > queries
    if window:
        hidden = hidden | (keys <= queries - window)
    return torch.zeros_like(hidden, dtype=x.dtype).masked_fill(hidden, torch.finfo(x.dtype).min)


class Attention(nn.Module):
    def __init__(self, style: Style, windowed: bool) -> None:
        super().__init__()
        self.style, self.windowed, self.size = style, windowed, WIDTH // style.heads
        kv = style.kv_heads * self.size
        self.q = nn.Linear(WIDTH, WIDTH, bias=style.qkv_bias)
        self.k, self.v = (nn.Linear(WIDTH, kv, bias=style.qkv_bias) for _ in range(2))
        self.o = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(
        self,
        x: torch.Tensor,
        turn: tuple[torch.Tensor, torch.Tensor],
        past: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        q, k, v = (m(x).view(*x.shape[:2], -1, self.size).transpose(1, 2) for m in (self.q, self.k, self.v))
        q, k = rotate(q, *turn), rotate(k, *turn)
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        groups = self.style.heads // self.style.kv_heads
        scores = torch.matmul(q, repeat_heads(k, groups).transpose(2, 3)) * self.size**-0.5
        if self.style.soft_cap:
            scores = torch.tanh(scores / self.style.soft_cap) * self.style.soft_cap
        scores = scores + causal_mask(x, k.shape[2], self.style.window if self.windowed else 0)
        weights = scores.softmax(-1, dtype=torch.float32).to(q.dtype)
        mixed = torch.matmul(weights, repeat_heads(v, groups)).transpose(1, 2).contiguous()
        return self.o(mixed.reshape(*x.shape[:2], -1)), (k, v)


class GatedLayer(nn.Module):
    def __init__(self, gemma: bool = False, hidden: int = 80) -> None:
        super().__init__()
        self.gemma = gemma
        self.gate, self.up = (nn.Linear(WIDTH, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.gate(x)
        active = F.gelu(gate, approximate="tanh") if self.gemma else F.silu(gate)
        return self.down(active * self.up(x))


class Block(nn.Module):
    def __init__(self, style: Style, layer: int) -> None:
        super().__init__()
        self.attention = Attention(style, windowed=bool(style.window) and layer % 2 == 0)
        self.feed_forward = GatedLayer(style.gemma)
        self.norms = nn.ModuleList(RMSNorm(WIDTH, style.gemma) for _ in range(4 if style.gemma else 2))

    def forward(
        self,
        x: torch.Tensor,
        turn: tuple[torch.Tensor, torch.Tensor],
        past: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        mixed, kept = self.attention(self.norms[0](x), turn, past)
        if len(self.norms) == 2:
            x = x + mixed
            return x + self.feed_forward(self.norms[1](x)), kept
        x = x + self.norms[1](mixed)
        return x + self.norms[3](self.feed_forward(self.norms[2](x))), kept


class Decoder(nn.Module):
    """input_ids [B, S], past keys and values [B, KV, P, D] of each layer, if any -> logits [B, S, V], and
    with a past the keys and values of all positions."""

    def __init__(self, style: Style, layers: int = 2) -> None:
        super().__init__()
        self.style = style
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(style, i) for i in range(layers))
        self.rotary = Rotary(WIDTH // style.heads)
        self.norm = RMSNorm(WIDTH, style.gemma)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, input_ids: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = past[0].shape[2] if past else 0
        positions = torch.arange(before, before + input_ids.shape[1], device=input_ids.device)
        x = self.words(input_ids)
        if self.style.gemma:
            x = x * torch.tensor(WIDTH**0.5, dtype=x.dtype)
        turn = self.rotary(x, positions.unsqueeze(0))
        kept: list[torch.Tensor] = []
        for i, block in enumerate(self.blocks):
            x, present = block(x, turn, (past[2 * i], past[2 * i + 1]) if past else None)
            kept += present
        logits = self.head(self.norm(x))
        if self.style.gemma:
            logits = torch.tanh(logits / 30.0) * 30.0
        return (logits, *kept) if past else (logits,)


class ContinuedDecoder(Decoder):
    """The decoder after a past, whose keys and values of each of two layers are inputs of their own."""

    def forward(
        self,
        input_ids: torch.Tensor,
        key0: torch.Tensor,
        value0: torch.Tensor,
        key1: torch.Tensor,
        value1: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        return super().forward(input_ids, key0, value0, key1, value1)
