"""Constant folding: nodes whose results are known before the model runs become initializers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from ascend_ep.element_types import FLOAT32, INT8, UINT8
from ascend_ep.graph.facts import INT_TYPES, Array, Fact, Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import attribute, is_standard, replace_by_constant
from ascend_ep.graph.random_nodes import RANDOM
from ascend_ep.graph.shape_inference import definition
from ascend_ep.graph.shapes.movement_slicing import sliced
from ascend_ep.graph.widened import WidenedTensor

#: a folded result may take this many bytes, or as many as the constants it came from
MAX_FOLDED = 1 << 20

#: results that differ from run to run, and operators that carry meaning as they are
KEPT = RANDOM | frozenset({
    "Dropout", "If", "Loop", "Scan", "Constant",
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
})  # fmt: skip

#: whose second operand is a matrix of weights, whatever its shape
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")


class FoldConstants(ir.passes.InPlacePass):
    """Replaces outputs that are constant, or integers computed from static shapes, by initializers.

    Facts are forgotten where folding has found out more than they knew.
    """

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts
        self.registry = facts.registry

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        facts = self.facts.of(model)
        modified = learned = False
        for node in list(model.graph):
            version = node.version or model.opset_imports.get(node.domain, 1)
            widened = _widened(node, facts)
            if widened is not None:
                constant = replace_by_constant(node.outputs[0], widened)
                facts[constant] = Fact(int(widened.dtype), widened.shape.numpy(), tensor=widened)
                modified = learned = True
                continue
            values = self._evaluate(node, version, facts)
            if values is None:
                continue
            for output, array in zip(node.outputs, values, strict=False):
                if output.uses() and not output.is_graph_output():
                    tensor = ir.tensor(array, name=output.name)
                    constant = replace_by_constant(output, tensor)
                    facts[constant] = Fact(int(tensor.dtype), array.shape, tensor=tensor)
                    modified, learned = True, learned or not facts[output].is_const
        if learned:
            self.facts.invalidate()
        return ir.passes.PassResult(model, modified)

    def _takes(self, node: ir.Node, facts: Facts) -> bool:
        return node.op_type not in KEPT or _quantises_bytes(node, facts)

    def _evaluate(self, node: ir.Node, version: int, facts: Facts) -> list[Array] | None:
        """The constant results of `node`, or None."""
        if node.domain not in ("", "ai.onnx") or not node.outputs or not self._takes(node, facts):
            return None
        if node.op_type == "Identity":  # its readers are given what it reads (simplify.py), not a copy of it
            return None
        known = [facts[v] for v in node.outputs]
        if all(f.is_const for f in known):
            arrays = [f.const for f in known]
            return [a for a in arrays if a is not None]
        if self.registry is not None and definition(self.registry, "", node.op_type, version) is not None:
            return None
        operands = [None if v is None else facts[v] for v in node.inputs]
        if not operands or not all(f is None or (f.is_const and f.dtype != 8) for f in operands):
            return None
        if not _is_affordable(known, [f for f in operands if f is not None]):
            return None
        return _compute(node, version, [None if f is None else f.const for f in operands])


class FoldDequantized(FoldConstants):
    """Scales, biases and the like that fusing left behind a DequantizeLinear: constants of one axis at most.

    Weights of products stay the integers that they are.
    """

    def _takes(self, node: ir.Node, facts: Facts) -> bool:
        if node.op_type != "DequantizeLinear" or attribute(node, "block_size", 0):
            return False
        if len(node.inputs) < 2 or not node.outputs:
            return False
        dims, scale = facts[node.outputs[0]].static_dims, node.inputs[1]
        if dims is None or sum(d != 1 for d in dims) > 1:
            return False
        x = node.inputs[0]
        if x is None or facts[x].dtype not in INT_TYPES or scale is None or facts[scale].dtype != FLOAT32:
            return False
        return not any(is_standard(use.node, *PRODUCTS) and use.idx == 1 for use in node.outputs[0].uses())


def _quantises_bytes(node: ir.Node, facts: Facts) -> bool:
    """Whether it is a QuantizeLinear from float32 to 8 bits, which _quantized computes."""
    if node.op_type != "QuantizeLinear" or not node.outputs or len(node.inputs) < 2:
        return False
    if any(attribute(node, name, 0) for name in ("block_size", "output_dtype", "precision")):
        return False
    x, scale = (None if v is None else facts[v] for v in node.inputs[:2])
    is_float = all(f is not None and f.dtype == FLOAT32 and f.static_dims is not None for f in (x, scale))
    return is_float and facts[node.outputs[0]].dtype in (UINT8, INT8)


def _widened(node: ir.Node, facts: Facts) -> WidenedTensor | None:
    """A large float16 constant that `node` widens, or turns when it is widened: it stays narrow."""
    if not is_standard(node, "Cast", "Transpose") or len(node.inputs) != 1 or node.inputs[0] is None:
        return None
    if not node.outputs:
        return None
    given, output = facts[node.inputs[0]].tensor, node.outputs[0]
    if not output.uses() or output.is_graph_output() or given is None or given.size * 4 <= MAX_FOLDED:
        return None
    if node.op_type == "Cast":
        narrow = given.dtype == ir.DataType.FLOAT16 and attribute(node, "to") == ir.DataType.FLOAT
        return WidenedTensor(given, output.name) if narrow else None
    if not isinstance(given, WidenedTensor):
        return None
    return WidenedTensor(ir.tensor(_transposed(node, 1, [given.narrow.numpy()])), output.name)


def _is_affordable(results: list[Fact], operands: list[Fact]) -> bool:
    sizes = [_bytes(f) for f in results]
    given = sum(_bytes(f) or 0 for f in operands)
    return all(s is not None and s <= max(MAX_FOLDED, given) for s in sizes)


def _bytes(fact: Fact) -> int | None:
    shape = fact.static_dims
    if shape is None or not fact.dtype or fact.dtype == 8:
        return None
    return int(np.prod(shape, dtype=np.float64)) * max(ir.DataType(fact.dtype).bitwidth // 8, 1)


def _compute(node: ir.Node, version: int, operands: list[Array | None]) -> list[Array] | None:
    """By NumPy where that is as simple, else by onnx.reference; None when that can't."""
    simple = _SIMPLE.get(node.op_type)
    if simple is not None and operands and operands[0] is not None:
        return [simple(node, version, operands)]
    names = [f"i{i}" if a is not None else "" for i, a in enumerate(operands)]
    proto = ir.to_proto(node)
    del proto.input[:]
    proto.input.extend(names)
    proto.domain = ""
    graph = onnx.helper.make_graph(
        [proto],
        "folded",
        [
            onnx.helper.make_tensor_value_info(n, int(ir.DataType.from_numpy(a.dtype)), a.shape)
            for n, a in zip(names, operands, strict=True)
            if a is not None
        ],
        [onnx.helper.make_empty_tensor_value_info(o) for o in proto.output if o],
    )
    single = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    feeds = {n: a for n, a in zip(names, operands, strict=True) if a is not None}
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(single).run(None, feeds)
    except Exception:  # onnx.reference raises anything: the node is then computed when the model runs
        return None
    found = iter(results)
    arrays = [next(found) if o.name else np.empty(0) for o in node.outputs]
    if not all(isinstance(a, (np.ndarray, np.generic)) for a in arrays):
        return None
    return [np.asarray(a) for a in arrays]


