"""Operators of which torch.onnx's translation means something else, in torch.compile(backend="ascend"): many
in one graph, whose later calls have other numbers than the first, which is compared with PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ascend_ep.frameworks.torch import double_numbers
from ascend_ep.frameworks.torch.backend import ascend, reports
from ascend_ep.frameworks.torch.first_results import agree, objection

INF, NAN = float("inf"), float("nan")
F, aten = torch.nn.functional, torch.ops.aten
Function = Callable[..., Any]


def slow(dtype: torch.dtype) -> Any:
    """A type whose path another one walks, too."""
    return pytest.param(dtype, marks=pytest.mark.slow)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def same(functions: Sequence[Function], calls: Sequence[Sequence[Any]], **how: Any) -> None:
    """All as one graph, wholly in bundles, has eager PyTorch's results in each call."""
    compiled = torch.compile(lambda *given: [f(*given) for f in functions], backend=ascend)
    for k, given in enumerate(calls):
        for number, (found, f) in enumerate(zip(compiled(*given), functions, strict=True)):
            message = f"call {k}, function {number}: {{}}"
            torch.testing.assert_close(found, f(*given), equal_nan=True, msg=message.format, **how)
    assert not reports()[-1].eager, reports()[-1]


def test_sizes_below_zero_are_divided_as_python_does() -> None:
    """Those of the first call are none."""

    def function(x: torch.Tensor) -> Any:
        n = x.shape[0]
        return x * ((n - 7) // 4) + (n - 7) % 4, x.new_ones(-(-n // 3)), x * ((7 - n) // -4)

    compiled = torch.compile(function, backend=ascend, dynamic=True)
    for n in (9, 2, 4, 3, 5, 6, 12):
        x = torch.ones(n)
        torch.testing.assert_close(compiled(x), function(x))
    assert not reports()[-1].eager, reports()[-1]


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, slow(torch.float64), torch.int64, slow(torch.int32)]
)
def test_extremes_of_what_is_scattered(dtype: torch.dtype) -> None:
    places = torch.tensor([[0, 3], [1, 1], [2, 0]])
    functions = [
        lambda x, y, how=how, own=own: x.scatter_reduce(1, places, y, how, include_self=own)
        for how in ("amax", "amin")
        for own in (True, False)
    ]
    x, y = (torch.randn(2, 3, 4) * 5).to(dtype)
    calls = [(x, y), (x + 9, y - 9), (x - 100, y + 100), (x + 100, y - 100)]
    if dtype.is_floating_point:
        y = y.clone()
        y[0, 0], y[1, 1], y[2, 0], y[2, 1] = NAN, INF, -INF, -INF
        calls += [(x, y), (y, x)]
    same(functions, calls)


def test_pools_whose_windows_are_one_number() -> None:
    functions: list[Function] = []
    pools = ((aten.avg_pool2d, aten.max_pool2d_with_indices), (aten.avg_pool3d, aten.max_pool3d_with_indices))
    for axes, (mean, largest) in enumerate(pools, 2):
        for kernel, stride in (([3], []), ([3], [2]), ([3] * axes, [2]), ([2], [2, 1, 1][:axes])):
            functions += [
                lambda x, y, f=mean, k=kernel, s=stride: f(x if f in pools[0] else y, k, s, [1], True, False),
                lambda x, y, f=mean, k=kernel, s=stride: f(
                    x if f in pools[0] else y, k, s, [1], False, True, 5
                ),
                lambda x, y, f=largest, k=kernel, s=stride: f(x if f in pools[0] else y, k, s, [1])[0],
            ]
    x, y = torch.randn(2, 3, 9, 9), torch.randn(2, 3, 6, 6, 6)
    same(functions, [(x, y), (-x, -y)], rtol=1e-5, atol=1e-5)


