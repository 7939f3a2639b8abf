"""Operators on integers of 8 bits, one a model, against onnxruntime's CPU provider: equal to the bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
import pytest
from fused_kernels import fused_kernels
from onnx import TensorProto, helper, numpy_helper
from saturation import unsaturated

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

RNG = np.random.default_rng(0)
MICROSOFT = "com.microsoft"


def model(
    nodes: Sequence[onnx.NodeProto],
    feeds: Mapping[str, np.ndarray],
    outputs: Mapping[str, int],
    constants: Mapping[str, object],
) -> onnx.ModelProto:
    """Nodes on these inputs and constants; outputs by name and type."""
    arrays = {
        n: np.asarray(a, np.float32) if isinstance(a, float) else np.asarray(a) for n, a in constants.items()
    }
    graph = helper.make_graph(
        nodes,
        "integers",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in feeds.items()
        ],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def both(
    made: onnx.ModelProto, feeds: Mapping[str, np.ndarray], self_check: bool = True
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Outputs of our runtime, wholly native, and of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    stock = onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    session = ascend_ep.InferenceSession(convert(made, ConvertOptions(self_check=self_check)).to_bytes())
    assert session.get_providers() == ["AscendEP"]
    return list(zip(session.run(None, feeds), stock.run(None, feeds), strict=True))


def check(made: onnx.ModelProto, feeds: Mapping[str, np.ndarray], self_check: bool = True) -> None:
    """`self_check`: the float64 reference agrees too; it needn't where results are rounded to 8 bits."""
    for ours, theirs in both(made, feeds, self_check):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def full_range(dtype: type, *dims: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return unsaturated(RNG.integers(limits.min, limits.max, dims, dtype, endpoint=True))


#: onnxruntime's CPU provider has no kernels for int8 with uint8.
PAIRS = [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)]
pair_each = pytest.mark.parametrize(("a_type", "b_type"), PAIRS)


@pair_each
@pytest.mark.parametrize("constant", [True, False])
def test_matmul_integer(a_type: type, b_type: type, constant: bool) -> None:
    feeds = {"a": full_range(a_type, 2, 5, 37)}
    constants = {"za": np.asarray(7, a_type), "zb": np.asarray(3, b_type)}
    (constants if constant else feeds)["b"] = full_range(b_type, 37, 50)
    node = helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])
    check(model([node], feeds, {"y": TensorProto.INT32}, constants), feeds)


@pair_each
@pytest.mark.parametrize("per_column", [True, False])
def test_qlinear_matmul(a_type: type, b_type: type, per_column: bool) -> None:
    feeds = {"a": full_range(a_type, 19, 64)}
    b_scale = RNG.uniform(0.001, 0.1, 50).astype(np.float32) if per_column else 0.05
    b_zero = np.full(50, 2, b_type) if per_column else np.asarray(2, b_type)
    constants = {"as": 0.02, "az": np.asarray(7, a_type), "b": full_range(b_type, 64, 50), "bs": b_scale}
    constants |= {"bz": b_zero, "ys": 0.6, "yz": np.asarray(9, a_type)}
    node = helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])
    check(
        model([node], feeds, {"y": helper.np_dtype_to_tensor_dtype(np.dtype(a_type))}, constants),
        feeds,
        False,
    )


@pair_each
@pytest.mark.parametrize("quantised", [True, False])
def test_qgemm(a_type: type, b_type: type, quantised: bool) -> None:
    feeds = {"a": full_range(a_type, 19, 30)}
    constants = {"as": 0.02, "az": np.asarray(7, a_type), "b": full_range(b_type, 50, 30), "bs": 0.03}
    constants |= {"bz": np.asarray(2, b_type), "c": RNG.integers(-3000, 3000, 50, np.int32)}
    names = ["a", "as", "az", "b", "bs", "bz", "c"]
    if quantised:
        constants |= {"ys": 0.6, "yz": np.asarray(9, a_type)}
        names += ["ys", "yz"]
    y = helper.np_dtype_to_tensor_dtype(np.dtype(a_type)) if quantised else TensorProto.FLOAT
    node = helper.make_node("QGemm", names, ["y"], domain=MICROSOFT, transB=1, alpha=0.5)
    check(model([node], feeds, {"y": y}, constants), feeds, not quantised)


