"""Relatives of BERT: RoBERTa, whose positions skip the padding, and DistilBERT, which masks by filling."""

from __future__ import annotations

import bert
import torch
from torch import nn
from torch.nn import functional as F

SIZE = bert.SIZES["tiny"]
PADDING = 1


class Roberta(nn.Module):
    """input_ids, attention_mask [B, S] -> logits [B, 3]. Attention is PyTorch's fused operator."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(SIZE.vocabulary, SIZE.hidden, padding_idx=PADDING)
        self.positions = nn.Embedding(SIZE.max_positions, SIZE.hidden, padding_idx=PADDING)
        self.segments = nn.Embedding(1, SIZE.hidden)
        self.norm = nn.LayerNorm(SIZE.hidden, 1e-5)
        self.layers = nn.ModuleList(FusedLayer() for _ in range(SIZE.layers))
        self.dense, self.out = nn.Linear(SIZE.hidden, SIZE.hidden), nn.Linear(SIZE.hidden, 3)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        given = input_ids.ne(PADDING).int()
        places = (torch.cumsum(given, dim=1).type_as(given) * given).long() + PADDING
        segments = torch.zeros_like(input_ids)
        x = self.norm(self.words(input_ids) + self.positions(places) + self.segments(segments))
        batch, length = attention_mask.shape
        wide = attention_mask[:, None, None, :].expand(batch, 1, length, length).to(x.dtype)
        inverted = 1.0 - wide
        mask = inverted.masked_fill(inverted.to(torch.bool), torch.finfo(x.dtype).min)
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(torch.tanh(self.dense(x[:, 0, :])))


class FusedLayer(bert.Layer):
    """BERT's layer with scaled_dot_product_attention."""

    def __init__(self) -> None:
        super().__init__(SIZE)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.split(project(x)) for project in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm1(x + self.output(mixed.transpose(1, 2).reshape(x.shape)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class DistilBert(nn.Module):
    """input_ids, attention_mask [B, S] -> start and end logits [B, S] of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(SIZE.vocabulary, SIZE.hidden)
        self.positions = nn.Embedding(SIZE.max_positions, SIZE.hidden)
        self.register_buffer("places", torch.arange(SIZE.max_positions).expand((1, -1)), persistent=False)
        self.norm = nn.LayerNorm(SIZE.hidden, 1e-12)
        self.layers = nn.ModuleList(FillingLayer() for _ in range(SIZE.layers))
        self.out = nn.Linear(SIZE.hidden, 2)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.norm(self.words(input_ids) + self.positions(self.places[:, : input_ids.size(1)]))
        for layer in self.layers:
            x = layer(x, attention_mask)
        start, end = self.out(x).split(1, dim=-1)
        return start.squeeze(-1).contiguous(), end.squeeze(-1).contiguous()


class FillingLayer(bert.Layer):
    """BERT's layer, where scores of padding are replaced and q is scaled before the product."""

    def __init__(self) -> None:
        super().__init__(SIZE)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.split(project(x)) for project in (self.query, self.key, self.value))
        scores = torch.matmul(q / q.size(-1) ** 0.5, k.transpose(2, 3))
        hidden = (mask == 0).view(x.size(0), 1, 1, k.size(2)).expand_as(scores)
        scores = scores.masked_fill(hidden, torch.tensor(torch.finfo(scores.dtype).min))
        mixed = torch.matmul(scores.softmax(-1), v).transpose(1, 2).contiguous()
        x = self.norm1(self.output(mixed.view(x.shape)) + x)
        return self.norm2(self.down(F.gelu(self.up(x))) + x)
