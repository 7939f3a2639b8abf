"""Ways in which PyTorch transforms and records an operator, each beside plain autograd of single calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint
from torch_all_operators import Call

from ascend_ep.errors import AscendError

Tensors = Sequence[torch.Tensor]
BATCH = 3


def close(found: Iterable[Any], expected: Iterable[Any]) -> None:
    """Of float64 to its rounding; of float32 to that of the sums in it."""
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        rough = a.dtype == torch.float32
        rtol, atol = (1e-3, 1e-4) if rough else (1e-7, 1e-9)
        torch.testing.assert_close(a.double(), b.double(), rtol=rtol, atol=atol, equal_nan=True)


def leaves(tensors: Tensors) -> list[torch.Tensor]:
    return [t.detach().requires_grad_() for t in tensors]


def slopes(total: torch.Tensor, of: Tensors, further: bool = False) -> Tensors:
    if not total.requires_grad:
        return [torch.zeros_like(t) for t in of]
    return torch.autograd.grad(total, of, create_graph=further, allow_unused=True, materialize_grads=True)


def gradient(call: Call) -> Callable[..., Any]:
    return grad(call.total, argnums=tuple(range(len(call.inputs))))


def plain(call: Call, inputs: Tensors) -> Tensors:
    """The slopes of plain autograd."""
    made = leaves(inputs)
    return slopes(call.total(*made), made)


def turned(call: Call, inputs: Tensors) -> Tensors:
    """The slopes of half the sum of all slopes."""
    made = leaves(inputs)
    first = slopes(call.total(*made), made, further=True)
    return slopes(_sum(s.sum() / 2 for s in first), made)


def _sum(numbers: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.stack([n.double() for n in numbers]).sum()


def batched(call: Call) -> list[torch.Tensor]:
    return [torch.stack([x * (1 + 0.001 * k) for k in range(BATCH)]) for x in call.inputs]


def each(function: Callable[..., Tensors], batch: Tensors) -> list[torch.Tensor]:
    """The results of every element of a batch, stacked."""
    made = [function(*(t[k] for t in batch)) for k in range(BATCH)]
    return [torch.stack(parts) for parts in zip(*made, strict=True)]


def halves(inputs: Tensors) -> tuple[torch.Tensor, ...]:
    return tuple(torch.full_like(x, 0.5) for x in inputs)


def check_grad(call: Call) -> None:
    close(gradient(call)(*call.inputs), plain(call, call.inputs))


def check_vmap(call: Call) -> None:
    batch = batched(call)
    expected = each(call, batch)
    close(vmap(call)(*batch), expected)
    last = [t.movedim(0, -1) for t in batch]
    close((y.movedim(-1, 0) for y in vmap(call, in_dims=-1, out_dims=-1)(*last)), expected)
    rest = call.inputs[1:]
    one = vmap(call, in_dims=(0, *[None] * len(rest)))(batch[0], *rest)
    close(one, each(lambda t: call(t, *rest), batch[:1]))


def check_vmap_of_grad(call: Call) -> None:
    batch = batched(call)
    close(vmap(gradient(call))(*batch), each(lambda *t: plain(call, t), batch))


def check_grad_of_vmap(call: Call) -> None:
    batch = batched(call)
    whole = grad(lambda *t: vmap(call.total)(*t).sum(), argnums=tuple(range(len(batch))))
    close(whole(*batch), each(lambda *t: plain(call, t), batch))


def check_grad_of_grad(call: Call) -> None:
    def half_of_slopes(*inputs: torch.Tensor) -> torch.Tensor:
        return _sum(s.sum() / 2 for s in gradient(call)(*inputs))

    places = tuple(range(len(call.inputs)))
    close(grad(half_of_slopes, argnums=places)(*call.inputs), turned(call, call.inputs))


def check_slopes_after_a_transform(call: Call) -> None:
    """The function of slopes that vjp returns: recorded for what is recorded outside, for nothing else."""
    all_recorded = leaves(call.inputs)
    outputs = call(*all_recorded)
    ones = tuple(torch.ones_like(y) for y in outputs)
    smooth = [y for y in outputs if y.requires_grad]
    total = _sum(y.sum() for y in smooth)
    first = slopes(total, all_recorded, further=True)
    expected = slopes(_sum((s * s).sum() for s in first), all_recorded)
    for k, wanted in enumerate(expected):
        made = [x.detach().requires_grad_(j == k) for j, x in enumerate(call.inputs)]
        found = vjp(call, *made)[1](ones)
        close(slopes(_sum((s * s).sum() for s in found), [made[k]]), [wanted])
    pulled = vjp(call, *call.inputs)[1]
    with torch.no_grad():
        assert all(s.grad_fn is None for s in pulled(tuple(y.requires_grad_() for y in ones)))


def check_forward_mode(call: Call) -> None:
    """Of the operator, of a batch, of its gradient, and the gradient of that."""
    if not call.formula:
        return
    inputs, along, places = tuple(call.inputs), halves(call.inputs), tuple(range(len(call.inputs)))

    def change(*t: torch.Tensor) -> Any:
        return jvp(call.total, t, along)[1]

    close([change(*inputs)], [_sum(s.sum() / 2 for s in plain(call, inputs)).to(change(*inputs).dtype)])
    batch = batched(call)
    close([vmap(change)(*batch)], each(lambda *t: [_sum(s.sum() / 2 for s in plain(call, t))], batch))
    try:
        third = jvp(lambda *t: gradient(call)(*t), inputs, along)[1]
        fourth = grad(change, argnums=places)(*inputs)
    except AscendError as error:
        if error.code == "E42006" and call.name.split()[0] in TOO_LONG:
            return
        raise
    close(third, turned(call, inputs))
    close(fourth, turned(call, inputs))


#: Whose third derivative is a formula of more than 20,000 characters.
TOO_LONG = {"LinearAddGelu", "RoPE", "ScaledDotProductAttention", "SigmoidFocalLoss"}


def check_jacobians(call: Call) -> None:
    first, *rest = call.inputs

    def output(t: torch.Tensor) -> torch.Tensor:
        return call(t, *rest)[0]

    def number(t: torch.Tensor) -> torch.Tensor:
        return call.total(t, *rest)

    if not output(first).numel() < 100:
        return
    expected = torch.autograd.functional.jacobian(output, first)
    close([jacrev(output)(first)], [expected])
    bent = torch.autograd.functional.hessian(number, first)
    close([jacrev(jacrev(number))(first)], [bent])
    if call.formula:
        close([jacfwd(output)(first)], [expected])
    if call.formula and call.name.split()[0] not in TOO_LONG:
        close([hessian(number)(first)], [bent])


def laid_out(x: torch.Tensor) -> list[torch.Tensor]:
    """The same numbers in other places of memory."""
    transposed = x.mT.contiguous().mT if x.dim() > 1 else x.repeat_interleave(2)[::2] if x.dim() else x
    around = torch.full([n + 2 for n in x.shape], 7.0, dtype=x.dtype)
    inside = around[(slice(1, -1),) * x.dim()]
    inside.copy_(x)
    behind = torch.cat([torch.ones(3, dtype=x.dtype), x.reshape(-1)])[3:].reshape(x.shape)
    return [transposed, inside, behind, torch._neg_view(-x)]


def check_layouts(call: Call) -> None:
    """Of inputs, and of the seeds of slopes."""
    values, expected = call(*call.inputs), plain(call, call.inputs)
    for inputs in zip(*map(laid_out, call.inputs), strict=True):
        close(call(*inputs), values)
        made = leaves(inputs)
        close(slopes(call.total(*made), made), expected)
        outputs = [y for y in call(*made) if y.requires_grad]
        seeds = [torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape) for y in outputs]
        for given in [*zip(*map(laid_out, seeds), strict=True), [s.expand_as(s) for s in seeds]]:
            found = torch.autograd.grad(outputs, made, given, True, allow_unused=True, materialize_grads=True)
            close(found, expected_by(outputs, made, seeds))


def expected_by(outputs: Tensors, of: Tensors, seeds: Tensors) -> Tensors:
    return torch.autograd.grad(outputs, of, seeds, True, allow_unused=True, materialize_grads=True)


def check_views(call: Call) -> None:
    """Inputs that are windows of one tensor; and one input at a time."""
    inputs, expected = call.inputs, plain(call, call.inputs)
    if len({x.dtype for x in inputs}) == 1:
        base = torch.cat([x.reshape(-1) for x in inputs]).requires_grad_()
        windows = base.split([x.numel() for x in inputs])
        total = call.total(*(w.view(x.shape) for w, x in zip(windows, inputs, strict=True)))
        close(slopes(total, [base]), [torch.cat([s.reshape(-1) for s in expected])])
    for k, wanted in enumerate(expected):
        made = [x.detach().requires_grad_(j == k) for j, x in enumerate(inputs)]
        close(slopes(call.total(*made), [made[k]]), [wanted])


def check_changes_in_place(call: Call) -> None:
    """Results stay when inputs change; slopes that need an input as it was say so."""
    inputs = [x.clone() for x in call.inputs]
    made = call(*inputs)
    kept = [y.clone() for y in made]
    for x in inputs:
        x.mul_(3)
    close(made, kept)
    expected, first = plain(call, call.inputs), leaves(call.inputs)
    inner = [x * 1 for x in first]
    total = call.total(*inner)
    for x in inner:
        x.add_(1)
    try:
        found = slopes(total, first)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
    else:
        close(found, expected)


def check_no_elements(call: Call) -> None:
    """The first axis without elements: slopes of the inputs' sizes, or an error with a code."""
    inputs = call.inputs
    if not all(x.dim() for x in inputs):
        return
    empty = [x[:0] if len(x) == len(inputs[0]) else x for x in inputs]
    try:
        call(*empty)
    except AscendError:
        return
    found = plain(call, empty)
    assert [s.shape for s in found] == [x.shape for x in empty]
    close(gradient(call)(*empty), found)


