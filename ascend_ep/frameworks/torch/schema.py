"""The PyTorch signature of an operator definition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

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


def takes_a_list(opdef: OpDef) -> bool:
    """Whether the last input stands for any number of tensors, which are one list."""
    return bool(opdef.inputs) and opdef.inputs[-1].occurrence == "variadic"


def gives_a_list(opdef: OpDef) -> bool:
    """Whether the outputs are any number of tensors, which are one list."""
    return bool(opdef.outputs) and opdef.outputs[-1].occurrence == "variadic"


def separated(opdef: OpDef, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The tensors of a call's arguments, those of a list one by one, and the rest: attributes in the order
    of `parameters`."""
    count = len(opdef.inputs)
    tensors, rest = list(args[:count]), list(args[count:])
    if takes_a_list(opdef):
        tensors[-1:] = tensors[-1]
    return tensors, rest


def given(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Attributes by name: those of a call that have a value. Trailing ones may be missing."""
    return {name: value for name, value in zip(names, values, strict=False) if value is not None}


def schema(opdef: OpDef) -> str:
    """The schema: inputs, then attributes by keyword; tensors of any number are a list.

    Raises AscendError E41011 where an operator has any number of outputs beside others, or nothing says how
    many: a library that nothing describes.
    """
    if gives_a_list(opdef) and (len(opdef.outputs) > 1 or not opdef.standard):
        raise AscendError(
            "E41011", opdef.op, "a PyTorch function's outputs have a number", where=opdef.origin
        )
    arguments = []
    for i, spec in enumerate(opdef.inputs):
        kind = {"optional": "Tensor?", "variadic": "Tensor[]"}.get(spec.occurrence, "Tensor")
        arguments.append(f"{kind} {spec.name}" + ("=None" if may_be_left_out(opdef, i) else ""))
    arguments += [argument(a) for a in parameters(opdef)]
    if gives_a_list(opdef):
        return f"({', '.join(arguments)}) -> Tensor[]"
    results = ", ".join("Tensor" for _ in opdef.outputs)
    return f"({', '.join(arguments)}) -> {results if len(opdef.outputs) == 1 else f'({results})'}"


def may_be_left_out(opdef: OpDef, index: int) -> bool:
    """Whether a call may end before input `index`: nothing after it must be given."""
    return index >= opdef.min_inputs and not any(a.required for a in opdef.attributes)


def argument(attribute: Attribute) -> str:
    """An attribute in a schema."""
    kind = _TYPES[attribute.type]
    if attribute.required:
        return f"{kind} {attribute.name}"
    if attribute.default is None or attribute.type in ("strings", "bools"):  # no schema has such a default
        return f"{kind}? {attribute.name}=None"
    return f"{kind} {attribute.name}={_literal(attribute.default)}"


def _literal(value: AttributeValue) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
