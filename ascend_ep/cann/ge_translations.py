"""What operators of the real tool's graph engine mean that are not ONNX's under another name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .ge_builder import Builder

Build = Callable[[Builder], Sequence[str]]


def same(op_type: str, attributes: Mapping[str, tuple[str, Any]] | None = None) -> Build:
    """ONNX's operator of another name. `attributes`: the engine's name -> (ONNX's name, its default)."""

    def build(b: Builder) -> Sequence[str]:
        renamed = {
            onnx_name: b.attr(name, default) for name, (onnx_name, default) in (attributes or {}).items()
        }
        return [b.add(op_type, *b.inputs, **renamed)]

    return build


def only(name: str, default: Any) -> Callable[[Builder], None]:
    """An attribute that may only have its default here."""

    def check(b: Builder) -> None:
        if b.attr(name, default) != default:
            raise b.wrong(name, f"only {default} is computed here.")

    return check


def transposed(b: Builder, name: str, index: int) -> str:
    order = list(range(b.rank(index)))
    order[-2:] = reversed(order[-2:])
    return b.add("Transpose", name, perm=order)


def matmul(first: str, second: str) -> Build:
    """A product of which either side may be transposed, with a bias as third input."""

    def build(b: Builder) -> Sequence[str]:
        sides = [
            transposed(b, b.input(i), i) if b.attr(name, False) else b.input(i)
            for i, name in enumerate((first, second))
        ]
        only("offset_x", 0)(b)
        product = b.add("MatMul", *sides)
        return [b.add("Add", product, b.given(2)) if b.given(2) else product]

    return build


def reduce(op_type: str) -> Build:
    def build(b: Builder) -> Sequence[str]:
        axes = b.ints(1, "axes", "axis")
        return [
            b.add(
                op_type,
                b.input(0),
                b.constant(np.array(axes, np.int64)),
                keepdims=int(b.attr("keep_dims", False)),
            )
        ]

    return build


def layout(b: Builder) -> str:
    """Of the images that the operator reads: NCHW or NHWC."""
    own = b.tensor(0).format
    found = str(b.attr("data_format", own))
    if found == "ND":
        found = "NCHW"
    if found not in ("NCHW", "NHWC") or own not in ("ND", found):
        raise b.wrong(
            "data_format", f"it is {found}, and the input's format {own}; both must be NCHW or NHWC."
        )
    return found


def spatial(b: Builder, name: str, default: Sequence[int]) -> list[int]:
    """Those for H and W of four numbers that an attribute gives in the order of the layout."""
    order = layout(b)
    found = list(b.attr(name, list(default)))
    if len(found) == 4:
        found = [found[order.index("H")], found[order.index("W")]]
    if len(found) != 2:
        raise b.wrong(name, f"it must be four numbers, of {', '.join(order)}.")
    return found


def reordered(b: Builder, name: str, given: str, wanted: str) -> str:
    """A tensor of one layout in another one."""
    if given == wanted:
        return name
    return b.add("Transpose", name, perm=[given.index(axis) for axis in wanted])


def on_images(b: Builder, compute: Callable[[str], str]) -> Sequence[str]:
    """What computes on NCHW, for the layout that the operator has."""
    order = layout(b)
    result = compute(reordered(b, b.input(0), order, "NCHW"))
    made = b.desc.outputs[0].format
    return [reordered(b, result, "NCHW", made if made in ("NCHW", "NHWC") else order)]


def conv(b: Builder) -> Sequence[str]:
    top, bottom, left, right = b.attr("pads", [0, 0, 0, 0])
    only("offset_x", 0)(b)
    if b.attr("auto_pad") is not None:  # onnxruntime-cann's: ONNX's attributes, with pads in ONNX's order
        bottom, left = left, bottom
    b.attr("dim_size"), b.attr("trans_2d")
    weights = b.tensor(1).format
    if weights not in ("ND", "NCHW", "NHWC", "HWCN"):
        raise b.wrong("format", f"weights are NCHW, NHWC or HWCN, not {weights}.")

    def compute(x: str) -> str:
        return b.add(
            "Conv",
            x,
            reordered(b, b.input(1), "NCHW" if weights == "ND" else weights, "NCHW"),
            b.given(2),
            strides=spatial(b, "strides", [1, 1]),
            dilations=spatial(b, "dilations", [1, 1]),
            pads=[top, left, bottom, right],
            group=b.attr("groups", 1, also="group"),
        )

    return on_images(b, compute)


def gemm(b: Builder) -> Sequence[str]:
    """alpha*A*B + beta*C, with alpha and beta as tensors of one number."""
    sides = [
        transposed(b, b.input(i), i) if b.attr(name, False) else b.input(i)
        for i, name in enumerate(("transpose_a", "transpose_b"))
    ]
    scaled = b.add("Mul", b.add("MatMul", *sides), b.input(3))
    return [b.add("Add", scaled, b.add("Mul", b.input(2), b.input(4)))]


def pool(op_type: str) -> Build:
    def build(b: Builder) -> Sequence[str]:
        padding = b.attr("padding", "VALID")
        if padding not in ("SAME", "VALID"):
            raise b.wrong("padding", "it must be SAME or VALID.")
        auto = "SAME_UPPER" if padding == "SAME" else "VALID"
        kernel, strides = spatial(b, "ksize", [1, 1]), spatial(b, "strides", [1, 1])
        return on_images(b, lambda x: b.add(op_type, x, kernel_shape=kernel, strides=strides, auto_pad=auto))

    return build


def pool_with_pads(op_type: str) -> Build:
    """Of the versions whose padding is calculated from `pads`: top, bottom, left, right for H and W."""

    def build(b: Builder) -> Sequence[str]:
        mode = b.attr("padding_mode", "CALCULATED")
        if mode not in ("SAME", "VALID", "CALCULATED"):
            raise b.wrong("padding_mode", "it must be SAME, VALID or CALCULATED.")
        kernel, strides = spatial(b, "ksize", [1, 1]), spatial(b, "strides", [1, 1])
        top, bottom, left, right = b.attr("pads", [0, 0, 0, 0])
        placed: dict[str, Any] = {"auto_pad": "SAME_UPPER" if mode == "SAME" else mode}
        if mode == "CALCULATED":
            placed = {"pads": [top, left, bottom, right], "ceil_mode": int(b.attr("ceil_mode", False))}
        b.attr("ceil_mode")
        if op_type == "AveragePool":
            placed["count_include_pad"] = int(not b.attr("exclusive", True))
        if b.attr("global_pooling", False):
            return on_images(b, lambda x: b.add(f"Global{op_type}", x))
        return on_images(b, lambda x: b.add(op_type, x, kernel_shape=kernel, strides=strides, **placed))

    return build


def batch_norm(b: Builder) -> Sequence[str]:
    """Of inference: the statistics that come are those that go, twice."""
    if b.attr("is_training", True):
        raise b.wrong("is_training", "only inference, false, is computed here.")
    order, epsilon = layout(b), b.attr("epsilon", 1e-4)
    of_channels = b.inputs[1:5]
    if b.rank(0) < 4 or order == "NCHW":
        y = [b.add("BatchNormalization", b.input(0), *of_channels, epsilon=epsilon)]
    else:
        y = list(on_images(b, lambda x: b.add("BatchNormalization", x, *of_channels, epsilon=epsilon)))
    count = len(b.desc.outputs)
    if count > 5:
        raise b.wrong("outputs", "a third reserve space is no part of it here.")
    mean, variance = b.input(3), b.input(4)
    return [*y, *(b.add("Identity", name) for name in (mean, variance, mean, variance)[: count - 1])]


def fill(b: Builder) -> Sequence[str]:
    """The value of one number, in a shape of integers."""
    dims = b.constant(np.array(b.ints(0, "dims"), np.int64))
    scalar = b.add("Reshape", b.input(1), b.constant(np.array([1], np.int64)))
    return [b.add("Expand", scalar, dims)]


def softmax(op_type: str) -> Build:
    def build(b: Builder) -> Sequence[str]:
        axes = b.attr("axes", [-1])
        axis = axes[0] if isinstance(axes, list) and len(axes) == 1 else axes
        if not isinstance(axis, int):
            raise b.wrong("axes", "one axis is computed here.")
        return [b.add(op_type, b.input(0), axis=axis)]

    return build


def concat(axis_name: str) -> Build:
    def build(b: Builder) -> Sequence[str]:
        b.attr("N")
        return [b.add("Concat", *b.inputs, axis=b.attr(axis_name, 0))]

    return build


def add_n(b: Builder) -> Sequence[str]:
    b.attr("N")
    return [b.add("Sum", *b.inputs)]


def pack(b: Builder) -> Sequence[str]:
    b.attr("N")
    axis = b.attr("axis", 0)
    at = b.constant(np.array([axis], np.int64))
    return [b.add("Concat", *(b.add("Unsqueeze", name, at) for name in b.inputs), axis=axis)]


def split(b: Builder) -> Sequence[str]:
    count = b.attr("num_split", len(b.desc.outputs))
    first = b.add("Split", b.input(0), outputs=count, axis=b.attr("split_dim", 0), num_outputs=count)
    return [first, *(f"{first}_{i}" for i in range(1, count))]


def with_ints(op_type: str, attribute: str, also: str = "") -> Build:
    """An operator whose second operand is integers: a shape, axes, counts."""

    def build(b: Builder) -> Sequence[str]:
        numbers = b.ints(1, attribute, also)
        return [b.add(op_type, b.input(0), b.constant(np.array(numbers, np.int64)))]

    return build


def transpose(b: Builder) -> Sequence[str]:
    return [b.add("Transpose", b.input(0), perm=b.ints(1, "perm"))]


def gather(b: Builder) -> Sequence[str]:
    b.attr("batch_dims", 0), b.attr("validate_indices")
    axis = b.ints(2, "axis")[0] if b.given(2) or "axis" in b.desc.attributes else 0
    return [b.add("Gather", b.input(0), b.input(1), axis=axis)]


def slice(b: Builder) -> Sequence[str]:
    offsets, sizes = b.ints(1, "offsets"), b.ints(2, "size")
    ends = [2**63 - 1 if n == -1 else o + n for o, n in zip(offsets, sizes, strict=True)]
    return [b.add("Slice", b.input(0), *(b.constant(np.array(v, np.int64)) for v in (offsets, ends)))]


def pad(b: Builder) -> Sequence[str]:
    pairs = np.reshape(
        b.attr("paddings") if "paddings" in b.desc.attributes else b.ints(1, "paddings"), (-1, 2)
    )
    return [b.add("Pad", b.input(0), b.constant(pairs.T.reshape(-1).astype(np.int64)))]


def layer_norm(b: Builder) -> Sequence[str]:
    axis = b.attr("begin_norm_axis", 0)
    if b.attr("begin_params_axis", 0) not in (axis, 0, -1):
        raise b.wrong("begin_params_axis", "scale and bias must cover the normalised axes.")
    count = len(b.desc.outputs)
    epsilon = b.attr("epsilon", 1e-7)
    first = b.add("LayerNormalization", *b.inputs[:3], outputs=min(count, 2), axis=axis, epsilon=epsilon)
    if count > 2:
        raise b.wrong("outputs", "the mean is computed here, the variance isn't.")
    return [first, f"{first}_1"][:count]


def cast(b: Builder) -> Sequence[str]:
    b.attr("dst_type"), b.attr("truncate")
    return [b.add("Cast", b.input(0), to=b.desc.outputs[0].type.value)]


def rsqrt(b: Builder) -> Sequence[str]:
    return [b.add("Reciprocal", b.add("Sqrt", b.input(0)))]


def square(b: Builder) -> Sequence[str]:
    return [b.add("Mul", b.input(0), b.input(0))]


def squared_difference(b: Builder) -> Sequence[str]:
    difference = b.add("Sub", *b.inputs)
    return [b.add("Mul", difference, difference)]


def relu6(b: Builder) -> Sequence[str]:
    limits = [np.array(n, b.tensor(0).type.numpy()) for n in (0, 6)]
    return [b.add("Clip", b.input(0), *map(b.constant, limits))]


def floor_div(b: Builder) -> Sequence[str]:
    return [b.add("Floor", b.add("Div", *b.inputs))]


def exp(b: Builder) -> Sequence[str]:
    for name, default in (("base", -1.0), ("scale", 1.0), ("shift", 0.0)):
        only(name, default)(b)
    return [b.add("Exp", b.input(0))]


def log(b: Builder) -> Sequence[str]:
    for name, default in (("base", -1.0), ("scale", 1.0), ("shift", 0.0)):
        only(name, default)(b)
    return [b.add("Log", b.input(0))]


def gelu(b: Builder) -> Sequence[str]:
    return [b.add("Gelu", b.input(0), approximate="tanh")]


def swish(b: Builder) -> Sequence[str]:
    scale = b.attr("scale", 1.0)
    x = b.input(0)
    if scale != 1.0:
        x = b.add("Mul", x, b.constant(np.array(scale, b.tensor(0).type.numpy())))
    return [b.add("Mul", b.input(0), b.add("Sigmoid", x))]


def argmax(b: Builder) -> Sequence[str]:
    b.attr("dtype"), b.attr("output_type")
    axis = b.ints(1, "dimension")[0]
    found = b.add("ArgMax", b.input(0), axis=axis, keepdims=0)
    return [b.add("Cast", found, to=b.desc.outputs[0].type.value)]


def bias_add(b: Builder) -> Sequence[str]:
    order = b.attr("data_format", b.tensor(0).format)
    after = b.rank() - 2 if order in ("NCHW", "NCDHW") else 0
    axes = b.constant(np.arange(1, after + 1, dtype=np.int64))
    bias = b.add("Unsqueeze", b.input(1), axes) if after else b.input(1)
    return [b.add("Add", b.input(0), bias)]
