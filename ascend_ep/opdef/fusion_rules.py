"""The fusion rules by name: the one list of them, for what applies, switches and shows them."""

from __future__ import annotations

from dataclasses import dataclass

#: The two groups of atc's fusion switches: on the graph, and of the kernels' calls.
GRAPH, KERNEL = "GraphFusion", "UBFusion"


@dataclass(frozen=True)
class Rule:
    """A rule by which nodes are fused, under the name that switches it. fuses: False for one whose matches
    are only weighed and shown."""

    name: str
    group: str
    summary: str
    fuses: bool = True


RULES: tuple[Rule, ...] = tuple(
    Rule(f"{stem}FusionPass", group, summary, stem != "ProductChain")
    for stem, group, summary in (
        ("Softmax", GRAPH, "exp(x - max(x))/sum(exp(x - max(x))) -> Softmax"),
        ("AttentionHeadsLast", GRAPH, "attention and the transposition of its result -> the same"),
        ("Attention", GRAPH, "softmax(q k^T * scale + mask) v -> ScaledDotProductAttention"),
        ("LayerNorm", GRAPH, "(x - mean)/sqrt(variance + epsilon)*weight + bias -> LayerNorm"),
        ("RMSNorm", GRAPH, "x/sqrt(mean(x^2) + epsilon)*weight -> RMSNorm"),
        ("RegroupedRoPE", GRAPH, "pairs brought into halves and rotated, as DeepSeek has it -> RoPE"),
        ("InterleavedRoPE", GRAPH, "rotations of neighbouring elements, stacked and flattened -> RoPE"),
        ("RoPE", GRAPH, "x*cos + rotate_half(x)*sin -> RoPE"),
        ("SwiGLU", GRAPH, "x*sigmoid(x)*up -> SwiGLU"),
        ("TanhGelu", GRAPH, "the tanh approximation of GELU -> Gelu"),
        ("Gelu", GRAPH, "x*(1 + erf(x/sqrt(2)))/2 -> Gelu"),
        ("SiLU", GRAPH, "x*sigmoid(x) -> SiLU"),
        ("QLinearConv", GRAPH, "QuantizeLinear(Conv(DequantizeLinear..)) -> QLinearConv"),
        ("QLinearMatMul", GRAPH, "QuantizeLinear(MatMul(DequantizeLinear..)) -> QLinearMatMul"),
        ("QGemm", GRAPH, "Gemm(DequantizeLinear..), and QuantizeLinear behind -> QGemm"),
        ("MatMulIntegerToFloat", GRAPH, "MatMul(DequantizeLinear..) -> MatMulIntegerToFloat"),
        ("DynamicProduct", GRAPH, "Cast(MatMulInteger)*scales + bias -> MatMulIntegerToFloat"),
        ("QuantisedMovement", GRAPH, "QuantizeLinear(movement(DequantizeLinear)) of one scale -> movement"),
        ("ProductEpilogue", KERNEL, "MatMul, Gemm or Conv, and sums and an activation behind -> one call"),
        ("NormResidual", KERNEL, "a sum and the RMSNorm of it -> one call with both results"),
        (
            "CacheAppend",
            KERNEL,
            "past and new keys and values put together, and attention to them -> one call",
        ),
        ("NormGelu", KERNEL, "LayerNorm and GELU of it -> one call"),
        ("GroupNorm", KERNEL, "InstanceNormalization of groups, scale and shift -> one call on the image"),
        ("ElementwiseChain", KERNEL, "neighbouring elementwise calls -> one call"),
        ("GatedProducts", KERNEL, "two products of one input, and SwiGLU of them -> one call"),
        ("NormPrologue", KERNEL, "RMSNorm and the products that read it -> these products"),
        ("ConvPrologue", KERNEL, "Concat, scale, shift and limits of what one Conv reads -> this Conv"),
        ("ProductChain", KERNEL, "a product of what a product made: weighed and shown, not fused"),
    )
)
_BY_NAME = {rule.name: rule for rule in RULES}


def rule_of(stem: str) -> Rule:
    """`Gelu` -> the rule GeluFusionPass. KeyError when there is none."""
    return _BY_NAME[f"{stem}FusionPass"]
