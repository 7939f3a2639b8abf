"""What the precision modes change: results, sizes, and what is said."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli.atc_flags import PRECISION_MODES, PRECISION_MODES_V2
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.precision.mixed_lists import MixedLists
from ascend_ep.compiler.precision.precision import BFLOAT16_PRODUCTS, EXACT, MODES, REFUSED, PrecisionLists
from ascend_ep.graph.passes.retype import NodeTypes

HIDDEN = 256


def two_layers() -> onnx.ModelProto:
    random = np.random.default_rng(0)
    weights = {
        "w1": random.standard_normal((HIDDEN, 2 * HIDDEN)) / HIDDEN**0.5,
        "b1": random.standard_normal(2 * HIDDEN),
        "w2": random.standard_normal((2 * HIDDEN, HIDDEN)) / HIDDEN**0.5,
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "w2"], ["y"]),
        ],
        "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", HIDDEN])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", HIDDEN])],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def run(model: bytes, x: np.ndarray) -> np.ndarray:
    (y,) = ascend_ep.InferenceSession(model).run(None, {"x": x})
    return y


@pytest.mark.parametrize("mode", sorted(BFLOAT16_PRODUCTS))
def test_products_in_bfloat16(mode: str) -> None:
    model, x = two_layers(), np.random.default_rng(1).standard_normal((5, HIDDEN)).astype(np.float32)
    exact = convert(model, ConvertOptions(self_check=True)).to_bytes()
    narrow = convert(model, ConvertOptions(precision=mode, self_check=True)).to_bytes()
    assert len(narrow) < 0.6 * len(exact)
    wanted, got = run(exact, x), run(narrow, x)
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    assert 1e-5 < error < 1e-2  # bfloat16 keeps 8 bits: 2^-9 a product, averaged over 256 of them
    assert got.dtype == np.float32
    np.testing.assert_array_equal(run(narrow, x[2:4]), got[2:4])


def test_attention_in_bfloat16() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["q", "kt"], ["qk"]),
            helper.make_node("Softmax", ["qk"], ["weights"], axis=-1),
            helper.make_node("MatMul", ["weights", "v"], ["y"]),
        ],
        "attention",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, d)
            for n, d in [("q", [1, 2, "n", 32]), ("kt", [1, 2, 32, 70]), ("v", [1, 2, 70, 32])]
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, "n", 32])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    random = np.random.default_rng(2)
    feeds = {n: random.standard_normal((1, 2, *d)).astype(np.float32) for n, d in
             [("q", (9, 32)), ("kt", (32, 70)), ("v", (70, 32))]}  # fmt: skip
    exact, narrow = (
        ascend_ep.InferenceSession(
            convert(model, ConvertOptions(precision=mode, self_check=True)).to_bytes()
        ).run(None, feeds)[0]
        for mode in ("origin", "allow_mix_precision_bf16")
    )
    error = np.abs(narrow - exact).max() / np.abs(exact).max()
    assert 1e-4 < error < 2e-2  # scores of variance 32 err by some 2^-9 of themselves, weights by that much


@pytest.mark.parametrize("mode", sorted(EXACT | {"force_fp32"}))
def test_exact_modes_change_nothing(mode: str) -> None:
    model, x = two_layers(), np.ones((2, HIDDEN), np.float32)
    exact = convert(model).to_bytes()
    np.testing.assert_array_equal(
        run(convert(model, ConvertOptions(precision=mode)).to_bytes(), x), run(exact, x)
    )


def half(array: np.ndarray) -> np.ndarray:
    """Rounded to float16; the ONNX reference of a tensor stored in it."""
    return array.astype(np.float16).astype(np.float64)


def float16_layers(x: np.ndarray, product: bool = True, between: bool = True) -> np.ndarray:
    """two_layers with operands of products, or the values between nodes too, rounded to float16."""
    w1, b1, w2 = (numpy_helper.to_array(t).astype(np.float64) for t in two_layers().graph.initializer)
    stored = half if between else lambda a: a
    operand = half if product else lambda a: a
    r = np.maximum(stored(operand(x) @ operand(w1) + operand(b1)), 0)
    return stored(operand(r) @ operand(w2))


@pytest.mark.parametrize(
    ("mode", "between"),
    [
        ("force_fp16", True),
        ("fp16", True),
        ("allow_mix_precision", True),
        ("allow_mix_precision_fp16", True),
        ("mixed_float16", True),
        ("allow_fp32_to_fp16", True),
        ("cube_fp16in_fp32out", False),
    ],
)
def test_float16_is_what_numpy_rounds_to(mode: str, between: bool) -> None:
    """To half a unit of float16 of the largest sum, plus one where a float32 sum sits on a tie."""
    x = np.random.default_rng(1).standard_normal((5, HIDDEN)).astype(np.float32)
    got = run(convert(two_layers(), ConvertOptions(precision=mode)).to_bytes(), x)
    wanted, exact = float16_layers(x, between=between), float16_layers(x, False, False)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=0, atol=np.abs(wanted).max() * (2**-10 if between else 1e-6))
    assert np.array_equal(got, got.astype(np.float16)) == between
    assert np.abs(got - exact).max() > 2e-5 * np.abs(exact).max()


def test_custom_types_go_before_kept_ones_and_both_before_the_mode() -> None:
    model = two_layers()
    for node, name in zip(model.graph.node, ("first", "relu", "second"), strict=True):
        node.name = name
    x = np.random.default_rng(1).standard_normal((5, HIDDEN)).astype(np.float32)
    exact = run(convert(model).to_bytes(), x)
    kept = PrecisionLists(keep={"first", "relu"}, keep_types={"MatMulV2"})
    got = run(convert(model, ConvertOptions(precision="force_fp16", precision_lists=kept)).to_bytes(), x)
    np.testing.assert_array_equal(got, exact)
    custom = PrecisionLists(
        keep={"second"}, custom={"second": NodeTypes((10,), 1), "first": NodeTypes((10, 10, 1), 1)}
    )
    got = run(convert(model, ConvertOptions(precision="origin", precision_lists=custom)).to_bytes(), x)
    cube = run(convert(model, ConvertOptions(precision="cube_fp16in_fp32out")).to_bytes(), x)
    np.testing.assert_allclose(got, cube, rtol=0, atol=1e-3 * np.abs(cube).max())
    assert not np.array_equal(got, exact)


def test_grey_operators_follow_and_black_ones_stay() -> None:
    """MatMul is white, Neg grey, Exp black: what flows after Exp is float32 again."""
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["p"], name="product"),
        helper.make_node("Neg", ["p"], ["n"], name="follows"),
        helper.make_node("Exp", ["n"], ["e"], name="black"),
        helper.make_node("Neg", ["e"], ["y"], name="free"),
    ]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, 8]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "colours", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)

    def types(mixed: MixedLists) -> list[int]:
        options = ConvertOptions(precision="mixed_float16", precision_lists=PrecisionLists(mixed=mixed))
        made = convert(model, options)
        return [made.facts[n.outputs[0]].dtype for n in made.model.graph if n.op_type != "Cast"]

    assert types(MixedLists()) == [10, 10, 1, 1]
    assert types(MixedLists(black={"BatchMatMulV2"})) == [1, 1, 1, 1]
    assert types(MixedLists(grey={"Exp"})) == [10, 10, 10, 10]
    assert types(MixedLists(white={"Exp"}, black={"Neg"})) == [10, 1, 10, 1]


def test_bfloat16_products_heed_the_lists() -> None:
    model = two_layers()
    for node, name in zip(model.graph.node, ("first", "relu", "second"), strict=True):
        node.name = name
    x = np.random.default_rng(1).standard_normal((5, HIDDEN)).astype(np.float32)
    exact = run(convert(model).to_bytes(), x)
    for lists in (
        PrecisionLists(keep={"first", "second"}),
        PrecisionLists(mixed=MixedLists(black={"MatMulV2"})),
    ):
        options = ConvertOptions(precision="mixed_bfloat16", precision_lists=lists)
        np.testing.assert_array_equal(run(convert(model, options).to_bytes(), x), exact)


def test_overflow_is_warned_of_not_refused() -> None:
    model = two_layers()
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(3e3), tensor.name))
    with pytest.warns(RuntimeWarning, match="rounded to float16, whose range ends at 65504"):
        convert(model, ConvertOptions(precision="force_fp16")).to_bytes()
    with pytest.raises(ascend_ep.AscendError, match="E41020"):
        convert(model, ConvertOptions(precision="force_fp16", self_check=True)).to_bytes()


def test_what_subgraphs_take_from_outside_keeps_its_type() -> None:
    """A value of float16 that only the branches of an If read, and one that both do."""
    branches = {
        f"{kind}_branch": helper.make_graph(
            [helper.make_node(op, ["p", "x"], [f"{kind}_out"])],
            kind,
            [],
            [helper.make_tensor_value_info(f"{kind}_out", TensorProto.FLOAT, [8, 8])],
        )
        for kind, op in (("then", "Add"), ("else", "Sub"))
    }
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["p"]),
        helper.make_node("Relu", ["p"], ["r"]),
        helper.make_node("If", ["c"], ["i"], **branches),
        helper.make_node("Mul", ["i", "r"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, 8]) for n in ("x", "y")]
    flag = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    graph = helper.make_graph(nodes, "captured", [infos[0], flag], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    convert(model, ConvertOptions(precision="force_fp16", self_check=True)).to_bytes()


def test_every_value_of_the_flags_is_a_mode_or_refused_with_the_reason() -> None:
    assert {*PRECISION_MODES, *PRECISION_MODES_V2} == MODES | set(REFUSED)
    for mode, code in ((next(iter(REFUSED)), "E10055"), ("fp17", "E10001")):
        with pytest.raises(ascend_ep.AscendError) as caught:
            convert(two_layers(), ConvertOptions(precision=mode))
        assert caught.value.code == code


def test_force_fp32_widens_a_model_of_float16() -> None:
    """Sums of 2048 and 1 need float32 between the nodes; inputs and outputs stay float16."""
    nodes = [helper.make_node("Add", ["x", "big"], ["sum"]), helper.make_node("Sub", ["sum", "big"], ["y"])]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT16, [4]) for n in ("x", "y")]
    big = numpy_helper.from_array(np.array([4096], np.float16), "big")
    graph = helper.make_graph(nodes, "wide", infos[:1], infos[1:], [big])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    x = np.array([1, 2, 3, 5], np.float16)
    wide, narrow = (
        run(convert(model, ConvertOptions(precision=mode, self_check=False)).to_bytes(), x)
        for mode in ("force_fp32", "origin")
    )
    assert wide.dtype == np.float16
    np.testing.assert_array_equal(wide, x)
    assert not np.array_equal(narrow, x)
