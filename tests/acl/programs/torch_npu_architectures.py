"""What torch_npu gives for the architectures of models/, beside PyTorch on the CPU.

`python torch_npu_architectures.py NAME ..` prints a line of JSON for each. models/ and torch_npu are on the
path, and the environment is that of a toolkit.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterable
from typing import Any

import torch
import torch_npu  # noqa: F401
from architectures import ARCHITECTURES
from torch import nn

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-4),
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-3),
}
STEPS = 30


def difference(cpu: torch.Tensor | None, npu: torch.Tensor | None) -> float:
    """The largest, relative to the largest magnitude, or to 1. What isn't finite has to be the same."""
    if cpu is None or npu is None:
        return 0.0 if cpu is npu else float("inf")
    a, b = cpu.detach().double(), npu.detach().cpu().double()
    finite = torch.isfinite(a)
    if a.shape != b.shape or not torch.equal(finite, torch.isfinite(b)):
        return float("inf")
    if not torch.equal(a[~finite].nan_to_num(nan=0.5), b[~finite].nan_to_num(nan=0.5)):
        return float("inf")
    a, b = a[finite], b[finite]
    return float((a - b).abs().max() / a.abs().max().clamp(min=1)) if a.numel() else 0.0


def floats(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result] if result.is_floating_point() else []
    parts: Iterable[Any] = result.values() if isinstance(result, dict) else result
    return [t for part in parts for t in floats(part)]


def loss(result: Any) -> torch.Tensor:
    return sum(
        (t.square().mean() for t in floats(result)), torch.tensor(0.0, device=floats(result)[0].device)
    )


def without_chance(module: nn.Module) -> nn.Module:
    """Nothing is dropped: devices draw other numbers."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return module


def trained(module: nn.Module, inputs: list[torch.Tensor], optimizer: str) -> float:
    chosen = OPTIMIZERS[optimizer](module.parameters())
    for _ in range(STEPS):
        chosen.zero_grad()
        value = loss(module(*inputs))
        value.backward()
        chosen.step()
    return value.item()


def compare(name: str) -> dict[str, Any]:
    entry = ARCHITECTURES[name]
    cpu = entry.make()
    npu = copy.deepcopy(cpu).npu()
    inputs = list(entry.example().values())
    there = [t.npu() for t in inputs]
    with torch.no_grad():
        expected = cpu(*inputs)
        with torch.device("npu"):  # some make tensors of their own
            pairs = list(zip(floats(expected), floats(npu(*there)), strict=True))
    found: dict[str, Any] = {"forward": max(difference(a, b) for a, b in pairs)}
    loss(cpu(*inputs)).backward()
    with torch.device("npu"):
        loss(npu(*there)).backward()
    grads = [(a.grad, b.grad) for a, b in zip(cpu.parameters(), npu.parameters(), strict=True)]
    found["backward"] = max(difference(a, b) for a, b in grads)
    for optimizer in OPTIMIZERS:
        first = without_chance(entry.make().train())
        second = copy.deepcopy(first).npu()
        torch.manual_seed(0)
        a = trained(first, inputs, optimizer)
        with torch.device("npu"):
            b = trained(second, there, optimizer)
        found[optimizer] = abs(a - b) / max(abs(a), 1e-3)
    return found


def main() -> None:
    for name in sys.argv[1:] or ARCHITECTURES:
        try:
            found = compare(name)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            found = {"error": str(error)[:600]}
        print(json.dumps({"name": name, **found}), flush=True)


if __name__ == "__main__":
    main()
