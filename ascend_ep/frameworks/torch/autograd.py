"""PyTorch's autograd key of an operator: its gradient's own operator is the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import tensors
from ascend_ep.frameworks.torch.eager import EagerCall
from ascend_ep.frameworks.torch.onnx_equivalents import EQUIVALENTS
from ascend_ep.frameworks.torch.schema import parameters
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import differentiate, is_float

#: Makes the PyTorch function of a definition.
Register = Callable[[OpDef], Callable[..., Any]]


def autograd_kernel(
    overload: Any, compute: EagerCall, opdef: OpDef, derivatives: Derivatives
) -> Callable[..., Any]:
    """What the key runs. Where nothing asks for a gradient and nothing watches, it computes at once: another
    way through the dispatcher would cost more than a small operator does."""
    import torch
    from torch.autograd import forward_ad

    recorded = _recorded(overload, opdef, derivatives)
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


def _recorded(overload: Any, opdef: OpDef, derivatives: Derivatives) -> Callable[..., Any]:
    """A call that autograd records, forward-mode too."""
    import torch
    from torch._functorch.utils import enable_single_level_autograd_function

    def forward(ctx: Any, keyset: Any, *args: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            made = overload.redispatch(keyset & torch._C._after_autograd_keyset, *args)
        derivatives.remember(ctx, args, made)
        return made

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None, *derivatives.backward(ctx, grads)[: len(ctx.needs_input_grad) - 1])

    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        return derivatives.jvp(ctx, tangents)

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


class Derivatives(Protocol):
    """What a forward pass keeps in its context, and the derivatives by it. The contexts count the dispatch
    keys as the first argument."""

    def remember(self, ctx: Any, args: Sequence[Any], made: Any) -> None: ...

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]: ...

    def jvp(self, ctx: Any, tangents: Sequence[Any]) -> Any: ...


class Equivalents:
    """Derivatives of an operator of ONNX by PyTorch's of its equivalent."""

    def __init__(self, opdef: OpDef) -> None:
        self.opdef = opdef
        self.count = len(opdef.inputs)
        self.names = [a.name for a in parameters(opdef)]
        self.defaults = {a.name: a.default for a in opdef.attributes if a.default is not None}
        self.equivalent = EQUIVALENTS[opdef.op]

    def remember(self, ctx: Any, args: Sequence[Any], made: Any) -> None:
        inputs = [*args[: self.count], *[None] * (self.count - len(args))]
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        given = dict(zip(self.names, args[self.count :], strict=False))
        ctx.attributes = {**self.defaults, **{n: v for n, v in given.items() if v is not None}}
        outputs = made if isinstance(made, tuple) else (made,)
        ctx.mark_non_differentiable(*[y for y in outputs if not y.is_floating_point()])

    def floats(self, ctx: Any, at: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
        """The equivalent's float outputs, for these values of the inputs at some places. Raises E42006."""
        inputs = list(ctx.saved_tensors)
        for place, value in zip(at, values, strict=True):
            inputs[place] = value
        try:
            made = self.equivalent(*inputs, a=ctx.attributes)
        except NotImplementedError as error:
            raise AscendError("E42006", self.opdef.op, error, where=self.opdef.origin) from None
        return tuple(y for y in (made if isinstance(made, tuple) else (made,)) if y.is_floating_point())

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]:
        """The gradients of all arguments."""
        import torch

        further, saved = torch.is_grad_enabled(), ctx.saved_tensors
        at = [i for i, x in enumerate(saved) if x is not None and ctx.needs_input_grad[i + 1]]
        asked = [saved[i] for i in at]
        with torch.enable_grad():
            outputs = self.floats(ctx, at, asked)
            pairs = [(y, g) for y, g in zip(outputs, grads, strict=False) if g is not None]
            made, seeds = [y for y, _ in pairs], [g for _, g in pairs]
            found = torch.autograd.grad(made, asked, seeds, create_graph=further, allow_unused=True)
        results: list[Any] = [None] * (self.count + len(self.names))
        for place, slope in zip(at, found, strict=True):
            results[place] = slope
        return results

    def jvp(self, ctx: Any, tangents: Sequence[Any]) -> Any:
        """Raises E42006: the elements that decide sizes can't be read there."""
        raise AscendError("E42006", self.opdef.op, "it has none in forward mode", where=self.opdef.origin)


class Formulas:
    """What a forward pass keeps, and the derivatives by it. Operators of gradients are defined when they
    first run."""

    def __init__(self, opdef: OpDef, gradient: OpDef, register: Register) -> None:
        self.opdef = opdef
        self.count = len(opdef.inputs)
        self.names = [a.name for a in parameters(opdef)]
        self.seeds = [i for i, t in enumerate(opdef.outputs) if is_float(t)]
        self.slots = [i for i, t in enumerate(opdef.inputs) if is_float(t)]
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
