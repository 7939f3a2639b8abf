"""Operators that onnxruntime contributes (com.microsoft) by nodes of ONNX's that compute the same.

Each is written for the ranks and attributes of one node, and then lowered as a function body is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.function_body import lower_body
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.opdef import dtypes

OPSET = 23
#: What is added to scores that the mask hides, unless the node says so.
HIDDEN = -10000.0


class Body:
    """Nodes that make a node's outputs of its inputs; values are named."""

    def __init__(self, node: NodeView) -> None:
        self.node = node
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, op_type: str, *inputs: str, into: str = "", **attributes: Any) -> str:
        """The name of the node's only output."""
        return self.several(op_type, inputs, [into or f"body.{len(self.nodes)}"], **attributes)[0]

    def several(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> list[str]:
        self.nodes.append(helper.make_node(op_type, list(inputs), list(outputs), **attributes))
        return list(outputs)

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = f"body.constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def given(self, index: int) -> str:
        """The name of an input, "" for one that the node lacks."""
        found = operand(self.node.inputs, index)
        return found.name if found is not None else ""

    def wanted(self, index: int) -> str:
        found = operand(self.node.outputs, index)
        return found.name if found is not None else ""

    def number(self, name: str, default: float) -> float:
        return float(self.node.attr(name, default))

    def model(self) -> ir.Model:
        sources = {o.name: o for o in self.node.inputs if o is not None}
        inputs = [helper.make_tensor_value_info(n, o.dtype, None) for n, o in sources.items()]
        outputs = [helper.make_empty_tensor_value_info(o.name) for o in self.node.outputs if o is not None]
        graph = helper.make_graph(self.nodes, "body", inputs, outputs, self.constants)
        return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))


def contributes(name: str) -> Callable[[Callable[[NodeView, Body], None]], Callable[[NodeView, Body], None]]:
    """Registers, as the lowering of this name, what writes the body of a node."""

    def register(write: Callable[[NodeView, Body], None]) -> Callable[[NodeView, Body], None]:
        @lowers(name)
        def lower(node: NodeView, b: PlanBuilder) -> None:
            body = Body(node)
            write(node, body)
            lower_body(node, b, body.model())

        return write

    return register


@contributes("fused_matmul")
def write_fused_matmul(node: NodeView, body: Body) -> None:
    """alpha A B, each with its last two axes exchanged where it says so."""
    factors = []
    for index, side in enumerate("AB"):
        rank, name = needed(node.inputs, index).rank, body.given(index)
        order = list(range(rank))
        if int(node.attr(f"trans{side}", 0)) and rank > 1:
            order[-2:] = [order[-1], order[-2]]
        factors.append(name if order == sorted(order) else body.add("Transpose", name, perm=order))
    alpha = body.number("alpha", 1.0)
    if alpha == 1.0:
        body.add("MatMul", *factors, into=body.wanted(0))
    else:
        scale = body.add("CastLike", body.constant(alpha, np.float32), factors[0])
        body.add("Mul", body.add("MatMul", *factors), scale, into=body.wanted(0))


@contributes("fused_gemm")
def write_fused_gemm(node: NodeView, body: Body) -> None:
    names = [body.given(i) for i in range(3) if body.given(i)]
    kept = {n: v for n, v in node.attributes.items() if n in ("alpha", "beta", "transA", "transB")}
    product = body.add("Gemm", *names, **kept)
    _activate(body, product, [body.number(f"activation_{n}", 0.0) for n in ("alpha", "beta")])


def _activate(body: Body, x: str, numbers: list[float]) -> None:
    """The activation that the node names, with its numbers in the order that onnxruntime has them."""
    name = body.node.attr("activation", "")
    name = name.decode() if isinstance(name, bytes) else name
    if name == "Clip":
        low, high = (body.constant(v, np.float32) for v in (*numbers, -math.inf, math.inf)[:2])
        body.add("Clip", x, low, high, into=body.wanted(0))
    elif name in ("", "Relu", "Sigmoid", "Tanh"):
        body.add(name or "Identity", x, into=body.wanted(0))
    elif name in ("LeakyRelu", "HardSigmoid"):
        named = dict(zip(("alpha", "beta"), numbers, strict=False))
        if name == "LeakyRelu":
            named.pop("beta", None)
        body.add(name, x, into=body.wanted(0), **named)
    else:
        raise Unsupported(f"its activation {name!r} is not known here")


@contributes("embed_layer_norm")
def write_embed_layer_norm(node: NodeView, body: Body) -> None:
    """Rows of words, positions and segments, summed and normalised; how many of each row the mask has."""
    ids, segments, words, places, kinds, gamma, beta, mask, positions = (body.given(i) for i in range(9))
    if int(node.attr("mask_index_type", 0)):
        raise Unsupported(f"its mask_index_type is {node.attr('mask_index_type')}")
    if not positions:
        length = body.add("Squeeze", body.add("Shape", ids, start=1, end=2), body.constant([0]))
        positions = body.add("Range", body.constant(0), length, body.constant(1))
    parts = body.add("Add", body.add("Gather", words, ids), body.add("Gather", places, positions))
    if segments:
        parts = body.add("Add", parts, body.add("Gather", kinds, segments))
    epsilon = body.number("epsilon", 1e-12)
    body.add("LayerNormalization", parts, gamma, beta, into=body.wanted(0), epsilon=epsilon)
    if body.wanted(1):
        if mask:
            body.add("ReduceSum", mask, body.constant([1]), keepdims=0, into=body.wanted(1))
        else:
            rows = body.add("Shape", ids, start=0, end=1)
            body.add("ConstantOfShape", rows, into=body.wanted(1), value=_zero(np.int32))
    if body.wanted(2):
        body.add("Identity", parts, into=body.wanted(2))


