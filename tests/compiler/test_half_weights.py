"""Weights stored as float16: which products read them, and that results stay those of float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler import pipeline
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.rewrites.half_weights import store_fp16_weights
from ascend_ep.graph.load import load_model
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.graph.widened import WidenedTensor
from ascend_ep.plan.plan import NativePartition

K, N = 160, 130
X = np.random.default_rng(1).standard_normal((3, K)).astype(np.float32)
HALF_TYPES = np.random.default_rng(0).standard_normal((K, N)).astype(np.float16)
WIDE = HALF_TYPES.astype(np.float32)
EXACT = ConvertOptions(self_check=False)


def product(w: np.ndarray, form: str = "plain") -> onnx.ModelProto:
    """x @ w; form "cast" widens a float16 w in the graph; "transposed" and "gemm" read its transpose too."""
    nodes, right = [], "w"
    if form != "plain":
        nodes.append(helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT))
        right = "wide"
    if form == "transposed":
        nodes.append(helper.make_node("Transpose", ["wide"], ["w2"], perm=[1, 0]))
        right = "w2"
    kind, given = ("Gemm", {"transB": 1}) if form == "gemm" else ("MatMul", {})
    nodes.append(helper.make_node(kind, ["x", right], ["y"], **given))
    return model(nodes, [("x", FLOAT, ["m", K])], [("y", FLOAT, None)], {"w": w})


def layouts(conversion: Conversion) -> set[str]:
    parts = [p for p in conversion.plan.partitions if isinstance(p, NativePartition)]
    weights = [i.ins[1].weight for p in parts for i in p.insns if i.kernel == "matmul"]
    return {w.layout for w in weights if w is not None}


def result(conversion: Conversion) -> np.ndarray:
    return ascend_ep.InferenceSession(conversion.to_bytes()).run(None, {"x": X})[0]


@pytest.fixture(scope="module")
def wanted() -> np.ndarray:
    """The product with float32 weights: as it is when nothing is stored as float16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "store_fp16_weights", lambda plan: 0)
        plain = convert(product(WIDE), EXACT)
        assert layouts(plain) == {"panel32"}
        return result(plain)


@pytest.mark.parametrize("form", ["cast", "transposed", "gemm"])
@pytest.mark.parametrize("lazy", [True, False])
def test_a_widened_constant_stays_float16(
    form: str, lazy: bool, wanted: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lazy:
        monkeypatch.setattr("ascend_ep.graph.passes.fold.MAX_FOLDED", 1 << 10)
    made = convert(product(HALF_TYPES if form == "cast" else HALF_TYPES.T.copy(), form), EXACT)
    assert layouts(made) == {"fp16_32"}
    np.testing.assert_array_equal(result(made), wanted)


def test_float32_that_float16_holds_is_stored_so(wanted: np.ndarray) -> None:
    made = convert(product(WIDE), EXACT)
    assert layouts(made) == {"fp16_32"}
    np.testing.assert_array_equal(result(made), wanted)
    assert len(made.to_bytes()) < WIDE.nbytes * 0.75


@pytest.mark.parametrize(("at", "value"), [((0, 0), 1 / 3), ((K - 1, N - 1), 1 / 3), ((80, 3), 1e6)])
def test_one_element_that_it_does_not_hold(at: tuple[int, int], value: float) -> None:
    w = WIDE.copy()
    w[at] = value
    assert layouts(convert(product(w), EXACT)) == {"panel32"}


def test_small_weights_stay_float32() -> None:
    x, y = ("x", FLOAT, ["m", 4]), ("y", FLOAT, ["m", 5])
    small = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], [x], [y], {"w": np.ones((4, 5), np.float32)}
    )
    assert layouts(convert(small, EXACT)) == {"panel32"}


def test_rounding_on_demand() -> None:
    w = np.random.default_rng(2).standard_normal((K, N)).astype(np.float32)
    w[0, 0] = 1e6
    made = convert(product(w), EXACT)
    assert layouts(made) == {"panel32"}
    assert store_fp16_weights(made.plan, rounding=True) == 1
    with np.errstate(over="ignore"):
        rounded = w.astype(np.float16).astype(np.float64)
    y = result(made)
    assert np.isinf(y[:, 0]).all()
    np.testing.assert_allclose(y[:, 1:], X @ rounded[:, 1:], rtol=1e-4, atol=1e-4)  # K float32 products


def test_bfloat16_products_round_what_float16_stored() -> None:
    options = ConvertOptions(self_check=False, precision="allow_mix_precision_bf16")
    made = [convert(m, options) for m in (product(HALF_TYPES, "cast"), product(WIDE))]
    assert [layouts(m) for m in made] == [{"vnni2_32"}] * 2
    np.testing.assert_array_equal(*map(result, made))


@pytest.mark.parametrize(
    ("dtype", "kind", "layout"),
    [(TensorProto.FLOAT16, np.float16, "fp16_32"), (TensorProto.BFLOAT16, ml_dtypes.bfloat16, "vnni2_32")],
)
def test_products_of_half_tensors(dtype: int, kind: type, layout: str) -> None:
    w, x = WIDE.astype(kind), X.astype(kind)
    weight = helper.make_tensor("w", dtype, w.shape, w.tobytes(), raw=True)
    boundary = [helper.make_tensor_value_info(n, dtype, ["m", d]) for n, d in (("x", K), ("y", N))]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", boundary[:1], boundary[1:], [weight]
    )
    made = convert(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), EXACT
    )
    assert layouts(made) == {layout}
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    sums = x.astype(np.float32) @ w.astype(np.float32)
    # once rounded from sums whose own error may turn a tie: an ulp of the type
    np.testing.assert_allclose(y.astype(np.float32), sums, rtol=2 ** -(10 if dtype == 10 else 7), atol=1e-3)


def test_folding_keeps_large_constants_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_ep.graph.passes.fold.MAX_FOLDED", 1 << 10)
    folded = run_passes(load_model(product(HALF_TYPES.T.copy(), "transposed")))
    (weight,) = [v.const_value for v in folded.graph.initializers.values()]
    assert isinstance(weight, WidenedTensor)
    assert weight.narrow.dtype == TensorProto.FLOAT16
    np.testing.assert_array_equal(weight.numpy(), WIDE)
