"""Products of one operand find its rows packed by the one before: bits stay those of each product alone."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

K = 3100  # several blocks of K, however few the rows
RNG = np.random.default_rng(7)
WIDTHS = {"a": 320, "b": 320, "c": 96}
WEIGHTS = {n: (RNG.standard_normal((K, w)) / 56).astype(np.float32) for n, w in WIDTHS.items()}
#: Operand and weight, in order. The operand is the input x, or its columns transposed by so many: a temporary
#: that lies where the last one lay.
PRODUCTS = [(0, "a"), (0, "b"), (0, "c"), (1, "a"), (1, "b"), (2, "b"), (3, "c")]


def session(products: list[tuple[int, str]], precision: str) -> ascend_ep.InferenceSession:
    nodes, made = [], {0}
    constants = [numpy_helper.from_array(w, n) for n, w in WEIGHTS.items()]
    for i, (turn, weight) in enumerate(products):
        if turn not in made:
            made.add(turn)
            constants.append(numpy_helper.from_array(np.roll(np.arange(K), turn), f"order{turn}"))
            nodes.append(helper.make_node("Gather", ["x0", f"order{turn}"], [f"x{turn}"], axis=1))
        nodes.append(helper.make_node("MatMul", [f"x{turn}", weight], [f"y{i}"]))
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(len(products))]
    inputs = [helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["m", K])]
    graph = helper.make_graph(nodes, "products", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    options = ConvertOptions(self_check=False, precision=precision)
    return ascend_ep.InferenceSession(convert(model, options).to_bytes())


@pytest.mark.parametrize("precision", ["origin", "allow_mix_precision_bf16"])
def test_products_of_one_operand_have_the_bits_of_each_alone(precision: str) -> None:
    together = session(PRODUCTS, precision)
    alone = {weight: session([(0, weight)], precision) for weight in WEIGHTS}
    for rows in (1, 5, 40, 128, 300, 40):  # the last one finds the memory of the third
        x = RNG.standard_normal((rows, K)).astype(np.float32)
        for (turn, weight), result in zip(PRODUCTS, together.run(None, {"x0": x}), strict=True):
            expected = alone[weight].run(None, {"x0": np.roll(x, turn, axis=1)})[0]
            np.testing.assert_array_equal(
                result, expected, err_msg=f"{rows} rows transposed by {turn} @ {weight}"
            )


@pytest.mark.parametrize("rows", [40, 128, 300])  # one block of rows, one for each of two workers, three
def test_results_are_right(rows: int) -> None:
    x = RNG.standard_normal((rows, K)).astype(np.float32)
    found = session([(0, "a"), (0, "b")], "origin").run(None, {"x0": x})
    for result, weight in zip(found, "ab", strict=True):
        expected = x.astype(np.float64) @ WEIGHTS[weight].astype(np.float64)
        np.testing.assert_allclose(result, expected, atol=1e-5 * np.abs(expected).max())  # float32's sums
