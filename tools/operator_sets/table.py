"""The forms: of each operator, one or more for each version that says something in another way."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_sets.form import NEWEST, OLDEST, Array, Form

_random = np.random.default_rng(7)

#: Operators that aren't here, and why.
WITHOUT = {
    "draws at random": (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ),
    "holds graphs": ("If", "Loop", "Scan", "SequenceMap"),
    "takes or gives what is no tensor": (
        "ConcatFromSequence",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SplitToSequence",
    ),
    "is of strings or files": (
        "ImageDecoder",
        "RegexFullMatch",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "TfIdfVectorizer",
    ),
    "onnxruntime 1.32 has no kernel": ("CausalConvWithState", "LinearAttention", "SwiGLU"),
}


#: Where both are right, or ours is known to be another: the operator, its types, and why.
KNOWN = (
    ("Shrink", "int8 uint8 int32 int64", "ONNX's function rounds the bias first, onnxruntime the result"),
    ("Pow", "int32 int64", "beyond the type ours wraps, as NumPy; onnxruntime gives the lowest number"),
)


def f(*shape: int) -> Array:
    """Floats."""
    return _random.standard_normal(shape).astype(np.float32)


def p(*shape: int) -> Array:
    """Positive floats below 1."""
    return _random.uniform(0.1, 0.9, shape).astype(np.float32)


def i(*values: Any) -> Array:
    """int64: these."""
    return np.array(values, np.int64)


def n(value: Any, dtype: Any = np.float32) -> Array:
    """One number."""
    return np.array(value, dtype)


def of(dtype: Any, *shape: int, below: int = 0) -> Array:
    """Whole numbers of any size, or below this."""
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.iinfo(np.uint8)
    low, high = (0, below) if below else (max(info.min, -99), min(info.max, 99))
    return _random.integers(low, high, shape).astype(dtype)


def b(*shape: int) -> Array:
    """Truth values."""
    return _random.integers(0, 2, shape).astype(bool)


def form(
    op: str,
    *operands: Array | None,
    since: int = OLDEST,
    until: int = NEWEST,
    outputs: int = 1,
    **attributes: Any,
) -> Form:
    return Form(op, operands, attributes, since, until, outputs)


UNARY = (
    "Abs", "Acos", "Asin", "Atan", "Atanh", "Asinh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp",
    "Floor", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Mish", "Neg", "Reciprocal", "Relu",
    "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt",
    "Swish", "Tan", "Tanh", "Gelu", "Celu", "ThresholdedRelu", "Log", "GlobalAveragePool",
    "GlobalMaxPool", "GlobalLpPool", "Dropout", "Flatten", "Size", "Transpose", "IsNaN",
    "MeanVarianceNormalization", "NonZero", "Hardmax", "LogSoftmax", "Softmax", "LpNormalization",
)  # fmt: skip
REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
LIVED = {"ReduceSum": 13}


def _elementwise() -> list[Form]:
    binary = ("Add", "Sub", "Mul", "Div")
    compared = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
    return [
        *(form(op, p(2, 4, 6, 6)) for op in UNARY),
        form("Acosh", 1 + p(2, 3)),
        *(form(op, f(2, 4, 6, 6), f(*shape)) for op in binary for shape in ((4, 1, 1), (2, 4, 6, 6))),
        *(form(op, of(np.int64, 3, 4), of(np.int64, 4, below=9) + 1) for op in (*binary, *compared)),
        *(form(op, f(2, 4, 6, 6), f(6)) for op in compared[1:]),
        form("Equal", f(2, 3), f(3), since=11),
        *(form(op, b(2, 3), b(3)) for op in ("And", "Or", "Xor", "Equal")),
        form("Not", b(2, 3)),
        *(form(op, of(np.int32, 3, 4), of(np.int32, 4)) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
        form("BitwiseNot", of(np.int32, 3, 4)),
        form("BitShift", of(np.uint8, 3, 4), of(np.uint8, 4, below=4), direction="LEFT"),
        form("BitCast", f(3, 4), to=6),
        *(form(op, f(2, 4, 6, 6), f(6), f(4, 6, 6), since=8) for op in ("Max", "Min", "Mean", "Sum")),
        *(form(op, f(2, 3), f(2, 3)) for op in ("Max", "Min", "Mean", "Sum")),
        *(form(op, of(np.int64, 3), of(np.int64, 3), since=12) for op in ("Max", "Min")),
        form("Mod", of(np.int64, 3, 4), of(np.int64, 4, below=9) + 1),
        form("Mod", f(3, 4), p(4), fmod=1),
        form("Pow", p(2, 4, 6, 6), n(2.0)),
        form("Pow", p(3, 4), i(3), since=12),
        form("PRelu", f(2, 4, 6, 6), p(4, 1, 1)),
        form("Where", b(2, 1, 6, 1), f(2, 4, 6, 6), f(6), since=9),
        form("Cast", f(3, 4), to=7),
        form("Cast", of(np.int32, 3, 4), to=1),
        form("Cast", f(2, 4, 6, 6), to=10),
        form("CastLike", f(3, 4), i(1)),
        form("Clip", f(2, 4, 6, 6), min=-0.5, max=0.5, until=10),
        form("Clip", f(2, 4, 6, 6), until=10),
        form("Clip", f(2, 4, 6, 6), n(-0.5), n(0.5), since=11),
        form("Clip", f(2, 4, 6, 6), None, n(0.5), since=11),
        form("Dropout", f(3, 4), ratio=0.3, until=11),
        form("Dropout", f(3, 4), n(0.3), n(False, bool), since=12),
        form("IsInf", f(3, 4)),
        form("Elu", f(2, 4, 6, 6), alpha=0.5),
        form("Gelu", f(2, 4, 6, 6), approximate="tanh"),
        form("HardSigmoid", f(2, 4, 6, 6), alpha=0.3, beta=0.4),
        form("Shrink", f(3, 4), lambd=0.4, bias=0.1),
        form("ThresholdedRelu", f(3, 4), alpha=0.3),
    ]


def _movement() -> list[Form]:
    x = f(2, 4, 6, 6)
    return [
        form("Concat", x, f(2, 1, 6, 6), axis=1),
        form("Concat", f(3, 4), f(3, 2), axis=-1, since=11),
        form("CenterCropPad", x, i(3, 8), axes=[2, 3]),
        form("Compress", f(3, 4), np.array([True, False, True]), axis=0),
        form("ConstantOfShape", i(2, 3), value=_tensor(n([2.5]))),
        form("DepthToSpace", x, blocksize=2),
        form("DepthToSpace", x, blocksize=2, mode="CRD", since=11),
        form("SpaceToDepth", x, blocksize=2),
        form("Expand", f(4, 1, 6), i(2, 4, 6, 6)),
        form("EyeLike", f(3, 4), k=1),
        form("Flatten", x, axis=2),
        form("Flatten", x, axis=-1, since=11),
        form("Gather", x, i(2, 0), axis=1),
        form("Gather", x, i(-1), axis=2, since=11),
        form("GatherElements", f(3, 4), of(np.int64, 3, 2, below=4), axis=1),
        form("GatherND", f(3, 4, 2), of(np.int64, 2, 2, below=3)),
        form("GatherND", f(2, 4, 3), of(np.int64, 2, 1, below=4), batch_dims=1, since=12),
        form("OneHot", i(1, 3, 0), n(4, np.int64), f(2)),
        form("OneHot", i(1, -1, 0), n(4, np.int64), f(2), axis=0, since=11),
        form("Pad", x, pads=[0, 0, 1, 2, 0, 0, 2, 1], until=10),
        form("Pad", x, pads=[0, 0, 1, 2, 0, 0, 2, 1], value=1.5, until=10),
        form("Pad", x, pads=[0, 0, 1, 2, 0, 0, 2, 1], mode="reflect", until=10),
        form("Pad", x, pads=[0, 0, -1, 0, 0, 0, 0, -2], until=10),
        form("Pad", x, i(0, 0, 1, 2, 0, 0, 2, 1), since=11),
        form("Pad", x, i(0, 0, 1, 2, 0, 0, 2, 1), n(1.5), since=11),
        form("Pad", x, i(0, 0, 1, 2, 0, 0, 2, 1), mode="edge", since=11),
        form("Pad", x, i(1, 2, 2, 1), None, i(2, -1), since=18),
        form("Pad", x, i(1, 2, 2, 1), None, i(2, 3), mode="wrap", since=19),
        form("Range", n(1, np.int64), n(9, np.int64), n(2, np.int64)),
        form("Reshape", x, i(2, 24, -1)),
        form("Reshape", x, i(0, -1, 0, 3)),
        form("Reshape", x, i(2, 4, 36), allowzero=1, since=14),
        form("ReverseSequence", f(4, 3, 2), i(4, 2, 1)),
        form("Scatter", f(3, 4), of(np.int64, 2, 4, below=3), f(2, 4)),
        form("ScatterElements", f(3, 4), i([1, 3]), f(1, 2), axis=1),
        form("ScatterElements", f(3, 4), i([1, 1]), f(1, 2), axis=1, reduction="add", since=16),
        form("ScatterElements", f(3, 4), i([1, 1]), f(1, 2), axis=1, reduction="max", since=18),
        form("ScatterND", f(3, 4), i([1], [0]), f(2, 4)),
        form("ScatterND", f(3, 4), i([1], [1]), f(2, 4), reduction="mul", since=16),
        form("ScatterND", f(3, 4), i([1], [1]), f(2, 4), reduction="min", since=18),
        form("Shape", x),
        form("Shape", x, start=1, end=-1, since=15),
        form("Slice", x, starts=[1, 0], ends=[3, -1], axes=[1, 3], until=9),
        form("Slice", x, starts=[0, 1], ends=[2, 9], until=9),
        form("Slice", x, i(1, 0), i(3, -1), i(1, 3), since=10),
        form("Slice", x, i(4, 0), i(-9, 9), i(2, 3), i(-2, 2), since=10),
        form("Split", x, axis=1, split=[1, 3], outputs=2, until=12),
        form("Split", x, axis=3, outputs=3, until=17),
        form("Split", x, axis=-1, split=[2, 4], outputs=2, since=11, until=12),
        form("Split", x, i(1, 3), axis=1, outputs=2, since=13),
        form("Split", x, axis=2, num_outputs=4, outputs=4, since=18),
        form("Squeeze", f(2, 1, 6, 1), axes=[1, 3], until=12),
        form("Squeeze", f(2, 1, 6, 1), axes=[-1], since=11, until=12),
        form("Squeeze", f(2, 1, 6, 1)),
        form("Squeeze", f(2, 1, 6, 1), i(1, -1), since=13),
        form("TensorScatter", f(2, 3, 8, 4), f(2, 3, 2, 4), i(1, 5)),
        form("Tile", f(2, 3), i(2, 3)),
        form("TopK", f(3, 6), axis=1, k=2, outputs=2, until=9),
        form("TopK", f(3, 6), i(2), axis=-1, outputs=2, since=10),
        form("TopK", f(3, 6), i(2), largest=0, outputs=2, since=11),
        form("Transpose", x, perm=[0, 2, 3, 1]),
        form("Trilu", f(3, 4), upper=0),
        form("Trilu", f(2, 4, 4), n(1, np.int64)),
        form("Unique", of(np.int64, 9, below=4), outputs=4),
        form("Unsqueeze", f(2, 6), axes=[1, 3], until=12),
        form("Unsqueeze", f(2, 6), axes=[-1], since=11, until=12),
        form("Unsqueeze", f(2, 6), i(1, -1), since=13),
    ]


def _tensor(array: Array) -> Any:
    import onnx

    return onnx.numpy_helper.from_array(array)


def _constants() -> list[Form]:
    return [
        form("Constant", value=_tensor(f(2, 3))),
        form("Constant", value_floats=[1.0, 2.0], since=12),
        form("Constant", value_int=3, since=12),
    ]


def _windowed() -> list[Form]:
    x, w = f(2, 4, 8, 8), f(4, 4, 3, 3)
    square: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    transposed: dict[str, Any] = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    return [
        form("AveragePool", x, **square),
        form("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        form("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        form("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, since=10),
        form("AveragePool", x, kernel_shape=[2, 2], dilations=[2, 2], since=19),
        form("Conv", x, w, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        form("Conv", x, w, f(4), strides=[2, 2], auto_pad="SAME_UPPER"),
        form("Conv", x, f(8, 2, 3, 3), group=2, dilations=[2, 1]),
        form("Conv", f(2, 4, 9), f(6, 4, 3), f(6)),
        form("ConvInteger", of(np.uint8, 1, 2, 6, 6, below=99), of(np.uint8, 3, 2, 3, 3, below=99)),
        form("ConvTranspose", x, f(4, 3, 4, 4), **transposed),
        form("ConvTranspose", x, f(4, 3, 4, 4), f(3), strides=[2, 2], pads=[1, 0, 0, 1]),
        form("ConvTranspose", x, f(4, 3, 3, 3), **transposed, output_padding=[1, 1]),
        form("ConvTranspose", x, f(4, 3, 2, 2), strides=[2, 2]),
        form("ConvTranspose", f(2, 4, 8), f(4, 3, 4), strides=[2], pads=[1, 0]),
        form("ConvTranspose", x, f(4, 3, 3, 3), strides=[2, 2], output_shape=[16, 16]),
        form("DeformConv", f(1, 2, 6, 6), f(3, 2, 3, 3), f(1, 18, 4, 4)),
        form("GlobalLpPool", x, p=1),
        form("LpPool", x, **square, p=2),
        form("LpPool", x, kernel_shape=[2, 2], dilations=[2, 2], since=18),
        form("MaxPool", x, **square),
        form("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        form("MaxPool", x, **square, outputs=2, since=8),
        form("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, dilations=[2, 2], since=10),
        form("MaxRoiPool", x, n([[0, 0, 0, 4, 4]]), pooled_shape=[2, 2]),
        form("MaxUnpool", f(1, 1, 2, 2), i([[[0, 3], [9, 15]]]), kernel_shape=[2, 2], strides=[2, 2]),
        form("Col2Im", f(1, 12, 9), i(4, 4), i(2, 2)),
        form("QLinearConv", *_quantised(1, 2, 6, 6), *_quantised(3, 2, 3, 3), n(2.5), n(7, np.uint8)),
    ]


def _quantised(*shape: int) -> tuple[Array, Array, Array]:
    return of(np.uint8, *shape, below=255), n(0.05), n(120, np.uint8)


def _products() -> list[Form]:
    return [
        form("Gemm", f(5, 4), f(4, 6), f(6)),
        form("Gemm", f(4, 5), f(6, 4), f(5, 1), transA=1, transB=1, alpha=0.5, beta=2.0),
        form("Gemm", f(5, 4), f(4, 6), since=11),
        form("MatMul", f(2, 4, 6, 6), f(6, 5)),
        form("MatMul", f(2, 5, 4), f(2, 4, 6)),
        form("MatMul", of(np.int32, 3, 4), of(np.int32, 4, 5)),
        form("MatMulInteger", of(np.uint8, 3, 4, below=200), of(np.int8, 4, 5), n(9, np.uint8)),
        form("QLinearMatMul", *_quantised(3, 4), *_quantised(4, 5), n(0.4), n(99, np.uint8)),
        form("Einsum", f(2, 3, 4), f(4, 5), equation="bij,jk->bik"),
        form("Det", f(2, 3, 3)),
        form("DequantizeLinear", *_quantised(2, 4, 6, 6)),
        form("DequantizeLinear", of(np.int8, 2, 4, 6), p(4), of(np.int8, 4), axis=1, since=13),
        form(
            "DequantizeLinear", of(np.int8, 4, 6), p(4, 3), of(np.int8, 4, 3), axis=1, block_size=2, since=21
        ),
        form("QuantizeLinear", f(2, 4, 6, 6), n(0.05), n(120, np.uint8)),
        form("QuantizeLinear", f(2, 4, 6), p(4), of(np.int8, 4), axis=1, since=13),
        form("DynamicQuantizeLinear", f(3, 4), outputs=3),
        form("Attention", f(2, 3, 4, 8), f(2, 3, 5, 8), f(2, 3, 5, 8)),
        form("Attention", f(2, 4, 24), f(2, 5, 24), f(2, 5, 24), q_num_heads=3, kv_num_heads=3, is_causal=1),
        form("RotaryEmbedding", f(2, 3, 4, 8), f(2, 4, 4), f(2, 4, 4)),
    ]


def _norms() -> list[Form]:
    x, c = f(2, 4, 6, 6), (p(4), f(4), f(4), p(4))
    return [
        form("BatchNormalization", x, *c),
        form("BatchNormalization", x, *c, spatial=1, until=8),
        form("BatchNormalization", x, *c, epsilon=0.1, momentum=0.5),
        form("InstanceNormalization", x, p(4), f(4)),
        form("GroupNormalization", x, p(2), f(2), num_groups=2, until=20),
        form("GroupNormalization", x, p(4), f(4), num_groups=2, since=21),
        form("LayerNormalization", f(2, 5, 8), p(8), f(8)),
        form("LayerNormalization", f(2, 5, 8), p(5, 8), axis=1, epsilon=0.01),
        form("RMSNormalization", f(2, 5, 8), p(8)),
        form("LRN", x, size=3),
        form("LpNormalization", f(3, 4), axis=0, p=1),
        *(form(op, x, axis=1) for op in ("Softmax", "LogSoftmax", "Hardmax")),
        *(form(op, x, axis=-2, since=11) for op in ("Softmax", "LogSoftmax", "Hardmax")),
        form("NegativeLogLikelihoodLoss", f(3, 5), i(1, 4, 0)),
        form("SoftmaxCrossEntropyLoss", f(3, 5), i(1, 4, 0)),
        *(form(op, p(2, 4, 6, 6), axes=[1, 3], until=LIVED.get(op, 18) - 1) for op in REDUCTIONS),
        *(
            form(op, p(2, 4, 6), axes=[-1], keepdims=0, since=11, until=LIVED.get(op, 18) - 1)
            for op in REDUCTIONS
        ),
        *(form(op, p(2, 4, 6)) for op in REDUCTIONS),
        *(form(op, p(2, 4, 6, 6), i(1, -1), since=LIVED.get(op, 18)) for op in REDUCTIONS),
        *(form(op, p(2, 4), noop_with_empty_axes=1, since=LIVED.get(op, 18)) for op in REDUCTIONS),
        *(form(op, f(3, 5), axis=1, keepdims=0) for op in ("ArgMax", "ArgMin")),
        *(form(op, f(3, 5), axis=-1, since=11) for op in ("ArgMax", "ArgMin")),
        *(
            form(op, of(np.int32, 3, 5, below=3), select_last_index=1, since=12)
            for op in ("ArgMax", "ArgMin")
        ),
        form("CumSum", f(3, 5), n(1, np.int64), exclusive=1),
        form("CumProd", f(3, 5), n(1, np.int64)),
    ]


def _images() -> list[Form]:
    x = f(2, 4, 6, 6)
    linear: dict[str, Any] = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    return [
        form("Upsample", x, mode="nearest", scales=[1.0, 1.0, 2.0, 2.0], until=8),
        form("Upsample", x, mode="linear", scales=[1.0, 1.0, 2.0, 2.0], until=8),
        form("Upsample", x, n([1, 1, 2, 2]), mode="nearest", since=9, until=9),
        form("Resize", x, n([1, 1, 2, 1.5]), since=10, until=10),
        form("Resize", x, n([1, 1, 2, 1.5]), mode="linear", since=10, until=10),
        form("Resize", x, n([]), n([1, 1, 2, 1.5]), since=11),
        form("Resize", x, n([]), n([1, 1, 2, 0.5]), since=11, **linear),
        form("Resize", x, n([]), n([]), i(2, 4, 9, 5), since=11, mode="cubic"),
        form("Resize", x, None, None, i(2, 4, 9, 5), since=13, **linear),
        form("Resize", x, None, n([2, 2]), axes=[2, 3], since=18),
        form("Resize", x, None, n([1, 1, 0.5, 0.5]), antialias=1, since=18, **linear),
        form("GridSample", x, f(2, 5, 5, 2) / 2, mode="bilinear", since=16, until=19),
        form("GridSample", x, f(2, 5, 5, 2) / 2, mode="linear", since=20),
        form("GridSample", x, f(2, 5, 5, 2) / 2, mode="nearest", padding_mode="border"),
        form("AffineGrid", f(1, 2, 3), i(1, 3, 4, 5)),
        form("RoiAlign", x, n([[0, 0, 4, 4]]), i(1), output_height=2, output_width=2),
        form("RoiAlign", x, n([[0, 0, 4, 4]]), i(1), coordinate_transformation_mode="half_pixel", since=16),
        form("NonMaxSuppression", p(1, 6, 4), p(1, 2, 6), i(3), n([0.5]), n([0.2])),
    ]


def _series() -> list[Form]:
    rows = {"GRU": 3, "LSTM": 4, "RNN": 1}
    made = []
    for op, gates in rows.items():
        outputs = 3 if op == "LSTM" else 2
        x, w, r = f(5, 3, 4), f(1, gates * 6, 4), f(1, gates * 6, 6)
        made.append(form(op, x, w, r, hidden_size=6, outputs=outputs))
        made.append(form(op, x, w, r, f(1, 2 * gates * 6), hidden_size=6, outputs=outputs))
        made.append(form(op, x, w, r, hidden_size=6, layout=1, outputs=outputs, since=14))
    windows = ("HannWindow", "HammingWindow", "BlackmanWindow")
    return [
        *made,
        *(form(op, n(9, np.int64)) for op in windows),
        form("DFT", f(2, 8, 1), axis=1, since=17, until=19),
        form("DFT", f(2, 8, 1), None, n(1, np.int64), since=20),
        form("STFT", f(1, 32, 1), n(8, np.int64), p(16)),
        form("MelWeightMatrix", n(4, np.int64), n(16, np.int64), n(8000, np.int64), n(0.0), n(4000.0)),
    ]


FORMS: tuple[Form, ...] = tuple(
    made
    for group in (_elementwise, _movement, _constants, _windowed, _products, _norms, _images, _series)
    for made in group()
)
