"""Which operators a model names, read from its bytes without loading it.

A walk over protobuf's wire format that skips everything but nodes: weights are passed by their length. The
field numbers are those of onnx.proto.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

Bytes = memoryview

_MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTION = 7, 8, 25
_GRAPH_NODE, _FUNCTION_NODE = 1, 7
_NODE_TYPE, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
_ATTRIBUTE_GRAPHS = (6, 11)
_DEEPEST = 64


@dataclass
class ModelOperators:
    """Operators as (domain, type), opset versions by domain, and the operators the model itself defines."""

    operators: set[tuple[str, str]] = field(default_factory=set)
    opsets: dict[str, int] = field(default_factory=dict)
    functions: set[tuple[str, str]] = field(default_factory=set)


def read_operators(model: str | os.PathLike[str] | bytes) -> ModelOperators:
    """The operators of a model. Empty for what is no ONNX protobuf: onnxruntime will say what it is."""
    found = ModelOperators()
    try:
        if isinstance(model, bytes):
            _read_model(memoryview(model), found)
            return found
        with (
            open(model, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as view,
        ):
            _read_model(view, found)
    except (OSError, ValueError):
        return ModelOperators()
    return found


def _read_model(view: Bytes, found: ModelOperators) -> None:
    for number, start, end in _fields(view, 0, len(view)):
        if number == _MODEL_GRAPH:
            _read_nodes(view, start, end, _GRAPH_NODE, found, 0)
        elif number == _MODEL_OPSET:
            opset = {n: (a, b) for n, a, b in _fields(view, start, end)}
            version = opset.get(2, (0, 0))
            found.opsets[_text(view, opset.get(1))] = version[0] if version[1] < 0 else 0
        elif number == _MODEL_FUNCTION:
            function = {n: (a, b) for n, a, b in _fields(view, start, end) if n in (1, 10)}
            found.functions.add((_text(view, function.get(10)), _text(view, function.get(1))))
            _read_nodes(view, start, end, _FUNCTION_NODE, found, 0)


def _read_nodes(view: Bytes, start: int, end: int, node: int, found: ModelOperators, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    for number, a, b in _fields(view, start, end):
        if number != node or b < 0:
            continue
        kind = domain = None
        for inner, c, d in _fields(view, a, b):
            if inner == _NODE_TYPE:
                kind = (c, d)
            elif inner == _NODE_DOMAIN:
                domain = (c, d)
            elif inner == _NODE_ATTRIBUTE and d >= 0:
                for attribute, e, f in _fields(view, c, d):
                    if attribute in _ATTRIBUTE_GRAPHS and f >= 0:
                        _read_nodes(view, e, f, _GRAPH_NODE, found, depth + 1)
        found.operators.add((_text(view, domain), _text(view, kind)))


def _fields(view: Bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of each length-delimited field; (number, value, -1) of each varint."""
    while at < end:
        tag, at = _varint(view, at, end)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(view, at, end)
            yield tag >> 3, value, -1
        elif kind == 2:
            length, at = _varint(view, at, end)
            if length > end - at:
                raise ValueError("truncated")
            yield tag >> 3, at, at + length
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("no protobuf")


def _varint(view: Bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise ValueError("truncated")
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("varint too long")


def _text(view: Bytes, span: tuple[int, int] | None) -> str:
    if span is None or span[1] < 0:
        return ""
    text = bytes(view[span[0] : span[1]]).decode("utf-8", "replace")
    return "" if text == "ai.onnx" else text
