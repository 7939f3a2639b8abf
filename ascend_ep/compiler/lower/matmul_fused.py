"""Products that onnxruntime contributes: FusedMatMul and FusedGemm."""

from __future__ import annotations

import math

import numpy as np

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.function_body_written import Body
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Unsupported, lowers


@lowers("fused_matmul")
def lower_fused_matmul(node: NodeView, b: PlanBuilder) -> None:
    """alpha A B, each with its last two axes exchanged where it says so."""
    body = Body(node)
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
    body.lower(b)


@lowers("fused_gemm")
def lower_fused_gemm(node: NodeView, b: PlanBuilder) -> None:
    body = Body(node)
    names = [body.given(i) for i in range(3) if body.given(i)]
    kept = {n: v for n, v in node.attributes.items() if n in ("alpha", "beta", "transA", "transB")}
    product = body.add("Gemm", *names, **kept)
    _activate(body, product, [body.number(f"activation_{n}", 0.0) for n in ("alpha", "beta")])
    body.lower(b)


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
