"""The smallest part of a model that still fails: some of its nodes, found by delta debugging (ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.load import load_model
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.dim_text import dim_param
from ascend_ep.opdef.registry import Registry

Fails = Callable[[onnx.ModelProto], bool]


class Parts:
    """A model taken apart: `of(numbers)` is the model of these nodes, or None where that is none."""

    def __init__(self, path: str, registry: Registry) -> None:
        model = load_model(path)
        facts = infer_facts(model, registry)
        self.model = ir.to_proto(model)
        self._types: dict[str, onnx.ValueInfoProto] = {}
        for value in [*model.graph.inputs, *(v for node in model.graph for v in node.outputs)]:
            fact = facts[value]
            if value.name and fact.dtype and fact.dims is not None:
                sizes = [d if isinstance(d, int) else dim_param(d) for d in fact.dims]
                self._types[value.name] = onnx.helper.make_tensor_value_info(
                    value.name, int(fact.dtype), sizes
                )
        for declared in (*self.model.graph.input, *self.model.graph.output):
            self._types[declared.name] = declared
        self.count = len(self.model.graph.node)

    def of(self, numbers: Sequence[int]) -> onnx.ModelProto | None:
        """What the nodes read and none makes becomes an input; what they make and none reads, an output.
        None where the type of such a value isn't known."""
        nodes = [self.model.graph.node[i] for i in numbers]
        made = [name for node in nodes for name in node.output if name]
        read = {name for node in nodes for name in _read(node)}
        wanted = {o.name for o in self.model.graph.output}
        tensors = [t for t in self.model.graph.initializer if t.name in read]
        constants = {t.name for t in tensors}
        given = dict.fromkeys(name for node in nodes for name in _read(node))
        inputs = [name for name in given if name not in constants and name not in made]
        outputs = [name for name in made if name not in read or name in wanted]
        if not outputs or any(name not in self._types for name in (*inputs, *outputs)):
            return None
        whole = self.model
        reduced = onnx.ModelProto(ir_version=whole.ir_version, opset_import=whole.opset_import)
        reduced.functions.extend(whole.functions)
        reduced.graph.name = whole.graph.name
        reduced.graph.node.extend(nodes)
        reduced.graph.initializer.extend(tensors)
        reduced.graph.input.extend(self._types[name] for name in inputs)
        reduced.graph.output.extend(self._types[name] for name in outputs)
        return reduced


def _read(node: onnx.NodeProto) -> list[str]:
    """What a node reads, in its bodies, too."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            inside = {o for inner in graph.node for o in inner.output} | {i.name for i in graph.input}
            inside |= {t.name for t in graph.initializer}
            names += [name for inner in graph.node for name in _read(inner) if name not in inside]
            names += [o.name for o in graph.output if o.name not in inside]
    return names


def smallest(parts: Parts, fails: Fails) -> onnx.ModelProto:
    """A part of the model that fails, none of whose nodes can go. Raises AscendError E40001 when the whole
    model doesn't fail."""

    def still(numbers: Sequence[int]) -> bool:
        model = parts.of(numbers)
        return model is not None and fails(model)

    kept = list(range(parts.count))
    if not still(kept):
        fix = "A check fails by a status other than 0, and prints what --match says."
        raise AscendError("E40001", "the check doesn't fail on the whole model", fix=fix)
    chunks = 2
    while len(kept) > 1:
        size = -(-len(kept) // chunks)
        pieces = [kept[at : at + size] for at in range(0, len(kept), size)]
        rests = (
            [[n for n in kept if n not in piece] for piece in pieces] if chunks > 2 or len(pieces) > 1 else []
        )
        found = next(
            (part for part in (*pieces, *rests) if len(part) < len(kept) and part and still(part)), None
        )
        if found is not None:
            chunks = 2 if found in pieces else max(chunks - 1, 2)
            kept = found
        elif size == 1:
            break
        else:
            chunks = min(2 * chunks, len(kept))
    made = parts.of(kept)
    assert made is not None
    return made
