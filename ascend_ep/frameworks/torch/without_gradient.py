"""Built-in operators without a gradient in PyTorch, and why."""

from __future__ import annotations

#: The reason of those that need none.
STEP = "its slope is 0 wherever it has one"
_INTEGERS, _BYTES = "it gives or takes integers", "it takes bytes"
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
    **dict.fromkeys(("TreeEnsemble", "TreeEnsembleRegressor"), STEP),
    **dict.fromkeys(("Binarizer", "Ceil", "Floor", "Hardmax", "Round", "Sign", "Ternarize"), STEP),
    **dict.fromkeys(("DynamicQuantizeLSTM", "DynamicQuantizeMatMul"), "it rounds what it takes"),
    **dict.fromkeys(("Attention", "EmbedLayerNormalization", "FusedConv", "FusedGemm"), _CONTRIBUTED),
    **dict.fromkeys(
        ("FusedMatMul", "GroupQueryAttention", "MultiHeadAttention", "RotaryEmbedding"), _CONTRIBUTED
    ),
    "onnxruntime's GatedRMSNorm": _CONTRIBUTED,
    **dict.fromkeys(("BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"), _BITS),
    **dict.fromkeys(("And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less"), _TRUTHS),
    **dict.fromkeys(("LessOrEqual", "Not", "Or", "Xor"), _TRUTHS),
    **dict.fromkeys(("BlackmanWindow", "ConstantOfShape", "EyeLike", "HammingWindow"), _NUMBERS),
    **dict.fromkeys(("HannWindow", "Shape", "Size"), _NUMBERS),
}
