"""Conv, ConvTranspose and pooling nodes lowered to kernels, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from lowered import check, run, view_of

from ascend_ep.compiler.lowering import Unsupported
from ascend_ep.opdef.dims import floordiv, symbol

rng = np.random.default_rng(0)
NEAR = {"rtol": 1e-5, "atol": 2e-5}  # sums of at most 100 products of unit size, in another order


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


CONVS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 9, 8), (16, 3, 3, 3), {"pads": [1, 0, 1, 2]}),
    ((2, 3, 9, 8), (16, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    ((2, 3, 9, 8), (16, 3, 4, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 1]}),
    ((2, 3, 9, 8), (16, 3, 3, 3), {"auto_pad": "VALID", "dilations": [2, 1], "kernel_shape": [3, 3]}),
    ((1, 8, 9, 8), (8, 1, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),
    ((1, 8, 9, 8), (20, 4, 1, 1), {"group": 2}),
    ((1, 8, 9, 8), (4, 4, 1, 1), {"group": 2}),
    ((2, 4, 30), (9, 4, 5), {"pads": [2, 2], "strides": [2]}),
    ((1, 2, 5, 6, 7), (3, 2, 2, 2, 2), {"strides": [1, 2, 1]}),
]


@pytest.mark.parametrize("known", [(), ("w", "b")])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("x", "w", "attributes"), CONVS)
def test_conv(x, w, attributes, bias, known) -> None:
    inputs = {"x": normal(*x), "w": normal(*w)} | ({"b": normal(w[0])} if bias else {})
    check("conv", onnx.helper.make_node("Conv", list(inputs), ["y"], **attributes), inputs, 13, known, **NEAR)


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 4, 5, 6), (4, 3, 3, 3), {}),
    ((1, 4, 5, 6), (4, 3, 3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"strides": [2, 2], "output_shape": [10, 12]}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"group": 2, "dilations": [2, 1]}),
    ((2, 4, 9), (4, 3, 4), {"strides": [3]}),
]


@pytest.mark.parametrize("known", [(), ("w", "b")])
@pytest.mark.parametrize(("x", "w", "attributes"), TRANSPOSED)
def test_conv_transpose(x, w, attributes, known) -> None:
    inputs = {"x": normal(*x), "w": normal(*w), "b": normal(w[1] * attributes.get("group", 1))}
    node = onnx.helper.make_node("ConvTranspose", list(inputs), ["y"], **attributes)
    check("conv_transpose", node, inputs, 11, known, **NEAR)


POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 3, 8, 9), {"kernel_shape": [2, 3]}),
    ((1, 3, 8, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 8, 9), {"kernel_shape": [3, 2], "strides": [3, 2], "ceil_mode": 1}),
    ((1, 3, 8, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ((1, 3, 8, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ((1, 3, 8, 9), {"kernel_shape": [2, 2], "dilations": [2, 3]}),
    ((2, 3, 20), {"kernel_shape": [4], "strides": [3]}),
    ((1, 2, 5, 6, 7), {"kernel_shape": [2, 3, 2], "strides": [1, 2, 1]}),
]


@pytest.mark.parametrize(("x", "attributes"), POOLS)
def test_max_pool(x, attributes) -> None:
    inputs = {"x": normal(*x)}
    check("max_pool", onnx.helper.make_node("MaxPool", ["x"], ["y"], **attributes), inputs, 12)
    check("max_pool", onnx.helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes), inputs, 12)
    whole = {"x": (inputs["x"] * 50).astype(np.int8)}
    check("max_pool", onnx.helper.make_node("MaxPool", ["x"], ["y"], **attributes), whole, 12)


def test_max_pool_counts_column_by_column() -> None:
    node = onnx.helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 3], storage_order=1)
    check("max_pool", node, {"x": normal(2, 3, 8, 9)}, 12)


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize(("x", "attributes"), POOLS)
def test_average_pool(x, attributes, include) -> None:
    node = onnx.helper.make_node("AveragePool", ["x"], ["y"], count_include_pad=include, **attributes)
    check("average_pool", node, {"x": normal(*x)}, 19, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("x", [(2, 3, 7, 9), (2, 3, 50), (1, 2, 3, 4, 5)])
def test_global_pools(x) -> None:
    for op, kernel in [("GlobalAveragePool", "global_average_pool"), ("GlobalMaxPool", "global_max_pool")]:
        check(kernel, onnx.helper.make_node(op, ["x"], ["y"]), {"x": normal(*x)}, 13, rtol=1e-5, atol=1e-6)


def test_same_padding_of_symbolic_dims() -> None:
    height, width = symbol("H"), symbol("W")
    inputs = {"x": normal(1, 3, 9, 12), "w": normal(8, 3, 3, 3)}
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2])
    out = [1, 8, floordiv(height + 1, 2), floordiv(width + 1, 2)]
    view = view_of(node, inputs, {"y": (1, out)}, 13, known=["w"], dims={"x": [1, 3, height, width]})
    (y,) = run("conv", view, inputs, {"H": 9, "W": 12})
    static = view_of(node, inputs, {"y": (1, (1, 8, 5, 6))}, 13, known=["w"])
    np.testing.assert_array_equal(y, run("conv", static, inputs)[0])


@pytest.mark.parametrize(
    ("kernel", "op", "shapes", "attributes", "words"),
    [
        ("conv", "Conv", [(1, 2, 4, 4), (2, 2, 3, 3)], {"group": 3}, "group"),
        ("conv", "Conv", [(1, 2, 4, 4), (2, 2, 3, 3)], {"kernel_shape": [2, 2]}, "kernel_shape"),
        ("conv", "Conv", [(1, 2, 4, 4), (2, 2, 3, 3)], {"pads": [1, 1]}, "pads"),
        ("conv", "Conv", [(1, 2, 4, 4), (2, 2, 3, 3)], {"strides": [0, 1]}, "strides"),
        ("conv", "Conv", [(1, 2, 4, 4), (2, 2, 3, 3)], {"auto_pad": "SOME"}, "auto_pad"),
        ("conv", "Conv", [(1, 2, 2, 2, 2, 2), (2, 2, 1, 1, 1, 1)], {}, "spatial axes"),
        ("max_pool", "MaxPool", [(1, 2, 4, 4)], {"kernel_shape": [2]}, "kernel_shape"),
        ("max_pool", "MaxPool", [(1, 2, 4, 4)], {}, "kernel_shape"),
    ],
)
def test_what_cannot_run_goes_to_the_host(kernel, op, shapes, attributes, words) -> None:
    inputs = {name: normal(*shape) for name, shape in zip("xw", shapes, strict=False)}
    node = onnx.helper.make_node(op, list(inputs), ["y"], **attributes)
    with pytest.raises(Unsupported, match=words):
        run(kernel, view_of(node, inputs, {"y": (1, (1, 2, 2, 2))}, 13), inputs)
