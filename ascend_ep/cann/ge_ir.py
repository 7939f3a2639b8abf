"""The protobuf messages of a model definition in an .om file: package ge.proto.

Message names, field names and numbers are those of the format (graphengine's ge_ir.proto, Apache-2.0); the
descriptors are built from this table.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ascend_ep.element_types import ELEMENT_TYPES

PACKAGE = "ge.proto"

DATA_TYPES = {"DT_UNDEFINED": 0} | {row.ge: row.ge_number for row in ELEMENT_TYPES.values() if row.ge}

LIST_TYPES = {"VT_LIST_NONE": 0, "VT_LIST_STRING": 1, "VT_LIST_INT": 2, "VT_LIST_FLOAT": 3, "VT_LIST_BOOL": 4}

#: message -> fields: name, number, type. "*" marks a repeated field, "?" a member of the oneof `value`,
#: "map" a map from string to AttrDef.
MESSAGES = {
    "ListValue": (
        ("s", 2, "bytes*"), ("i", 3, "int64*"), ("f", 4, "float*"), ("b", 5, "bool*"), ("bt", 7, "bytes*"),
        ("td", 8, "TensorDescriptor*"), ("t", 9, "TensorDef*"), ("dt", 12, "int64*"),
        ("val_type", 20, "ListValueType"),
    ),
    "AttrDef": (
        ("list", 1, "ListValue?"), ("s", 2, "bytes?"), ("i", 3, "int64?"), ("f", 4, "float?"),
        ("b", 5, "bool?"),
        ("bt", 7, "bytes?"), ("td", 11, "TensorDescriptor?"), ("t", 12, "TensorDef?"), ("dt", 15, "int64?"),
    ),
    "ShapeDef": (("dim", 1, "int64*"),),
    "TensorDescriptor": (
        ("name", 1, "string"), ("dtype", 2, "DataType"), ("shape", 3, "ShapeDef"), ("layout", 4, "string"),
        ("attr", 5, "map"), ("size", 10, "int64"), ("weight_size", 11, "int64"),
        ("output_tensor", 13, "bool"),
        ("device_type", 14, "string"), ("input_tensor", 15, "bool"), ("real_dim_cnt", 16, "int64"),
        ("data_offset", 18, "int64"),
    ),
    "TensorDef": (("desc", 1, "TensorDescriptor"), ("data", 2, "bytes")),
    "OpDef": (
        ("name", 1, "string"), ("type", 2, "string"), ("input", 5, "string*"), ("attr", 10, "map"),
        ("has_out_attr", 20, "bool"), ("id", 21, "int64"), ("stream_id", 22, "int64"),
        ("input_name", 23, "string*"), ("src_name", 24, "string*"), ("src_index", 25, "int64*"),
        ("dst_name", 26, "string*"), ("dst_index", 27, "int64*"), ("input_i", 28, "int64*"),
        ("output_i", 29, "int64*"), ("workspace", 30, "int64*"), ("workspace_bytes", 31, "int64*"),
        ("is_input_const", 32, "bool*"), ("input_desc", 33, "TensorDescriptor*"),
        ("output_desc", 34, "TensorDescriptor*"), ("subgraph_name", 35, "string*"),
    ),
    "GraphDef": (
        ("name", 1, "string"), ("input", 4, "string*"), ("output", 5, "string*"), ("op", 6, "OpDef*"),
        ("attr", 11, "map"),
    ),
    "ModelDef": (
        ("name", 1, "string"), ("version", 2, "uint32"), ("custom_version", 3, "string"),
        ("graph", 7, "GraphDef*"),
        ("attr", 11, "map"),
    ),
}  # fmt: skip

_NESTED = {"ListValue": "AttrDef", "ListValueType": "AttrDef.ListValue"}
_ENUMS = {"DataType": DATA_TYPES, "ListValueType": LIST_TYPES}
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in ("bytes", "string", "int64", "uint32", "float", "bool")
}


@cache
def message(name: str) -> Any:
    """The class of a message, for example message("ModelDef")."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(_full(name)))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="ge_ir.proto", package=PACKAGE, syntax="proto3")
    _add_enum(file.enum_type.add(), "DataType")
    made: dict[str, Any] = {}
    for name in sorted(MESSAGES, key=lambda m: m in _NESTED):
        parent = _NESTED.get(name)
        made[name] = (file.message_type if parent is None else made[parent].nested_type).add(name=name)
    _add_enum(made["ListValue"].enum_type.add(), "ListValueType")
    for name, fields in MESSAGES.items():
        for field in fields:
            _add_field(made[name], name, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_enum(enum: descriptor_pb2.EnumDescriptorProto, name: str) -> None:
    enum.name = name
    for value, number in _ENUMS[name].items():
        enum.value.add(name=value, number=number)


def _add_field(
    owner: descriptor_pb2.DescriptorProto, owner_name: str, name: str, number: int, kind: str
) -> None:
    field = owner.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind == "map":
        entry = owner.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        _add_field(entry, "", "key", 1, "string")
        _add_field(entry, "", "value", 2, "AttrDef")
        field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
        field.type_name = f".{_full(owner_name)}.{entry.name}"
        return
    if kind.endswith("*"):
        field.label = _Field.LABEL_REPEATED
    if kind.endswith("?"):
        if not owner.oneof_decl:
            owner.oneof_decl.add(name="value")
        field.oneof_index = 0
    kind = kind.rstrip("*?")
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _Field.TYPE_ENUM if kind in _ENUMS else _Field.TYPE_MESSAGE
        field.type_name = f".{_full(kind)}"


def _full(name: str) -> str:
    parent = _NESTED.get(name)
    return f"{PACKAGE}.{parent}.{name}" if parent else f"{PACKAGE}.{name}"
