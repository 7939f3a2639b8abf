"""PyTorch's autograd key of an operator: its gradient's own operator is the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import compress
from typing import Any, Protocol

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import equivalent_call, gradient_operator, tensors
from ascend_ep.frameworks.torch.eager import EagerCall
from ascend_ep.frameworks.torch.equivalent_arguments import widened
from ascend_ep.frameworks.torch.schema import given, gives_a_list, parameters, separated, takes_a_list
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import differentiate, is_float

#: The rank from which on the gradient's formula is right: NumPy's product of vectors drops an axis.
LEAST_RANKS = {"MatMul": 2}
#: Makes the PyTorch function of a definition.
Register = Callable[[OpDef], Callable[..., Any]]


def autograd_kernel(
    overload: Any, compute: EagerCall, opdef: OpDef, derivatives: Derivatives
) -> Callable[..., Any]:
    """What the key runs. Where nothing watches it computes at once, recorded or not: another way through the
    dispatcher would cost more than a small operator does."""
    import torch
    from torch.autograd import forward_ad

    apply = _recorded(overload, compute, opdef, derivatives)
    recorded = _nested(apply, opdef)
    plain = (torch.Tensor, torch.nn.Parameter)
    count, listed = len(opdef.inputs), takes_a_list(opdef) or gives_a_list(opdef)
    after, records = torch._C._after_autograd_keyset, torch.is_grad_enabled
    asks = getattr(torch._C, "_any_requires_grad", _any_requires_grad)  # which torch 2.6 hasn't
    modes = torch._C._len_torch_dispatch_stack
    transform, forward = torch._C._functorch.peek_interpreter_stack, torch._C._functorch.TransformType.Jvp

    def kernel(keyset: Any, *args: Any) -> Any:
        around = transform()
        # a compiled graph enters forward mode without the level
        dual = forward_ad._current_level >= 0 or (around is not None and around.key() == forward)
        watched = dual or modes() or around is not None
        if not (watched or listed):
            first = args[:count]
            for a in first:
                if a is not None and not (type(a) in plain and a.is_cpu):
                    break
            else:
                if records() and asks(*first):
                    return apply(None, *args)
                return compute(*args)
        tensors = separated(opdef, args)[0]
        dual = dual or (bool(watched) and any(map(_has_tangent, tensors)))
        if dual or (records() and asks(*tensors)):
            return recorded(keyset, *args)
        if not watched and all(a is None or (type(a) in plain and a.is_cpu) for a in tensors):
            return compute(*args)
        with torch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(keyset & after, *args)

    return kernel


def _any_requires_grad(*tensors: Any) -> bool:
    return any(t is not None and t.requires_grad for t in tensors)


def _has_tangent(tensor: Any) -> bool:
    """Of forward mode, whoever entered its level. Dispatch modes see nothing of the question."""
    import torch

    if tensor is None:
        return False
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.Python)):
        return torch._VF._unpack_dual(tensor, level=0).tangent is not None


@contextmanager
def below_autograd() -> Iterator[None]:
    """What a recorded call does: it isn't recorded again, but by the transforms around this one, whose
    recording the forward pass of a Function has switched off."""
    import torch
    from torch.autograd.forward_ad import _set_fwd_grad_enabled

    with torch.enable_grad(), _set_fwd_grad_enabled(True), torch._C._AutoDispatchBelowAutograd():
        yield


def _recorded(
    overload: Any, compute: EagerCall, opdef: OpDef, derivatives: Derivatives
) -> Callable[..., Any]:
    """A call that autograd records, forward-mode too. It takes and gives the tensors of lists one by one, and
    before them the dispatch keys and how many tensors there are; None where it may compute at once."""
    import torch

    takes, gives, last = takes_a_list(opdef), gives_a_list(opdef), len(opdef.inputs) - 1
    remember = derivatives.remember

    def forward(ctx: Any, call: Any, *flat: Any) -> Any:
        if call is None:
            made = compute(*flat)
            remember(ctx, flat[: last + 1], flat[last + 1 :], made)
            return made
        keyset, count = call
        args = (*flat[:last], list(flat[last:count]), *flat[count:]) if takes else flat
        with below_autograd():
            made = overload.redispatch(keyset & torch._C._after_autograd_keyset, *args)
        made = tuple(made) if gives else made
        remember(ctx, flat[:count], flat[count:], made)
        ctx.save_for_forward(*flat[:count], *[None] * (last + 1 - count))
        outputs = made if isinstance(made, tuple) else (made,)
        ctx.shapes = [(y.shape, y.dtype) for y in outputs]
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
    return super(torch.autograd.Function, function).apply  # type: ignore[no-any-return]


def _nested(apply: Callable[..., Any], opdef: OpDef) -> Callable[..., Any]:
    """The recorded call as the dispatcher makes it, inside of transforms too."""
    import torch
    from torch._functorch.utils import enable_single_level_autograd_function

    gives = gives_a_list(opdef)

    def call(keyset: Any, *args: Any) -> Any:
        tensors, rest = separated(opdef, args)
        if torch._C._functorch.peek_interpreter_stack() is None:
            made = apply((keyset, len(tensors)), *tensors, *rest)
        else:  # a transform has brought us here, to its own level; Function.apply would begin with it again
            with enable_single_level_autograd_function():
                made = apply((keyset, len(tensors)), *tensors, *rest)
        return list(made) if gives else made

    return call


class Derivatives(Protocol):
    """What a forward pass keeps in its context, and the derivatives by it. The contexts count what comes
    before the tensors as the first argument. `rest`: the attributes."""

    def remember(self, ctx: Any, inputs: Sequence[Any], rest: Sequence[Any], made: Any) -> None: ...

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]: ...

    def jvp(self, ctx: Any, tangents: Sequence[Any]) -> Any: ...


class Equivalents:
    """Derivatives of an operator of ONNX by PyTorch's of its equivalent."""

    def __init__(self, opdef: OpDef, traced: Callable[[], Callable[..., Any]]) -> None:
        """traced: gives the operator of gradient_operator."""
        self.opdef = opdef
        self.traced = traced
        self.count = len(opdef.inputs)
        self.names = [a.name for a in parameters(opdef)]

    def remember(self, ctx: Any, inputs: Sequence[Any], rest: Sequence[Any], made: Any) -> None:
        if len(inputs) < self.count:
            inputs = [*inputs, *[None] * (self.count - len(inputs))]
        ctx.save_for_backward(*inputs)
        ctx.attributes = rest
        outputs = made if isinstance(made, tuple) else (made,)
        ctx.mark_non_differentiable(*[y for y in outputs if not y.is_floating_point()])

    def slopes(
        self, inputs: Sequence[Any], grads: Sequence[Any], at: Sequence[int], attributes: Mapping[str, Any]
    ) -> Sequence[Any]:
        """The slopes by the inputs at some places, 0 of one that decides nothing. Each is an input of its
        own: others may be the same tensor, or made of it. Those of half floats are computed in float32:
        PyTorch has no half of some functions, and rounds between the steps of others.

        Raises AscendError E42006 for a form that the equivalent hasn't, or that PyTorch refuses.
        """
        import torch
        from torch._functorch.eager_transforms import enable_inplace_requires_grad

        further = torch.is_grad_enabled() and any(
            t is not None and t.requires_grad for t in (*inputs, *grads)
        )
        with torch.enable_grad():
            own = list(inputs)
            for i in at:
                own[i] = own[i].view_as(own[i])
                if not own[i].requires_grad:  # of a transform that has ended
                    with enable_inplace_requires_grad(True):
                        own[i] = own[i].detach().requires_grad_()
            asked = [own[i] for i in at]
            try:
                made = equivalent_call.outputs(self.opdef, [widened(t) for t in own], attributes)
                found = [g is not None and y.requires_grad for y, g in zip(made, grads, strict=False)]
                if not any(found):
                    return [torch.zeros_like(t) for t in asked]
                ends = list(compress(made, found))
                seeds = [g.to(y.dtype) for y, g in zip(ends, compress(grads, found), strict=True)]
                return torch.autograd.grad(
                    ends, asked, seeds, create_graph=further, allow_unused=True, materialize_grads=True
                )
            except RuntimeError as error:
                if equivalent_call.are_unknown(inputs) and not isinstance(error, NotImplementedError):
                    raise
                raise equivalent_call.refusal(self.opdef, error, "E42006") from None

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]:
        """The gradients of all arguments."""
        return self.backward_of(ctx, ctx.saved_tensors, grads)

    def backward_of(self, ctx: Any, saved: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """For the inputs that were kept, which can be asked of a context once."""
        at = [i for i, x in enumerate(saved) if x is not None and ctx.needs_input_grad[i + 1]]
        if gradient_operator.is_needed(self.opdef, saved):
            found = self.traced()(list(saved), list(grads), at, *ctx.attributes)
        else:
            known = given(self.names, ctx.attributes)
            found = self.slopes(saved, grads, at, known)
        results: list[Any] = [None] * (len(saved) + len(self.names))
        for place, slope in zip(at, found, strict=True):
            results[place] = slope
        return results

    def jvp(self, ctx: Any, tangents: Sequence[Any]) -> Any:
        """Raises E42006: PyTorch's functions of slopes don't nest in its forward mode."""
        raise AscendError("E42006", self.opdef.op, "it has none in forward mode", where=self.opdef.origin)


class Refused:
    """Of an operator that has slopes, which nothing here knows: to ask for them is E42006, and not 0."""

    def __init__(self, error: AscendError) -> None:
        self.error = error

    def remember(self, ctx: Any, inputs: Sequence[Any], rest: Sequence[Any], made: Any) -> None:
        outputs = made if isinstance(made, tuple) else (made,)
        ctx.mark_non_differentiable(*[y for y in outputs if not y.is_floating_point()])

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]:
        raise self.error.with_traceback(None)

    jvp = backward


