"""ONNX's operators whose gradients are those of PyTorch's equivalents: the equivalent gives what the runtime
gives, and its gradients are what differences of the runtime in float32 say, and its own in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch_gradient_cases import ATTENTION, IMAGES, OTHERS, RECURRENT, Case, i, x
from torch_gradient_checks import check_slopes, check_values, floats, listed, standard

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.onnx_equivalents import EQUIVALENTS

CASES: list[Case] = [
    ("AveragePool", lambda: (x(1, 2, 4, 5),), {"kernel_shape": [2, 3], "pads": [1, 0, 0, 1]}),
    ("AveragePool", lambda: (x(1, 1, 6, 5),), {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", lambda: (x(1, 1, 6),), {
        "kernel_shape": [3], "strides": [2], "pads": [1, 0], "ceil_mode": 1, "count_include_pad": 1}),
    ("AveragePool", lambda: (x(1, 1, 4),), {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}),
    ("BatchNormalization", lambda: (x(2, 3, 2), x(3), x(3), x(3), x(3)), {}),
    ("Conv", lambda: (x(1, 4, 4, 3), x(2, 2, 3, 2), x(2)), {"group": 2, "strides": [2, 1]}),
    ("Conv", lambda: (x(1, 2, 5), x(3, 2, 2)), {"auto_pad": "SAME_LOWER", "dilations": [2]}),
    ("ConvTranspose", lambda: (x(1, 2, 3), x(2, 2, 2), x(2)), {"strides": [2], "pads": [1, 0]}),
    ("ConvTranspose", lambda: (x(1, 2, 3), x(2, 2, 3)), {"strides": [2], "output_shape": [6]}),
    ("ConvTranspose", lambda: (x(1, 2, 3), x(2, 1, 3)), {"strides": [2], "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", lambda: (x(1, 1, 3), x(1, 1, 2)), {"strides": [3], "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", lambda: (x(1, 1, 3), x(1, 1, 2), x(1)), {"strides": [3], "output_shape": [11]}),
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
    ("MaxPool", lambda: (x(1, 1, 6, 5),), {"kernel_shape": [2, 3], "strides": [3, 2], "ceil_mode": 1}),
    ("Mod", lambda: (x(4), torch.full((4,), 0.7)), {"fmod": 1}),
    ("Pad", lambda: (x(2, 3), i(0, 1, 2, -1), torch.tensor(0.5)), {}),
    ("Pad", lambda: (x(2, 3), i(1, 2, 0, 1)), {"mode": "reflect"}),
    ("Pad", lambda: (x(2, 3), i(2, 1), None, i(1)), {"mode": "edge"}),
    ("Pad", lambda: (x(3, 4), i(1, -1, 0, 2)), {"mode": "reflect"}),
    ("Pad", lambda: (x(3, 4), i(2, 1, -1, 3)), {"mode": "wrap"}),
    *((f"Reduce{kind}", lambda: (x(2, 3, 2), i(0, -1)), {}) for kind in (
        *("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"),)),
    ("ReduceSum", lambda: (x(2, 3),), {"keepdims": 0}),
    *((f"Reduce{kind}", lambda: (x(2, 3),), {"noop_with_empty_axes": 1}) for kind in (
        *("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"),)),
    ("Reshape", lambda: (x(2, 3, 2), i(0, -1)), {}),
    ("ScatterElements", lambda: (x(3, 2), torch.tensor([[2, -3]]), x(1, 2)), {}),
    ("ScatterElements", lambda: (x(3, 2), torch.tensor([[2, 0], [2, 1]]), x(2, 2)), {"reduction": "add"}),
    ("ScatterND", lambda: (x(4, 2), torch.tensor([[3], [1]]), x(2, 2)), {}),
    ("ScatterND", lambda: (x(4, 2), torch.tensor([[3], [1]]), x(2, 2)), {"reduction": "mul"}),
    ("ScatterND", lambda: (x(2, 3), torch.tensor([[1, -1], [0, 1]]), x(2)), {"reduction": "max"}),
    ("Slice", lambda: (x(3, 5), i(-1, 0), i(-9, 4), i(0, 1), i(-2, 3)), {}),
    ("SpaceToDepth", lambda: (x(1, 2, 4, 2),), {"blocksize": 2}),
    ("Squeeze", lambda: (x(2, 1, 3), i(1)), {}),
    ("Tile", lambda: (x(2, 3), i(2, 1)), {}),
    ("TopK", lambda: (x(2, 4), i(2)), {"largest": 0}),
    ("Transpose", lambda: (x(2, 3, 1),), {"perm": [2, 0, 1]}),
    ("Trilu", lambda: (x(3, 3), torch.tensor(1)), {"upper": 0}),
    ("Unsqueeze", lambda: (x(2, 3), i(0, -1)), {}),
]  # fmt: skip


CASES += IMAGES + RECURRENT + ATTENTION + OTHERS
IDS = [f"{op}{n}" for n, (op, _, _) in enumerate(CASES)]


def test_every_equivalent_is_tried() -> None:
    assert {op for op, _, _ in CASES} == set(EQUIVALENTS)


@pytest.mark.parametrize(("op", "make", "attributes"), CASES, ids=IDS)
def test_values_and_slopes(op: str, make: Callable[[], tuple[Any, ...]], attributes: dict[str, Any]) -> None:
    """In float32, with second slopes."""
    torch.manual_seed(0)
    tensors = make()
    check_values(op, tensors, attributes)
    check_slopes(op, tensors, attributes, second=True)


def wide(value: Any, op: str) -> Any:
    """The same in float64, but for the scales and regions of images."""
    if isinstance(value, list):
        return [wide(v, op) for v in value]
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        stays = op in ("Resize", "Upsample") and not value.requires_grad
        return value if stays else value.detach().double().requires_grad_(value.requires_grad)
    return value


#: Their float64 is rounded to float32, or isn't theirs.
NARROW = {"DequantizeLinear", "FeatureVectorizer", "Imputer", "LinearClassifier", "LinearRegressor"}
NARROW |= {"Normalizer", "RotaryEmbedding", "SVMRegressor", "Scaler", "Cast", "CastLike", "Range"}
SURE = [(c, n) for c, n in zip(CASES, IDS, strict=True) if c[0] not in NARROW]


@pytest.mark.parametrize(("op", "make", "attributes"), [c for c, _ in SURE], ids=[n for _, n in SURE])
@pytest.mark.parametrize("second", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_gradcheck_in_float64(
    op: str, make: Callable[[], tuple[Any, ...]], attributes: dict[str, Any], second: bool
) -> None:
    torch.manual_seed(0)
    tensors = tuple(wide(t, op) for t in make())
    counts = [len(a) if isinstance(a, list) else 0 for a in tensors]

    def function(*flat: Any) -> tuple[torch.Tensor, ...]:
        left = list(flat)
        taken = [[left.pop(0) for _ in range(n)] if n else left.pop(0) for n in counts]
        return tuple(floats(standard(op)(*taken, **attributes)))

    check = torch.autograd.gradgradcheck if second else torch.autograd.gradcheck
    assert check(function, listed(tensors), fast_mode=True)


#: One that reads elements, one of a list, one of several outputs, one whose sizes decide its padding, and one
#: that reads elements and multiplies matrices, which autocast would round.
SAMPLE = {next(n for n in IDS if n.startswith(op)) for op in ("ReduceSum", "Concat", "GRU")}
SAMPLE |= {
    next(n for (op, _, a), n in zip(CASES, IDS, strict=True) if op == wanted and a.get(name) == value)
    for wanted, name, value in (("Conv", "auto_pad", "SAME_LOWER"), ("Resize", "mode", "linear"))
}


@pytest.mark.parametrize(
    ("op", "make", "attributes"),
    [
        pytest.param(*c, id=n, marks=[] if n in SAMPLE else pytest.mark.slow)
        for c, n in zip(CASES, IDS, strict=True)
        if c[0] != "LinearClassifier"  # opcheck adds up its labels
    ],
)
def test_opcheck_with_dynamic_shapes(
    op: str, make: Callable[[], tuple[Any, ...]], attributes: dict[str, Any]
) -> None:
    report = torch.library.opcheck(standard(op), make(), attributes)
    assert set(report.values()) == {"SUCCESS"}


def test_axes_that_a_trace_doesnt_know() -> None:
    """The gradient reads them when it runs."""
    sums = register("CumSum")

    def loss(t: torch.Tensor, axis: torch.Tensor) -> torch.Tensor:
        return sums(t, axis).square()

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows, axis in ((2, 1), (4, 0), (5, 1)):
        t = x(rows, 3)
        (slope,) = torch.autograd.grad(compiled(t, torch.tensor(axis)).sum(), t)
        (same,) = torch.autograd.grad(t.cumsum(axis).square().sum(), t)
        torch.testing.assert_close(slope, same)


def test_second_slopes_and_function_transforms() -> None:
    t = x(2, 3)
    (slope,) = torch.autograd.grad(register("ReduceSumSquare")(t, i(1)).sum(), t, create_graph=True)
    (second,) = torch.autograd.grad((slope * slope).sum(), t)
    torch.testing.assert_close(second, 8 * t.detach())
    found = torch.func.grad(lambda v: register("ReduceSumSquare")(v, i(1)).sum())(t.detach())
    torch.testing.assert_close(found, 2 * t.detach())


def test_what_has_no_equivalent_is_said() -> None:
    scores = register("LinearRegressor")(x(2, 2), coefficients=[0.1, 0.2], post_transform="PROBIT")
    with pytest.raises(AscendError, match=r"E42006.*PROBIT"):
        scores.sum().backward()
    t = torch.rand(1, 1, 4)
    with pytest.raises(AscendError, match=r"E42006.*forward mode"):
        torch.func.jvp(lambda v: register("Transpose")(v), (t,), (t,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["none", "add", "mul"])
def test_rows_without_elements_are_scattered(dtype: torch.dtype, reduction: str) -> None:
    x, updates = (torch.zeros(n, 0, dtype=dtype, requires_grad=True) for n in (3, 2))
    made = standard("ScatterND")(x, torch.tensor([[0], [2]]), updates, reduction=reduction)
    slopes = torch.autograd.grad(made.sum(), (x, updates))
    assert [made.shape, *(s.shape for s in slopes)] == [x.shape, x.shape, updates.shape]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pools_of_nothing_behind_the_channels(dtype: torch.dtype) -> None:
    """They don't pool all that there is."""
    x = torch.linspace(-1, 1, 6, dtype=dtype).reshape(2, 3)
    assert torch.equal(standard("GlobalLpPool")(x), x.abs())
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        with pytest.raises(AscendError, match="E40011"):
            standard(op)(x)
