"""Registering definitions with torch.library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.described import DOMAIN, OPSET
from ascend_ep.frameworks.torch import export, tensors
from ascend_ep.frameworks.torch.autograd import autograd_kernel
from ascend_ep.frameworks.torch.eager import EagerCall
from ascend_ep.frameworks.torch.schema import function_name, parameters, schema
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
    qualified = f"{NAMESPACE}::{name}"

    def describe(*args: Any) -> Any:
        given = dict(zip(names, args[count:], strict=False))
        known = {n: v for n, v in given.items() if v is not None}
        return _packed(tensors.describe(opdef, args[:count], known))

    compute = EagerCall(opdef, names)
    library = _library()
    library.define(f"{name}{schema(opdef)}", tags=[torch.Tag.pt2_compliant_tag])
    library.impl(name, compute, "CPU")
    torch.library.register_fake(qualified, describe, lib=library)
    function = getattr(getattr(torch.ops, NAMESPACE), name)
    try:
        gradient = differentiate(opdef)
    except AscendError:
        gradient = None
    if gradient is not None:
        kernel = autograd_kernel(function.default, compute, opdef, gradient, register)
        library.impl(name, kernel, "Autograd", with_keyset=True)
    export.register_symbolic(qualified, opdef)
    return function  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _library() -> Any:
    """Where operators are defined: it must live as long as they do."""
    import torch

    return torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]


def _packed(results: Sequence[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)
