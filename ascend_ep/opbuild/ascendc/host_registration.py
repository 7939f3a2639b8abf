"""The registration of an operator on the host: its OpDef class and OP_ADD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ascend_ep.opdef.definition import Attribute, OpDef, TensorSpec

from .naming import GE_TYPES, Column

_KINDS = {
    "float": "Float", "int": "Int", "bool": "Bool", "string": "String", "ints": "ListInt", "floats": "ListFloat",
    "bools": "ListBool",
}  # fmt: skip


def registration(
    opdef: OpDef, type_name: str, columns: Sequence[Column], soc_configs: Sequence[str], filled: bool = True
) -> Iterator[str]:
    """The OpDef class and OP_ADD. `filled`: TilingFunc, InferShape and InferDataType are complete."""
    yield f"class {type_name} : public OpDef {{"
    yield "public:"
    yield f"    explicit {type_name}(const char *name) : OpDef(name) {{"
    for method, specs in (("Input", opdef.inputs), ("Output", opdef.outputs)):
        for spec in specs:
            yield from _registered_tensor(method, spec, columns)
    for attribute in opdef.attributes:
        yield from _registered_attribute(attribute)
    yield ""
    yield "        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);"
    yield "        this->AICore().SetTiling(optiling::TilingFunc);"
    for config in soc_configs:
        yield f'        this->AICore().AddConfig("{config}");'
    yield "    }"
    yield "};"
    yield ""
    yield f"OP_ADD({type_name});"


def _registered_tensor(method: str, spec: TensorSpec, columns: Sequence[Column]) -> Iterator[str]:
    occurrence = {"required": "REQUIRED", "optional": "OPTIONAL", "variadic": "DYNAMIC"}[spec.occurrence]
    types = ", ".join(f"ge::{GE_TYPES[c[spec.name]]}" for c in columns)
    formats = list(spec.formats) or ["ND"]
    formats = [formats[i % len(formats)] for i in range(len(columns))]
    listed = ", ".join(f"ge::FORMAT_{f}" for f in formats)
    yield f'        this->{method}("{spec.device_name}")'
    yield f"            .ParamType({occurrence})"
    yield f"            .DataType({{{types}}})"
    yield f"            .Format({{{listed}}})"
    yield f"            .UnknownShapeFormat({{{listed}}});"


def _registered_attribute(attribute: Attribute) -> Iterator[str]:
    kind = _KINDS.get(attribute.type)
    if kind is None:
        return
    how = "REQUIRED" if attribute.required else "OPTIONAL"
    default = "" if attribute.required else _default_text(attribute)
    yield f'        this->Attr("{attribute.name}").AttrType({how}).{kind}({default});'


def _default_text(attribute: Attribute) -> str:
    value = attribute.default
    if attribute.type in ("ints", "floats", "bools"):
        items = value if isinstance(value, tuple) else ()
        return "{" + ", ".join(str(v).lower() for v in items) + "}"
    if attribute.type == "string":
        text = "".join(
            c if c.isalnum() or c in " _-.:" else f"\\{ord(c):03o}" for c in str(value or "") if ord(c) < 256
        )
        return f'"{text}"'
    return str(value if value is not None else 0).lower()
