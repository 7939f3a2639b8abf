"""Products of dequantised constants read the integers: which forms do, and that results stay the graph's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli import om_inspect
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.plan import Insn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))

K, N = 96, 70


def random_integers(dtype: type, dims: tuple[int, ...], seed: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, dims, dtype, endpoint=True)


class Quantised:
    """A product of x [m, K] with dequantised integers. `form`: matmul; transpose and gemm hold [N, K].
    The scales lie along `axis`, or are one when it is None."""

    def __init__(
        self,
        form: str = "matmul",
        dtype: type = np.int8,
        axis: int | None = 1,
        block: int = 0,
        zero: bool = False,
    ) -> None:
        dims = (K, N) if form == "matmul" else (N, K)
        table: tuple[int, ...] = ()
        if axis is not None:
            blocked = [-(-d // block) if block and i == axis else d for i, d in enumerate(dims)]
            table = tuple(blocked) if block else (dims[axis],)
        self.form, self.axis, self.block = form, axis, block
        self.q = random_integers(dtype, dims, 1)
        self.scale = np.random.default_rng(2).uniform(0.001, 0.01, table).astype(np.float32)
        self.zero = random_integers(dtype, table, 3) if zero else None
        self.bias = np.random.default_rng(4).standard_normal(N).astype(np.float32)

    def model(self, tail: tuple[onnx.NodeProto, ...] = ()) -> onnx.ModelProto:
        attributes = {"axis": self.axis, "block_size": self.block}
        operands = ["q", "scale"] if self.zero is None else ["q", "scale", "zero"]
        given = {name: value for name, value in attributes.items() if value is not None}
        nodes = [helper.make_node("DequantizeLinear", operands, ["w"], **given)]
        if self.form == "gemm":
            nodes.append(helper.make_node("Gemm", ["x", "w", "bias"], ["y"], transB=1))
        elif self.form == "transpose":
            nodes.append(helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]))
            nodes.append(helper.make_node("MatMul", ["x", "t"], ["y"]))
        else:
            nodes.append(helper.make_node("MatMul", ["x", "w"], ["y"]))
        arrays = {"q": self.q, "scale": self.scale, "zero": self.zero, "bias": self.bias}
        graph = helper.make_graph(
            [*nodes, *tail],
            "quantised",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", K])],
            [helper.make_tensor_value_info("z" if tail else "y", TensorProto.FLOAT, ["m", N])],
            [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items() if a is not None],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def wanted(self, x: np.ndarray) -> np.ndarray:
        """The product in float64."""
        scale, zero = self.scale, np.zeros_like(self.scale) if self.zero is None else self.zero
        tables = [scale, zero]
        if self.block:
            tables = [
                np.repeat(t, self.block, self.axis)[: self.q.shape[0], : self.q.shape[1]] for t in tables
            ]
        elif self.axis is not None:
            tables = [t.reshape([-1 if i == self.axis else 1 for i in range(2)]) for t in tables]
        w = (self.q.astype(np.float64) - tables[1]) * tables[0]
        w = w if self.form == "matmul" else w.T
        return np.asarray(x.astype(np.float64) @ w + (self.bias if self.form == "gemm" else 0))


def instructions(made: Conversion) -> list[Insn]:
    return [insn for part in made.plan.partitions for insn in getattr(part, "insns", [])]


def layouts(made: Conversion) -> list[str]:
    return [
        insn.ins[1].weight.layout
        if insn.ins[1] is not None and insn.ins[1].weight is not None
        else insn.kernel
        for insn in instructions(made)
    ]


def assert_right(made: Conversion, wanted: Quantised) -> None:
    session = ascend_ep.InferenceSession(made.to_bytes())
    assert session.get_providers() == ["AscendEP"]
    for m in (1, 3, 20):
        x = np.random.default_rng(m).standard_normal((m, K)).astype(np.float32)
        y = wanted.wanted(x)
        # K products and additions in float32, each within 2^-24 of sums that stay below 100 max |y|
        np.testing.assert_allclose(session.run(None, {"x": x})[0], y, rtol=0, atol=1e-5 * np.abs(y).max())


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"zero": True}, {"dtype": np.uint8}, {"dtype": np.uint8, "zero": True}, {"axis": None},
        {"axis": None, "zero": True}, {"axis": 0, "block": 16}, {"axis": 0, "block": 40, "zero": True},
        {"form": "gemm", "axis": 0}, {"form": "gemm", "axis": 1, "block": 32, "zero": True},
        {"form": "transpose", "axis": 0}, {"form": "transpose", "axis": 1, "block": 32, "dtype": np.uint8},
    ],
    ids=str,
)  # fmt: skip
def test_one_product_reads_the_integers(arguments: dict) -> None:
    case = Quantised(**arguments)
    made = convert(case.model())
    assert layouts(made) == ["bytes32"]
    assert_right(made, case)


@pytest.mark.parametrize("arguments", [{"axis": 0}, {"axis": 1, "block": 8}], ids=str)
def test_scales_that_differ_along_k_are_dequantised_each_run(arguments: dict) -> None:
    case = Quantised(**arguments)
    made = convert(case.model())
    assert [insn.kernel for insn in instructions(made)] == ["dequantize", "matmul"]
    assert_right(made, case)


def test_an_epilogue_joins_the_product() -> None:
    case = Quantised()
    made = convert(case.model((helper.make_node("Relu", ["y"], ["z"]),)))
    (product,) = instructions(made)
    assert product.ints == (0, 0, 1, K)
    x = np.random.default_rng(0).standard_normal((2, K)).astype(np.float32)
    y = np.maximum(case.wanted(x), 0)
    got = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})[0]
    np.testing.assert_allclose(got, y, rtol=0, atol=1e-5 * y.max())


def test_zeros_that_uint8_has_at_128_are_not_stored() -> None:
    case = Quantised(dtype=np.uint8, zero=True)
    case.zero = np.full_like(case.scale, 128, np.uint8)
    made = convert(case.model())
    assert instructions(made)[0].ins[5] is None
    assert_right(made, case)


def test_integers_that_something_else_reads_too() -> None:
    case = Quantised()
    model = case.model((helper.make_node("Add", ["y", "first"], ["z"]),))
    model.graph.node.insert(1, helper.make_node("Gather", ["w", "zeroth"], ["first"]))
    model.graph.initializer.append(numpy_helper.from_array(np.array(0), "zeroth"))
    made = convert(model, ConvertOptions(self_check=True))
    made.to_bytes()
    assert "dequantize" in {insn.kernel for insn in instructions(made)}
    assert "bytes32" in layouts(made)


def test_operands_that_are_no_constants() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
        ],
        "there_and_back",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m", 5])],
        [
            numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
            numpy_helper.from_array(np.array(3, np.uint8), "zero"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(self_check=True)).to_bytes())
    assert session.get_providers() == ["AscendEP"]
    x = np.array([[-9, -1.5, 0.3, 2.25, 1000]], np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], [[-1.5, -1.5, 0.5, 2, 126]])


def test_inspection_names_the_layout(tmp_path: Path) -> None:
    bundle = tmp_path / "m.om"
    convert(Quantised().model()).write(bundle)
    assert "int8[96,70] weight bytes32" in om_inspect.bundle_text(om_inspect.describe(bundle))
    assert bundle.stat().st_size < 4 * K * N
