"""Products and convolutions between DequantizeLinear and QuantizeLinear become products of integers.

    QuantizeLinear(MatMul(DequantizeLinear(a), DequantizeLinear(b)))   ->   QLinearMatMul(a, b)

as onnxruntime fuses them by default, so that a model gives what it gives there. A ReLU or Clip between goes
where the result's range ends at its bounds anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ascend_ep.element_types import FLOAT32, INT8, INT32, UINT8
from ascend_ep.graph.facts import Array, Facts
from ascend_ep.graph.fusion.pattern import Either, Match, Op, Pattern, Var
from ascend_ep.graph.fusion.rule import Fusion, Replacement
from ascend_ep.opdef.fusion_rules import rule_of

MICROSOFT = "com.microsoft"


def _dequantised(name: str) -> Op:
    return Op("DequantizeLinear", Var(name), name=name)


def _quantised(product: Pattern) -> Op:
    clipped = Either(product, Op("Relu", product, name="relu"), Op("Clip", product, name="clip"))
    return Op("QuantizeLinear", clipped, name="y")


def _with_bias(op_type: str) -> Pattern:
    a, b = _dequantised("a"), _dequantised("b")
    return Either(Op(op_type, a, b, _dequantised("bias"), name="product"), Op(op_type, a, b, name="product"))


def tables(node: ir.Node) -> list[ir.Value]:
    """Scale and zero point of a DequantizeLinear or QuantizeLinear; check_tables has found both."""
    return [v for v in node.inputs[1:3] if v is not None]


def constant(value: ir.Value, facts: Facts) -> Array | None:
    fact = facts[value]
    return fact.const if fact.is_const else None


def size(value: ir.Value, facts: Facts) -> int | None:
    dims = facts[value].static_dims
    return None if dims is None else int(np.prod(dims, dtype=np.int64))


def check_tables(node: ir.Node, facts: Facts, axis: int | None = None, rank: int = 0) -> str | None:
    """Unless scale and zero point are there, both for the whole tensor or for each index of `axis`."""
    found = tables(node)
    if len(found) < 2:
        return f"its {node.op_type} has no zero point"
    if node.attributes.get_int("block_size", 0):
        return f"its {node.op_type} has scales for blocks"
    if facts[found[0]].dtype != 1 or facts[found[1]].dtype not in (UINT8, INT8, INT32):
        return f"its {node.op_type} is not between float32 and integers of 8 bits"
    if all(size(v, facts) == 1 for v in found):
        return None
    given = node.attributes.get_int("axis", 1)
    if axis is None or not rank or given % rank != axis:
        return f"its {node.op_type} has scales for each index of an axis"
    return None


def check_bias(match: Match, facts: Facts) -> str | None:
    """Unless there is none, or it is int32 with the product of the scales of A and B."""
    if "bias" not in match.nodes:
        return "its bias is not quantised" if len(match.nodes["product"].inputs) > 2 else None
    node = match.nodes["bias"]
    found = [constant(v, facts) for v in (match.values["bias"], *tables(node))]
    scales = [constant(tables(match.nodes[n])[0], facts) for n in "ab"]
    values = [v for v in (*found, *scales) if v is not None]
    if len(values) != len(found) + 2 or values[0].dtype != np.int32:
        return "its bias is no constant of int32"
    if len(found) > 2 and values[2].any():
        return "its bias has a zero point"
    wanted = np.multiply(values[-2].reshape(-1), values[-1].reshape(-1), dtype=np.float32)
    if not np.allclose(values[1].reshape(-1), wanted, rtol=1e-4, atol=0):
        return "the scale of its bias is not that of the product"
    return None


def check_row(match: Match, name: str, facts: Facts) -> str | None:
    """Unless what is added to a float result is absent, or float32 for each of B's columns."""
    row = match.values.get(name)
    if row is None:
        return None
    right, dims = facts[match.values["b"]].dims or (), facts[row].static_dims
    if len(right) < 2 or dims is None or dims != right[-1:] or facts[row].dtype != FLOAT32:
        return "its bias is no row of the result"
    return None


