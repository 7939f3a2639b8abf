"""Which operators mixed precision makes narrow: the white, black and grey lists, and changes to them.

White ones compute in the narrow type; black ones keep float32; grey ones are narrow where all that flows into
them is. The lists name operators of ONNX; atc's files name those of Ascend's IR, of which ALIASES knows the
usual ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum


class Colour(Enum):
    WHITE = "white-list"
    BLACK = "black-list"
    GREY = "gray-list"


#: Operators of the device's matrix unit.
CUBE = frozenset(
    {
        *("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "LinearAddGelu", "Attention"),
        *(
            "ScaledDotProductAttention",
            "MultiHeadAttention",
            "GroupQueryAttention",
            "MatMulNBits",
            "LSTM",
            "GRU",
            "RNN",
        ),
    }
)

#: Sums over many elements, and functions whose error grows with their argument.
BLACK = frozenset(
    {
        *("Exp", "Log", "Pow", "Softplus", "Mish", "CumSum", "Softmax", "LogSoftmax", "LpNormalization"),
        *("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
        *(
            "ReduceLogSum",
            "ReduceLogSumExp",
            "LayerNorm",
            "LayerNormalization",
            "RMSNormalization",
            "GroupNormalization",
        ),
        *("InstanceNormalization", "BatchNormalization", "SimplifiedLayerNormalization", "RMSNorm", "LRN"),
        *("SkipLayerNormalization", "LayerNormGelu", "NegativeLogLikelihoodLoss"),
        *("SoftmaxCrossEntropyLoss", "RandomNormal", "RandomUniform"),
    }
)

#: Operators of Ascend's IR by the ONNX operator that becomes them.
ALIASES: dict[str, frozenset[str]] = {
    "Add": frozenset({"Add", "AddV2"}),
    "AveragePool": frozenset({"AvgPool", "AvgPoolV2"}),
    "BatchNormalization": frozenset({"BNInference", "BatchNorm", "BNInfer"}),
    "Concat": frozenset({"ConcatD", "ConcatV2", "ConcatV2D"}),
    "Conv": frozenset({"Conv2D", "Conv3D", "Conv1D", "DepthwiseConv2D", "DepthwiseConv2d"}),
    "ConvTranspose": frozenset(
        {"Conv2DTranspose", "Conv2DTransposeD", "Conv3DTranspose", "Conv3DTransposeD"}
    ),
    "Div": frozenset({"RealDiv"}),
    "Gather": frozenset({"GatherV2", "GatherV2D"}),
    "Gemm": frozenset({"GEMM", "MatMul", "MatMulV2", "MatMulV3"}),
    "GroupNormalization": frozenset({"GroupNorm"}),
    "InstanceNormalization": frozenset({"InstanceNorm"}),
    "LayerNormalization": frozenset({"LayerNorm", "LayerNormV3", "LayerNormV4"}),
    "LogSoftmax": frozenset({"LogSoftmaxV2"}),
    "MatMul": frozenset({"MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}),
    "MaxPool": frozenset({"MaxPoolV3", "Pooling"}),
    "RMSNormalization": frozenset({"RmsNorm"}),
    "ReduceMax": frozenset({"ReduceMaxD"}),
    "ReduceMean": frozenset({"ReduceMeanD"}),
    "ReduceMin": frozenset({"ReduceMinD"}),
    "ReduceSum": frozenset({"ReduceSumD"}),
    "Relu": frozenset({"ReLU"}),
    "SimplifiedLayerNormalization": frozenset({"RmsNorm"}),
    "Slice": frozenset({"StridedSlice", "StridedSliceV2", "SliceD", "StridedSliceD"}),
    "Softmax": frozenset({"SoftmaxV2"}),
    "Split": frozenset({"SplitD", "SplitV", "SplitVD"}),
    "Transpose": frozenset({"TransposeD"}),
    "Where": frozenset({"Select", "SelectV2"}),
}


def same_type(op_type: str, name: str) -> bool:
    """Whether a file's name of an operator, ONNX's or Ascend's, is that of this ONNX operator."""
    return name == op_type or name in ALIASES.get(op_type, ())


def is_cube(op_type: str) -> bool:
    return op_type in CUBE


@dataclass(frozen=True)
class MixedLists:
    """The lists with changes: names moved to a list, and names taken from one, which become grey."""

    white: Collection[str] = ()
    black: Collection[str] = ()
    grey: Collection[str] = ()

    def colour(self, op_type: str) -> Colour:
        changed = ((Colour.BLACK, self.black), (Colour.WHITE, self.white), (Colour.GREY, self.grey))
        for colour, names in changed:
            if any(same_type(op_type, name) for name in names):
                return colour
        return own_colour(op_type)


def own_colour(op_type: str) -> Colour:
    """Without changes."""
    if is_cube(op_type):
        return Colour.WHITE
    return Colour.BLACK if op_type in BLACK else Colour.GREY


def own_colours(name: str) -> set[Colour]:
    """The lists that a file's name of an operator is in."""
    meant = {name, *(op for op in ALIASES if same_type(op, name))}
    return {own_colour(op) for op in meant}
