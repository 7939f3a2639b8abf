"""Models that declare more than onnxruntime holds them to, and the same without that.

A name that stands in two places says that two sizes are equal; a number declared of an output may say what
data will make. onnxruntime takes both for remarks, and runs what contradicts them. So do we, with what is
made of the model without them.
"""

from __future__ import annotations

from collections import Counter

import onnx_ir as ir

from ascend_ep.graph.declared import NO_NAMES
from ascend_ep.opdef.dim_text import parse_dim
from ascend_ep.opdef.dims import symbols


def has_names(model: ir.Model) -> bool:
    """Whether any size of the model's inputs has a name."""
    return any(name not in NO_NAMES for value in model.graph.inputs for name in _names(value))


def shares_names(model: ir.Model) -> bool:
    """Whether a name stands in more than one place among the dims of the model's inputs."""
    named = [name for value in model.graph.inputs for name in _names(value) if name not in NO_NAMES]
    found = Counter(part for name in named for part in symbols([parse_dim(name)]) or [name])
    return any(count > 1 for count in found.values())


def without_names(model: ir.Model) -> ir.Model:
    """A copy, which shares the tensors, in which every size that has a name is another one. What the model
    declares of other values than inputs is gone but their ranks."""
    copy = model.clone()
    for value in copy.graph.inputs:
        if value.shape is not None and not value.shape.is_static():
            value.shape = ir.Shape([d if isinstance(d, int) else None for d in value.shape])
    for graph in (copy.graph, *copy.graph.subgraphs()):
        inner = graph.inputs if graph is not copy.graph else ()
        for value in (*inner, *(v for node in graph for v in node.outputs)):
            if value.shape is not None:
                value.shape = ir.Shape([None] * len(value.shape))
    return copy


def _names(value: ir.Value) -> list[str]:
    dims = value.shape if value.shape is not None else ()
    return [(d.value or "").strip() for d in dims if not isinstance(d, int)]
