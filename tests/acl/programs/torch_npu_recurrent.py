"""LSTM and GRU of torch_npu in all their forms, beside PyTorch on the CPU: a line of JSON for each."""

from __future__ import annotations

import itertools
import json

import torch
import torch_npu  # noqa: F401


def differences(kind: str, layers: int, both: bool, first: bool, train: bool) -> list[float]:
    """Of the result, and of the gradients in training."""
    torch.manual_seed(0)
    made = getattr(torch.nn, kind)(7, 9, num_layers=layers, bidirectional=both, batch_first=first)
    own = getattr(torch.nn, kind)(7, 9, num_layers=layers, bidirectional=both, batch_first=first)
    own.load_state_dict(made.state_dict())
    own = own.npu()
    x = torch.randn(5, 3, 7)
    sides = []
    for layer, given in ((made.train(train), x), (own.train(train), x.npu())):
        given = given.detach().requires_grad_(train)
        with torch.set_grad_enabled(train):
            y, _ = layer(given)
        found = [y]
        if train:
            y.square().sum().backward()
            found += [given.grad, *(p.grad for p in layer.parameters())]
        sides.append([t.detach().cpu() for t in found])
    return [float((a - b).abs().max()) for a, b in zip(*sides, strict=True)]


for form in itertools.product(("LSTM", "GRU"), (1, 2), (False, True), (False, True), (False, True)):
    print(json.dumps({"form": form, "apart": max(differences(*form))}), flush=True)
