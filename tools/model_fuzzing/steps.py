"""What a drawn model may do next: each step adds a node or a few to a graph, and gives whether it could."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from model_fuzzing.draw import Array
from model_fuzzing.growing import Graph

Step = Callable[[Graph], Any]

UNARY = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "Neg",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Celu",
    "Mish",
    "Gelu",
    "Shrink",
]
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu", "Mod")
COMPARISONS = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
LOGICAL = ("And", "Or", "Xor")
REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
]
NORMS = (
    "LayerNormalization",
    "BatchNormalization",
    "InstanceNormalization",
    "LRN",
    "MeanVarianceNormalization",
    "GroupNormalization",
    "RMSNormalization",
)
WINDOWED = (
    "Conv",
    "Conv",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "LpPool",
)


def is_float(x: Array) -> bool:
    return x.dtype == np.float32


def is_numeric(x: Array) -> bool:
    return x.dtype in (np.float32, np.int64, np.int32)


def of_rank(least: int, most: int = 9) -> Callable[[Array], bool]:
    return lambda x: is_float(x) and least <= x.ndim <= most


def has_elements(x: Array) -> bool:
    return is_float(x) and x.ndim > 0 and x.size > 0


def unary(g: Graph) -> Any:
    x = g.pick(is_float)
    return x and g.add(g.draw.one_of(*UNARY), [x])


def binary(g: Graph) -> Any:
    """With a value that broadcasts, drawn anew as a constant, or the same value."""
    x = g.pick(is_numeric)
    if x is None:
        return None
    left = g.known()[x]
    other = g.pick(lambda y: y.dtype == left.dtype and _broadcast(left, y)) if g.draw.chance(0.6) else None
    other = other or _operand(g, left)
    inputs = [x, other] if g.draw.chance(0.7) else [other, x]
    op = g.draw.one_of(*BINARY)
    if op == "PRelu":  # whose slope broadcasts to x, not x to the slope
        inputs = [x, _operand(g, left)]
    attributes = {"fmod": 1} if op == "Mod" and left.dtype == np.float32 else {}
    return g.add(op, inputs, **attributes)


def _operand(g: Graph, like: Array) -> str:
    """A constant that broadcasts with a value: fewer axes, or some of 1."""
    dims = [d if g.draw.chance(0.7) else 1 for d in like.shape][g.draw.random.randint(0, like.ndim) :]
    values = g.draw.floats(*dims) if like.dtype == np.float32 else g.draw.integers(1, 5, *dims)
    return g.constant(values, like.dtype)


def _broadcast(a: Array, b: Array) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False))


def compared(g: Graph) -> Any:
    """Comparisons, logic, and what they decide."""
    x = g.pick(is_numeric)
    if x is None:
        return None
    left = g.known()[x]
    kind = g.draw.one_of("compare", "where", "logic", "not")
    if kind == "compare":
        return g.add(g.draw.one_of(*COMPARISONS), [x, _operand(g, left)])
    truth = g.pick(lambda y: y.dtype == bool)
    if truth is None:
        return g.add(g.draw.one_of(*COMPARISONS[1:]), [x, _operand(g, left)])
    if kind == "not":
        return g.add("Not", [truth])
    if kind == "logic":
        found = g.known()[truth]
        other = g.pick(lambda y: y.dtype == bool and _broadcast(found, y))
        return other and g.add(g.draw.one_of(*LOGICAL), [truth, other])
    found = g.known()[truth]
    if not _broadcast(found, left):
        return None
    return g.add("Where", [truth, x, _operand(g, left)])


def cast(g: Graph) -> Any:
    x = g.pick(lambda y: y.dtype != np.uint8)
    return x and g.add("Cast", [x], to=g.draw.one_of(1, 1, 6, 7, 9, 11, 10))


def _axes(g: Graph, rank: int, least: int = 0) -> list[int]:
    count = g.draw.random.randint(least, rank)
    axes = g.draw.random.sample(range(rank), count)
    return [a - rank if g.draw.chance(0.4) else a for a in axes]


def reduced(g: Graph) -> Any:
    x = g.pick(of_rank(1))
    if x is None:
        return None
    rank, op, keep = g.known()[x].ndim, g.draw.one_of(*REDUCTIONS), g.draw.one_of(0, 1)
    if g.draw.chance(0.2):
        axis = g.draw.random.randint(-rank, rank - 1)
        last = {"select_last_index": 1} if g.opset >= 12 and g.draw.chance(0.3) else {}
        return g.add(g.draw.one_of("ArgMax", "ArgMin"), [x], axis=axis, keepdims=keep, **last)
    if op == "ReduceMean" and not g.known()[x].size:
        return None  # ONNX leaves the mean of nothing open: 0 there, NaN here
    axes = _axes(g, rank, 1)
    if g.draw.chance(0.15):
        return g.add(op, [x], keepdims=keep)
    if g.opset >= (13 if op == "ReduceSum" else 18):
        return g.add(op, [x, g.constant(axes, np.int64)], keepdims=keep)
    return g.add(op, [x], axes=axes, keepdims=keep)


def along_axis(g: Graph) -> Any:
    """What works along one axis."""
    x = g.pick(of_rank(1))
    if x is None:
        return None
    array = g.known()[x]
    axis = g.draw.random.randint(-array.ndim, array.ndim - 1)
    op = g.draw.one_of("Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "CumSum", "TopK", "Flatten")
    if op == "CumSum":
        flags = {n: g.draw.one_of(0, 1) for n in ("exclusive", "reverse")}
        return g.add(op, [x, g.constant(axis, np.int64)], **flags)
    if op == "TopK":
        count = g.draw.random.randint(0, array.shape[axis])
        attributes = {"axis": axis, "largest": g.draw.one_of(0, 1)}
        return g.add(op, [x, g.constant([count], np.int64)], 2, **attributes)
    if op == "Flatten":
        axis = g.draw.random.randint(0, array.ndim)
    return g.add(op, [x], axis=axis)


def normed(g: Graph) -> Any:
    x = g.pick(of_rank(2))
    if x is None:
        return None
    shape = g.known()[x].shape
    op = g.draw.one_of(*NORMS)

    def weights(n: int) -> str:
        return g.constant(g.draw.floats(n) + 1, np.float32)

    if op in ("LayerNormalization", "RMSNormalization"):
        bias = [weights(shape[-1])] if op[0] == "L" and g.draw.chance() else []
        return g.add(op, [x, weights(shape[-1]), *bias], axis=-1, epsilon=1e-2)
    if op == "BatchNormalization":
        spread = g.constant(np.abs(g.draw.floats(shape[1])) + 0.5, np.float32)
        return g.add(op, [x, *(weights(shape[1]) for _ in range(3)), spread])
    if op == "InstanceNormalization":
        return g.add(op, [x, weights(shape[1]), weights(shape[1])], epsilon=1e-2)
    if op == "LRN":
        return g.add(op, [x], size=g.draw.one_of(1, 3, 5))
    if op == "GroupNormalization":
        groups = g.draw.one_of(*(d for d in range(1, shape[1] + 1) if shape[1] % d == 0)) if shape[1] else 1
        count = shape[1] if g.opset >= 21 else groups
        return g.add(op, [x, weights(count), weights(count)], num_groups=groups, epsilon=1e-2)
    return g.add(op, [x], axes=[0, *range(2, len(shape))] if len(shape) > 2 else [0])


def product(g: Graph) -> Any:
    x = g.pick(of_rank(1, 4))
    if x is None:
        return None
    shape = g.known()[x].shape
    op = g.draw.one_of("MatMul", "MatMul", "MatMul", "Gemm", "Einsum", "Gram")
    n = g.draw.size()
    if op == "Gemm":
        if len(shape) != 2:
            return None
        flipped = g.draw.one_of(0, 1)
        weights = g.draw.floats(*((n, shape[1]) if flipped else (shape[1], n)), scale=0.5)
        bias = (
            [g.constant(g.draw.floats(*g.draw.one_of((n,), (1, n), (1,), ())))] if g.draw.chance(0.7) else []
        )
        attributes = {"alpha": g.draw.one_of(0.5, 1.0), "beta": g.draw.one_of(2.0, 1.0), "transB": flipped}
        return g.add("Gemm", [x, g.constant(weights), *bias], **attributes)
    if op == "Gram":
        if len(shape) < 2:
            return None
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        turned = g.add("Transpose", [x], perm=order)
        return turned and g.add("MatMul", [x, turned[0]])
    if op == "Einsum":
        letters = "abcd"[: len(shape)]
        equation = f"{letters},{letters[-1]}z->{letters[:-1]}z"
        return g.add("Einsum", [x, g.constant(g.draw.floats(shape[-1], n, scale=0.5))], equation=equation)
    lead = [d if g.draw.chance() else 1 for d in shape[:-2]] if g.draw.chance(0.3) else []
    result = g.add("MatMul", [x, g.constant(g.draw.floats(*lead, shape[-1], n, scale=0.5))])
    if result and g.draw.chance(0.6):
        g.add("Add", [result[0], g.constant(g.draw.floats(n))])
    return result


def windowed(g: Graph) -> Any:
    """Convolutions and pools, in one, two or three axes."""
    x = g.pick(lambda y: is_float(y) and 3 <= y.ndim <= 5 and y.size > 0)
    if x is None:
        return None
    shape = g.known()[x].shape
    axes, channels = len(shape) - 2, shape[1]
    kernel = [g.draw.random.randint(1, min(3, d)) for d in shape[2:]]
    kept: dict[str, Any] = {"kernel_shape": kernel}
    if g.draw.chance(0.4):
        kept["strides"] = [g.draw.random.randint(1, 2) for _ in range(axes)]
    if g.draw.chance(0.5):
        kept["pads"] = [g.draw.random.randint(0, k - 1) for k in kernel * 2]
    elif g.draw.chance(0.2):
        kept["auto_pad"] = g.draw.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    op = g.draw.one_of(*WINDOWED)
    if op.startswith("Global"):
        return g.add(op, [x])
    if op in ("MaxPool", "AveragePool", "LpPool"):
        if g.draw.chance(0.2):
            kept["ceil_mode"] = 1
        if op == "AveragePool" and g.draw.chance(0.3):
            kept["count_include_pad"] = 1
        return g.add(op, [x], **kept)
    groups = g.draw.one_of(1, 1, *(d for d in range(2, channels + 1) if channels % d == 0))
    kept["group"] = groups
    many = groups * g.draw.one_of(1, 2, 3)
    dims = [many, channels // groups, *kernel] if op == "Conv" else [channels, many // groups, *kernel]
    bias = [g.constant(g.draw.floats(many))] if g.draw.chance(0.6) else []
    return g.add(op, [x, g.constant(g.draw.floats(*dims, scale=0.4)), *bias], **kept)


def quantised(g: Graph) -> Any:
    """To 8 bits and back, with a scale for all or for a channel."""
    x = g.pick(of_rank(1))
    if x is None:
        return None
    array = g.known()[x]
    if g.draw.chance(0.25):
        made = g.add("DynamicQuantizeLinear", [x], 3)
        return made and g.add("DequantizeLinear", made)
    axis = g.draw.random.randint(0, array.ndim - 1) if g.opset >= 13 and g.draw.chance(0.4) else None
    dims = () if axis is None else (array.shape[axis],)
    kind = g.draw.one_of(np.uint8, np.int8)
    scale = g.constant(g.draw.rng.uniform(0.01, 0.1, dims), np.float32)
    tables = [scale, g.constant(g.draw.bytes(kind, *dims), kind)]
    named = {} if axis is None else {"axis": axis}
    made = g.add("QuantizeLinear", [x, *tables], **named)
    return made and g.add("DequantizeLinear", [made[0], *tables], **named)


def recurrent(g: Graph) -> Any:
    x = g.pick(lambda y: is_float(y) and y.ndim == 3 and y.size > 0)
    if x is None:
        return None
    op, hidden = g.draw.one_of("LSTM", "GRU", "RNN"), g.draw.one_of(1, 3, 4)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op] * hidden
    direction = g.draw.one_of("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    width = g.known()[x].shape[2]
    shapes = [(ways, gates, width), (ways, gates, hidden)]
    weights = [g.constant(g.draw.floats(*s, scale=0.4)) for s in shapes]
    bias = [g.constant(g.draw.floats(ways, 2 * gates))] if g.draw.chance() else []
    named = {"linear_before_reset": 1} if op == "GRU" and g.draw.chance() else {}
    return g.add(op, [x, *weights, *bias], 2, hidden_size=hidden, direction=direction, **named)