@pair_each
def test_matmul_integer_to_float(a_type: type, b_type: type) -> None:
    feeds = {"a": full_range(a_type, 7, 30)}
    constants = {"b": full_range(b_type, 30, 50), "as": 0.02, "bs": 0.03, "az": np.asarray(7, a_type)}
    constants |= {"bz": np.asarray(2, b_type), "bias": RNG.standard_normal(50).astype(np.float32)}
    names = ["a", "b", "as", "bs", "az", "bz", "bias"]
    node = helper.make_node("MatMulIntegerToFloat", names, ["y"], domain=MICROSOFT)
    check(model([node], feeds, {"y": TensorProto.FLOAT}, constants), feeds)


@pytest.mark.parametrize(
    ("a_dims", "b_dims", "added", "kernels"),
    [
        ((2, 7, 30), (30, 50), (50,), ["qmatmul"]),
        ((30,), (30, 50), (50,), ["qmatmul"]),
        ((2, 7, 30), (30, 50), (1, 50), ["qmatmul", "elementwise"]),
        ((2, 7, 30), (30, 50), (), ["qmatmul", "elementwise"]),
        ((2, 7, 30), (30, 50), (2, 7, 50), ["qmatmul", "elementwise"]),
        ((30, 30), (30,), (30,), ["qmatmul", "elementwise"]),  # b's columns are not what is added
        ((2, 7, 30), (30, 1), (50,), ["qmatmul", "elementwise"]),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_the_row_that_is_added_to_a_product(
    a_dims: tuple[int, ...], b_dims: tuple[int, ...], added: tuple[int, ...], kernels: list[str], first: bool
) -> None:
    feeds = {"a": full_range(np.uint8, *a_dims)}
    constants = {
        "b": full_range(np.int8, *b_dims),
        "as": 0.02,
        "bs": 0.03,
        "az": np.uint8(7),
        "bz": np.int8(0),
    }
    constants |= {"row": RNG.standard_normal(added).astype(np.float32)}
    nodes = [
        helper.make_node("DequantizeLinear", ["a", "as", "az"], ["af"]),
        helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"]),
        helper.make_node("MatMul", ["af", "bf"], ["p"]),
        helper.make_node("Add", ["row", "p"] if first else ["p", "row"], ["y"]),
    ]
    made = model(nodes, feeds, {"y": TensorProto.FLOAT}, constants)
    found = fused_kernels(made, feeds)  # sums and rows may be added in one rounding, or in two
    assert [k for k in found if k in ("qmatmul", "elementwise")] == kernels, found


@pytest.mark.parametrize("b_type", [np.int8, np.uint8])
def test_dynamic_quantisation(b_type: type) -> None:
    feeds = {"a": RNG.standard_normal((2, 5, 37)).astype(np.float32)}
    constants = {"b": full_range(b_type, 37, 50), "bs": 0.03, "bz": np.asarray(2, b_type)}
    constants["bias"] = RNG.standard_normal(50).astype(np.float32)
    product = helper.make_node(
        "DynamicQuantizeMatMul", ["a", "b", "bs", "bz", "bias"], ["y"], domain=MICROSOFT
    )
    alone = helper.make_node("DynamicQuantizeLinear", ["a"], ["q", "scale", "zero"])
    outputs = {
        "y": TensorProto.FLOAT,
        "q": TensorProto.UINT8,
        "scale": TensorProto.FLOAT,
        "zero": TensorProto.UINT8,
    }
    check(model([product, alone], feeds, outputs, constants), feeds, False)


#: channels, outputs, spatial dims, attributes of the convolution
CONVOLUTIONS = [
    (3, 33, (9, 11), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    (5, 40, (7, 13), {"kernel_shape": [1, 1]}),
    (4, 8, (9, 9), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [0, 1, 2, 0]}),
    (6, 9, (12, 10), {"kernel_shape": [3, 3], "dilations": [2, 2], "pads": [2, 2, 2, 2], "group": 3}),
    (6, 4, (17,), {"kernel_shape": [5], "strides": [2], "pads": [2, 1]}),
    (40, 40, (6, 21), {"kernel_shape": [3, 3], "group": 40, "auto_pad": "SAME_UPPER"}),
    (7, 7, (8, 9), {"kernel_shape": [2, 3], "group": 7, "strides": [2, 1]}),
    (64, 50, (30, 5), {"kernel_shape": [1, 1], "strides": [1, 1]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize(("x_type", "w_type"), PAIRS)
def test_qlinear_conv(case: tuple, x_type: type, w_type: type) -> None:
    channels, outputs, spatial, attributes = case
    feeds = {"x": full_range(x_type, 2, channels, *spatial)}
    w = full_range(w_type, outputs, channels // attributes.get("group", 1), *attributes["kernel_shape"])
    signed = w_type == np.int8
    scales = RNG.uniform(0.001, 0.05, outputs).astype(np.float32) if signed else 0.01
    zero = np.zeros(outputs, np.int8) if signed else np.asarray(120, np.uint8)
    constants = {"w": w, "xs": 0.02, "xz": np.asarray(7, x_type), "ws": scales, "wz": zero, "ys": 0.7}
    constants |= {"yz": np.asarray(9, x_type), "b": RNG.integers(-3000, 3000, outputs, np.int32)}
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    node = helper.make_node("QLinearConv", names, ["y"], **attributes)
    check(
        model([node], feeds, {"y": helper.np_dtype_to_tensor_dtype(np.dtype(x_type))}, constants),
        feeds,
        False,
    )
    if x_type == np.int8:
        return
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "z"], ["y"], **attributes)
    constants = {n: constants[n] for n in ("w", "xz")} | {"z": zero if not signed else np.asarray(0, np.int8)}
    check(model([node], feeds, {"y": TensorProto.INT32}, constants), feeds)


QUANTISED = {
    "QLinearAdd": (2, {}), "QLinearMul": (2, {}), "QLinearSigmoid": (1, {}),
    "QLinearLeakyRelu": (1, {"alpha": 0.1}),
    "QLinearGlobalAveragePool": (1, {}), "QLinearAveragePool": (1, {"kernel_shape": [2, 2]}),
    "QLinearSoftmax": (1, {"axis": -1, "opset": 21}),
}  # fmt: skip


@pytest.mark.parametrize("op", sorted(QUANTISED))
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_other_operators_of_the_quantiser(op: str, dtype: type) -> None:
    """Within one step: onnxruntime multiplies by ratios of scales where we dequantise and quantise."""
    count, attributes = QUANTISED[op]
    feeds = {"a": full_range(dtype, 1, 3, 6, 7), "b": full_range(dtype, 1, 3, 6, 7)}
    feeds = dict(list(feeds.items())[:count])
    y_scale = 1 / 256 if op == "QLinearSoftmax" else 0.03
    y_zero = np.iinfo(dtype).min if op == "QLinearSoftmax" else 3
    constants = {"s": 0.02, "z": np.asarray(5, dtype), "ys": y_scale, "yz": np.asarray(y_zero, dtype)}
    names = [n for name in feeds for n in (name, "s", "z")]
    node = helper.make_node(op, [*names, "ys", "yz"], ["y"], domain=MICROSOFT, **attributes)
    made = model([node], feeds, {"y": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}, constants)
    ((ours, theirs),) = both(made, feeds, False)
    assert ours.dtype == theirs.dtype
    assert np.abs(ours.astype(np.int32) - theirs).max() <= 1


def test_qlinear_concat() -> None:
    feeds = {"a": full_range(np.uint8, 2, 3), "b": full_range(np.uint8, 2, 4)}
    constants = {"s": 0.02, "z": np.asarray(5, np.uint8), "ys": 0.03, "yz": np.asarray(3, np.uint8)}
    names = ["ys", "yz", "a", "s", "z", "b", "ys", "yz"]
    node = helper.make_node("QLinearConcat", names, ["y"], domain=MICROSOFT, axis=1)
    check(model([node], feeds, {"y": TensorProto.UINT8}, constants), feeds, False)


@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4])
def test_constants_of_four_bits(dtype: int) -> None:
    """In blocks along K, as quantisers of language models write them; multiplied as they are stored."""
    low = -8 if dtype == TensorProto.INT4 else 0
    q = RNG.integers(low, low + 16, (64, 24))
    feeds = {"x": RNG.standard_normal((3, 64)).astype(np.float32)}
    scales = RNG.uniform(0.01, 0.1, (4, 24)).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=16),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    made = model(nodes, feeds, {"y": TensorProto.FLOAT}, {"s": scales})
    made.graph.initializer.append(helper.make_tensor("q", dtype, q.shape, q.ravel().tolist()))
    ((ours, _),) = both(made, feeds)  # onnxruntime rounds x to 8 bits here
    wanted = feeds["x"].astype(np.float64) @ (q * np.repeat(scales, 16, 0))
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-5)
