"""Message classes from the .proto files of this folder.

They are made at import from protocol.binpb (tools/protocol_descriptors writes it) in a pool of their own:
generated modules would demand one range of protobuf releases, and would clash with another copy of the same
files in the process. Messages are `Any` to the type checker: protobuf makes their attributes at run time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from ascend_ep.errors import AscendError

#: What protobuf raises for bytes that are no message of the class.
DecodeError: type[Exception] = message.DecodeError

INFERENCE_SERVICE = "inference.GRPCInferenceService"
HEALTH_SERVICE = "grpc.health.v1.Health"
REFLECTION_SERVICE = "grpc.reflection.v1.ServerReflection"


def _load() -> tuple[Any, dict[str, bytes]]:
    described = descriptor_pb2.FileDescriptorSet.FromString(
        Path(__file__).with_name("protocol.binpb").read_bytes()
    )
    pool = descriptor_pool.DescriptorPool()
    serialized = {file.name: file.SerializeToString() for file in described.file}
    for file in serialized.values():
        pool.AddSerializedFile(file)
    return pool, serialized


#: The pool of all files, and each file's serialized FileDescriptorProto by its name.
POOL, FILES = _load()


def message_class(name: str) -> Any:
    """The class of a message by its full name, such as `inference.ModelConfig`."""
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(name))


def parse(cls: Any, data: bytes) -> Any:
    """A message from its bytes. Raises AscendError E50001 when they are none of that class."""
    try:
        return cls.FromString(data)
    except DecodeError:
        raise AscendError("E50001", f"its {len(data)} bytes are no {cls.DESCRIPTOR.name} message") from None


InferParameter = message_class("inference.InferParameter")
ModelConfig = message_class("inference.ModelConfig")
ModelConfigResponse = message_class("inference.ModelConfigResponse")
ModelInferRequest = message_class("inference.ModelInferRequest")
ModelInferResponse = message_class("inference.ModelInferResponse")
ModelStreamInferResponse = message_class("inference.ModelStreamInferResponse")