def test_averages_of_windows_of_one_size() -> None:
    """Of any batch; the whole, and the image itself, too."""
    functions = [
        *(lambda x, y, n=n: F.adaptive_avg_pool2d(x, n) for n in (1, 2, 3, 6, (2, 6), (None, 3))),
        *(lambda x, y, n=n: F.adaptive_avg_pool3d(y, n) for n in (1, 2, (1, 2, 4))),
        lambda x, y: F.adaptive_avg_pool1d(x[0], 2),
    ]
    x, y = torch.randn(2, 3, 6, 6), torch.randn(2, 3, 2, 4, 4)
    hard = x.clone()
    hard[0, 0, 0, 0], hard[1, 1, 5, 5] = NAN, INF
    same(functions, [(x, y), (hard, -y), (torch.randn(5, 3, 6, 6), y)], rtol=1e-5, atol=1e-5)


THIRD = 1 / 3
#: Of numbers x, rows y and positive numbers z.
DOUBLES: list[Function] = [
    *(
        lambda x, y, z: x + THIRD,
        lambda x, y, z: THIRD - x,
        lambda x, y, z: x * THIRD,
        lambda x, y, z: THIRD / x,
    ),
    *(lambda x, y, z: z**THIRD, lambda x, y, z: THIRD**x, lambda x, y, z: torch.where(x > 0, x, THIRD)),
    *(lambda x, y, z: x.clamp(-THIRD, THIRD), lambda x, y, z: x.masked_fill(x > 0, THIRD)),
    *(lambda x, y, z: torch.full_like(x, THIRD) + x, lambda x, y, z: torch.addcmul(x, x, z, value=THIRD)),
    *(lambda x, y, z: torch.lerp(x, z, THIRD), lambda x, y, z: F.leaky_relu(x, THIRD)),
    *(
        lambda x, y, z: F.elu(x, THIRD),
        lambda x, y, z: F.selu(x),
        lambda x, y, z: F.hardtanh(x, -THIRD, THIRD),
    ),
    *(lambda x, y, z: F.softplus(x, THIRD), lambda x, y, z: F.threshold(x, THIRD, -THIRD)),
    *(lambda x, y, z: torch.log10(z), lambda x, y, z: torch.log2(z), lambda x, y, z: torch.rad2deg(x)),
    *(
        lambda x, y, z: torch.angle(x),
        lambda x, y, z: torch.atan2(x, z),
        lambda x, y, z: torch.fmod(x, THIRD),
    ),
    *(
        lambda x, y, z: torch.remainder(x, THIRD),
        lambda x, y, z: x + torch.linspace(0, THIRD, 8, dtype=x.dtype),
    ),
    *(lambda x, y, z: torch.linalg.vector_norm(y, 3, 1), lambda x, y, z: torch.linalg.vector_norm(y, 1.5)),
    *(lambda x, y, z: F.layer_norm(y, (5,), x[:5], z[:5]), lambda x, y, z: F.group_norm(y, 2, x[:4], z[:4])),
    *(
        lambda x, y, z: y.var(1),
        lambda x, y, z: y.std((0, 2), correction=0),
        lambda x, y, z: torch.var_mean(y, 2),
    ),
    *(lambda x, y, z: F.scaled_dot_product_attention(y, y, y), lambda x, y, z: F.smooth_l1_loss(y, -y)),
]


def test_numbers_of_float64_have_all_digits() -> None:
    y = torch.randn(3, 4, 5, dtype=torch.float64)
    x, z = torch.randn(8, dtype=torch.float64), torch.rand(8, dtype=torch.float64) + 0.1
    same(DOUBLES, [(x, y, z), (-x, -y, z)], rtol=1e-12, atol=1e-13)


