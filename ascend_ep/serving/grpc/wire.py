"""The raw tensors of messages, without protobuf copying them.

A message is a sequence of fields, each a tag and a value; `raw_input_contents` and `raw_output_contents` are
most of the bytes. They are cut out of a request as views and put behind an answer as they are; protobuf reads
and writes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol.messages import ModelInferRequest, ModelInferResponse, parse
from ascend_ep.serving.settings import Limits
from ascend_ep.serving.tensors import Buffer

#: Messages below this size are read faster by protobuf, copies included.
_SMALL = 4096
LENGTH_DELIMITED = 2


def _tag(cls: Any, field: str) -> int:
    number: int = cls.DESCRIPTOR.fields_by_name[field].number
    return number << 3 | LENGTH_DELIMITED


_RAW_INPUT = _tag(ModelInferRequest, "raw_input_contents")
_RAW_OUTPUT = bytes([_tag(ModelInferResponse, "raw_output_contents")])
_INFER_RESPONSE = 2 << 3 | LENGTH_DELIMITED  # of ModelStreamInferResponse


def read_request(data: bytes, limits: Limits) -> tuple[Any, Sequence[Buffer]]:
    """A ModelInferRequest and its raw_input_contents; the message of a large one lacks them. Raises
    AscendError E50001."""
    if len(data) < _SMALL:
        message = parse(ModelInferRequest, data)
        return message, message.raw_input_contents
    view = memoryview(data)
    rest: list[memoryview] = []
    raws: list[Buffer] = []
    kept = at = 0
    while at < len(data):
        begin = at
        tag, at = read_varint(data, at)
        if tag & 7 != LENGTH_DELIMITED:  # no field of this message is anything else: protobuf may judge
            return _whole(data, limits)
        size, at = read_varint(data, at)
        if size > len(data) - at:
            return _whole(data, limits)
        if tag == _RAW_INPUT:
            rest.append(view[kept:begin])
            raws.append(view[at : at + size])
            kept = at + size
        at += size
    rest.append(view[kept:])
    limits.check_text(sum(map(len, rest)))
    return parse(ModelInferRequest, b"".join(rest)), raws


def write_response(message: Any, raws: Sequence[memoryview]) -> bytes:
    """The bytes of a ModelInferResponse with these raw_output_contents, `message` being without them."""
    parts: list[Buffer] = [message.SerializeToString()]
    for raw in raws:
        parts.append(_RAW_OUTPUT + varint(len(raw)))
        parts.append(raw)
    return b"".join(parts)


def stream_response(response: bytes) -> bytes:
    """The bytes of a ModelStreamInferResponse that holds a ModelInferResponse."""
    return b"".join((bytes([_INFER_RESPONSE]), varint(len(response)), response))


def _whole(data: bytes, limits: Limits) -> tuple[Any, Sequence[Buffer]]:
    limits.check_text(len(data))
    message = parse(ModelInferRequest, data)
    return message, message.raw_input_contents


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where what follows it does. Raises AscendError E50001."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise AscendError("E50001", f"its {len(data)} bytes are no {ModelInferRequest.DESCRIPTOR.name} message")


def varint(size: int) -> bytes:
    """A number of 0 or more as the wire has it."""
    made = bytearray()
    while size >= 0x80:
        made.append(size & 0x7F | 0x80)
        size >>= 7
    made.append(size)
    return bytes(made)
