"""ONNX's operators whose gradients are those of PyTorch's equivalents: the equivalent gives what the runtime
gives, and the gradient is what differences of the runtime's results say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.onnx_equivalents import EQUIVALENTS


def x(*shape: int) -> torch.Tensor:
    """Different numbers, none near 0 and no two near each other: nothing bends there."""
    count = torch.Size(shape).numel()
    values = torch.linspace(0.2, 1.8, max(count, 1))[torch.randperm(max(count, 1))]
    return values.reshape(shape).requires_grad_()


def i(*values: Any) -> torch.Tensor:
    return torch.tensor(values)


Case = tuple[str, Callable[[], tuple[Any, ...]], dict[str, Any]]
CASES: list[Case] = [
    ("AveragePool", lambda: (x(1, 2, 4, 5),), {"kernel_shape": [2, 3], "pads": [1, 0, 0, 1]}),
    ("AveragePool", lambda: (x(1, 1, 4),), {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}),
    ("BatchNormalization", lambda: (x(2, 3, 2), x(3), x(3), x(3), x(3)), {}),
    ("Conv", lambda: (x(1, 4, 4, 3), x(2, 2, 3, 2), x(2)), {"group": 2, "strides": [2, 1]}),
    ("Conv", lambda: (x(1, 2, 5), x(3, 2, 2)), {"auto_pad": "SAME_LOWER", "dilations": [2]}),
    ("ConvTranspose", lambda: (x(1, 2, 3), x(2, 2, 2), x(2)), {"strides": [2], "pads": [1, 0]}),
    ("CumSum", lambda: (x(2, 3), torch.tensor(1)), {"exclusive": 1, "reverse": 1}),
    ("DepthToSpace", lambda: (x(1, 8, 2, 1),), {"blocksize": 2}),
    ("DepthToSpace", lambda: (x(1, 8, 2, 1),), {"blocksize": 2, "mode": "CRD"}),
    ("Det", lambda: (x(2, 3, 3),), {}),
    ("Expand", lambda: (x(2, 1), i(3, 1, 4)), {}),
    ("Flatten", lambda: (x(2, 3, 2),), {"axis": 2}),
    ("Gather", lambda: (x(2, 3), torch.tensor([[0, -1], [2, 2]])), {"axis": 1}),
    ("GatherElements", lambda: (x(3, 2), torch.tensor([[0, -1], [2, 2]])), {}),
    ("GatherND", lambda: (x(2, 3, 2), torch.tensor([[[1], [0]], [[2], [2]]])), {"batch_dims": 1}),
    ("GlobalLpPool", lambda: (x(1, 2, 3, 2),), {"p": 3}),
    ("GroupNormalization", lambda: (x(1, 4, 3), x(4), x(4)), {"num_groups": 2}),
    ("InstanceNormalization", lambda: (x(2, 2, 3), x(2), x(2)), {}),
    ("LRN", lambda: (x(1, 4, 2),), {"size": 3, "alpha": 0.5, "bias": 1.0}),
    ("LpNormalization", lambda: (x(2, 3),), {"axis": 0, "p": 2}),
    ("LpPool", lambda: (x(1, 1, 4, 4),), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("MaxPool", lambda: (x(1, 2, 4, 4),), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 1, 0]}),
    ("Mod", lambda: (x(4), torch.full((4,), 0.7)), {"fmod": 1}),
    ("Pad", lambda: (x(2, 3), i(0, 1, 2, -1), torch.tensor(0.5)), {}),
    ("Pad", lambda: (x(2, 3), i(1, 2, 0, 1)), {"mode": "reflect"}),
    ("Pad", lambda: (x(2, 3), i(2, 1), None, i(1)), {"mode": "edge"}),
    *((f"Reduce{kind}", lambda: (x(2, 3, 2), i(0, -1)), {}) for kind in (
        *("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"),)),
    ("ReduceSum", lambda: (x(2, 3),), {"keepdims": 0}),
    ("Reshape", lambda: (x(2, 3, 2), i(0, -1)), {}),
    ("ScatterElements", lambda: (x(3, 2), torch.tensor([[2, -3]]), x(1, 2)), {}),
    ("ScatterElements", lambda: (x(3, 2), torch.tensor([[2, 0], [2, 1]]), x(2, 2)), {"reduction": "add"}),
    ("ScatterND", lambda: (x(4, 2), torch.tensor([[3], [1]]), x(2, 2)), {}),
    ("Slice", lambda: (x(3, 5), i(-1, 0), i(-9, 4), i(0, 1), i(-2, 3)), {}),
    ("SpaceToDepth", lambda: (x(1, 2, 4, 2),), {"blocksize": 2}),
    ("Squeeze", lambda: (x(2, 1, 3), i(1)), {}),
    ("Tile", lambda: (x(2, 3), i(2, 1)), {}),
    ("TopK", lambda: (x(2, 4), i(2)), {"largest": 0}),
    ("Transpose", lambda: (x(2, 3, 1),), {"perm": [2, 0, 1]}),
    ("Trilu", lambda: (x(3, 3), torch.tensor(1)), {"upper": 0}),
    ("Unsqueeze", lambda: (x(2, 3), i(0, -1)), {}),
]  # fmt: skip


def test_every_equivalent_is_tried() -> None:
    assert {op for op, _, _ in CASES} == set(EQUIVALENTS)


def first(made: Any) -> torch.Tensor:
    return made[0] if isinstance(made, tuple) else made  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("op", "make", "attributes"), CASES, ids=[c[0] + str(n) for n, c in enumerate(CASES)]
)
def test_values_and_slopes(op: str, make: Callable[[], tuple[Any, ...]], attributes: dict[str, Any]) -> None:
    torch.manual_seed(0)
    tensors = make()
    function = register(op)
    y = first(function(*tensors, **attributes))
    count = EQUIVALENTS[op].__code__.co_argcount
    padded = [*tensors, *[None] * (count - len(tensors))]
    torch.testing.assert_close(y, first(EQUIVALENTS[op](*padded, a=attributes)), rtol=1e-4, atol=1e-5)

    seed = torch.rand_like(y)
    asked = [t for t in tensors if t is not None and t.requires_grad]
    slopes = torch.autograd.grad(y, asked, seed, create_graph=True)
    for tensor, slope in zip(asked, slopes, strict=True):
        towards = torch.rand_like(tensor)
        step = 5e-3
        with torch.no_grad():
            ends = [
                first(function(*[t + d * towards if t is tensor else t for t in tensors], **attributes))
                for d in (step, -step)
            ]
        change = ((ends[0].double() - ends[1].double()) * seed).sum() / (2 * step)
        torch.testing.assert_close((slope * towards).sum().double(), change, rtol=2e-2, atol=2e-2)


def test_second_slopes_and_function_transforms() -> None:
    t = x(2, 3)
    (slope,) = torch.autograd.grad(register("ReduceSumSquare")(t, i(1)).sum(), t, create_graph=True)
    (second,) = torch.autograd.grad((slope * slope).sum(), t)
    torch.testing.assert_close(second, 8 * t.detach())
    found = torch.func.grad(lambda v: register("ReduceSumSquare")(v, i(1)).sum())(t.detach())
    torch.testing.assert_close(found, 2 * t.detach())


def test_what_has_no_equivalent_is_said() -> None:
    pool = register("MaxPool")(x(1, 1, 5), kernel_shape=[2], strides=[2], ceil_mode=1)
    with pytest.raises(AscendError, match="E42006"):
        pool.sum().backward()
    t = torch.rand(1, 1, 4)
    with pytest.raises(AscendError, match=r"E42006.*forward mode"):
        torch.func.jvp(lambda v: register("Transpose")(v), (t,), (t,))
