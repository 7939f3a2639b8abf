"""Registering definitions with torch.library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.described import DOMAIN, OPSET
from ascend_ep.frameworks.torch import export, tensors
from ascend_ep.frameworks.torch.schema import function_name, parameters, schema
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import differentiate
from ascend_ep.opdef.registry import Registry

NAMESPACE = "ascend_ep"


@dataclass(frozen=True)
class _Registered:
    opdef: OpDef
    function: Callable[..., Any]


_registered: dict[str, _Registered] = {}


def register(opdef: OpDef | str) -> Callable[..., Any]:
    """The definition, or the operator of this name in $ASCEND_CUSTOM_OPS, among the built-in ones or ONNX's
    own, as the function torch.ops.ascend_ep.<name>: inputs, then attributes.

    Tensors are on the CPU. Custom operators are computed in float64 by the reference, else by the runtime.
    Where elements of an input decide a size, a trace doesn't know it unless they are constant.

    Registering the same definition again gives the same function; another of that name is refused (E41011).
    """
    if isinstance(opdef, str):
        opdef = _named(opdef)
    name = function_name(opdef.op)
    if name not in _registered:
        _registered[name] = _Registered(opdef, _define(name, opdef))
    elif _registered[name].opdef != opdef:
        raise AscendError("E41011", opdef.op, f"torch.ops.{NAMESPACE}.{name} is another operator already")
    return _registered[name].function


def registrable(opdef: OpDef) -> bool:
    """Whether PyTorch can have it: its functions have no variadic tensors."""
    return all(t.occurrence != "variadic" for t in (*opdef.inputs, *opdef.outputs))


def translations() -> dict[Any, Callable[..., Any]]:
    """What `torch.onnx.export(..., custom_translation_table=)` takes, for everything registered."""
    import torch

    space = getattr(torch.ops, NAMESPACE)
    return {getattr(space, n).default: export.translation(r.opdef) for n, r in _registered.items()}


def _named(op: str) -> OpDef:
    registry = Registry.from_options()
    found = registry.resolve(DOMAIN, op, 1) or registry.resolve("", op, OPSET)
    if found is None:
        raise AscendError(
            "E41011", op, "no definition of it was found", details=registry.near_misses("", op, 1)
        )
    opdef = found.opdef
    if opdef.standard:  # what a node may leave out isn't returned
        opdef = replace(opdef, outputs=tuple(t for t in opdef.outputs if t.occurrence != "optional"))
    return opdef


def _define(name: str, opdef: OpDef) -> Callable[..., Any]:
    import torch

    count = len(opdef.inputs)
    names = [a.name for a in parameters(opdef)]

    def split(args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        given = dict(zip(names, args[count:], strict=False))
        return list(args[:count]), {n: v for n, v in given.items() if v is not None}

    def compute(*args: Any) -> Any:
        inputs, attributes = split(args)
        return _packed(tensors.run(opdef, inputs, attributes))

    def describe(*args: Any) -> Any:
        inputs, attributes = split(args)
        return _packed(tensors.describe(opdef, inputs, attributes))

    function = torch.library.custom_op(
        f"{NAMESPACE}::{name}", compute, mutates_args=(), schema=schema(opdef), device_types="cpu"
    )
    function.register_fake(describe)
    try:
        gradient = differentiate(opdef)
    except AscendError:
        gradient = None
    if gradient is not None:
        _add_autograd(function, opdef, gradient, len(names))
    export.register_symbolic(f"{NAMESPACE}::{name}", opdef)
    return function


def _add_autograd(function: Any, opdef: OpDef, gradient: OpDef, n_attributes: int) -> None:
    """The backward pass is the gradient's own operator, defined when it first runs."""
    count = len(opdef.inputs)
    seeds = [i for i, t in enumerate(opdef.outputs) if f"grad_{t.name}" in {s.name for s in gradient.inputs}]
    slots = _gradient_slots(opdef)

    def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:count])
        ctx.attributes = inputs[count:]
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.shapes = [(y.shape, y.dtype) for y in outputs]
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        saved = ctx.saved_tensors
        named = dict(zip((a.name for a in parameters(opdef)), ctx.attributes, strict=True))
        known = {n: v for n, v in named.items() if v is not None}
        tensors.check_ranks(opdef, saved, known, [len(shape) for shape, _ in ctx.shapes])
        like = next(t for t in saved if t is not None)
        given = [
            like.new_zeros(ctx.shapes[i][0], dtype=ctx.shapes[i][1]) if grads[i] is None else grads[i]
            for i in seeds
        ]
        made = register(gradient)(*saved, *given, *ctx.attributes)
        results: list[Any] = [None] * (count + n_attributes)
        for slot, value in zip(slots, made if isinstance(made, tuple) else (made,), strict=True):
            if saved[slot] is not None and ctx.needs_input_grad[slot]:
                results[slot] = value
        return tuple(results)

    function.register_autograd(backward, setup_context=remember)


def _gradient_slots(opdef: OpDef) -> list[int]:
    """Which inputs the outputs of the gradient belong to."""
    return [i for i, t in enumerate(opdef.inputs) if not t.types or set(t.types) & set(dtypes.FLOATS)]


def _packed(results: Sequence[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)
