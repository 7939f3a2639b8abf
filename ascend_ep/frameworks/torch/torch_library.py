"""Registering definitions with torch.library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.extras import named
from ascend_ep.frameworks.described import DOMAIN, ML_OPSET, OPSET
from ascend_ep.frameworks.torch import equivalent_call, export, gradient_operator, tensors
from ascend_ep.frameworks.torch.autograd import (
    Derivatives,
    Equivalents,
    Formulas,
    Refused,
    Register,
    autograd_kernel,
)
from ascend_ep.frameworks.torch.batches import one_by_one
from ascend_ep.frameworks.torch.eager import EagerCall
from ascend_ep.frameworks.torch.gradient_operator import SUFFIX
from ascend_ep.frameworks.torch.schema import (
    function_name,
    given,
    gives_a_list,
    parameters,
    schema,
    separated,
    takes_a_list,
)
from ascend_ep.frameworks.torch.without_gradient import STEP, WITHOUT
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import Flat, differentiate, is_float
from ascend_ep.opdef.registry import Registry

NAMESPACE = "ascend_ep"


@dataclass(frozen=True)
class _Registered:
    opdef: OpDef
    function: Callable[..., Any]


#: By the qualified name, <namespace>::<name>.
_registered: dict[str, _Registered] = {}


@named("torch")
def register(opdef: OpDef | str, namespace: str = NAMESPACE) -> Callable[..., Any]:
    """The definition, or the operator of this name in $ASCEND_CUSTOM_OPS, among the built-in ones or ONNX's
    own, as the function torch.ops.<namespace>.<name>: inputs, then attributes.

    Tensors are on the CPU. Custom operators are computed in float64 by the reference, else by the runtime.
    Where elements of an input decide a size, a trace doesn't know it unless they are constant.

    Registering the same definition again gives the same function; another of that name is refused (E41011),
    and so is what is no name for a namespace, or PyTorch's own.
    """
    if isinstance(opdef, str):
        opdef = definition_of(opdef)
    if not (namespace.isascii() and namespace.isidentifier()) or namespace in ("aten", "prim", "prims"):
        raise AscendError("E41011", opdef.op, f"[{namespace[:80]}] can't be the namespace of an operator")
    qualified = f"{namespace}::{function_name(opdef.op)}"
    if qualified not in _registered:
        _registered[qualified] = _Registered(opdef, _define(qualified, opdef))
    elif _registered[qualified].opdef != opdef:
        name = qualified.replace("::", ".")
        raise AscendError("E41011", opdef.op, f"torch.ops.{name} is another operator already")
    return _registered[qualified].function


def registrable(opdef: OpDef) -> bool:
    """Whether PyTorch can have it: there is a schema."""
    try:
        schema(opdef)
    except AscendError:
        return False
    return True


@named("torch")
def translations() -> dict[Any, Callable[..., Any]]:
    """What `torch.onnx.export(..., custom_translation_table=)` takes, for everything registered."""
    return {r.function.default: export.translation(r.opdef) for r in _registered.values()}  # type: ignore[attr-defined]


def definition_of(op: str, domain: str | None = None) -> OpDef:
    """The definition of this name, in a domain or in the first that has it. Raises AscendError E41011."""
    registry = Registry.from_options()
    places = [at for at in _places() if domain in (None, at[0])] or [(domain or "", 1)]
    found = next((f for at in places if (f := registry.resolve(at[0], op, at[1]))), None)
    if found is None:
        raise AscendError(
            "E41011", op, "no definition of it was found", details=registry.near_misses("", op, 1)
        )
    opdef = found.opdef
    needed = tuple(t for t in opdef.outputs if t.occurrence != "optional")
    if opdef.standard and needed:  # what a node may leave out isn't returned
        opdef = replace(opdef, outputs=needed)
    return opdef


def _places() -> list[tuple[str, int]]:
    """Domains, with their versions, in which an operator of a name is looked for."""
    from onnx.defs import onnx_opset_version

    return [(DOMAIN, 1), ("", OPSET), ("", onnx_opset_version()), ("ai.onnx.ml", ML_OPSET)]


def _define(qualified: str, opdef: OpDef) -> Callable[..., Any]:
    import torch

    namespace, _, name = qualified.partition("::")

    names = [a.name for a in parameters(opdef)]

    def describe(*args: Any) -> Any:
        inputs, rest = separated(opdef, args)
        known = given(names, rest)
        made = tensors.describe(opdef, inputs, known)
        return made if gives_a_list(opdef) else _packed(made)

    compute = EagerCall(opdef, names)
    library = _library(namespace)
    library.define(f"{name}{schema(opdef)}", tags=[torch.Tag.pt2_compliant_tag])
    library.impl(name, compute, "CPU")
    library.impl(name, partial(_refuse, opdef), "CompositeExplicitAutograd")  # other devices and layouts
    torch.library.register_fake(qualified, describe, lib=library)
    function = getattr(getattr(torch.ops, namespace), name)
    derivatives = _derivatives(opdef, partial(register, namespace=namespace), function)
    if derivatives is not None:
        kernel = autograd_kernel(function.default, compute, opdef, derivatives)
        library.impl(name, kernel, "Autograd", with_keyset=True)
    if takes_a_list(opdef) or gives_a_list(opdef):  # PyTorch's own rule is for no lists
        torch.library.register_vmap(qualified, one_by_one(function, gives_a_list(opdef)), lib=library)
    equivalents = derivatives.otherwise if isinstance(derivatives, Formulas) else derivatives
    if isinstance(equivalents, Equivalents):
        gradient_operator.define(library, name, opdef, equivalents.slopes)
    export.register_symbolic(qualified, opdef)
    return function  # type: ignore[no-any-return]


def _refuse(opdef: OpDef, *args: Any) -> Any:
    """Raises AscendError E41011."""
    inputs = [t for t in separated(opdef, args)[0] if t is not None]
    if not inputs:
        raise AscendError("E41011", opdef.op, "it is given no tensor", where=opdef.origin)
    other = next((t for t in inputs if not tensors.is_dense(t)), inputs[0])
    raise tensors.not_dense(other, opdef.op)


def _derivatives(opdef: OpDef, register: Register, function: Any) -> Derivatives | None:
    """By the formula's gradient, or by PyTorch's equivalent of an operator of ONNX."""
    import torch

    equivalents = None
    if equivalent_call.has_equivalent(opdef):
        namespace, _, name = function._qualified_op_name.partition("::")
        equivalents = Equivalents(opdef, lambda: getattr(getattr(torch.ops, namespace), name + SUFFIX))
    try:
        return Formulas(opdef, differentiate(opdef), register, equivalents)
    except AscendError as error:
        return equivalents or _refused(opdef, error)


def _refused(opdef: OpDef, error: AscendError) -> Refused | None:
    """None for what has no slopes, or slopes of 0."""
    smooth = any(map(is_float, opdef.inputs)) and any(map(is_float, opdef.outputs))
    flat = not smooth or WITHOUT.get(opdef.op) == STEP or isinstance(error, Flat)
    return None if flat else Refused(error)


@cache
def _library(namespace: str) -> Any:
    """Where operators are defined: it must live as long as they do."""
    import torch

    return torch.library.Library(namespace, "FRAGMENT")  # type: ignore[no-untyped-call]


def _packed(results: Sequence[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)
