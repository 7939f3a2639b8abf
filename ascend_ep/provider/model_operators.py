"""Which operators a model names, read from its bytes without loading it.

A walk over protobuf's wire format that skips everything but nodes: weights are passed by their length. The
field numbers are those of onnx.proto.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field

from ascend_ep import regular_file
from ascend_ep.provider.wire import fields

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
            regular_file.opened(model) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as view,
        ):
            _read_model(view, found)
    except (OSError, ValueError):
        return ModelOperators()
    return found


def _read_model(view: memoryview, found: ModelOperators) -> None:
    for number, start, end in fields(view, 0, len(view)):
        if number == _MODEL_GRAPH:
            _read_nodes(view, start, end, _GRAPH_NODE, found, 0)
        elif number == _MODEL_OPSET:
            opset = {n: (a, b) for n, a, b in fields(view, start, end)}
            version = opset.get(2, (0, 0))
            found.opsets[_text(view, opset.get(1))] = version[0] if version[1] < 0 else 0
        elif number == _MODEL_FUNCTION:
            function = {n: (a, b) for n, a, b in fields(view, start, end) if n in (1, 10)}
            found.functions.add((_text(view, function.get(10)), _text(view, function.get(1))))
            _read_nodes(view, start, end, _FUNCTION_NODE, found, 0)


def _read_nodes(view: memoryview, start: int, end: int, node: int, found: ModelOperators, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    for number, a, b in fields(view, start, end):
        if number != node or b < 0:
            continue
        kind = domain = None
        for inner, c, d in fields(view, a, b):
            if inner == _NODE_TYPE:
                kind = (c, d)
            elif inner == _NODE_DOMAIN:
                domain = (c, d)
            elif inner == _NODE_ATTRIBUTE and d >= 0:
                for attribute, e, f in fields(view, c, d):
                    if attribute in _ATTRIBUTE_GRAPHS and f >= 0:
                        _read_nodes(view, e, f, _GRAPH_NODE, found, depth + 1)
        found.operators.add((_text(view, domain), _text(view, kind)))


def _text(view: memoryview, span: tuple[int, int] | None) -> str:
    if span is None or span[1] < 0:
        return ""
    text = bytes(view[span[0] : span[1]]).decode("utf-8", "replace")
    return "" if text == "ai.onnx" else text
