"""Declarations: definitions without semantics of their own, completed by one that has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, OpDef, TensorSpec
from ascend_ep.opdef.library import is_undescribed


def complete(declared: OpDef, found: OpDef) -> OpDef:
    """A declaration without semantics, completed by a definition that has them.

    Names and shape rule are the found definition's; the declaration keeps its domain, version and kernel
    name, and its types and attribute defaults win. A library that nothing describes computes what is
    declared. Raises E41006 when the two don't fit.
    """
    if _is_described(declared) and is_undescribed(found):
        return replace(declared, semantics=found.semantics, shape={})
    attributes = check_interface(declared, found)
    found = _with_types(declared, found)
    return replace(
        found,
        domain=found.domain if found.standard else declared.domain,
        since_version=found.since_version if found.standard else declared.since_version,
        attributes=attributes,
        kernel_name=declared.kernel_name or found.kernel_name,
        need_check_supported=declared.need_check_supported,
        origin=declared.origin,
    )


def check_interface(declared: OpDef, found: OpDef) -> tuple[Attribute, ...]:
    """The attributes of both. Raises E41006 when the numbers of tensors or the attributes don't fit."""
    most = found.max_inputs
    n_in, n_out = len(declared.inputs), len(declared.outputs)
    if _is_described(declared) and (n_in < found.min_inputs or (most is not None and n_in > most)):
        limits = f"{found.min_inputs} to {'any number' if most is None else most}"
        reason = f"it declares {n_in} inputs, but the semantics take {limits}"
        raise _contradiction(declared, found, reason)
    if _is_described(declared) and n_out > len(found.outputs):
        reason = f"it declares {n_out} outputs, but the semantics give {len(found.outputs)}"
        raise _contradiction(declared, found, reason)
    attributes = {a.name: a for a in found.attributes}
    for ours in declared.attributes:
        attributes[ours.name] = _completed_attribute(ours, attributes.get(ours.name), declared, found)
    return tuple(attributes.values())


def _is_described(declared: OpDef) -> bool:
    return bool(declared.counts is not None or declared.inputs or declared.outputs)


def _contradiction(declared: OpDef, found: OpDef, reason: str) -> AscendError:
    return AscendError("E41006", declared.op, f"{reason} ({found.origin})", where=declared.origin)


def _completed_attribute(
    ours: Attribute, theirs: Attribute | None, declared: OpDef, found: OpDef
) -> Attribute:
    if theirs is None:
        raise _contradiction(declared, found, f"the semantics have no attribute [{ours.name}]")
    if theirs.type != ours.type:
        reason = f"attribute [{ours.name}] is {ours.type}, but the semantics take {theirs.type}"
        raise _contradiction(declared, found, reason)
    default = theirs.default if ours.default is None else ours.default
    return replace(theirs, default=default, required=ours.required, allowed=ours.allowed or theirs.allowed)


def _with_types(declared: OpDef, found: OpDef) -> OpDef:
    """The found definition with what is declared of its tensors; columns leave no other types."""
    typed = any(t.types for t in (*declared.inputs, *declared.outputs))

    def narrowed(specs: Sequence[TensorSpec], ours: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
        if any(s.occurrence == "variadic" for s in specs):
            return tuple(replace(s, types=()) if declared.paired else s for s in specs)
        both = []
        for theirs, mine in zip(specs, ours, strict=False):
            _check_types(declared, found, theirs, mine)
            alone = declared.paired or bool(mine.types)
            types, variable = (mine.types, mine.variable) if alone else (theirs.types, theirs.variable)
            formats, dynamic = mine.formats or theirs.formats, mine.dynamic_shape and theirs.dynamic_shape
            tensor = replace(theirs, types=types, variable=variable)
            both.append(replace(tensor, formats=formats, dynamic_shape=dynamic))
        others = specs[len(both) :]
        return (*both, *(replace(s, types=(), variable="") if declared.paired else s for s in others))

    return replace(
        found,
        inputs=narrowed(found.inputs, declared.inputs),
        outputs=narrowed(found.outputs, declared.outputs),
        paired=declared.paired or (found.paired and not typed),
        remarks=(*declared.remarks, *found.remarks),
    )


def _check_types(declared: OpDef, found: OpDef, theirs: TensorSpec, ours: TensorSpec) -> None:
    """Raises E41006 for types that the semantics don't take; of floats they take all, by casts."""
    floats = all(any(t in dtypes.COMPUTE_FLOATS for t in s.types) for s in (theirs, ours))
    if ours.types and theirs.types and not floats and not set(ours.types) & set(theirs.types):
        said, taken = (", ".join(dict.fromkeys(map(dtypes.name, s.types))) for s in (ours, theirs))
        reason = f"[{ours.name}] is declared {said}, but the semantics take {taken}"
        raise _contradiction(declared, found, reason)
