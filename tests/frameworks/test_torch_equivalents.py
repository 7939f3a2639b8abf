"""Gradients by equivalents where they are easily wrong: inputs that depend on each other, zeros, ties, no
elements, half precision, tensors of other kinds, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch_gradient_cases import ATTENTION, IMAGES, OTHERS, RECURRENT, f, i, signed, x
from torch_gradient_checks import equivalent

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.equivalent_call import are_unknown
from ascend_ep.frameworks.torch.gradient_operator import READERS

Function = Callable[[Any], Any]


def attention(t: torch.Tensor) -> torch.Tensor:
    return torch.softmax(t @ t.transpose(2, 3) * t.shape[-1] ** -0.5, -1) @ t


#: The operator on tensors made of one, and what it is in PyTorch.
DEPENDENT: dict[str, tuple[Callable[[Any, Any], Any], Function]] = {
    "Sum": (lambda op, t: op([t, t]), lambda t: t + t),
    "Concat": (lambda op, t: op([t, t.exp()], axis=0), lambda t: torch.cat([t, t.exp()])),
    "Mean": (lambda op, t: op([t.exp(), t, t.exp()]), lambda t: (2 * t.exp() + t) / 3),
    "Einsum": (lambda op, t: op([t, t], equation="abij,abij->ab"), lambda t: (t * t).sum((2, 3))),
    "Attention": (lambda op, t: op(t, t, t), attention),
}


@pytest.mark.parametrize("op", DEPENDENT)
def test_inputs_that_are_one_tensor_or_made_of_another(op: str) -> None:
    function, (ours, same) = register(op), DEPENDENT[op]
    pair = (lambda v: ours(function, v), same)
    t = signed(1, 2, 3, 4)
    for inner in (t, t * 1):  # a leaf, and not
        slopes = [torch.autograd.grad(g(inner).square().sum(), t, create_graph=True) for g in pair]
        torch.testing.assert_close(*slopes)
        torch.testing.assert_close(
            *[torch.autograd.grad(s.square().sum(), t, retain_graph=True) for (s,) in slopes]
        )
    torch.testing.assert_close(
        *[torch.func.grad(lambda v, g=g: g(v).square().sum())(t.detach()) for g in pair]
    )


def test_dependent_inputs_in_a_trace() -> None:
    for op in ("Concat", "Attention"):
        function, (ours, same) = register(op), DEPENDENT[op]
        t = signed(1, 2, 3, 4)
        compiled = torch.compile(partial(ours, function), backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(*[torch.autograd.grad(g(t).square().sum(), t) for g in (compiled, same)])


def test_vmap_of_lists() -> None:
    concat, split, t = register("Concat"), register("Split"), x(3, 2, 4).detach()
    torch.testing.assert_close(
        torch.func.vmap(lambda a, b: concat([a, b], axis=0), (0, None))(t, t[0]),
        torch.stack([torch.cat([a, t[0]]) for a in t]),
    )
    for part, same in zip(
        torch.func.vmap(lambda a: tuple(split(a, axis=1, num_outputs=2)))(t), t.chunk(2, 2), strict=True
    ):
        torch.testing.assert_close(part, same)
    slopes = torch.func.vmap(torch.func.grad(lambda a: concat([a, a * a], axis=0).sum()))(t)
    torch.testing.assert_close(slopes, 1 + 2 * t)


@pytest.mark.parametrize(
    ("op", "more", "attributes"),
    [
        ("ReduceL2", (i(1),), {}),
        ("GlobalLpPool", (), {"p": 3}),
        ("LpPool", (), {"kernel_shape": [1, 2], "p": 2}),
        ("LpNormalization", (), {}),
        ("LpNormalization", (), {"p": 1}),
    ],
)
def test_zeros_have_slopes(op: str, more: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    """As PyTorch's norms have: 0."""
    t = torch.zeros(1, 1, 2, 2, requires_grad=True)
    y = register(op)(t, *more, **attributes)
    assert not y.any()
    (slope,) = torch.autograd.grad(y.sum(), t)
    assert not slope.any(), slope


