"""If, Loop and Scan run on the host, whole, between native partitions; their bodies see native results."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

IF = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,8] x, float[8,8] w) => (float[n,8] y) {
    h = MatMul(x, w)
    total = ReduceSum<keepdims = 0>(h)
    zero = Constant<value = float {0}>()
    positive = Greater(total, zero)
    chosen = If (positive) <
        then_branch = up () => (float[n,8] a) { a = Exp(h) },
        else_branch = down () => (float[n,8] b) { c = Neg(h) b = Mul(c, x) }
    >
    y = Softmax<axis = -1>(chosen)
}
"""

LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, float[8,8] w, int64 times) => (float[2,8] y, float[k,2,8] kept) {
    start = Tanh(x)
    always = Constant<value = bool {1}>()
    last, kept = Loop (times, always, start) <
        body = step (int64 i, bool go, float[2,8] state) => (bool on, float[2,8] next, float[2,8] each) {
            on = Identity(go)
            product = MatMul(state, w)
            next = Add(product, start)
            each = Sigmoid(next)
        }
    >
    y = Softmax<axis = -1>(last)
}
"""

SCAN = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, float[5,2,8] steps) => (float[2,8] y, float[5,2,8] sums) {
    start = Relu(x)
    scaled = Mul(steps, steps)
    last, sums = Scan <num_scan_inputs = 1,
        body = step (float[2,8] before, float[2,8] now) => (float[2,8] after, float[2,8] each) {
            after = Add(before, now)
            each = Sub(after, start)
        }
    > (start, scaled)
    y = LogSoftmax<axis = -1>(last)
}
"""

GROWING = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, int64 times) => (float[k,8] y) {
    start = Tanh(x)
    always = Constant<value = bool {1}>()
    last = Loop (times, always, start) <
        body = step (int64 i, bool go, float[m,8] state) => (bool on, float[m2,8] next) {
            on = Identity(go)
            next = Concat<axis = 0>(state, start)
        }
    >
    y = Softmax<axis = -1>(last)
}
"""

DEEPER = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, int64 times) => (float[k] y) {
    start = Tanh(x)
    always = Constant<value = bool {1}>()
    first = Constant<value = int64[1] {0}>()
    last = Loop (times, always, start) <
        body = step (int64 i, bool go, float[] state) => (bool on, float[] next) {
            on = Identity(go)
            next = Unsqueeze(state, first)
        }
    >
    flat = Constant<value = int64[1] {-1}>()
    y = Reshape(last, flat)
}
"""

SQUEEZED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4,3] x) => (float[a,b] y)
<int64[1] zero = {0}, int64[1] one = {1}, float[3,2] w = {1, 2, 3, 4, 5, 6}> {
    shape = Shape(x)
    rows = Gather(shape, zero)
    single = Equal(rows, one)
    s = If (single) <
        then_branch = flat () => (a) { a = Squeeze(x, zero) },
        else_branch = same () => (b) { b = Identity(x) }
    >
    y = Gemm(s, w)
}
"""


def converted(text: str) -> tuple[onnx.ModelProto, Conversion]:
    model = onnx.parser.parse_model(text)
    return model, convert(model, ConvertOptions(codegen="off", self_check=True))


def check(model: onnx.ModelProto, conversion: Conversion, feeds: dict[str, np.ndarray]) -> None:
    """The bundle, and AscendEP in stock onnxruntime, as onnxruntime itself."""
    source = model.SerializeToString()
    wanted = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, feeds)
    own = ascend_ep.InferenceSession(conversion.to_bytes())
    assert own.get_providers() == ["AscendEP", "CPUExecutionProvider"]
    stock = onnxruntime.InferenceSession(source, providers=["AscendEP", "CPUExecutionProvider"])
    for session in (own, stock):
        for got, want in zip(session.run(None, feeds), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "operator", "native"),
    [
        (IF, "If", {"MatMul", "ReduceSum", "Greater", "Softmax"}),
        (LOOP, "Loop", {"Tanh", "Softmax"}),
        (SCAN, "Scan", {"Relu", "Mul", "LogSoftmax"}),
    ],
)
def test_only_the_control_node_is_on_the_host(text: str, operator: str, native: set[str]) -> None:
    _, conversion = converted(text)
    hosts = {r.op_type: r.reason for r in conversion.partition_table if r.target != "AscendEP"}
    assert list(hosts) == [operator]
    assert hosts[operator]
    assert native <= {r.op_type for r in conversion.partition_table if r.target == "AscendEP"}


def test_both_branches_of_if() -> None:
    model, conversion = converted(IF)
    w = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    for sign in (1, -1):
        check(model, conversion, {"x": sign * x, "w": w})


def test_loop_of_any_number_of_steps() -> None:
    model, conversion = converted(LOOP)
    rng = np.random.default_rng(0)
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in (("x", (2, 8)), ("w", (8, 8)))}
    for times in (0, 1, 4):
        check(model, conversion, {**feeds, "times": np.array(times)})


def test_scan() -> None:
    model, conversion = converted(SCAN)
    rng = np.random.default_rng(0)
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in (("x", (2, 8)), ("steps", (5, 2, 8)))}
    check(model, conversion, feeds)


def test_a_value_that_grows_in_a_loop_is_native_afterwards() -> None:
    model, conversion = converted(GROWING)
    assert [r.op_type for r in conversion.partition_table if r.target != "AscendEP"] == ["Loop"]
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    for times in (0, 1, 3):
        check(model, conversion, {"x": x, "times": np.array(times)})


def test_a_value_of_another_rank_after_every_step_stays_on_the_host() -> None:
    model, conversion = converted(DEEPER)
    hosts = {r.op_type: r.reason for r in conversion.partition_table if r.target != "AscendEP"}
    assert hosts["Reshape"] == "the rank of 'last' is unknown"
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    for times in (0, 2):
        check(model, conversion, {"x": x, "times": np.array(times)})


def test_a_squeeze_that_later_nodes_need_is_native() -> None:
    """No run with other sizes gets to its end in onnxruntime; here it is refused before it starts."""
    model, conversion = converted(SQUEEZED)
    assert [r for r in conversion.partition_table if r.target != "AscendEP"] == []
    own = ascend_ep.InferenceSession(conversion.to_bytes())
    source = model.SerializeToString()
    cpu = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    np.testing.assert_allclose(own.run(None, {"x": x[:1]})[0], cpu.run(None, {"x": x[:1]})[0], rtol=1e-5)
    with pytest.raises(Exception, match="Gemm"):
        cpu.run(None, {"x": x})
    with pytest.raises(ascend_ep.AscendError, match=r"input \[x\] .* must be 1"):
        own.run(None, {"x": x})
