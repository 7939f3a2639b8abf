"""PyTorch's autograd key of an operator: its gradient's own operator is the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ascend_ep.frameworks.torch import tensors
from ascend_ep.frameworks.torch.eager import EagerCall
from ascend_ep.frameworks.torch.schema import parameters
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import differentiate

#: Makes the PyTorch function of a definition.
Register = Callable[[OpDef], Callable[..., Any]]


def autograd_kernel(
    overload: Any, compute: EagerCall, opdef: OpDef, gradient: OpDef, register: Register
) -> Callable[..., Any]:
    """What the key runs. Where nothing asks for a gradient and nothing watches, it computes at once: another
    way through the dispatcher would cost more than a small operator does."""
    import torch
    from torch.autograd import forward_ad

    recorded = _recorded(overload, opdef, gradient, register)
    plain = (torch.Tensor, torch.nn.Parameter, type(None))
    count = len(opdef.inputs)
    after = torch._C._after_autograd_keyset

    def kernel(keyset: Any, *args: Any) -> Any:
        dual = forward_ad._current_level >= 0
        if dual or (torch.is_grad_enabled() and torch._C._any_requires_grad(*args)):
            return recorded(keyset, *args)
        if (
            not torch._C._len_torch_dispatch_stack()
            and torch._C._functorch.peek_interpreter_stack() is None
            and all(type(a) in plain and (a is None or a.is_cpu) for a in args[:count])
        ):
            return compute(*args)
        with torch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(keyset & after, *args)

    return kernel


def _recorded(overload: Any, opdef: OpDef, gradient: OpDef, register: Register) -> Callable[..., Any]:
    """A call that autograd records, forward-mode too."""
    import torch
    from torch._functorch.utils import enable_single_level_autograd_function

    formulas = _Formulas(opdef, gradient, register)

    def forward(ctx: Any, keyset: Any, *args: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            made = overload.redispatch(keyset & torch._C._after_autograd_keyset, *args)
        formulas.remember(ctx, args, made)
        return made

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None, *formulas.backward(ctx, grads)[: len(ctx.needs_input_grad) - 1])

    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        return formulas.jvp(ctx, tangents)

    members = {"forward": forward, "backward": backward, "jvp": jvp}
    function: Any = type(
        f"{opdef.op}Backward",
        (torch.autograd.Function,),
        {name: staticmethod(member) for name, member in members.items()},
    )
    apply = super(torch.autograd.Function, function).apply

    def call(keyset: Any, *args: Any) -> Any:
        if torch._C._functorch.peek_interpreter_stack() is None:
            return apply(keyset, *args)
        # a transform has brought us here, to its own level; Function.apply would begin with it again
        with enable_single_level_autograd_function():
            return apply(keyset, *args)

    return call


class _Formulas:
    """What a forward pass keeps, and the derivatives by it. Operators of gradients are defined when they
    first run."""

    def __init__(self, opdef: OpDef, gradient: OpDef, register: Register) -> None:
        self.opdef = opdef
        self.count = len(opdef.inputs)
        self.names = [a.name for a in parameters(opdef)]
        self.seeds = [
            i for i, t in enumerate(opdef.outputs) if f"grad_{t.name}" in {s.name for s in gradient.inputs}
        ]
        self.slots = [
            i for i, t in enumerate(opdef.inputs) if not t.types or set(t.types) & set(dtypes.FLOATS)
        ]
        self.partial = tensors.says_less(opdef)
        self.first = cache(lambda: register(gradient))
        self.second = cache(lambda: register(differentiate(gradient)))

    def remember(self, ctx: Any, args: Sequence[Any], made: Any) -> None:
        inputs = list(args[: self.count])
        inputs += [None] * (self.count - len(inputs))
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.attributes = args[self.count :]
        outputs = made if isinstance(made, tuple) else (made,)
        ctx.shapes = [(y.shape, y.dtype) for y in outputs]
        ctx.set_materialize_grads(False)

    def checked(self, ctx: Any) -> Any:
        """The inputs that were kept."""
        saved = ctx.saved_tensors
        if self.partial:
            given = {n: v for n, v in zip(self.names, ctx.attributes, strict=False) if v is not None}
            tensors.check_ranks(self.opdef, saved, given, [len(shape) for shape, _ in ctx.shapes])
        return saved

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]:
        """The gradients of all arguments."""
        saved = self.checked(ctx)
        seeds = [_zeros(saved, *ctx.shapes[i]) if grads[i] is None else grads[i] for i in self.seeds]
        made = self.first()(*saved, *seeds, *ctx.attributes)
        results: list[Any] = [None] * (self.count + len(self.names))
        for slot, value in zip(self.slots, made if isinstance(made, tuple) else (made,), strict=True):
            if saved[slot] is not None and ctx.needs_input_grad[slot + 1]:
                results[slot] = value
        return results

    def jvp(self, ctx: Any, tangents: Sequence[Any]) -> Any:
        """The outputs' changes along the tangents: the gradient is linear in its seeds, so its own gradient
        by them, for the tangents, is that change."""
        import torch

        saved = self.checked(ctx)
        zeros = [_zeros(saved, *ctx.shapes[i]) for i in self.seeds]
        along = [
            torch.zeros_like(saved[i]) if tangents[i] is None and saved[i] is not None else tangents[i]
            for i in self.slots
        ]
        along = [_zeros(saved, (), zeros[0].dtype) if t is None else t for t in along]
        made = self.second()(*saved, *zeros, *along, *ctx.attributes)
        changes = dict(zip(self.seeds, made[-len(zeros) :], strict=True))
        results = tuple(changes.get(i) for i in range(len(self.opdef.outputs)))
        return results[0] if len(results) == 1 else results


def _zeros(like: Sequence[Any], shape: Any, dtype: Any) -> Any:
    return next(t for t in like if t is not None).new_zeros(shape, dtype=dtype)
