"""Operators of the real tool's graph engine in terms of ONNX: names, attributes, operands.

`GE_OPERATORS[type](Builder)` appends the ONNX nodes of one operator and gives the names of its results. Where
an operator is ONNX's under another name, with its attributes renamed, a row of the table says it all.
"""

from __future__ import annotations

from . import ge_translations as to
from .ge_recurrent import dynamic_rnn, dynamic_rnn_grad
from .ge_translations import Build

#: The opset of the ONNX operators meant.
OPSET = 20

#: Operators that ONNX has under the same name, with the same operands and no attributes.
_SAME = (
    *(
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Pow",
        "Sqrt",
        "Abs",
        "Neg",
        "Relu",
        "Sigmoid",
        "Tanh",
        "Sin",
        "Cos",
        "Tan",
    ),
    *(
        "Erf",
        "Ceil",
        "Floor",
        "Round",
        "Sign",
        "Softsign",
        "Softplus",
        "Equal",
        "Greater",
        "Less",
        "Identity",
    ),
    *("Reciprocal", "Mish", "HardSwish", "PRelu", "Sinh", "Cosh", "Asin", "Acos", "Atan", "Asinh", "Acosh"),
    "Atanh",
)

#: Those of another name.
_RENAMED = {
    "RealDiv": "Div",
    "Maximum": "Max",
    "Minimum": "Min",
    "Inv": "Reciprocal",
    "Rint": "Round",
    "GreaterEqual": "GreaterOrEqual",
    "LessEqual": "LessOrEqual",
    "LogicalAnd": "And",
    "LogicalOr": "Or",
    "LogicalNot": "Not",
    "FloorMod": "Mod",
    "Select": "Where",
    "SelectV2": "Where",
    "ClipByValue": "Clip",
}

_REDUCTIONS = {
    "Sum": "ReduceSum",
    "Mean": "ReduceMean",
    "Max": "ReduceMax",
    "Min": "ReduceMin",
    "Prod": "ReduceProd",
}

GE_OPERATORS: dict[str, Build] = {
    **{name: to.same(name) for name in _SAME},
    **{name: to.same(op_type) for name, op_type in _RENAMED.items()},
    **{f"Reduce{kind}{d}": to.reduce(op_type) for kind, op_type in _REDUCTIONS.items() for d in ("", "D")},
    "AddN": to.add_n,
    "MatMul": to.matmul("transpose_x1", "transpose_x2"),
    "MatMulV2": to.matmul("transpose_x1", "transpose_x2"),
    "BatchMatMul": to.matmul("adj_x1", "adj_x2"),
    "BatchMatMulV2": to.matmul("adj_x1", "adj_x2"),
    "GEMM": to.gemm,
    "Conv2D": to.conv,
    "MaxPool": to.pool("MaxPool"),
    "AvgPool": to.pool("AveragePool"),
    "MaxPoolV3": to.pool_with_pads("MaxPool"),
    "AvgPoolV2": to.pool_with_pads("AveragePool"),
    "BatchNorm": to.batch_norm,
    "SoftmaxV2": to.softmax("Softmax"),
    "LogSoftmaxV2": to.softmax("LogSoftmax"),
    "Concat": to.concat("concat_dim"),
    "ConcatD": to.concat("concat_dim"),
    "ConcatV2D": to.concat("concat_dim"),
    "Pack": to.pack,
    "Fill": to.fill,
    "Flatten": to.same("Flatten", {"axis": ("axis", 1)}),
    "SplitD": to.split,
    "TransposeD": to.transpose,
    "Transpose": to.transpose,
    "Reshape": to.with_ints("Reshape", "shape"),
    "Unsqueeze": to.with_ints("Unsqueeze", "axes", "axis"),
    "ExpandDims": to.with_ints("Unsqueeze", "axis"),
    "Squeeze": to.with_ints("Squeeze", "axis"),
    "TileD": to.with_ints("Tile", "multiples"),
    "Tile": to.with_ints("Tile", "multiples"),
    "BroadcastToD": to.with_ints("Expand", "shape"),
    "BroadcastTo": to.with_ints("Expand", "shape"),
    "Gather": to.gather,
    "GatherV2": to.gather,
    "GatherV2D": to.gather,
    "Slice": to.slice,
    "SliceD": to.slice,
    "Pad": to.pad,
    "PadD": to.pad,
    "LayerNorm": to.layer_norm,
    "Cast": to.cast,
    "Rsqrt": to.rsqrt,
    "Square": to.square,
    "SquaredDifference": to.squared_difference,
    "Relu6": to.relu6,
    "FloorDiv": to.floor_div,
    "Exp": to.exp,
    "Log": to.log,
    "Gelu": to.gelu,
    "Swish": to.swish,
    "Elu": to.same("Elu", {"alpha": ("alpha", 1.0)}),
    "LeakyRelu": to.same("LeakyRelu", {"negative_slope": ("alpha", 0.0)}),
    "HardSigmoid": to.same("HardSigmoid", {"alpha": ("alpha", 1 / 6), "beta": ("beta", 0.5)}),
    "ArgMaxD": to.argmax,
    "ArgMaxV2": to.argmax,
    "BiasAdd": to.bias_add,
    "DynamicRNN": dynamic_rnn,
    "DynamicRNNGrad": dynamic_rnn_grad,
}
