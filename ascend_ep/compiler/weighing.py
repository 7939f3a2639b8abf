"""Which native partitions are worth their hand-over to a host partition and back."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir import DataType

from ascend_ep.graph.facts import INT_TYPES, Facts
from ascend_ep.graph.partition import Claim, Partition, partition

from .semantics import Semantics

NO_GAIN = "nothing in its part of the body is faster when it is handed over"
TOO_SMALL = "single elements, computed faster beside the host's nodes than handed over"


def worthwhile_partitions(
    model: ir.Model, claim: Claim, facts: Facts, semantics: Semantics
) -> list[Partition]:
    """The partitions of the main graph; native ones that compute nothing but single elements are the host's
    where fewer partitions remain so. A hand-over takes some 20 us; onnxruntime needs one for such a node.
    """
    found = partition(model, claim)
    reasons = {node: part.reasons.get(node) for part in found for node in part.nodes}
    for part in found:
        if part.kind == "native" and all(_is_single(node, facts, semantics) for node in part.nodes):
            reasons |= dict.fromkeys(part.nodes, TOO_SMALL)
    fewer = partition(model, reasons.__getitem__)
    return fewer if 0 < len(fewer) < len(found) else found


#: Operators whose work is worth a hand-over; of products those with weights, which lie packed.
WORTH_IT = frozenset({"Attention", "Conv", "ConvTranspose", "DynamicQuantizeLSTM", "GRU", "LSTM", "RNN"})
PRODUCTS = frozenset({"Gemm", "MatMul", "MatMulInteger", "MatMulNBits", "QLinearMatMul"})
#: What onnxruntime's CPU provider has of any version: operators up to this operator set, of these types.
OPSET = 21
TYPES = frozenset({0, *(int(t) for t in (DataType.FLOAT, DataType.INT32, DataType.INT64, DataType.BOOL))})


def is_worthwhile_in_body(part: Partition, facts: Facts, semantics: Semantics) -> bool:
    """Whether a body, which may run often, hands this over: it has work that is native's strength, or work
    that onnxruntime may not do."""
    nodes = part.nodes
    return any(_is_heavy(node, facts) or not _is_hosts(node, facts, semantics) for node in nodes)


def _is_heavy(node: ir.Node, facts: Facts) -> bool:
    constants = [v for v in node.inputs if v is not None and facts[v].is_const]
    return node.op_type in WORTH_IT or (node.op_type in PRODUCTS and bool(constants))


def _is_hosts(node: ir.Node, facts: Facts, semantics: Semantics) -> bool:
    """Whether onnxruntime's CPU provider surely has a kernel for this node."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None and v.name]
    plain = node.domain in ("", "ai.onnx") and not semantics.origin(node) and semantics.version(node) <= OPSET
    wholes = any(facts[v].dtype in INT_TYPES for v in values[:1])
    known = not (wholes and node.op_type.startswith(("Reduce", "Arg")))
    return plain and known and all(facts[v].dtype in TYPES for v in values)


def _is_single(node: ir.Node, facts: Facts, semantics: Semantics) -> bool:
    """Whether a node reads and writes single elements, and onnxruntime has its operator."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None and v.name]
    own = node.domain not in ("", "ai.onnx") or bool(semantics.origin(node))
    return not own and all(set(facts[v].static_dims or (2,)) <= {1} or facts[v].dims == () for v in values)
