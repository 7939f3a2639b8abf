"""The PyTorch signature of an operator definition."""

from __future__ import annotations

import re

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import Attribute, AttributeValue, OpDef

_TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "string": "str",
    "ints": "int[]",
    "floats": "float[]",
    "bools": "bool[]",
    "strings": "str[]",
}


def function_name(op: str) -> str:
    """The type in snake case: SwiGLU is swi_glu, RMSNormGrad is rms_norm_grad."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", op)
    return split.lower()


def parameters(opdef: OpDef) -> list[Attribute]:
    """The attributes in the order of the signature: those that must be given first."""
    return sorted(opdef.attributes, key=lambda a: not a.required)


def schema(opdef: OpDef) -> str:
    """The schema: inputs, then attributes by keyword. Raises AscendError E41011 for variadic tensors."""
    if any(t.occurrence == "variadic" for t in (*opdef.inputs, *opdef.outputs)):
        raise AscendError(
            "E41011", opdef.op, "a PyTorch function has no variadic tensors", where=opdef.origin
        )
    arguments = []
    for i, spec in enumerate(opdef.inputs):
        optional = spec.occurrence == "optional"
        arguments.append(
            f"Tensor{'?' * optional} {spec.name}" + ("=None" if may_be_left_out(opdef, i) else "")
        )
    arguments += [_argument(a) for a in parameters(opdef)]
    results = ", ".join("Tensor" for _ in opdef.outputs)
    return f"({', '.join(arguments)}) -> {results if len(opdef.outputs) == 1 else f'({results})'}"


def may_be_left_out(opdef: OpDef, index: int) -> bool:
    """Whether a call may end before input `index`: nothing after it must be given."""
    return index >= opdef.min_inputs and not any(a.required for a in opdef.attributes)


def _argument(attribute: Attribute) -> str:
    kind = _TYPES[attribute.type]
    if attribute.required:
        return f"{kind} {attribute.name}"
    if attribute.default is None:
        return f"{kind}? {attribute.name}=None"
    return f"{kind} {attribute.name}={_literal(attribute.default)}"


def _literal(value: AttributeValue) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
