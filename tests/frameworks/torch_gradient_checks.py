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
#: How far inputs are moved: the second where the function bends within the first.
STEPS = (2e-3, 4e-4)


def floats(made: Any) -> list[torch.Tensor]:
    results = made if isinstance(made, tuple | list) else (made,)
    return [y for y in results if y.is_floating_point()]


def listed(tensors: Sequence[Any]) -> list[Any]:
    """The tensors of lists one by one."""
    return [t for a in tensors for t in (a if isinstance(a, list) else [a])]


def asked(tensors: Sequence[Any]) -> list[torch.Tensor]:
    """Those whose slopes are wanted."""
    return [t for t in listed(tensors) if t is not None and t.requires_grad]


def standard(op: str) -> Callable[..., Any]:
    """ONNX's operator, where the library has one of that name too."""
    return register(definition_of(op, DOMAINS.get(op, "")), namespace="standard")


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


def uphill(slopes: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Directions in which the slopes add up: a wrong one isn't lost among the others."""
    return [(0.25 + 0.25 * torch.rand_like(s)) * torch.where(s < 0, -1, 1) for s in slopes]


def difference(
    function: Callable[..., torch.Tensor], tensors: Sequence[Any], along: Any, step: float
) -> float:
    """The slope of a function of arguments along directions, by a step to either side."""
    after, before = (function(*moved(tensors, along, by)).item() for by in (step, -step))
    return (after - before) / (2 * step)


def check_values(op: str, tensors: Sequence[Any], attributes: dict[str, Any]) -> None:
    """The runtime's values are the equivalent's."""
    made = floats(standard(op)(*tensors, **attributes))
    for y, same in zip(made, equivalent(op, tensors, attributes), strict=True):
        torch.testing.assert_close(y, same, rtol=1e-4, atol=1e-5, check_dtype=False, equal_nan=True)


def check_slopes(op: str, tensors: Sequence[Any], attributes: dict[str, Any], second: bool) -> None:
    """The slopes are the central differences of the runtime's values; the second ones, of the slopes."""
    function = standard(op)

    def values(*arguments: Any) -> list[torch.Tensor]:
        return floats(function(*arguments, **attributes))

    made = values(*tensors)
    seeds = [torch.rand_like(y) for y in made]
    slopes = torch.autograd.grad(made, asked(tensors), seeds, create_graph=second)
    check_along(lambda *t: total(values(*t), seeds), tensors, [s.detach() for s in slopes])
    if not second:
        return
    turn = [torch.rand_like(s) - 0.5 for s in slopes]

    def first(*arguments: Any) -> torch.Tensor:
        return total(torch.autograd.grad(values(*arguments), asked(arguments), seeds), turn)

    bent: Sequence[torch.Tensor] = [torch.zeros_like(t) for t in asked(tensors)]
    if any(s.requires_grad for s in slopes):
        bent = torch.autograd.grad(total(slopes, turn), asked(tensors), materialize_grads=True)
    check_along(first, tensors, bent)


def check_along(
    function: Callable[..., torch.Tensor], tensors: Sequence[Any], slopes: Sequence[torch.Tensor]
) -> None:
    along = uphill(slopes)
    expected = [difference(function, tensors, along, step) for step in STEPS]
    found = total(slopes, along).item()
    assert any(found == pytest.approx(e, rel=1e-2, abs=2e-3) for e in expected), (found, expected)