def check_range(match: Match, facts: Facts) -> str | None:
    """Unless the quantised result can't leave the bounds of the activation."""
    node = match.nodes.get("relu") or match.nodes.get("clip")
    if node is None:
        return None
    scale, zero = (constant(v, facts) for v in tables(match.nodes["y"]))
    bounds: list[float | None] = [0.0, None]
    if node.op_type == "Clip":
        given = [constant(v, facts) if v is not None else None for v in (*node.inputs, None, None)[1:3]]
        named = [node.attributes.get(n) for n in ("min", "max")]
        bounds = [
            float(g) if g is not None else None if n is None else n.as_float()
            for g, n in zip(given, named, strict=True)
        ]
        if any(v is not None and constant(v, facts) is None for v in node.inputs[1:3]):
            return "the bounds of its Clip are no constants"
    if scale is None or zero is None:
        return f"its {node.op_type} is before a quantisation that is no constant"
    limits, at = np.iinfo(np.dtype(zero.dtype.name)), int(zero.reshape(-1)[0])
    low, high = (None if b is None else np.rint(np.float32(b) / scale.reshape(-1)[0]) + at for b in bounds)
    if (low is not None and low > limits.min) or (high is not None and high < limits.max):
        return f"its {node.op_type} cuts more than the quantisation does"
    return None


def check_types(match: Match, facts: Facts) -> str | None:
    """Unless onnxruntime's CPU provider multiplies these types."""
    a, b = (facts[match.values[n]].dtype for n in "ab")
    if a not in (UINT8, INT8) or b not in (UINT8, INT8):
        return "its operands are not integers of 8 bits"
    if a == INT8 and b == UINT8:
        return "it multiplies int8 by uint8"
    y = match.nodes.get("y")
    if y is not None and len(tables(y)) > 1 and facts[tables(y)[1]].dtype != a:
        return "its result has another type than its input"
    return None


class _QuantisedProduct(Fusion):
    """What the rules of this file check alike; `axis` of B has a scale for each of its indices."""

    def axis(self, match: Match, rank: int) -> int:
        return rank - 1

    def check(self, match: Match, facts: Facts) -> str | None:
        dims = facts[match.values["b"]].dims
        if dims is None or facts[match.values["a"]].dims is None:
            return "the rank of its operands is unknown"
        refusals = (check_tables(match.nodes[n], facts) for n in ("a", "y") if n in match.nodes)
        axis = self.axis(match, len(dims))
        return next(
            filter(
                None,
                (
                    *refusals,
                    check_tables(match.nodes["b"], facts, axis, len(dims)),
                    check_types(match, facts),
                ),
            ),
            None,
        ) or (check_bias(match, facts) or check_range(match, facts))

    def operands(self, match: Match) -> list[ir.Value]:
        """a, its scale and zero point, then b's, then y's where it is quantised."""
        found = [v for n in "ab" for v in (match.values[n], *tables(match.nodes[n]))]
        return found + (tables(match.nodes["y"]) if "y" in match.nodes else [])


class QLinearMatMulFusion(_QuantisedProduct):
    rule = rule_of("QLinearMatMul")
    pattern = _quantised(Op("MatMul", _dequantised("a"), _dequantised("b"), name="product"))

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        return Replacement("QLinearMatMul", self.operands(match), {}, "")