def _transposed(node: ir.Node, version: int, operands: list[Array | None]) -> Array:
    assert operands[0] is not None
    perm = attribute(node, "perm")
    return operands[0].transpose(None if perm is None else [int(p) for p in perm])  # type: ignore[attr-defined]


def _unchanged(node: ir.Node, version: int, operands: list[Array | None]) -> Array:
    assert operands[0] is not None
    return operands[0]


def _tables(node: ir.Node, operands: list[Array | None]) -> tuple[Array, Array]:
    """Scale and zero point of QuantizeLinear and DequantizeLinear, spread along their axis."""
    x, scale, zero = (*operands, None)[:3]
    assert x is not None
    assert scale is not None
    axis = attribute(node, "axis", 1)
    assert isinstance(axis, int)
    spread = [-1 if i == axis % max(x.ndim, 1) else 1 for i in range(x.ndim)]
    zero = np.zeros(1, np.uint8) if zero is None else zero
    scale, zero = (a.reshape([] if a.size == 1 else spread) for a in (scale, zero))
    return scale, zero


def _dequantized(node: ir.Node, version: int, operands: list[Array | None]) -> Array:
    """(x - zero) scale as the kernels round it; onnx.reference has it since operator set 19 only."""
    scale, zero = _tables(node, operands)
    x = operands[0]
    assert x is not None
    exact = (x.astype(np.int64) - zero.astype(np.int64)).astype(np.float32)
    return np.multiply(exact, scale, dtype=np.float32)


def _quantized(node: ir.Node, version: int, operands: list[Array | None]) -> Array:
    """saturate(round(x / scale) + zero) as the kernels round it, float32 to 8 bits; NaN becomes the least."""
    scale, zero = _tables(node, operands)
    x = operands[0]
    assert x is not None
    low, high = (-128, 127) if zero.dtype == np.int8 else (0, 255)
    with np.errstate(all="ignore"):
        moved = np.rint(np.divide(x, scale, dtype=np.float32)) + zero.astype(np.float32)
    return np.clip(np.where(np.isnan(moved), low, moved), low, high).astype(zero.dtype)


def _sliced(node: ir.Node, version: int, operands: list[Array | None]) -> Array:
    """As ONNX cuts; onnx.reference leaves it to NumPy."""
    x, starts, ends, axes, steps = (*operands, None, None, None, None)[:5]
    assert x is not None
    if version < 10:
        starts, ends, axes = (attribute(node, n) for n in ("starts", "ends", "axes"))  # type: ignore[assignment]
    result: Array = sliced(x, starts, ends, axes, steps)
    return result


_SIMPLE: dict[str, Callable[[ir.Node, int, list[Array | None]], Array]] = {
    "Transpose": _transposed,
    "Identity": _unchanged,
    "Slice": _sliced,
    "QuantizeLinear": _quantized,
    "DequantizeLinear": _dequantized,
}
