"""The short way of calls: it is taken again for equal calls, and not where PyTorch watches or transforms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ascend_ep.frameworks.torch import eager, register

SWISH = register("Swish")


def silu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x)


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def test_modes_see_the_operator() -> None:
    x = torch.randn(3, 5)
    with Seen() as seen:
        SWISH(x)
    assert seen.names == ["ascend_ep::swish"]


def test_equal_calls_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(4, 6)
    SWISH(x, 1.5)
    monkeypatch.setattr(eager.tensors, "run", None)
    for t in (x + 1, x.T.contiguous().T, torch.randn(6, 4).T):
        torch.testing.assert_close(SWISH(t, 1.5), t * torch.sigmoid(1.5 * t))
    with torch.inference_mode():
        torch.testing.assert_close(SWISH(x, 1.5), x * torch.sigmoid(1.5 * x))
    y = SWISH(x.clone().requires_grad_().detach(), 1.5)
    assert not y.requires_grad


def test_other_tensors_than_numpy_has() -> None:
    x = torch.randn(4, 6)
    for _ in range(2):
        y = SWISH(x.bfloat16())
        assert y.dtype == torch.bfloat16
        negated = torch.conj(torch.complex(x, x)).imag
        assert negated.is_neg()
        torch.testing.assert_close(SWISH(negated), silu(-x))
        torch.testing.assert_close(SWISH(torch.nn.Parameter(x)).detach(), silu(x))


def test_transforms_of_functions() -> None:
    x = torch.randn(4, 6)
    slope = torch.func.grad(lambda t: silu(t).sum())(x)
    for _ in range(2):
        torch.testing.assert_close(torch.func.grad(lambda t: SWISH(t).sum())(x), slope)
        value, pull = torch.func.vjp(SWISH, x)
        torch.testing.assert_close(pull(torch.ones_like(value))[0], slope)
        torch.testing.assert_close(torch.func.vmap(SWISH)(x), silu(x))
        torch.testing.assert_close(torch.func.vmap(torch.func.grad(lambda r: SWISH(r).sum()))(x), slope)
        _, moved = torch.func.jvp(SWISH, (x,), (torch.ones_like(x),))
        torch.testing.assert_close(moved, slope)


def test_recorded_calls_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(4, 6, requires_grad=True)
    SWISH(x, 1.5)
    monkeypatch.setattr(eager.tensors, "run", None)
    moved = torch.randn(6, 4, requires_grad=True)
    for t in (x, moved.T):
        y = SWISH(t, 1.5)
        torch.testing.assert_close(y, t * torch.sigmoid(1.5 * t))
        assert y.requires_grad
    monkeypatch.undo()
    (slope,) = torch.autograd.grad(SWISH(x).sum(), x)
    torch.testing.assert_close(slope, torch.autograd.grad(silu(x).sum(), x)[0])


def test_empty_tensors_and_many_threads() -> None:
    assert SWISH(torch.randn(0, 6)).shape == SWISH(torch.randn(0, 6)).shape == (0, 6)
    x = torch.randn(64, 64)
    SWISH(x)
    with ThreadPoolExecutor(4) as pool:
        for y in pool.map(lambda k: SWISH(x + k) - silu(x + k), range(64)):
            assert y.abs().max() < 1e-5
