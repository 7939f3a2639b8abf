"""onnxruntime's operators on quantised tensors as what they mean: dequantise, the operator, quantise.

A model in the quantiser's QOperator form so becomes one in its QDQ form, but for products and convolutions,
which are operators of integers themselves. Results may be a step from onnxruntime's where that rounds
in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.shape_inference import Registry, definition

MICROSOFT = "com.microsoft"
UINT8, INT8 = ir.DataType.UINT8, ir.DataType.INT8


@dataclass(frozen=True)
class Meaning:
    """The operator, where each of its operands (value, scale, zero point) begins, and the result's scale;
    `dropped`: attributes that only onnxruntime's form has, with the one value that means nothing;
    `plain`: operands before them that aren't quantised."""

    op_type: str
    operands: tuple[int, ...]
    result: int
    dropped: tuple[tuple[str, int], ...] = ()
    plain: tuple[int, ...] = ()


UNARY = (0,)
MEANINGS = {
    "QLinearAdd": Meaning("Add", (0, 3), 6),
    "QLinearMul": Meaning("Mul", (0, 3), 6),
    "QLinearSigmoid": Meaning("Sigmoid", UNARY, 3),
    "QLinearLeakyRelu": Meaning("LeakyRelu", UNARY, 3),
    "QLinearAveragePool": Meaning("AveragePool", UNARY, 3, (("channels_last", 0),)),
    "QLinearGlobalAveragePool": Meaning("GlobalAveragePool", UNARY, 3, (("channels_last", 0),)),
    "QLinearWhere": Meaning("Where", (1, 4), 7, plain=(0,)),
    "QLinearSoftmax": Meaning("Softmax", UNARY, 3, (("opset", 13),)),
}

SPELLED_OUT = frozenset({(MICROSOFT, name) for name in (*MEANINGS, "QLinearConcat")})


class SpellOutQuantised(ir.passes.InPlacePass):
    """Replaces the operators of MEANINGS, and QLinearConcat, unless `registry` defines them."""

    def __init__(self, registry: Registry | None) -> None:
        self.registry = registry

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        modified = False
        for node in list(model.graph):
            if node.domain != MICROSOFT or self._is_defined(node, model):
                continue
            meaning = MEANINGS.get(node.op_type)
            if node.op_type == "QLinearConcat":
                meaning = Meaning("Concat", tuple(range(2, len(node.inputs), 3)), 0)
            if meaning is not None and _means_it(node, meaning):
                _spell_out(node, meaning)
                modified = True
        return ir.passes.PassResult(model, modified)

    def _is_defined(self, node: ir.Node, model: ir.Model) -> bool:
        version = node.version or model.opset_imports.get(node.domain, 1)
        return (
            self.registry is not None
            and definition(self.registry, node.domain, node.op_type, version) is not None
        )


def _means_it(node: ir.Node, meaning: Meaning) -> bool:
    """Whether attributes that the operator lacks have their neutral values, and no operand is missing."""
    neutral = all(
        max(node.attributes.get_int(name, value), value) == value or name == "opset"
        for name, value in meaning.dropped
    )
    old = node.op_type == "QLinearSoftmax" and node.attributes.get_int("opset", 13) < 13
    scales = (*(i + 1 for i in meaning.operands), meaning.result)
    given = [_at(node, i) for i in (*meaning.plain, *meaning.operands, *scales)]
    last = not (old and node.attributes.get_int("axis", -1) != -1)
    return neutral and last and None not in given and _type(node, meaning) is not None


def _type(node: ir.Node, meaning: Meaning) -> ir.DataType | None:
    """The type of the elements, which a result without a zero point has, too."""
    places = (i + k for i in (*meaning.operands, meaning.result - 1) for k in (2, 0))
    found = [_at(node, i) for i in places]
    return next((v.dtype for v in found if v is not None and v.dtype in (UINT8, INT8)), None)


def _at(node: ir.Node, index: int) -> ir.Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def _spell_out(node: ir.Node, meaning: Meaning) -> None:
    made: list[ir.Node] = []

    def add(
        op_type: str, inputs: Sequence[ir.Value | None], attributes: dict[str, ir.Attr], part: str
    ) -> ir.Value:
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        made.append(ir.node(op_type, given, attributes, name=f"{node.name}{part}"))
        made[-1].outputs[0].name = f"{node.outputs[0].name}{part}"
        return made[-1].outputs[0]

    floats = [
        add("DequantizeLinear", [_at(node, i), _at(node, i + 1), _at(node, i + 2)], {}, f":float{i}")
        for i in meaning.operands
    ]
    dropped = {name for name, _ in meaning.dropped}
    kept = {name: a for name, a in node.attributes.items() if name not in dropped}
    plain = [_at(node, i) for i in meaning.plain]
    result = add(meaning.op_type, [*plain, *floats], kept, ":float")
    tables = [_at(node, meaning.result), _at(node, meaning.result + 1)]
    if tables[1] is None:
        kind = _type(node, meaning)
        zero = ir.tensor(np.zeros((), np.int8 if kind == INT8 else np.uint8))
        tables[1] = add("Constant", [], {"value": ir.AttrTensor("value", zero)}, ":zero")
    quantised = add("QuantizeLinear", [result, *tables], {}, ":quantised")
    old, graph = node.outputs[0], node.graph
    assert graph is not None
    quantised.type, quantised.shape = old.type, old.shape
    graph.insert_before(node, made)
    name = old.name
    old.replace_all_uses_with(quantised, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    quantised.name = name
