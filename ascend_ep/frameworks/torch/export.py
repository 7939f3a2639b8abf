"""Registered functions in torch.onnx: the node that ascend-atc knows by the operator's definition."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.frameworks.described import domain_of
from ascend_ep.frameworks.torch.schema import may_be_left_out, parameters
from ascend_ep.opdef.definition import Attribute, OpDef

OPSET = 1
#: The suffixes by which TorchScript graphs tell attribute types.
_SUFFIX = {
    "int": "i",
    "bool": "i",
    "float": "f",
    "string": "s",
    "ints": "i",
    "bools": "i",
    "floats": "f",
    "strings": "s",
}
_TENSORS = [
    f"tensor({name})"
    for name in (
        *("float", "double", "float16", "bfloat16", "bool"),
        *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    )
]
_ONNX = {
    "int": "INT",
    "bool": "INT",
    "float": "FLOAT",
    "string": "STRING",
    "ints": "INTS",
    "bools": "INTS",
} | {
    "floats": "FLOATS",
    "strings": "STRINGS",
}
_PYTHON: dict[str, Any] = {
    "int": int,
    "bool": bool,
    "float": float,
    "string": str,
    "ints": Sequence[int],
    "bools": Sequence[bool],
    "floats": Sequence[float],
    "strings": Sequence[str],
}


def register_symbolic(qualified: str, opdef: OpDef) -> None:
    """For torch.onnx.export(dynamo=False)."""
    import torch
    from torch.onnx import symbolic_helper

    count, attributes = len(opdef.inputs), parameters(opdef)

    def symbolic(g: Any, *args: Any) -> Any:
        absent = [a is None or symbolic_helper._is_none(a) for a in args]
        tensors = [g.op("prim::Constant") if a is None else a for a in args[:count]]
        while tensors and absent[len(tensors) - 1]:
            tensors.pop()
        given = {
            f"{a.name}_{_SUFFIX[a.type]}": _constant(symbolic_helper, a, value)
            for a, value, missing in zip(attributes, args[count:], absent[count:], strict=False)
            if not missing
        }
        name = f"{domain_of(opdef) or 'onnx'}::{opdef.op}"
        made = g.op(name, *tensors, outputs=len(opdef.outputs), **given)
        first = made[0] if isinstance(made, tuple) else made
        if opdef.shape.get(opdef.outputs[0].name, "").strip() == opdef.inputs[0].name:
            first.setType(args[0].type())
        return made

    torch.onnx.register_custom_op_symbolic(qualified, symbolic, 9)  # type: ignore[attr-defined]


def _constant(helper: Any, attribute: Attribute, value: Any) -> Any:
    kinds = {
        "int": "i",
        "bool": "b",
        "float": "f",
        "string": "s",
        "ints": "is",
        "bools": "is",
        "floats": "fs",
    }
    return helper._maybe_get_const(value, kinds.get(attribute.type, "s"))


def translation(opdef: OpDef) -> Callable[..., Any]:
    """For torch.onnx.export(dynamo=True, custom_translation_table=...): tensors, then attributes."""
    import onnxscript

    opset = onnxscript.values.Opset(domain_of(opdef), opdef.since_version or OPSET)
    operator = onnxscript.values.Op(opset, opdef.op, _onnx_schema(opdef))
    count, attributes = len(opdef.inputs), parameters(opdef)
    names = [t.name for t in opdef.inputs] + [a.name for a in attributes]

    def translate(*args: Any, **kwargs: Any) -> Any:
        bound = {**dict(zip(names, args, strict=False)), **kwargs}
        tensors = [bound.get(n) for n in names[:count]]
        while tensors and tensors[-1] is None:
            tensors.pop()
        given = {n: bound[n] for n in names[count:] if bound.get(n) is not None}
        return operator(*tensors, **given)

    kind, needed = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    listed = [
        inspect.Parameter(t.name, kind, default=None if may_be_left_out(opdef, i) else needed)
        for i, t in enumerate(opdef.inputs)
    ]
    listed += [
        inspect.Parameter(
            a.name, kind, default=needed if a.required else a.default, annotation=_PYTHON[a.type]
        )
        for a in attributes
    ]
    translate.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    translate.__annotations__ = {a.name: _PYTHON[a.type] for a in attributes}
    translate.__name__ = opdef.op
    return translate


def _onnx_schema(opdef: OpDef) -> Any:
    """The operator as onnx describes one; every tensor may have any element type here."""
    from onnx.defs import OpSchema

    def formal(name: str, at: int, optional: bool) -> Any:
        kind = OpSchema.FormalParameterOption
        return OpSchema.FormalParameter(
            name, f"T{at}", param_option=kind.Optional if optional else kind.Single
        )

    count = len(opdef.inputs)
    return OpSchema(
        opdef.op,
        domain_of(opdef),
        opdef.since_version or OPSET,
        inputs=[formal(t.name, i, t.occurrence == "optional") for i, t in enumerate(opdef.inputs)],
        outputs=[formal(t.name, count + i, False) for i, t in enumerate(opdef.outputs)],
        type_constraints=[(f"T{i}", _TENSORS, "any tensor") for i in range(count + len(opdef.outputs))],
        attributes=[
            OpSchema.Attribute(a.name, getattr(OpSchema.AttrType, _ONNX[a.type]), required=a.required)
            for a in opdef.attributes
        ],
    )
