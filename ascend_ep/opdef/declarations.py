"""Declarations: definitions without semantics of their own, completed by one that has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import Attribute, OpDef
from ascend_ep.opdef.library import is_undescribed


def complete(declared: OpDef, found: OpDef) -> OpDef:
    """A declaration without semantics, completed by a definition that has them.

    Names, types and shape rule are the found definition's; the declaration keeps its domain, version and
    kernel name, and its attribute defaults win. A library that nothing describes computes what is declared.
    Raises E41006 when the two don't fit.
    """

    def contradiction(reason: str) -> AscendError:
        return AscendError("E41006", declared.op, f"{reason} ({found.origin})", where=declared.origin)

    described = bool(declared.counts is not None or declared.inputs or declared.outputs)
    if described and is_undescribed(found):
        return replace(declared, semantics=found.semantics, shape={})
    most = found.max_inputs
    n_in, n_out = len(declared.inputs), len(declared.outputs)
    if described and (n_in < found.min_inputs or (most is not None and n_in > most)):
        limits = f"{found.min_inputs} to {'any number' if most is None else most}"
        raise contradiction(f"it declares {n_in} inputs, but the semantics take {limits}")
    if described and n_out > len(found.outputs):
        raise contradiction(f"it declares {n_out} outputs, but the semantics give {len(found.outputs)}")
    attributes = {a.name: a for a in found.attributes}
    for ours in declared.attributes:
        attributes[ours.name] = _completed_attribute(ours, attributes.get(ours.name), contradiction)
    return replace(
        found,
        domain=found.domain if found.standard else declared.domain,
        since_version=found.since_version if found.standard else declared.since_version,
        attributes=tuple(attributes.values()),
        kernel_name=declared.kernel_name or found.kernel_name,
        need_check_supported=declared.need_check_supported,
        origin=declared.origin,
    )


def _completed_attribute(
    ours: Attribute, theirs: Attribute | None, contradiction: Callable[[str], AscendError]
) -> Attribute:
    if theirs is None:
        raise contradiction(f"the semantics have no attribute [{ours.name}]")
    if theirs.type != ours.type:
        raise contradiction(f"attribute [{ours.name}] is {ours.type}, but the semantics take {theirs.type}")
    default = theirs.default if ours.default is None else ours.default
    return replace(theirs, default=default, required=ours.required, allowed=ours.allowed or theirs.allowed)
