"""Products that round their results to float16 or bfloat16: the very bits of the product without rounding,
rounded as numpy rounds. So are what compiled models compute with and without rounding in epilogues.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, call
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.compiler import pipeline
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

RELU, SILU, CLIP = 1, 4, 7
ROUNDINGS = {16: np.float16, 32: ml_dtypes.bfloat16}

#: What is hard to round: ties, subnormals of float16, the largest numbers, zeros, and no numbers.
SPECIAL = np.array(
    [1 + 2**-11, 1 + 3 * 2**-11, 2**-24, 2**-25, 1.5 * 2**-25, 2**-14, 65504, 65519, 65520, 1e6, -1e9, 0.0,
     -0.0, np.inf, -np.inf, np.nan, 1 + 2**-8, 1 + 3 * 2**-8],
    np.float32,
)  # fmt: skip


def rounded(y: NDArray[Any], rounding: int) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        wide: NDArray[Any] = y.astype(ROUNDINGS[rounding]).astype(np.float32)
    return wide


@each_isa
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 33, 7), (3, 18, 1), (14, 100, 40), (40, 65, 0), (70, 64, 300)])
def test_matmul(isa: int, rounding: int, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    bias, residual = (rng.standard_normal(s).astype(np.float32) * 100 for s in ((n,), (m, n)))
    for activation, addends in ((0, [None, None]), (RELU, [bias, None]), (SILU, [None, residual])):
        plain, made = (
            call(
                "matmul",
                [a, Panel32(b), *addends],
                [(np.float32, (m, n))],
                (0, 0, code),
                (1, 1, 0, 0),
                isa=isa,
            )[0]
            for code in (activation, activation + rounding)
        )
        np.testing.assert_array_equal(made, rounded(plain, rounding))


@each_isa
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_special_numbers(isa: int, rounding: int) -> None:
    a = SPECIAL.reshape(-1, 1)
    (y,) = call("matmul", [a, np.ones((1, 1), np.float32), None, None], [(np.float32, a.shape)],
                (0, 0, rounding), (1, 1, 0, 0), isa=isa)  # fmt: skip
    np.testing.assert_array_equal(y, rounded(a, rounding))


@each_isa
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("kernel", ["conv", "conv_last"])
@pytest.mark.parametrize("apart", [False, True])
def test_convolutions(isa: int, rounding: int, kernel: str, apart: bool) -> None:
    rng = np.random.default_rng(5)
    channels, size, last = 20, 9, kernel == "conv_last"
    fan_in = 1 if apart else channels
    image = (2, size, size, channels) if last else (2, channels, size, size)
    x = rng.standard_normal(image).astype(np.float32)
    rows = rng.standard_normal((9, channels) if apart else (1, 9 * fan_in, channels)).astype(np.float32)
    weights = (
        Panel32(rows)
        if not apart
        else rows
        if last
        else np.ascontiguousarray(rows.T).reshape(channels, 1, 3, 3)
    )
    bias, residual = (
        rng.standard_normal(channels).astype(np.float32),
        rng.standard_normal(image).astype(np.float32),
    )
    axes = [3, 1, 1, 1] * 2
    for activation, limits in (
        (0, (0, 0)),
        (RELU, (0, 0)),
        (CLIP, (-0.3, 0.7)),
        (SILU, (0, 0)),
        (8, (0, 0)),
        (9, (0.3, 0)),
    ):
        plain, made = (
            call(kernel, [x, weights, bias, residual], [(np.float32, image)],
                 (channels if apart else 1, code, 0, *axes), limits, isa=isa)[0]
            for code in (activation, activation + rounding)
        )  # fmt: skip
        np.testing.assert_array_equal(made, rounded(plain, rounding))


@pytest.mark.parametrize("code", [-1, 10, 15, 16 + 10, 48, 1 << 40])
def test_codes_that_are_none(code: int) -> None:
    one = np.ones((1, 1), np.float32)
    with pytest.raises(KernelError, match="unknown activation"):
        call("matmul", [one, one, None, None], [(np.float32, (1, 1))], (0, 0, code), (1, 1, 0, 0))


# ---- in plans ----------------------------------------------------------------------------------------


def residual_blocks(dtype: int) -> onnx.ModelProto:
    """Convolutions with Relu, Clip at a bound that is a number of the type and one that isn't, a residual
    that is read twice, pooling, and a product; results that are outputs, too."""
    random = np.random.default_rng(0)
    kind = np.float16 if dtype == TensorProto.FLOAT16 else ml_dtypes.bfloat16

    def weight(name: str, *dims: int) -> onnx.TensorProto:
        array = (random.standard_normal(dims) / np.sqrt(np.prod(dims[1:]))).astype(kind)
        return helper.make_tensor(name, dtype, dims, array.tobytes(), raw=True)

    def number(name: str, value: float) -> onnx.TensorProto:
        return helper.make_tensor(name, dtype, [], np.array(value, kind).tobytes(), raw=True)

    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], **pads),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["m", "w2"], ["c2"], **pads),
        helper.make_node("Clip", ["c2", "low", "high"], ["k2"]),
        helper.make_node("Conv", ["k2", "w3"], ["c3"], **pads),
        helper.make_node("Add", ["c3", "m"], ["a"]),
        helper.make_node("Relu", ["a"], ["r3"]),
        helper.make_node("Conv", ["r3", "w4"], ["c4"], **pads),
        helper.make_node("Add", ["c4", "r3"], ["y"]),
        helper.make_node("Reshape", ["y", "flat"], ["f"]),
        helper.make_node("Gemm", ["f", "w5"], ["z"]),
        helper.make_node("Relu", ["z"], ["last"]),
    ]
    weights = [
        weight("w1", 16, 3, 3, 3),
        *(weight(f"w{i}", 16, 16, 3, 3) for i in (2, 3, 4)),
        weight("w5", 256, 5),
    ]
    weights += [
        number("low", -0.5),
        number("high", 0.75),
        helper.make_tensor("flat", TensorProto.INT64, [2], [-1, 256]),
    ]
    graph = helper.make_graph(
        nodes,
        "blocks",
        [helper.make_tensor_value_info("x", dtype, [2, 3, 8, 8])],
        [helper.make_tensor_value_info(n, dtype, None) for n in ("y", "z", "last")],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_plans_have_the_same_bits(dtype: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = residual_blocks(dtype)
    kind = np.float16 if dtype == TensorProto.FLOAT16 else ml_dtypes.bfloat16
    x = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(kind)

    def run(made: Conversion) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
        return found

    def passes(made: Conversion) -> int:
        return sum(i.kernel == "elementwise" for p in made.plan.partitions for i in p.insns)

    fast = convert(model, ConvertOptions(codegen="off"))
    for name in ("postpone_rounding", "round_in_epilogues"):
        monkeypatch.setattr(pipeline, name, lambda part: 0)
    slow = convert(model, ConvertOptions(codegen="off"))
    for got, wanted in zip(run(fast), run(slow), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert passes(fast) < passes(slow)


def test_winograd_rounds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions that another kernel computes in the end, with limits and with another activation."""
    random = np.random.default_rng(2)
    weights = (random.standard_normal((64, 64, 3, 3)) / 24).astype(np.float32)
    nodes = []
    for i, activation in enumerate(("Relu", "Sigmoid", "Identity", "Relu")):
        nodes.append(helper.make_node("Conv", [f"y{i}", "w"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node(activation, [f"c{i}"], [f"y{i + 1}"]))
    shape = [1, 64, 28, 28]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("y0", "y4")]
    graph = helper.make_graph(nodes, "w", infos[:1], infos[1:], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    x = random.standard_normal(shape).astype(np.float32)
    options = ConvertOptions(precision="force_fp16", codegen="off", self_check=False, sample_seed=None)
    results = []
    for _ in range(2):
        made = convert(model, options)
        assert "conv_winograd" in {i.kernel for p in made.plan.partitions for i in p.insns}
        results += ascend_ep.InferenceSession(made.to_bytes()).run(None, {"y0": x})
        for name in ("postpone_rounding", "round_in_epilogues"):
            monkeypatch.setattr(pipeline, name, lambda part: 0)
    np.testing.assert_array_equal(*results)


def test_limits_that_are_no_numbers_of_the_type_stay_behind_the_rounding() -> None:
    """Relu6-like limits of 0.1: float16's 0.1 is another number, which rounding mustn't reach past."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Clip", ["p", "low", "high"], ["y"]),
    ]
    weights = {"w": np.eye(8), "low": np.array(-0.1), "high": np.array(0.1)}
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, 8]) for n in ("x", "y")]
    constants = [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()]
    graph = helper.make_graph(nodes, "limits", infos[:1], infos[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(precision="force_fp16")).to_bytes())
    x = np.linspace(-0.2, 0.2, 64, dtype=np.float32).reshape(8, 8)
    (y,) = session.run(None, {"x": x})
    tenth = np.float16(0.1)
    np.testing.assert_array_equal(y, np.clip(x.astype(np.float16), -tenth, tenth).astype(np.float32))


def test_a_limit_after_what_reads_nothing() -> None:
    """Positions are written by an instruction without inputs, which rounds nothing."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]> g (float[n,4] x) => (int64[n] y) {
            first = Constant<value = int64[1] {0}>()
            zero = Constant<value = int64 {0}>()
            one = Constant<value = int64 {1}>()
            two = Constant<value = int64 {2}>()
            size = Shape<end = 1>(x)
            rows = Squeeze(size, first)
            places = Range(zero, rows, one)
            y = Min(places, two)
        }""")
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(codegen="off")).to_bytes())
    np.testing.assert_array_equal(session.run(None, {"x": np.zeros((5, 4), np.float32)})[0], [0, 1, 2, 2, 2])
