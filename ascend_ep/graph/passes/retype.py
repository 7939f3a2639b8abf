"""Changing the floating element types that nodes read and write, with Casts where two types meet.

Nodes are asked in order what types they shall have; the graph's inputs and outputs keep theirs, constants are
converted when they are read, and what a subgraph takes from outside keeps its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.mapped import release_pages
from ascend_ep.graph.partition import used_values
from ascend_ep.graph.passes.rewire import add_constant, is_standard
from ascend_ep.graph.shape_inference import Registry, definition
from ascend_ep.graph.shapes import find_schema
from ascend_ep.opdef.declared_types import spec_of_input
from ascend_ep.opdef.definition import Library, Source
from ascend_ep.opdef.dtypes import BFLOAT16, COMPUTE_FLOATS, FLOAT16, FLOAT32

#: Operators whose floating types belong to a quantisation, or are drawn at random.
FIXED = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Bernoulli"})
#: The metadata of a Cast that isn't the model's own.
MADE = "ascend_ep.retype"
STORED = "/stored"  # ends the name of what an output is cast from
LARGEST_FLOAT16 = 65504.0
PIECE = 1 << 20  # elements of a constant that are converted at a time
_SCHEMA_NAMES = {FLOAT32: "tensor(float)", FLOAT16: "tensor(float16)", BFLOAT16: "tensor(bfloat16)"}


@dataclass(frozen=True)
class NodeTypes:
    """The types that a node's floating operands are rounded to (the last stands for all further ones), and
    that of its results. Where they differ the node itself computes in float32."""

    reads: tuple[int, ...]
    writes: int

    @property
    def computed(self) -> int:
        return self.writes if set(self.reads) == {self.writes} else FLOAT32

    def read(self, index: int) -> int:
        return self.reads[min(index, len(self.reads) - 1)]


#: A node, and the types that its floating operands but constants have now -> its types; None: as declared.
Choice = Callable[[ir.Node, Sequence[int]], NodeTypes | None]


def retype(
    model: ir.Model, facts: Facts, choose: Choice, registry: Registry | None = None, clip: bool = True
) -> int:
    """Changes the model in place; the number of nodes that have other types now.

    `facts` are those before. `clip`: constants beyond float16 become its largest number, not infinity.
    """
    return _Retyping(model, facts, registry, clip).run(choose)


class _Retyping:
    def __init__(self, model: ir.Model, facts: Facts, registry: Registry | None, clip: bool) -> None:
        self.model = model
        self.graph = model.graph
        self.facts = facts
        self.registry = registry
        self.clip = clip
        self.changed: dict[ir.Value, int] = {}
        self.converted: dict[tuple[ir.Value, int], ir.Value] = {}
        self.captured = {v for n in self.graph for v in _captured(n)}

    def run(self, choose: Choice) -> int:
        count = 0
        for node in list(self.graph):
            places = self._places(node)
            flowing = [self._type(v) for i in places[0] if (v := node.inputs[i]) and v.const_value is None]
            types = choose(node, flowing) if places[0] or places[1] else None
            if types is None:
                self._keep(node)
            else:
                count += self._change(node, types, *places)
        for value in list(dict.fromkeys(self.graph.outputs)):
            if value in self.changed:
                self._restore(value)
        return count

    # --- one node -----------------------------------------------------------------------------

    def _keep(self, node: ir.Node) -> None:
        for i, value in enumerate(node.inputs):
            if value is not None:
                node.replace_input_with(i, self._as(value, self._declared(value), node))

    def _change(self, node: ir.Node, types: NodeTypes, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
        inside = types.computed
        before = [v and self._type(v) for v in node.inputs]
        for i, value in enumerate(node.inputs):
            if value is None:
                continue
            if i in inputs:
                rounded = self._as(value, types.read(i), node)
                node.replace_input_with(i, self._as(rounded, inside, node))
            else:
                node.replace_input_with(i, self._as(value, self._declared(value), node))
        for i in outputs:
            self._write(node, node.outputs[i], types.writes, inside)
        return [v and self._type(v) for v in node.inputs] != before or bool(outputs)

    def _write(self, node: ir.Node, value: ir.Value, dtype: int, inside: int) -> None:
        if is_standard(node, "Cast"):
            node.attributes.add(ir.AttrInt64("to", dtype))
            inside = dtype
        self._set(value, inside)
        if dtype != inside:
            stored = self._as(value, dtype, after=node)
            for user, place in value.uses():
                if user is not stored.producer():
                    user.replace_input_with(place, stored)
            self.graph.outputs[:] = [stored if v is value else v for v in self.graph.outputs]

    def _set(self, value: ir.Value, dtype: int) -> None:
        if dtype != self._type(value):
            value.type = ir.TensorType(ir.DataType(dtype))
            self.changed[value] = dtype

    def _type(self, value: ir.Value) -> int:
        return self.changed.get(value) or self.facts[value].dtype

    # --- values of another type ---------------------------------------------------------------

    def _as(
        self, value: ir.Value, dtype: int, before: ir.Node | None = None, after: ir.Node | None = None
    ) -> ir.Value:
        """The value as a tensor of that type."""
        own = self._type(value)
        if own == dtype or own not in COMPUTE_FLOATS or dtype not in COMPUTE_FLOATS:
            return value
        key = (value, dtype)
        if key not in self.converted:
            if value.const_value is not None:
                made = self._constant(value, value.const_value, dtype)
            else:
                made = self._cast(value, dtype, before, after)
            self.converted[key] = made
            self.changed[made] = dtype
        return self.converted[key]

    def _constant(self, value: ir.Value, tensor: ir.TensorProtocol, dtype: int) -> ir.Value:
        kind, clip = ir.DataType(dtype), self.clip and dtype == FLOAT16
        name = f"{value.name}/{kind.name.lower()}"

        def convert() -> ir.TensorProtocol:
            given = tensor.numpy()
            made = _converted(given, kind.numpy(), clip)
            release_pages(given)
            return ir.Tensor(made, name=name)

        lazy = ir.LazyTensor(convert, dtype=kind, shape=ir.Shape(tensor.shape.numpy()), name=name)
        return add_constant(self.graph, name, lazy)

    def _cast(self, value: ir.Value, dtype: int, before: ir.Node | None, after: ir.Node | None) -> ir.Value:
        kind = ir.DataType(dtype)
        name = f"{value.name}/{kind.name.lower()}"
        made = ir.Value(name=name, shape=value.shape, type=ir.TensorType(kind))
        node = ir.Node("", "Cast", [value], [ir.AttrInt64("to", dtype)], outputs=[made], name=name)
        node.metadata_props[MADE] = "1"
        if after is not None:
            self.graph.insert_after(after, node)
        elif before is not None:
            self.graph.insert_before(before, node)
        else:
            self.graph.append(node)
        return made

    def _restore(self, value: ir.Value) -> None:
        """Gives an output of the graph its declared type back, under its name."""
        name, dtype = value.name, self._declared(value)
        if self._type(value) == dtype:
            return
        value.name = f"{name}{STORED}"
        made = self._cast(value, dtype, None, None)
        made.name = name
        self.graph.outputs[:] = [made if v is value else v for v in self.graph.outputs]

    def _declared(self, value: ir.Value) -> int:
        """The type before; of a cast made here, that of what it converts."""
        if value in self.facts:
            return self.facts[value].dtype
        producer = value.producer()
        source = producer.inputs[0] if producer is not None else None
        return self._type(value) if source is None else self._declared(source)

    # --- which operands and results ----------------------------------------------------------

    def _places(self, node: ir.Node) -> tuple[list[int], list[int]]:
        """The operands and results that change their types together; none where the operator is bound to the
        types it has."""
        graphs = any(
            a.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS) for a in node.attributes.values()
        )
        if graphs or node.op_type in FIXED or any(v in self.captured for v in node.outputs):
            return [], []
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = node.version or self.model.opset_imports.get(domain, 1)
        opdef = None if self.registry is None else definition(self.registry, domain, node.op_type, version)
        if opdef is not None:
            if isinstance(opdef.semantics, Library | Source) and not opdef.paired:
                return [], []
            specs = [spec_of_input(opdef, i) for i in range(len(node.inputs))] if opdef.inputs else []
            ins = [i for i in self._floats(node.inputs) if i < len(specs)]
            outs = self._floats(node.outputs)
            if not opdef.paired and any(specs[i].types and FLOAT16 not in specs[i].types for i in ins):
                return [], []
            return ins, outs if ins else []
        schema = find_schema(domain, node.op_type, version)
        if schema is None:
            return [], []
        allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}

        def variable(formals: Sequence[object], i: int) -> str:
            return str(formals[min(i, len(formals) - 1)].type_str) if formals else ""  # type: ignore[attr-defined]

        ins = self._floats(node.inputs)
        outs = self._floats(node.outputs)
        if is_standard(node, "Cast"):
            return ins, outs
        flexible = {v for v, names in allowed.items() if _SCHEMA_NAMES[FLOAT16] in names}
        read = {variable(schema.inputs, i) for i in ins}
        written = {variable(schema.outputs, i) for i in outs} & read
        chosen = (written or (read if not outs else set())) & flexible
        return (
            [i for i in ins if variable(schema.inputs, i) in chosen],
            [i for i in outs if variable(schema.outputs, i) in chosen],
        )

    def _floats(self, values: Sequence[ir.Value | None]) -> list[int]:
        return [i for i, v in enumerate(values) if v is not None and self._declared(v) in COMPUTE_FLOATS]


def _converted(array: NDArray[Any], dtype: np.dtype[Any], clip: bool) -> NDArray[Any]:
    """The array in another type, piece by piece; `clip`: finite numbers beyond float16 are its largest."""
    made = np.empty(array.shape, dtype)
    source, target = array.reshape(-1), made.reshape(-1)
    for start in range(0, source.size, PIECE):
        piece = source[start : start + PIECE]
        if clip:
            finite = np.clip(piece, -LARGEST_FLOAT16, LARGEST_FLOAT16)
            piece = np.where(np.isfinite(piece), finite, piece)
        with np.errstate(over="ignore"):
            target[start : start + PIECE] = piece.astype(dtype)
    return made


def _captured(node: ir.Node) -> Iterator[ir.Value]:
    own = {v for v in node.inputs if v is not None}
    yield from (v for v in used_values(node) if v not in own)