def _zero(dtype: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.zeros(1, dtype))


@contributes("contributed_attention")
def write_attention(node: NodeView, body: Body) -> None:
    """Attention of onnxruntime: the projections of one input, and self attention over them."""
    source, weights = needed(node.inputs, 0), needed(node.inputs, 1)
    bias, mask, past, added = (operand(node.inputs, i) for i in range(2, 6))
    if past is not None or body.wanted(1):
        raise Unsupported("it keeps keys and values in one tensor")
    if int(node.attr("do_rotary", 0)):
        raise Unsupported("it rotates")
    heads = int(node.attr("num_heads", 0))
    sizes = [int(v) for v in node.attr("qkv_hidden_sizes", [])]
    projected = body.add("MatMul", source.name, weights.name)
    if bias is not None:
        projected = body.add("Add", projected, bias.name)
    names = ["body.q", "body.k", "body.v"]
    split = {"num_outputs": 3} if not sizes else {}
    body.several("Split", [projected, *([body.constant(sizes)] if sizes else [])], names, axis=-1, **split)
    _attend(node, body, names, _mask(body, mask, added, source), heads, [])


@contributes("multi_head_attention")
def write_multi_head_attention(node: NodeView, body: Body) -> None:
    """Queries, keys and values that are projected already, keys and values also as [B, H, S, D]."""
    q, k, v, bias, mask, added, past_key, past_value = (operand(node.inputs, i) for i in range(8))
    if q is None or k is None or v is None or q.rank != 3 or k.rank not in (3, 4):
        raise Unsupported("its queries, keys and values are in one tensor")
    if any(operand(node.inputs, i) is not None for i in (8, 9)) or body.wanted(3):
        raise Unsupported("its cache is a buffer, or it hands out its scores")
    heads = int(node.attr("num_heads", 0))
    names = [q.name, k.name, v.name]
    if bias is not None:
        names = _with_bias(body, names, bias, (q, k, v))
    past = [past_key.name, past_value.name] if past_key is not None and past_value is not None else []
    if past and mask is not None:
        raise Unsupported("it has a mask of keys and a cache")
    _attend(node, body, names, _mask(body, mask, added, k), heads, past)


def _with_bias(body: Body, names: list[str], bias: Operand, parts: Sequence[Operand]) -> list[str]:
    """Each part with its share of the biases, of keys and values only where they are new."""
    if any(p.rank != 3 for p in parts):
        raise Unsupported("it has a bias, and keys of another layer")
    sizes = [p.dims[-1] for p in parts]
    if not all(isinstance(s, int) for s in sizes):
        raise Unsupported("its hidden size is known only at run time")
    shares = [f"body.bias{i}" for i in range(3)]
    body.several("Split", [bias.name, body.constant(sizes)], shares, axis=0)
    return [body.add("Add", name, share) for name, share in zip(names, shares, strict=True)]


def _mask(body: Body, mask: Operand | None, added: Operand | None, keys: Operand) -> str:
    """What is added to scores: of [B, L] or [B, S, L] the hidden, of [B] what is past a row's length."""
    found = "" if added is None else added.name
    if mask is None:
        return found
    if mask.rank == 1:
        if keys.rank != 3 or mask.dims[0] != keys.dims[0]:
            raise Unsupported(f"its mask has shape {list(mask.dims)}")
        length = body.add("Squeeze", body.add("Shape", keys.name, start=1, end=2), body.constant([0]))
        places = body.add("Range", body.constant(0), length, body.constant(1))
        ends = body.add("Unsqueeze", body.add("Cast", mask.name, to=dtypes.INT64), body.constant([1]))
        seen = body.add("Less", places, ends)
    elif mask.rank in (2, 3):
        seen = body.add("Cast", mask.name, to=dtypes.BOOL)
    else:
        raise Unsupported(f"its mask has rank {mask.rank}")
    axes = [1] if mask.rank == 3 else [1, 2]
    hidden = body.constant(body.number("mask_filter_value", HIDDEN), np.float32)
    amounts = body.add("Where", seen, body.constant(0.0, np.float32), hidden)
    amounts = body.add("Unsqueeze", amounts, body.constant(axes))
    return body.add("Add", amounts, found) if found else amounts


def _attend(node: NodeView, body: Body, names: list[str], mask: str, heads: int, past: list[str]) -> None:
    causal = int(node.attr("unidirectional", 0))
    if causal and past:
        raise Unsupported("it hides later tokens, and has a cache")
    apart = [_apart(body, name, heads) for name in names]
    scale = {"scale": scale} if (scale := body.number("scale", 0.0)) else {}
    results = ["body.y", body.wanted(1), body.wanted(2)]
    inputs = [*apart, mask, *past]
    while not inputs[-1]:
        inputs.pop()
    while not results[-1]:
        results.pop()
    body.several("Attention", inputs, results, is_causal=causal, **scale)
    together = body.add("Transpose", "body.y", perm=[0, 2, 1, 3])
    body.add("Reshape", together, body.constant([0, 0, -1]), into=body.wanted(0))


def _apart(body: Body, name: str, heads: int) -> str:
    """[B, S, H D] as [B, H, S, D]."""
    for given in body.node.inputs:
        if given is not None and given.name == name and given.rank == 4:
            return name
    return body.add(
        "Transpose", body.add("Reshape", name, body.constant([0, 0, heads, -1])), perm=[0, 2, 1, 3]
    )
