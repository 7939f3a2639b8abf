"""Which built-in operators have gradients in PyTorch, from what, and why the others have none."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.equivalent_call import has_equivalent
from ascend_ep.frameworks.torch.torch_library import definition_of
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import differentiate
from ascend_ep.opdef.registry import Registry

_INTEGERS, _STEP, _BYTES = (
    "it gives or takes integers",
    "its slope is 0 wherever it has one",
    "it takes bytes",
)
_BITS, _TRUTHS, _NUMBERS = (
    "it takes bits",
    "it gives or takes truths",
    "no tensor of floats decides its result",
)
_CONTRIBUTED = "it is onnxruntime's, which its optimizer writes for inference"
#: Operators without a gradient, by what they have instead.
WITHOUT = {
    **dict.fromkeys(("AIPP", "ToFloatImage"), _BYTES),
    **dict.fromkeys(("AscendAntiQuant", "ConvInteger", "MatMulInteger", "MatMulIntegerToFloat"), _INTEGERS),
    **dict.fromkeys(("ArgMax", "ArgMin", "AscendQuant", "DynamicQuantizeLinear", "LabelEncoder"), _INTEGERS),
    **dict.fromkeys(("MatMulNBits", "QGemm", "QLinearConv", "QLinearMatMul", "QuantizeLinear"), _INTEGERS),
    **dict.fromkeys(("OneHotEncoder", "SVMClassifier", "TreeEnsembleClassifier"), "it gives classes"),
    **dict.fromkeys(("TreeEnsemble", "TreeEnsembleRegressor"), _STEP),
    **dict.fromkeys(("Binarizer", "Ceil", "Floor", "Hardmax", "Round", "Sign", "Ternarize"), _STEP),
    **dict.fromkeys(("DynamicQuantizeLSTM", "DynamicQuantizeMatMul"), "it rounds what it takes"),
    **dict.fromkeys(("Attention", "EmbedLayerNormalization", "FusedGemm", "FusedMatMul"), _CONTRIBUTED),
    **dict.fromkeys(("GroupQueryAttention", "MultiHeadAttention", "RotaryEmbedding"), _CONTRIBUTED),
    "onnxruntime's GatedRMSNorm": _CONTRIBUTED,
    **dict.fromkeys(("BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"), _BITS),
    **dict.fromkeys(("And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less"), _TRUTHS),
    **dict.fromkeys(("LessOrEqual", "Not", "Or", "Xor"), _TRUTHS),
    **dict.fromkeys(("BlackmanWindow", "ConstantOfShape", "EyeLike", "HammingWindow"), _NUMBERS),
    **dict.fromkeys(("HannWindow", "Shape", "Size"), _NUMBERS),
}


@dataclass(frozen=True)
class Gradient:
    """From a "formula", or "PyTorch", whose equivalent gives it. twice: it has one itself."""

    source: str
    twice: bool


def gradient_of(opdef: OpDef) -> Gradient | None:
    """That of an operator as `register` takes it."""
    try:
        first = differentiate(opdef)
    except AscendError:
        return Gradient("PyTorch", twice=True) if has_equivalent(opdef) else None
    try:
        differentiate(first)
    except AscendError:
        return Gradient("formula", twice=False)
    return Gradient("formula", twice=True)


def all_gradients() -> dict[str, Gradient | None]:
    """Of every built-in operator, by name, with whose it is before one that shares its name with another."""
    made: dict[str, Gradient | None] = {}
    for _, listed in Registry().definitions():
        opdef = definition_of(listed.op, listed.domain)
        whose = "onnxruntime's" if listed.domain == "com.microsoft" else "ONNX's"
        made[f"{whose} {opdef.op}" if opdef.op in made else opdef.op] = gradient_of(opdef)
    return made
