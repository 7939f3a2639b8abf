"""FusedMatMul and FusedGemm."""

from __future__ import annotations

import numpy as np

from ascend_ep.bodies.body import Body, written
from ascend_ep.plan.node_view import Unsupported


@written("fused_matmul")
def write_fused_matmul(body: Body) -> None:
    """alpha A B; of each the first axis may go behind those of the batch, then the last two be exchanged."""
    body.refuse_half_types()
    factors = []
    for index, side in enumerate("AB"):
        rank = body.needed(index).rank
        order = list(range(rank))
        if body.integer(f"transBatch{side}") and rank > 2:
            order = [*order[1:-1], 0, rank - 1]
        if body.integer(f"trans{side}") and rank > 1:
            order[-2:] = [order[-1], order[-2]]
        name = body.given(index)
        factors.append(name if order == sorted(order) else body.add("Transpose", name, perm=order))
    alpha = body.number("alpha", 1.0)
    if alpha == 1.0:
        body.add("MatMul", *factors, into=body.wanted(0))
    else:
        product = body.add("MatMul", *factors)
        body.add("Mul", product, body.constant(alpha, np.float32), into=body.wanted(0))


@written("fused_gemm")
def write_fused_gemm(body: Body) -> None:
    """ONNX's Gemm through an activation."""
    kept = {n: v for n, v in body.node.attributes.items() if n in ("alpha", "beta", "transA", "transB")}
    product = body.add("Gemm", body.given(0), body.given(1), body.given(2), **kept)
    _activate(body, product)


#: ONNX's operators that are activations, each with its numbers in the order in which the node has them.
NUMBERS = {
    "": (),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Selu": ("alpha", "gamma"),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}


def _activate(body: Body, x: str) -> None:
    name = body.text("activation")
    alpha, beta = (body.number(f"activation_{n}", 0.0) for n in ("alpha", "beta"))
    if name in NUMBERS:
        numbers = {n: body.number(f"activation_{n}", 0.0) for n in NUMBERS[name]}
        body.add(name or "Identity", x, into=body.wanted(0), **numbers)
    elif name in ("ParametricSoftplus", "ScaledTanh"):
        inner = body.add("Mul", x, body.constant(beta, np.float32))
        outer = body.add("Softplus" if name == "ParametricSoftplus" else "Tanh", inner)
        body.add("Mul", outer, body.constant(alpha, np.float32), into=body.wanted(0))
    else:
        raise Unsupported(f"its activation {name!r} is not known here")
