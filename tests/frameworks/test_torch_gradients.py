"""Gradients of the library's operators as PyTorch has them: first and second ones, and who has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import onnx.defs
import pytest
import torch

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.gradients import all_gradients
from ascend_ep.frameworks.torch.schema import schema
from ascend_ep.frameworks.torch.torch_library import definition_of
from ascend_ep.frameworks.torch.without_gradient import WITHOUT
from ascend_ep.opdef.registry import Registry

#: Of two of a name, that of any domain; what ONNX has at its newest operator set is ONNX's.
LIBRARY = {
    d.op: d
    for _, d in sorted(Registry().definitions(), key=lambda found: found[1].domain is None)
    if not d.standard and not (d.domain == "" and onnx.defs.has(d.op))
}


def test_every_operator_has_a_gradient_or_a_reason() -> None:
    """Those in op_schemas, ONNX's own among them; each as `register` takes it."""
    found = all_gradients()
    assert {op for op, gradient in found.items() if gradient is None} == set(WITHOUT)
    assert {op for op, gradient in found.items() if gradient and not gradient.twice} == set()
    for _, opdef in Registry().definitions():
        schema(definition_of(opdef.op, opdef.domain))


def wide(*shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64).requires_grad_()


#: Arguments of operators that have kernels of their own, in the forms that these take.
KERNELS: dict[str, list[Callable[[], tuple[Any, ...]]]] = {
    "RMSNorm": [
        lambda: (wide(2, 3, 4), wide(4)),
        lambda: (wide(2, 3, 2), None, 1e-5, 1),
        lambda: (wide(2, 3, 2), wide(3, 2), 1e-5, -2),
    ],
    "SimplifiedLayerNormalization": [
        lambda: (wide(2, 3, 4), wide(4)),
        lambda: (wide(2, 3, 2), wide(2), 1e-3),
    ],
    "LayerNorm": [
        lambda: (wide(2, 3), wide(3), wide(3)),
        lambda: (wide(2, 3, 2), wide(3, 2), None, 1e-5, 1),
    ],
    "LayerNormGelu": [
        lambda: (wide(2, 3), wide(3), wide(3)),
        lambda: (wide(2, 3), wide(3), None, 1e-5, -1, "tanh"),
    ],
    "LinearAddGelu": [
        lambda: (wide(2, 3), wide(3, 2), wide(2), wide(2, 2)),
        lambda: (wide(2, 2, 3), wide(3, 2), None, wide(2), "tanh"),
    ],
    "SwiGLU": [lambda: (wide(2, 3), wide(2, 3)), lambda: (wide(2, 4),)],
    "TopK": [
        lambda: (wide(2, 5), None, 2),
        lambda: (wide(2, 5), torch.tensor([3])),
        lambda: (wide(4, 3), None, 2, 0, 0),
    ],
    "RoPE": [
        lambda: (wide(2, 2, 3, 4), wide(3, 2), wide(3, 2)),
        lambda: (wide(1, 2, 3, 4), wide(5, 4), wide(5, 4), torch.tensor([[0, 3, 3]])),
        lambda: (wide(1, 2, 3, 4), wide(5, 4), wide(5, 4), torch.tensor([0, 3, 3]), 1),
        lambda: (wide(2, 3, 4), wide(3, 2), wide(3, 2), None, 2),
        lambda: (wide(2, 3, 4), wide(3, 2), wide(3, 2), None, 1),
    ],
    "ScaledDotProductAttention": [
        lambda: (wide(1, 2, 3, 4), wide(1, 1, 3, 4), wide(1, 1, 3, 2)),
        lambda: (wide(1, 2, 2, 2), wide(1, 2, 2, 3), wide(1, 2, 3, 2), wide(2, 3), 0.5, 1, 1, 1),
    ],
}
FIRST = [pytest.param(op, made[0], id=op) for op, made in KERNELS.items()]
OTHERS = [
    pytest.param(op, make, id=f"{op}{i}", marks=pytest.mark.slow)
    for op, made in KERNELS.items()
    for i, make in enumerate(made)
    if i
]


def test_every_kernel_with_a_formula_is_here() -> None:
    with_formula = {op for op, d in LIBRARY.items() if d.formula and type(d.semantics).__name__ == "Kernel"}
    assert with_formula == set(KERNELS)


def narrow(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        a.detach().float().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for a in arguments
    )


def slopes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[torch.Tensor]:
    made = function(*arguments)
    outputs = made if isinstance(made, tuple) else (made,)
    total = sum((y.double() ** 2).sum() for y in outputs if y.is_floating_point())
    asked = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    return list(torch.autograd.grad(total, asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(("op", "make"), FIRST + OTHERS)
def test_first_gradient_and_its_bundle(op: str, make: Callable[[], tuple[Any, ...]]) -> None:
    function, arguments = register(op), make()
    assert torch.autograd.gradcheck(function, arguments)
    for a, b in zip(slopes(function, narrow(arguments)), slopes(function, arguments), strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("op", "make"), FIRST + OTHERS)
def test_second_gradient_and_opcheck(op: str, make: Callable[[], tuple[Any, ...]]) -> None:
    function, arguments = register(op), make()
    assert torch.autograd.gradgradcheck(function, arguments)
    report = torch.library.opcheck(function, narrow(arguments))
    assert set(report.values()) == {"SUCCESS"}


def single(*shape: int) -> torch.Tensor:
    return torch.rand(shape).requires_grad_()


ONNX: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], dict[str, Any]]] = {
    "Softmax": (lambda x: torch.softmax(x, 1), lambda: (single(2, 3, 2),), {"axis": 1}),
    "MatMul": (torch.matmul, lambda: (single(2, 3), single(3, 2)), {}),
    "Gemm": (
        lambda a, b, c: 0.5 * (a.T @ b.T) + 2 * c,
        lambda: (single(3, 2), single(4, 3), single(4)),
        {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1},
    ),
    "LayerNormalization": (
        lambda x, w, b: torch.nn.functional.layer_norm(x, (3,), w, b),
        lambda: (single(2, 3), single(3), single(3)),
        {},
    ),
    "GlobalAveragePool": (lambda x: x.mean((2, 3), keepdim=True), lambda: (single(1, 2, 2, 3),), {}),
    "Relu": (torch.relu, lambda: (single(4, 3),), {}),
}


@pytest.mark.parametrize("op", ONNX)
def test_onnx_operators_with_a_formula(op: str) -> None:
    theirs, make, attributes = ONNX[op]
    tensors = make()
    mine = slopes(lambda *t: register(op)(*t, **attributes), tensors)
    for a, b in zip(mine, slopes(theirs, tensors), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["SwiGLU", "TopK"])
def test_second_gradient(op: str) -> None:
    assert torch.autograd.gradgradcheck(register(op), KERNELS[op][0]())


def test_masked_rows_have_no_gradient() -> None:
    q, k, v = (torch.rand(1, 1, 2, 3).requires_grad_() for _ in range(3))
    mask = torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]])
    y = register("ScaledDotProductAttention")(q, k, v, mask, 1.0, 0, 0, 1)
    assert not y[0, 0, 1].any()
    y.sum().backward()
    for t in (q, k, v):
        assert t.grad is not None
        assert torch.isfinite(t.grad).all()
    assert not q.grad[0, 0, 1].any()  # type: ignore[index]


def test_positions_that_fit_no_axis_are_refused() -> None:
    x, table = wide(2, 3, 4), wide(5, 4)
    with pytest.raises(AscendError, match=r"E42006.*\[2, 3\]"):
        register("RoPE")(x, table, table, torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