def test_of_equal_elements_one_has_the_slope() -> None:
    t = torch.zeros(1, 1, 2, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(register("MaxPool")(t, kernel_shape=[2, 2]).sum(), t)
    assert slope.tolist() == [[[[1, 0], [0, 0]]]]
    y = register("RoiAlign")(t, f(0.0, 0.0, 2.0, 2.0)[None], i(0), mode="max", sampling_ratio=2)
    (slope,) = torch.autograd.grad(y.sum(), t)
    assert slope.count_nonzero() == 1


def test_second_slopes_of_a_subclass() -> None:
    class Own(torch.Tensor):
        pass

    t = x(2, 2).detach().as_subclass(Own).requires_grad_()
    y = register("ReduceSumSquare")(t, i(1)).sum() + (t**3).sum()
    (slope,) = torch.autograd.grad(y, t, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), t)
    torch.testing.assert_close(second.as_subclass(torch.Tensor), 2 + 6 * t.detach().as_subclass(torch.Tensor))


EMPTY: list[tuple[str, tuple[int, ...], tuple[Any, ...], dict[str, Any]]] = [
    ("Flatten", (0, 3), (), {}),
    ("Reshape", (0, 2, 3), (i(0, 6),), {}),
    ("Conv", (0, 1, 3, 3), (torch.ones(1, 1, 2, 2),), {}),
    ("MaxPool", (0, 1, 3, 3), (), {"kernel_shape": [2, 2]}),
    ("ReduceMax", (0, 3), (i(0),), {}),
    ("LSTM", (0, 2, 2), (torch.ones(1, 12, 2), torch.ones(1, 12, 3)), {"hidden_size": 3}),
    ("LSTM", (2, 0, 2), (torch.ones(1, 12, 2), torch.ones(1, 12, 3)), {"hidden_size": 3}),
    ("GridSample", (0, 2, 3, 3), (torch.zeros(0, 2, 2, 2),), {}),
    ("RoiAlign", (1, 2, 3, 3), (torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64)), {}),
    ("Gather", (3, 3), (torch.zeros(0, dtype=torch.int64),), {}),
]


@pytest.mark.parametrize(("op", "shape", "more", "attributes"), EMPTY)
def test_no_elements(op: str, shape: Any, more: Any, attributes: dict[str, Any]) -> None:
    t = torch.ones(shape, requires_grad=True)
    made = register(op)(t, *more, **attributes)
    y = made[0] if isinstance(made, tuple) else made
    (slope,) = torch.autograd.grad(y.sum(), t)
    assert slope.shape == t.shape
    assert not slope.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_transforms_in_half_precision(dtype: torch.dtype) -> None:
    for op, more, attributes in (
        ("DFT", (None, torch.tensor(1)), {"onesided": 1}),
        ("DFT", (torch.tensor(7),), {"inverse": 1}),
        ("STFT", (torch.tensor(2), torch.ones(4)), {}),
    ):
        slopes, values = [], x(1, 6, 1).detach()
        for kind in (dtype, torch.float32):
            t = values.to(kind).requires_grad_()
            given = [v.to(kind) if v is not None and v.is_floating_point() else v for v in more]
            y = register(op)(t, *given, **attributes)
            slopes += torch.autograd.grad(y.square().sum(), t)
        torch.testing.assert_close(slopes[0].float(), slopes[1], rtol=0.05, atol=0.3)


def test_float64_lies_in_memory_as_a_trace_says() -> None:
    t, transposed = torch.rand(2, 3, dtype=torch.float64), register("Transpose")
    assert transposed(t).stride() == transposed(t.to("meta")).stride() == (2, 1)
    compiled = torch.compile(lambda v: transposed(v).view(-1), backend="aot_eager")
    torch.testing.assert_close(compiled(t), t.T.flatten())
    missing = {"imputed_value_floats": [1.0], "replaced_value_float": 0.2}  # as float32
    assert register("Imputer")(f(0.2).double()[None], **missing).tolist() == [[1.0]]