#: How far results of narrow inputs are from those of the same numbers in float64, of the largest slope.
NARROW = {torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}


def check_narrow_types(call: Call) -> None:
    """Of every type that the definition has, beside the same numbers in the call's own types."""
    for dtype, most in NARROW.items():
        if not call.takes(dtype):
            continue
        narrow, same = call.rounded(dtype, dtype), call.rounded(dtype, torch.float64)
        found, expected = plain(narrow, narrow.inputs), plain(same, same.inputs)
        for x, slope, wanted in zip(narrow.inputs, found, expected, strict=True):
            assert slope.dtype == x.dtype
            if x.numel():
                off = (slope.double() - wanted.double()).abs().max()
                assert off <= most * max(1.0, float(wanted.abs().max())), dtype


def check_recomputed(call: Call) -> None:
    close(
        plain_of(lambda *t: checkpoint(call.total, *t, use_reentrant=False), call), plain(call, call.inputs)
    )


def plain_of(function: Callable[..., Any], call: Call) -> Tensors:
    made = leaves(call.inputs)
    return slopes(function(*made), made)


def check_compiled(call: Call) -> None:
    """Traced with its gradient: recorded, and by a transform."""
    torch._dynamo.reset()
    compiled = torch.compile(call.total, backend="aot_eager", fullgraph=True)
    expected = plain(call, call.inputs)
    close(plain_of(compiled, call), expected)
    slope = gradient(call)
    close(torch.compile(lambda *t: slope(*t), backend="aot_eager", fullgraph=True)(*call.inputs), expected)


def check_compiled_of_a_batch(call: Call) -> None:
    torch._dynamo.reset()
    slope, batch = gradient(call), batched(call)
    several = torch.compile(vmap(slope), backend="aot_eager", fullgraph=True)
    close(several(*batch), each(lambda *t: plain(call, t), batch))


def check_compiled_forward_mode(call: Call) -> None:
    """By a transform, and by dual tensors."""
    if not call.formula:
        return
    inputs, along = tuple(call.inputs), halves(call.inputs)

    def change(*t: torch.Tensor) -> Any:
        return jvp(call.total, t, along)[1]

    def dual(*t: torch.Tensor) -> Any:
        with dual_level():
            made = [make_dual(x, d) for x, d in zip(t, along, strict=True)]
            return unpack_dual(call.total(*made)).tangent

    for function in (change, dual):
        torch._dynamo.reset()
        found = torch.compile(function, backend="aot_eager", fullgraph=True)(*inputs)
        close([found], [change(*inputs)])


CHECKS: dict[str, Callable[[Call], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name[:6] == "check_"
}