class Formulas:
    """What a forward pass keeps, and the derivatives by it. Operators of gradients are defined when they
    first run."""

    def __init__(
        self, opdef: OpDef, gradient: OpDef, register: Register, otherwise: Equivalents | None = None
    ) -> None:
        """otherwise: for tensors of a lower rank than the formula is for."""
        self.opdef = opdef
        self.otherwise = otherwise
        self.least_rank = LEAST_RANKS.get(opdef.op, 0) if otherwise else 0
        self.count = len(opdef.inputs)
        self.names = [a.name for a in parameters(opdef)]
        self.seeds = [i for i, t in enumerate(opdef.outputs) if is_float(t)]
        self.slots = [i for i, t in enumerate(opdef.inputs) if is_float(t)]
        self.partial = tensors.says_less(opdef)
        self.first = cache(lambda: register(gradient))
        self.second = cache(lambda: register(differentiate(gradient)))

    def remember(self, ctx: Any, inputs: Sequence[Any], rest: Sequence[Any], made: Any) -> None:
        if len(inputs) < self.count:
            inputs = [*inputs, *[None] * (self.count - len(inputs))]
        ctx.save_for_backward(*inputs)
        ctx.attributes = rest
        if type(made) is tuple:
            ctx.shapes = [(y.shape, y.dtype) for y in made]
            ctx.set_materialize_grads(False)
        elif self.partial:
            ctx.shapes = ((made.shape, made.dtype),)

    def other(self, saved: Sequence[Any]) -> Equivalents | None:
        """What has the derivatives of tensors that the formula isn't for."""
        few = bool(self.least_rank) and min(t.dim() for t in saved) < self.least_rank
        return self.otherwise if few else None

    def checked(self, ctx: Any) -> Any:
        """The inputs that were kept."""
        saved = ctx.saved_tensors
        if self.partial:
            known = given(self.names, ctx.attributes)
            tensors.check_ranks(self.opdef, saved, known, [len(shape) for shape, _ in ctx.shapes])
        return saved

    def backward(self, ctx: Any, grads: Sequence[Any]) -> list[Any]:
        """The gradients of all arguments."""
        saved = self.checked(ctx)
        if (other := self.other(saved)) is not None:
            return other.backward_of(ctx, saved, grads)
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
        if (other := self.other(saved)) is not None:
            return other.jvp(ctx, tangents)
        zeros = [_zeros(saved, *ctx.shapes[i]) for i in self.seeds]
        tangents = (*tangents, *[None] * (self.count - len(tangents)))
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