def test_a_release_whose_exporter_makes_numbers_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are rounded there, which first results show: PyTorch runs the graph."""
    monkeypatch.setattr(double_numbers, "MAKER", "_of_another_release")
    compiled = torch.compile(lambda x: torch.full_like(x, THIRD) * x, backend=ascend)
    x = torch.randn(5, dtype=torch.float64)
    assert torch.equal(compiled(x), x * THIRD)
    assert reports()[-1].eager


def test_what_is_rounded_to_float32_is_found_in_float64() -> None:
    x = torch.randn(9, 4, dtype=torch.float64)
    part = make_fx(lambda x: (x * THIRD,))(x)
    expected = part(x)
    assert agree([x * THIRD * (1 + 1e-13)], expected)
    reason = objection(part, (x,), [x * float(torch.tensor(THIRD))], expected)
    assert "differ by 3e-08 of the largest" in reason


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, slow(torch.bfloat16)])
def test_norms_and_variances(dtype: torch.dtype) -> None:
    """Of as many elements as their own squares and cubes have no room for, of one, of NaN and infinities."""
    functions = [
        *(lambda x, y, p=p: torch.linalg.vector_norm(x, p, 1) for p in (3, 0.5, -1, 2, 1, 0, INF, -INF)),
        *(lambda x, y: torch.linalg.vector_norm(x, 3), lambda x, y: torch.linalg.vector_norm(y, 3)),
        *(lambda x, y: x.var(), lambda x, y: x.var(1, correction=0), lambda x, y: x[:, :1].var(1)),
        *(
            lambda x, y: x.std(0, keepdim=True),
            lambda x, y: torch.var_mean(x, 1)[0],
            lambda x, y: torch.var_mean(x, 0)[1],
        ),
    ]
    x, y = torch.randn(4, 6), torch.tensor(-3.0)
    hard = x.clone()
    hard[0, 0], hard[1, 1], hard[2, 2] = NAN, INF, -INF
    calls = [(x, y), (60 * x, -y), (hard, y * INF)]
    tight = {"rtol": 2e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 1e-2}
    same(functions, [(a.to(dtype), b.to(dtype)) for a, b in calls], **tight)


@pytest.mark.parametrize(
    "dtype", [torch.float32, slow(torch.float64), slow(torch.float16), slow(torch.int32), torch.int64]
)
def test_bounds_of_one_tensor_that_differ(dtype: torch.dtype) -> None:
    least, most = torch.tensor([-3, -1]).to(dtype), torch.tensor([4, 9]).to(dtype)
    functions = [
        *(lambda x: x.clamp(-3, 5), lambda x: x.clamp(-1, 2), lambda x: x.clamp(least[0], most[0])),
        *(lambda x, k=k: torch.minimum(torch.maximum(x, least[k]), most[k]) for k in (0, 1)),
        *(lambda x: x.clamp(least[1], most[1]), lambda x: torch.maximum(torch.minimum(x, most[0]), least[1])),
    ]
    x = torch.arange(-12, 13)
    same(functions, [((x % 1).to(dtype),), (x.to(dtype),)])


def test_extremes_of_a_single_number() -> None:
    same([lambda x: x.max(0), lambda x: x.min(0, True)], [(torch.tensor(3.0),), (torch.tensor(NAN),)])


def test_quotients_of_sizes_go_from_a_forward_graph_to_its_backward_graph() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return x.sin() * ((n - 4) // 3) + x.cos() * ((n - 7) % 5)

    compiled = torch.compile(function, backend=ascend, dynamic=True)
    before = len(reports())
    for n in (6, 3, 9):
        x = torch.randn(n, 2, requires_grad=True)
        slopes = [torch.autograd.grad(f(x).square().sum(), x) for f in (compiled, function)]
        torch.testing.assert_close(*slopes)
    assert [(r.bundles, r.eager) for r in reports()[before:]] == [(1, {})] * 2


def test_grids_with_places_that_are_no_numbers() -> None:
    functions = [
        lambda x, g, m=mode, p=padding: F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=False)
        for mode in ("bilinear", "bicubic", "nearest")
        for padding in ("zeros", "border", "reflection")
        if (mode, padding) != ("nearest", "reflection")
    ]
    x, grid = torch.randn(1, 2, 5, 5), torch.rand(1, 4, 4, 2) * 2.4 - 1.2
    hard = grid.clone()
    hard[0, 0, 0, 0] = hard[0, 3, 1, 1] = NAN
    infinite = grid.clone()
    infinite[0, 1, 0, 1], infinite[0, 2, 2, 0] = INF, -INF
    zero_or_bicubic = [f for k, f in enumerate(functions) if k in (0, 3, 4, 5, 6)]
    same(functions, [(x, grid), (x, hard)], rtol=1e-4, atol=1e-5)
    same(zero_or_bicubic, [(x, grid), (x, infinite)], rtol=1e-4, atol=1e-5)
