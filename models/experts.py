"""Mixtures of experts and DeepSeek's latent attention, in the dense forms that can be exported."""

from __future__ import annotations

import torch
from decoders import VOCABULARY, WIDTH, GatedLayer, RMSNorm, Rotary, causal_mask, rotate
from torch import nn
from torch.nn import functional as F

EXPERTS = 4


class ScatterRouter(nn.Module):
    """Mixtral's choice: softmax, the best `k`, their weights scaled to 1 and scattered to all experts.

    All experts compute all tokens by a batched product, as transformers exports them.
    """

    def __init__(self, k: int = 2, hidden: int = 48) -> None:
        super().__init__()
        self.k = k
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.gate_up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * hidden) * WIDTH**-0.5)
        self.down = nn.Parameter(torch.randn(EXPERTS, hidden, WIDTH) * hidden**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, WIDTH)
        chances = F.softmax(self.router(flat), dim=-1, dtype=torch.float32)
        best, chosen = torch.topk(chances, self.k, dim=-1)
        best = (best / best.sum(dim=-1, keepdim=True)).to(x.dtype)
        weights = torch.zeros_like(chances, dtype=x.dtype).scatter_(1, chosen, best)
        spread = flat.repeat(EXPERTS, 1).view(EXPERTS, -1, WIDTH)
        gate, up = torch.bmm(spread, self.gate_up).chunk(2, dim=-1)
        mixed = torch.bmm(F.silu(gate) * up, self.down)
        return (mixed * weights.transpose(0, 1).unsqueeze(-1)).sum(dim=0).view(x.shape)


class OneHotRouter(nn.Module):
    """Switch Transformer's choice: one expert by argmax, tokens past its capacity dropped by counting."""

    def __init__(self, capacity: int = 4, hidden: int = 48) -> None:
        super().__init__()
        self.capacity = capacity
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, WIDTH))
            for _ in range(EXPERTS)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chances = F.softmax(self.router(x), dim=-1)
        mask = F.one_hot(chances.argmax(dim=-1), EXPERTS)
        mask = mask * (torch.cumsum(mask, dim=-2) <= self.capacity)
        best = chances.max(dim=-1).values.unsqueeze(-1)
        mixed = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mixed = mixed + expert(x) * mask[..., i : i + 1].to(x.dtype)
        return x + best * mixed


class LatentAttention(nn.Module):
    """DeepSeek's MLA: keys and values from one low-rank latent, one rotated key shared by all heads."""

    def __init__(
        self, heads: int = 4, rank: int = 16, plain: int = 8, rotated: int = 4, value: int = 8
    ) -> None:
        super().__init__()
        self.heads, self.rank, self.plain, self.rotated, self.value = heads, rank, plain, rotated, value
        self.q_down, self.q_norm = nn.Linear(WIDTH, rank, bias=False), RMSNorm(rank)
        self.q_up = nn.Linear(rank, heads * (plain + rotated), bias=False)
        self.kv_down, self.kv_norm = nn.Linear(WIDTH, rank + rotated, bias=False), RMSNorm(rank)
        self.kv_up = nn.Linear(rank, heads * (plain + value), bias=False)
        self.o = nn.Linear(heads * value, WIDTH, bias=False)

    def regroup(self, x: torch.Tensor) -> torch.Tensor:
        """Neighbouring pairs become halves."""
        b, h, s, d = x.shape
        return x.view(b, h, s, d // 2, 2).transpose(4, 3).reshape(b, h, s, d)

    def forward(self, x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        b, s, _ = x.shape
        q = self.q_up(self.q_norm(self.q_down(x))).view(b, s, self.heads, -1).transpose(1, 2)
        q_plain, q_rotated = torch.split(q, [self.plain, self.rotated], dim=-1)
        latent, k_rotated = torch.split(self.kv_down(x), [self.rank, self.rotated], dim=-1)
        k_rotated = k_rotated.view(b, s, 1, self.rotated).transpose(1, 2)
        kv = self.kv_up(self.kv_norm(latent)).view(b, s, self.heads, -1).transpose(1, 2)
        k_plain, v = torch.split(kv, [self.plain, self.value], dim=-1)
        q_rotated, k_rotated = (rotate(self.regroup(t), *turn) for t in (q_rotated, k_rotated))
        q = torch.cat((q_plain, q_rotated), dim=-1)
        k = torch.cat((k_plain, k_rotated.expand(b, self.heads, s, self.rotated)), dim=-1)
        scores = torch.matmul(q, k.transpose(2, 3)) * (self.plain + self.rotated) ** -0.5
        weights = F.softmax(scores + causal_mask(x, s), dim=-1, dtype=torch.float32).to(q.dtype)
        return self.o(torch.matmul(weights, v).transpose(1, 2).reshape(b, s, -1))


class GroupRouter(nn.Module):
    """DeepSeek-V3's choice: sigmoid scores with a correction, the best groups first, then the best experts
    in them; one expert is shared by all tokens."""

    def __init__(self, k: int = 2, groups: int = 2, hidden: int = 24) -> None:
        super().__init__()
        self.k, self.groups = k, groups
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.correction = nn.Parameter(
            torch.linspace(0.4, -0.4, EXPERTS)
        )  # far apart: rounding flips no choice
        self.shared = GatedLayer(hidden=hidden)
        self.experts = nn.ModuleList(GatedLayer(hidden=hidden) for _ in range(EXPERTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.view(-1, WIDTH)
        scores = self.router(flat).sigmoid()
        corrected = scores + self.correction.unsqueeze(0)
        grouped = corrected.view(-1, self.groups, EXPERTS // self.groups)
        best = grouped.topk(2, dim=-1)[0].sum(dim=-1).topk(1, dim=-1, sorted=False)[1]
        mask = torch.zeros_like(corrected[:, : self.groups]).scatter_(1, best, 1.0)
        mask = mask.unsqueeze(-1).expand(-1, self.groups, EXPERTS // self.groups).reshape(-1, EXPERTS)
        chosen = corrected.masked_fill(~mask.bool(), 0.0).topk(self.k, dim=-1, sorted=False)[1]
        weights = scores.gather(1, chosen)
        weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-20) * 2.5
        share = torch.zeros_like(scores).scatter_(1, chosen, weights)
        mixed = self.shared(flat)
        for i, expert in enumerate(self.experts):
            mixed = mixed + expert(flat) * share[:, i : i + 1]
        return mixed.view(x.shape)


class RouterModel(nn.Module):
    """Embedded tokens through one router -> logits."""

    def __init__(self, router: nn.Module) -> None:
        super().__init__()
        self.words, self.router = nn.Embedding(VOCABULARY, WIDTH), router
        self.norm, self.head = RMSNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.words(input_ids)
        return self.head(x + self.router(self.norm(x)))


class DeepSeek(nn.Module):
    """input_ids [B, S] -> logits: latent attention, then a gated layer (first block) or experts."""

    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.rotary = Rotary(4)
        self.attentions = nn.ModuleList(LatentAttention() for _ in range(layers))
        self.mixers = nn.ModuleList(GatedLayer() if i == 0 else GroupRouter() for i in range(layers))
        self.norms = nn.ModuleList(RMSNorm(WIDTH) for _ in range(2 * layers + 1))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.words(input_ids)
        turn = self.rotary(x, torch.arange(input_ids.shape[1]).unsqueeze(0))
        for i, (attention, mixer) in enumerate(zip(self.attentions, self.mixers, strict=True)):
            x = x + attention(self.norms[2 * i](x), turn)
            x = x + mixer(self.norms[2 * i + 1](x))
        return self.head(self.norms[-1](x))