class MatMulIntegerToFloatFusion(_QuantisedProduct):
    rule = rule_of("MatMulIntegerToFloat")
    _product = Op("MatMul", _dequantised("a"), _dequantised("b"), name="product")
    pattern = Either(Op("Add", _product, Var("row")), _product)

    def check(self, match: Match, facts: Facts) -> str | None:
        return super().check(match, facts) or check_row(match, "row", facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        a, a_scale, a_zero, b, b_scale, b_zero = self.operands(match)
        row = [match.values["row"]] if "row" in match.values else []
        operands = [a, b, a_scale, b_scale, a_zero, b_zero, *row]
        return Replacement("MatMulIntegerToFloat", operands, {}, MICROSOFT)


class QLinearConvFusion(_QuantisedProduct):
    rule = rule_of("QLinearConv")
    pattern = _quantised(_with_bias("Conv"))

    def axis(self, match: Match, rank: int) -> int:
        return 0

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        bias = [match.values["bias"]] if "bias" in match.nodes else []
        return Replacement(
            "QLinearConv", [*self.operands(match), *bias], match.nodes["product"].attributes, ""
        )


class QGemmFusion(_QuantisedProduct):
    rule = rule_of("QGemm")
    pattern = Either(_quantised(_with_bias("Gemm")), _with_bias("Gemm"))

    def axis(self, match: Match, rank: int) -> int:
        return 0 if match.nodes["product"].attributes.get_int("transB", 0) else 1

    def check(self, match: Match, facts: Facts) -> str | None:
        product = match.nodes["product"]
        if "bias" not in match.nodes and "y" in match.nodes:
            return "it has no bias"
        if product.attributes.get_float("alpha", 1.0) != 1 or product.attributes.get_float("beta", 1.0) != 1:
            return "its alpha or beta is not 1"
        return super().check(match, facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        operands = self.operands(match)
        bias = [match.values["bias"]] if "bias" in match.nodes else []
        given = match.nodes["product"].attributes
        kept = {n: given[n] for n in ("transA", "transB") if n in given}
        return Replacement("QGemm", [*operands[:6], *bias, *operands[6:]], kept, MICROSOFT)


class DynamicProductFusion(Fusion):
    """Cast(MatMulInteger(a, b)) * (a's scale * b's scale) + bias, as dynamic quantisers write it."""

    rule = rule_of("DynamicProduct")
    _operands = (Var("a"), Var("b"), Var("a_zero"), Var("b_zero"))
    _scaled = Op(
        "Mul",
        Op("Cast", Op("MatMulInteger", *_operands, name="product"), name="cast"),
        Op("Mul", Var("a_scale"), Var("b_scale")),
    )
    pattern = Either(Op("Add", _scaled, Var("bias")), _scaled)

    def check(self, match: Match, facts: Facts) -> str | None:
        columns = (facts[match.values["b"]].dims or (None,))[-1:]
        if match.nodes["cast"].attributes.get_int("to", 0) != 1:
            return "its sums are not cast to float32"
        for name in ("a_scale", "a_zero"):
            if size(match.values[name], facts) != 1:
                return f"its {name} has more than one element"
        for name in ("b_scale", "b_zero"):
            dims = facts[match.values[name]].static_dims
            if dims is None or (size(match.values[name], facts) != 1 and dims != columns):
                return f"its {name} is neither one element nor one for each column"
        return check_row(match, "bias", facts)

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        names = ["a", "b", "a_scale", "b_scale", "a_zero", "b_zero", "bias"]
        found = [match.values[n] for n in names if n in match.values]
        return Replacement("MatMulIntegerToFloat", found, {}, MICROSOFT)


class QuantisedMovementFusion(Fusion):
    """Elements that only change places, or whose maximum is taken, keep their integers."""

    rule = rule_of("QuantisedMovement")
    _moves = (
        "Reshape",
        "Transpose",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Slice",
        "Gather",
        "Expand",
        "MaxPool",
    )
    pattern = Op(
        "QuantizeLinear", Either(*(Op(move, _dequantised("a"), name="move") for move in _moves)), name="y"
    )

    def check(self, match: Match, facts: Facts) -> str | None:
        a, y = match.nodes["a"], match.nodes["y"]
        refusal = check_tables(a, facts) or check_tables(y, facts)
        if refusal is not None:
            return refusal
        if match.nodes["move"].op_type == "MaxPool" and (refusal := _check_pooling(match, facts)) is not None:
            return refusal
        pairs = list(zip(tables(a), tables(y), strict=True))
        same = all(u is v or _equal(constant(u, facts), constant(v, facts)) for u, v in pairs)
        return None if same else "it is quantised otherwise behind"

    def replacement(self, match: Match, facts: Facts) -> Replacement:
        move = match.nodes["move"]
        operands = [match.values["a"], *(v for v in move.inputs[1:] if v is not None)]
        return Replacement(move.op_type, operands, move.attributes, "")


def _check_pooling(match: Match, facts: Facts) -> str | None:
    """Unless the greatest float32 is the greatest of the 8-bit integers."""
    scale = constant(tables(match.nodes["a"])[0], facts)
    if facts[match.values["a"]].dtype not in (UINT8, INT8):
        return "its maxima are not of 8 bits"
    return (
        None
        if scale is not None and (scale.astype(np.float64) > 0).all()
        else "its scale is not known to be positive"
    )


def _equal(a: Array | None, b: Array | None) -> bool:
    return (
        a is not None and b is not None and a.dtype == b.dtype and bool(np.array_equal(a.ravel(), b.ravel()))
    )


#: a quantised result before the same product with a float one
QUANTISED: Sequence[Fusion] = (
    QLinearConvFusion(),
    QLinearMatMulFusion(),
    QGemmFusion(),
    MatMulIntegerToFloatFusion(),
    DynamicProductFusion(),
    QuantisedMovementFusion(),
)