KINDS: dict[str, Function] = {
    "sparse": lambda t: t.to_sparse(),
    "sparse_csr": lambda t: t.to_sparse_csr(),
    "nested": lambda t: torch.nested.nested_tensor([t, t]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["Swish", "Transpose"])
def test_tensors_that_arent_dense_are_refused(op: str, kind: str) -> None:
    t, function = torch.rand(3, 4), register(op)
    for recorded in (False, True):
        function(t.clone().requires_grad_(recorded))  # the short way is known
        with pytest.raises(AscendError, match=f"E41011.*dense tensors on the CPU, not {kind}"):
            function(KINDS[kind](t).requires_grad_(recorded))


@pytest.mark.parametrize("op", ["Swish", "Transpose"])
def test_tensors_without_memory_of_their_own(op: str) -> None:
    t, function = torch.rand(3, 4), register(op)
    for recorded in (False, True):
        y = function(t.clone().requires_grad_(recorded))
        torch.testing.assert_close(function(torch._to_functional_tensor(t).requires_grad_(recorded)), y)
        zero = torch._efficientzerotensor(3, 4).requires_grad_(recorded)
        assert not function(zero).any()
    leaf = t.clone().requires_grad_()
    (slope,) = torch.autograd.grad(function(leaf), leaf, torch._efficientzerotensor(y.shape))
    assert not slope.any()
    t.resize_(9, 9)  # nothing keeps its memory
    gone = torch.rand(3, 4)
    gone.untyped_storage().resize_(0)
    with pytest.raises(AscendError, match=r"E41011.*memory of a tensor of \[3, 4\] is gone"):
        function(gone)


def test_meta_tensors() -> None:
    for op, more, attributes in (
        ("Swish", (), {}),
        ("ReduceSum", (), {"keepdims": 0}),
        ("LSTM", (x(1, 12, 2), x(1, 12, 3)), {"hidden_size": 3}),
        ("ReverseSequence", (i(3, 2),), {}),
    ):
        tensors = [t.detach().to("meta").requires_grad_(t.requires_grad) for t in (x(3, 2, 2), *more)]
        made = register(op)(*tensors, **attributes)
        y = made[0] if isinstance(made, tuple) else made
        (slope,) = torch.autograd.grad(y, tensors[0], torch.empty_like(y))
        assert (y.device.type, slope.device.type, slope.shape) == ("meta", "meta", (3, 2, 2)), op


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: register("Gather")(torch.rand(2, 2).double(), torch.tensor([[7]])), "E40011.*index 7"),
        (lambda: register("Concat")([], axis=0), "E41011.*no tensor"),
        (lambda: register("Split")(torch.rand(4), num_outputs=300000), "E41011.*300000 outputs"),
        (lambda: register("Mod")(x(3), x(3)).sum().backward(), r"E\d{5}.*fmod"),
    ],
)
def test_refusals_are_errors_of_ours(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(AscendError, match=message):
        call()


def test_slopes_that_a_trace_holds_have_none() -> None:
    register("ReduceSumSquare")
    t = x(2, 2)
    slopes = torch.ops.ascend_ep.reduce_sum_square_slopes
    (slope,) = slopes([t, i(1)], [torch.ones(2, 1)], [0])
    torch.testing.assert_close(slope.detach(), 2 * t.detach())
    with pytest.raises(AscendError, match=r"E42006.*gradient in a trace"):
        slope.sum().backward()


def test_readers_are_those_that_need_elements() -> None:
    """A trace has none: PyTorch says which equivalents ask for them."""
    from test_torch_onnx_gradients import CASES

    found = set()
    for op, make, attributes in CASES:
        with FakeTensorMode() as mode:
            tensors = [t if t is None else _fake(mode, t) for t in make()]
            assert are_unknown([])
            try:
                equivalent(op, tensors, attributes)
            except DataDependentOutputException:
                found.add(op)
    assert found == READERS
    assert {op for op, _, _ in IMAGES + RECURRENT + ATTENTION + OTHERS} & found


def _fake(mode: FakeTensorMode, value: Any) -> Any:
    return [mode.from_tensor(v) for v in value] if isinstance(value, list) else mode.from_tensor(value)
