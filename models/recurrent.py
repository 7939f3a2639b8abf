"""A tagger of two bidirectional LSTM layers, and a forecaster of GRU layers with a given state."""

from __future__ import annotations

import torch
from decoders import VOCABULARY
from torch import nn


class LstmTagger(nn.Module):
    """input_ids [B, S] -> tag logits [B, S, 7]"""

    def __init__(self, width: int = 24, hidden: int = 20) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, 7)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.words(input_ids))
        return self.out(states)


class GruForecaster(nn.Module):
    """x [S, B, 6], state [2, B, 20] -> forecast [B, 3], state [2, B, 20]"""

    def __init__(self, hidden: int = 20) -> None:
        super().__init__()
        self.gru = nn.GRU(6, hidden, num_layers=2)
        self.out = nn.Linear(hidden, 3)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        states, last = self.gru(x, state)
        return self.out(torch.relu(states[-1])), last
