"""A reader of dump files, by the documented form alone: length, protobuf, bytes of inputs and outputs."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from numpy.typing import NDArray

TYPES = {1: np.float32, 2: np.float16, 3: np.int8, 4: np.uint8, 7: np.int32, 8: np.int64, 11: np.bool_}

MESSAGES = {
    "Shape": [("dim", 1, "uint64*")],
    "OriginalOp": [("name", 1, "string"), ("output_index", 2, "uint32"), ("data_type", 3, "int32")],
    "OpOutput": [
        *(("data_type", 1, "int32"), ("format", 2, "int32"), ("shape", 3, "Shape")),
        *(("original_op", 4, "OriginalOp"), ("size", 6, "uint64"), ("original_shape", 7, "Shape")),
    ],
    "OpInput": [
        *(("data_type", 1, "int32"), ("format", 2, "int32"), ("shape", 3, "Shape")),
        *(("size", 5, "uint64"), ("original_shape", 6, "Shape")),
    ],
    "DumpData": [
        *(("version", 1, "string"), ("dump_time", 2, "uint64"), ("output", 3, "OpOutput*")),
        *(("input", 4, "OpInput*"), ("op_name", 6, "string")),
    ],
}


@cache
def _dump_data() -> Any:
    """The class of toolkit.dumpdata.DumpData."""
    file = descriptor_pb2.FileDescriptorProto(name="dump.proto", package="toolkit.dumpdata", syntax="proto3")
    kind = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, of in fields:
            made = message.field.add(name=field, number=number)
            made.label = kind.LABEL_REPEATED if of.endswith("*") else kind.LABEL_OPTIONAL
            of = of.rstrip("*")
            made.type = getattr(kind, f"TYPE_{of.upper()}", kind.TYPE_MESSAGE)
            if of in MESSAGES:
                made.type_name = f".toolkit.dumpdata.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("toolkit.dumpdata.DumpData"))


def read(path: Path) -> tuple[Any, list[NDArray[Any]], list[NDArray[Any]]]:
    """The header, inputs, outputs. Every byte of the file must be one of theirs."""
    body = path.read_bytes()
    (length,) = struct.unpack_from("<Q", body)
    header = _dump_data().FromString(body[8 : 8 + length])
    at, found = 8 + length, []
    for tensor in (*header.input, *header.output):
        data = body[at : at + tensor.size]
        at += tensor.size
        dtype = TYPES.get(tensor.data_type, np.uint8)
        found.append(np.frombuffer(data, dtype).reshape(tuple(tensor.shape.dim) if tensor.size else (0,)))
    assert at == len(body)
    return header, found[: len(header.input)], found[len(header.input) :]
