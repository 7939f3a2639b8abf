"""Whether a bundle's first results are what its graph means: beside PyTorch's, and beside the same graph in
float64 where the two differ. PyTorch's own float32 results are off where a graph loses digits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

_log = logging.getLogger("ascend_ep.torch")

#: A share of the largest magnitude, of float32: orders of summation stay below, other meanings don't.
MOST_DIFFERENCE = 1e-3
#: So much more of half floats: four of bfloat16's last places.
COARSER = 32
#: So much less of float64: a number that was rounded to float32 in between is seen.
FINER = 1e-7
#: Two orders of summation are this far apart in what they lose, at most.
MOST_TIMES = 4
#: Where PyTorch's own results are further off than this share, float64 can't tell two meanings apart.
MOST_LOST = 0.01
#: Errors of PyTorch's below this share of the graph's largest result are what sums of nothing leave: a slope
#: of a key's bias, which no weight of attention depends on.
NOTHING = 1e-5
#: What stands for the largest magnitude of zeros.
LEAST = 1e-30


def agree(results: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether a bundle's results are PyTorch's, within MOST_DIFFERENCE."""
    return all(difference(a, b) <= MOST_DIFFERENCE for a, b in zip(results, expected, strict=True))


def objection(part: Any, arguments: Sequence[Any], results: Sequence[Any], expected: Sequence[Any]) -> str:
    """Why the bundle's results of a graph, which aren't PyTorch's, aren't right; "" where they may be.

    They may be within MOST_DIFFERENCE of those in float64, or where they are off from these as much as
    PyTorch's are, at the worst place and on the whole, which is at most MOST_LOST, or NOTHING of the largest
    result. What errs by less than PyTorch's rounding isn't seen.
    """
    apart = [difference(a, b) for a, b in zip(results, expected, strict=True)]
    worst, dtype = max(
        ((share, getattr(t, "dtype", None)) for share, t in zip(apart, expected, strict=True)),
        key=lambda one: (one[0] != one[0], one[0]),
    )
    reason = f"the bundle's results differ by {worst * _step(dtype):.1g} of the largest"
    exact = in_float64(part, arguments)
    if exact is None:
        return reason
    whole = max(map(_largest, exact))
    for result, wanted, true in zip(results, expected, exact, strict=True):
        if difference(result, wanted) <= MOST_DIFFERENCE:
            continue
        if not _is_narrower(wanted, true) or result.shape != wanted.shape or result.dtype != wanted.dtype:
            return reason
        own, theirs = _shares(result, true), _shares(wanted, true)
        unit = max(_largest(true), LEAST)
        if not theirs[0] * unit <= max(MOST_LOST * unit, NOTHING * whole):
            return f"{reason}, and PyTorch's by {theirs[0]:.1g} from those in float64"
        if own[0] <= MOST_DIFFERENCE:
            continue
        if not all(a <= MOST_TIMES * b for a, b in zip(own, theirs, strict=True)):
            return f"{reason}, by {own[0]:.1g} from those in float64"
    _log.info("%s; PyTorch's are as far from those in float64", reason)
    return ""


def difference(result: Any, expected: Any) -> float:
    """The largest difference as a share of the largest magnitude, by the step of half floats and float64."""
    import torch

    if not isinstance(expected, torch.Tensor):
        return 0.0
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return float("inf")
    if not expected.numel():
        return 0.0
    if not expected.is_floating_point():
        return 0.0 if torch.equal(result, expected) else float("inf")
    return _shares(result, expected)[0]


def _shares(result: Any, expected: Any) -> tuple[float, float]:
    """The largest difference and the root of the mean square, as shares of the largest magnitude; of half
    floats, smaller by COARSER, of float64, larger by FINER."""
    import torch

    a, b = result.double(), expected.double()
    same = (a == b) | (a.isnan() & b.isnan())
    off = torch.where(same, 0.0, (a - b).abs())
    unit = 1 / (max(_largest(expected), LEAST) * _step(result.dtype))
    return float(off.max() * unit), float(off.square().mean().sqrt() * unit)


def _step(dtype: Any) -> float:
    """Of a type, beside float32's."""
    import torch

    steps = {torch.float16: COARSER, torch.bfloat16: COARSER, torch.float64: FINER}
    return steps.get(dtype, 1)


def _largest(tensor: Any) -> float:
    """The largest finite magnitude; 0 of what has none."""
    import torch

    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or not tensor.numel():
        return 0.0
    return float(torch.where(tensor.isfinite(), tensor, 0.0).abs().max())


def _is_narrower(tensor: Any, true: Any) -> bool:
    """Whether float64 says more of it."""
    import torch

    narrow = tensor.is_floating_point() and tensor.dtype != torch.float64
    return bool(narrow and true.dtype == torch.float64 and true.shape == tensor.shape)


def in_float64(part: Any, arguments: Sequence[Any]) -> Sequence[Any] | None:
    """The results of a graph of ATen operators where all its floats are float64; None where PyTorch can't."""
    import torch
    from torch.utils._pytree import tree_map

    floats = (torch.float32, torch.float16, torch.bfloat16)

    def wide(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return torch.float64 if value in floats else value
        return value.double() if isinstance(value, torch.Tensor) and value.dtype in floats else value

    class Wide(torch.fx.Interpreter):
        def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
            return wide(super().get_attr(target, args, kwargs))

        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is torch.ops.aten.view.dtype:
                raise NotImplementedError("bits of another type")
            args, kwargs = tree_map(wide, (args, kwargs))
            return tree_map(wide, super().call_function(target, args, kwargs))

    try:
        with torch.no_grad():
            made: Sequence[Any] = Wide(part).run(*map(wide, arguments))
            return made
    except Exception as error:  # PyTorch names no class for what an operator doesn't take
        _log.info("no results in float64: %s", error)
        return None
