"""What a run of the float64 reference holds is known from shapes before it begins."""

from __future__ import annotations

import tracemalloc

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from ascend_ep.graph.reference import Reference, ReferenceTooLarge, reference_run
from ascend_ep.graph.reference_cost import Cost, reference_cost

MB = 1 << 20
SLACK = 2 * MB  #: for what doesn't grow with the values
MOST = 8  #: times what is held, an estimate may say

X = np.random.default_rng(0).standard_normal((1, 8, 160, 160)).astype(np.float32)
ONES = "float[8] s = {1,1,1,1,1,1,1,1}"
W = f"float[8,8,3,3] w = {{{','.join(['0.1'] * 576)}}}"

#: Of x, [1, 8, 160, 160], 1.6 MB in float64: the nodes that make y, and their constants.
ELEMENTWISE = (
    "Exp Relu Sigmoid Gelu Erf Mish LeakyRelu Celu Elu HardSwish Swish Softmax LogSoftmax Hardmax Sign"
)
GRAPHS = {
    **{op: (f"y = {op}(x)", "") for op in ELEMENTWISE.split()},
    "chain": ("a = Exp(x) b = Tanh(a) c = Add(b, x) d = Mul(c, b) e = Relu(d) f = Neg(e) y = Abs(f)", ""),
    "branches": ("a = Exp(x) b = Tanh(x) c = Neg(x) d = Concat<axis = 1>(a, b, c) y = Relu(d)", ""),
    "where": ("c = Less(x, z) y = Where(c, x, z)", "float z = {0}"),
    "product": ("t = Transpose<perm = [0,1,3,2]>(x) y = MatMul(x, t)", ""),
    "Attention": ("y = Attention(x, x, x)", ""),
    "LayerNormalization": ("y = LayerNormalization(x, o)", "float[1] o = {1}"),
    "RMSNormalization": ("y = RMSNormalization(x, o)", "float[1] o = {1}"),
    "BatchNormalization": ("y = BatchNormalization(x, s, s, s, s)", ONES),
    "InstanceNormalization": ("y = InstanceNormalization(x, s, s)", ONES),
    "GroupNormalization": ("y = GroupNormalization<num_groups = 4>(x, s, s)", ONES),
    "Conv": ("y = Conv(x, w)", W),
    "ConvTranspose": ("y = ConvTranspose(x, w)", W),
    "MaxPool": ("y = MaxPool<kernel_shape = [3,3]>(x)", ""),
    "MaxPool with places": ("y, p = MaxPool<kernel_shape = [3,3]>(x)", ""),
    "AveragePool": ("y = AveragePool<kernel_shape = [8,8], strides = [8,8]>(x)", ""),
    "ReduceLogSumExp": ("y = ReduceLogSumExp(x)", ""),
    "ReduceL2": ("y = ReduceL2(x)", ""),
    "TopK": ("y, p = TopK(x, k)", "int64[1] k = {2}"),
    "Pad": ("y = Pad(x, p)", "int64[8] p = {0,0,1,1,0,0,1,1}"),
    "Resize": ('y = Resize<mode = "linear">(x, , r)', "float[4] r = {1,1,1.5,1.5}"),
    "QuantizeLinear": ("q, k, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, k, z)", ""),
    "ConvInteger": (
        "q, k, z = DynamicQuantizeLinear(x) c = ConvInteger(q, v) y = Cast<to = 1>(c)",
        f"uint8[8,8,3,3] v = {{{','.join(['1'] * 576)}}}",
    ),
    "LRN": ("y = LRN<size = 5>(x)", ""),
    "CumSum": ("y = CumSum(x, k)", "int64 k = {1}"),
}  # fmt: skip


def graph(nodes: str, weights: str = "") -> onnx.ModelProto:
    text = '<ir_version: 10, opset_import: ["": 24]> g (float[1,8,160,160] x) => (float[R] y)'
    model = onnx.parser.parse_model(f"{text} <{weights}> {{ {nodes} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def cost_of(model: onnx.ModelProto) -> Cost:
    return reference_cost(model, {"x": (ir.DataType.FLOAT.value, X.shape)})


@pytest.mark.parametrize("name", GRAPHS)
def test_a_run_holds_no_more_than_shapes_say(name: str) -> None:
    model = graph(*GRAPHS[name])
    said = cost_of(model).bytes
    reference = Reference(model)
    tracemalloc.start()
    try:
        reference.run({"x": X})
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held <= said + SLACK
    assert said <= MOST * held + SLACK


def test_the_time_of_convolutions_counts_their_products() -> None:
    one = cost_of(graph("y = Conv(x, w)", W)).seconds
    three = cost_of(graph("a = Conv(x, w) b = Conv(a, w) y = Conv(b, w)", W)).seconds
    assert 2.8 < three / one <= 3


def test_a_value_that_a_body_reads_later_stays() -> None:
    body = "then_branch = t () => (float[1,8,160,160] p) { p = Add(a, a) }"
    other = "else_branch = e () => (float[1,8,160,160] q) { q = Neg(a) }"
    nodes = "a = Exp(x) b = Neg(a) m = ReduceMax<keepdims = 0>(b) c = Less(m, z)"
    model = graph(f"{nodes} y = If(c) <{body}, {other}>", "float z = {0}")
    np.testing.assert_allclose(reference_run(model, {"x": X})["y"], 2 * np.exp(X.astype(float)))


def test_sizes_that_only_a_run_tells_are_limited_by_the_run() -> None:
    model = graph("m = ReduceMax<keepdims = 0>(x) n = Cast<to = 7>(m) k = Mul(n, f) s = Unsqueeze(k, z) "
                  "y = Expand(m, s)", "int64 f = {500000}, int64[1] z = {0}")  # fmt: skip
    assert cost_of(model).bytes < 12 * MB
    with pytest.raises(ReferenceTooLarge):
        Reference(model).run({"x": X}, limit=12 * MB)
    assert Reference(model).run({"x": X})["y"].nbytes >= 12 * MB
