"""Gradients of parts, windows, concatenations and products through the PyTorch operator."""

from __future__ import annotations

import pytest
import torch

from ascend_ep.frameworks.torch import register
from ascend_ep.frontends.description import describe

#: name -> the expression, and the inputs' shapes
CASES = {
    "differences": ("x[:, 1:] * x[:, :-1]", (3, 5)),
    "places": ("x[1] * y + x[-1]", (3, 5), (5,)),
    "steps": ("x[..., 1:-1:2] ** 2", (3, 8)),
    "steps_from_the_end": ("x[-5::3] * 2 * x[-5::3]", (7, 2)),
    "halves": ("x.chunk(2, dim=-1)[0] * F.silu(x.chunk(2, dim=-1)[1])", (3, 6)),
    "odd_parts": ("x.chunk(3, dim=0)[2] ** 2", (8, 2)),
    "joined": ("torch.cat([x * y[:, :4], x, y], dim=-1) ** 2", (3, 4), (3, 5)),
    "rotated": ("torch.cat([-x.chunk(2, -1)[1], x.chunk(2, -1)[0]], dim=-1) * y", (3, 6), (3, 6)),
    "stacked": ("torch.stack([x, x * x], dim=1) ** 2", (3, 4)),
    "windows": ("x.unfold(-1, 3, 2).sum(-1) ** 2", (2, 8)),
    "largest": ("F.max_pool2d(x, 3, 2, 1)", (1, 2, 5, 6)),
    "averages": ("F.avg_pool2d(x, 2) ** 2", (1, 2, 5, 6)),
    "depthwise": ("(x.unfold(2, 3, 1).unfold(3, 3, 1) * y[:, 0, None, None]).sum((-2, -1))",
                  (1, 2, 5, 6), (2, 1, 3, 3)),
    "attention": ("torch.softmax(x @ y.transpose(-1, -2) / 2, dim=-1) @ y", (2, 3, 4), (2, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_torch_s(name) -> None:
    """In float64 by the reference, in float32 by the runtime; gradcheck by differences."""
    expression, *shapes = CASES[name]
    names = "xy"[: len(shapes)]
    opdef = describe(f"def moved_{name}({', '.join(names)}):\n    return {expression}\n").opdef
    function = register(opdef)
    generator = torch.Generator().manual_seed(5)
    inputs = [torch.rand(s, dtype=torch.float64, generator=generator, requires_grad=True) for s in shapes]
    assert torch.autograd.gradcheck(function, inputs)
    own = {"torch": torch, "F": torch.nn.functional}
    for kind in (torch.float64, torch.float32):
        typed = [i.detach().to(kind).requires_grad_() for i in inputs]
        wanted = eval(expression, {**own, **dict(zip(names, typed, strict=True))})
        seed = torch.rand(wanted.shape, dtype=kind, generator=generator)
        by_torch = torch.autograd.grad(wanted, typed, seed)
        got = function(*typed)
        torch.testing.assert_close(got, wanted)
        for ours, theirs in zip(torch.autograd.grad(got, typed, seed), by_torch, strict=True):
            torch.testing.assert_close(ours, theirs)
