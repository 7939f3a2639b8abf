"""What an equivalent and its slopes are compared with: the runtime in float32, and its differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.equivalent_call import outputs
from ascend_ep.frameworks.torch.torch_library import definition_of
from ascend_ep.opdef.registry import Registry

DOMAINS = {d.op: d.domain for _, d in Registry().definitions() if d.standard and d.domain}
#: How far the inputs are moved: kinks are farther away, float32 still sees it.
STEP = 2e-3


def floats(made: Any) -> list[torch.Tensor]:
    results = made if isinstance(made, tuple | list) else (made,)
    return [y for y in results if y.is_floating_point()]


def listed(tensors: Sequence[Any]) -> list[Any]:
    """The tensors of lists one by one."""
    return [t for a in tensors for t in (a if isinstance(a, list) else [a])]


def asked(tensors: Sequence[Any]) -> list[torch.Tensor]:
    """Those whose slopes are wanted."""
    return [t for t in listed(tensors) if t is not None and t.requires_grad]


def equivalent(op: str, tensors: Sequence[Any], attributes: dict[str, Any]) -> list[torch.Tensor]:
    return floats(outputs(definition_of(op, DOMAINS.get(op, "")), listed(tensors), attributes))


def moved(tensors: Sequence[Any], along: Sequence[torch.Tensor], by: float) -> tuple[Any, ...]:
    """The same arguments, those of `asked` moved along directions."""
    left = iter(along)

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(v) for v in value]
        if value is None or not value.requires_grad:
            return value
        return (value.detach() + by * next(left)).requires_grad_()

    return tuple(map(one, tensors))


def total(values: Sequence[Any], weights: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack([(v.double() * w).sum() for v, w in zip(values, weights, strict=True)]).sum()


def directions(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.rand_like(t) - 0.5 for t in tensors]


def difference(function: Callable[..., torch.Tensor], tensors: Sequence[Any], along: Any) -> float:
    """The slope of a function of arguments along directions, by a step to either side."""
    after, before = (function(*moved(tensors, along, by)).item() for by in (STEP, -STEP))
    return (after - before) / (2 * STEP)


def check_values(op: str, tensors: Sequence[Any], attributes: dict[str, Any]) -> None:
    """The runtime's values are the equivalent's."""
    made = floats(register(op)(*tensors, **attributes))
    for y, same in zip(made, equivalent(op, tensors, attributes), strict=True):
        torch.testing.assert_close(y, same, rtol=1e-4, atol=1e-5, check_dtype=False, equal_nan=True)


def check_slopes(op: str, tensors: Sequence[Any], attributes: dict[str, Any], second: bool) -> None:
    """The slopes are the central differences of the runtime's values; the second ones, of the slopes."""
    function = register(op)
    made = floats(function(*tensors, **attributes))
    seeds = [torch.rand_like(y) for y in made]
    slopes = torch.autograd.grad(made, asked(tensors), seeds, create_graph=second)
    along = directions(slopes)
    expected = difference(lambda *t: total(floats(function(*t, **attributes)), seeds), tensors, along)
    size = sum((s * d).abs().sum().item() for s, d in zip(slopes, along, strict=True))
    assert total(slopes, along).item() == pytest.approx(expected, rel=5e-3, abs=5e-3 * (size + 0.1))
    if not second:
        return
    turn = directions(slopes)

    def first(*arguments: Any) -> torch.Tensor:
        again = floats(function(*arguments, **attributes))
        return total(torch.autograd.grad(again, asked(arguments), seeds), turn)

    bent = [torch.zeros_like(t) for t in asked(tensors)]
    if any(s.requires_grad for s in slopes):
        bent = torch.autograd.grad(total(slopes, turn), asked(tensors), materialize_grads=True)
    size = sum((s * d).abs().sum().item() for s, d in zip(bent, along, strict=True))
    expected = difference(first, tensors, along)
    assert total(bent, along).item() == pytest.approx(expected, rel=1e-2, abs=1e-2 * (size + 0.1))
