"""A BERT encoder (post-norm, learned positions, GELU), exported by PyTorch."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from graph_builder import dimension, save_from_command_line
from torch import nn
from torch_export import EXPORTERS, export


@dataclass(frozen=True)
class Size:
    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    max_positions: int = 512


SIZES = {"tiny": Size(64, 2, 4, 128, 300, 64), "base": Size(768, 12, 12, 3072, 30522)}


class Layer(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(size.hidden, size.hidden) for _ in range(4)
        )
        self.norm1, self.norm2 = nn.LayerNorm(size.hidden, 1e-12), nn.LayerNorm(size.hidden, 1e-12)
        self.up, self.down = (
            nn.Linear(size.hidden, size.intermediate),
            nn.Linear(size.intermediate, size.hidden),
        )

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.output(mixed))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.words = nn.Embedding(size.vocabulary, size.hidden)
        self.positions = nn.Embedding(size.max_positions, size.hidden)
        self.segments = nn.Embedding(2, size.hidden)
        self.norm = nn.LayerNorm(size.hidden, 1e-12)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.pooler = nn.Linear(size.hidden, size.hidden)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(input_ids.shape[1])
        x = self.norm(self.words(input_ids) + self.positions(places) + self.segments(token_type_ids))
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


def build(
    size: str = "tiny",
    batch: int | str = 1,
    seq: int | str = 16,
    opset: int = 17,
    exporter: str = "torchscript",
) -> onnx.ModelProto:
    """Three int64 inputs [batch, seq] -> hidden [batch, seq, hidden], pooled [batch, hidden]."""
    torch.manual_seed(0)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    shape = [d if isinstance(d, int) else example for d, example in ((batch, 2), (seq, 5))]
    free = {axis: d for axis, d in enumerate((batch, seq)) if isinstance(d, str)}
    example = torch.ones(shape, dtype=torch.int64)
    dynamic = dict.fromkeys(names, free) if free else None
    inputs = (example, example, torch.zeros_like(example))
    return export(Bert(SIZES[size]), inputs, names, ["hidden", "pooled"], dynamic, opset, exporter)


def sample_inputs(size: str = "tiny", batch: int = 1, seq: int = 16, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    mask = np.ones((batch, seq), np.int64)
    mask[:, seq - seq // 4 :] = 0
    return {
        "input_ids": random.integers(0, SIZES[size].vocabulary, (batch, seq)),
        "attention_mask": mask,
        "token_type_ids": random.integers(0, 2, (batch, seq)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--batch", type=dimension, default=1)
    parser.add_argument("--seq", type=dimension, default=16)
    parser.add_argument("--exporter", choices=EXPORTERS, default="torchscript")
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()
