"""What becomes a product of integers between dequantisation and quantisation, and what doesn't, and why."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.graph import run_passes
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.registry import Registry

SCALE = 0.05


def graph(product: str = "MatMul", activation: str = "", **changes: object) -> ir.Model:
    """Q(activation(product(DQ(a), DQ(w), DQ(bias)))); `changes` replace constants, None leaves one out."""
    convolution = product == "Conv"
    constants: dict[str, object] = {
        "s": np.float32(SCALE), "z": np.uint8(0), "ws": np.float32(0.01), "wz": np.int8(0),
        "w": np.ones((8, 4, 1, 1) if convolution else (4, 8), np.int8),
        "bias": np.arange(8, dtype=np.int32), "bs": np.float32(SCALE * 0.01), "ys": np.float32(0.1),
        "yz": np.uint8(0), "low": np.float32(0), "high": np.float32(6),
    }  # fmt: skip
    attributes = {"axis": changes.pop("axis", 1)}
    constants |= changes
    kept = {n: np.asarray(v) for n, v in constants.items() if v is not None}

    def node(op: str, inputs: str, output: str, **given: object) -> object:
        return helper.make_node(
            op, [i if i in kept or i[0] in "dqpx" else "" for i in inputs.split()], [output], **given
        )

    nodes = [node("DequantizeLinear", "x s z", "dx"), node("DequantizeLinear", "w ws wz", "dw", **attributes)]
    operands = "dx dw"
    if product != "MatMul" and "bias" in kept:
        nodes.append(node("DequantizeLinear", "bias bs", "db"))
        operands += " db"
    nodes.append(node(product, operands, "p"))
    if activation:
        nodes.append(node(activation, "p low high" if activation == "Clip" else "p", "pa"))
    nodes.append(node("QuantizeLinear", f"{'pa' if activation else 'p'} ys yz", "y"))
    dims = [1, 4, 3, 3] if convolution else [3, 4]
    made = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, dims)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(a, n) for n, a in kept.items()],
    )
    return ir.from_proto(helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def fused(model: ir.Model, registry: Registry) -> tuple[list[str], list[str]]:
    """Operators afterwards, and the reasons of refusals."""
    ledger = Ledger()
    done = run_passes(model, registry, ledger=ledger)
    return [n.op_type for n in done.graph], [o.reason for o in ledger.outcomes if not o.is_fused]


@pytest.mark.parametrize(
    ("arguments", "operator"),
    [
        ({}, "QLinearMatMul"), ({"product": "Conv"}, "QLinearConv"), ({"product": "Gemm"}, "QGemm"),
        ({"product": "Conv", "activation": "Relu"}, "QLinearConv"),
        ({"product": "Conv", "activation": "Clip", "ys": np.float32(6 / 255)}, "QLinearConv"),
        ({"ws": np.full(8, 0.01, np.float32), "wz": np.zeros(8, np.int8)}, "QLinearMatMul"),
        ({"product": "Conv", "axis": 0, "ws": np.full(8, 0.01, np.float32), "wz": np.zeros(8, np.int8),
          "bs": np.full(8, SCALE * 0.01, np.float32)}, "QLinearConv"),
    ],
    ids=str,
)  # fmt: skip
def test_one_operator_of_integers(arguments: dict, operator: str, registry: Registry) -> None:
    operators, _ = fused(graph(**arguments), registry)
    assert operators == [operator]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"product": "Conv", "activation": "Relu", "yz": np.uint8(9)}, "cuts more than"),
        ({"product": "Conv", "activation": "Clip"}, "cuts more than"),
        ({"product": "Conv", "bs": np.float32(0.5)}, "the scale of its bias"),
        ({"z": None}, "has no zero point"),
        ({"ws": np.ones(4, np.float32), "wz": np.zeros(4, np.int8), "axis": 0}, "each index of an axis"),
    ],
    ids=str,
)  # fmt: skip
def test_refusals_say_why(arguments: dict, reason: str, registry: Registry) -> None:
    operators, reasons = fused(graph(**arguments), registry)
    assert "DequantizeLinear" in operators
    assert any(reason in r for r in reasons), reasons


def test_a_value_with_two_readers_is_dequantised_for_each(registry: Registry) -> None:
    model = ir.to_proto(graph())
    again = [
        helper.make_node("DequantizeLinear", ["w", "bs", "wz"], ["dw2"]),
        helper.make_node("MatMul", ["dx", "dw2"], ["p2"]),
        helper.make_node("QuantizeLinear", ["p2", "ys", "yz"], ["y2"]),
    ]
    model.graph.node.extend(again)
    model.graph.output.append(helper.make_tensor_value_info("y2", TensorProto.UINT8, None))
    operators, _ = fused(ir.from_proto(model), registry)
    assert operators == ["QLinearMatMul", "QLinearMatMul"]


def pooled(opset: int = 21, outputs: int = 1, **changes: object) -> ir.Model:
    """Q(MaxPool(DQ(x))), with `changes` of the scales and zero points."""
    kept = {"s": np.float32(SCALE), "z": np.uint8(3), "ys": np.float32(SCALE), "yz": np.uint8(3)} | changes
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["dx"]),
        helper.make_node("MaxPool", ["dx"], ["p", "at"][:outputs], kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["p", "ys", "yz"], ["y"]),
    ]
    made = helper.make_graph(
        nodes,
        "pooled",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 4, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)]
        + [helper.make_tensor_value_info("at", TensorProto.INT64, None)] * (outputs - 1),
        [numpy_helper.from_array(np.asarray(a), n) for n, a in kept.items()],
    )
    return ir.from_proto(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    )


@pytest.mark.parametrize("opset", [11, 13, 21])
def test_the_maximum_of_quantised_elements_is_one_of_integers(opset: int, registry: Registry) -> None:
    assert fused(pooled(opset), registry) == (["MaxPool"], [])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ys": np.float32(0.1)}, "it is quantised otherwise behind"),
        ({"outputs": 2}, "its intermediate value 'at' is used elsewhere"),
        ({"s": np.float32(-1), "ys": np.float32(-1)}, "its scale is not known to be positive"),
    ],
)
def test_other_maxima_stay_floats(changes: dict[str, object], reason: str, registry: Registry) -> None:
    operators, reasons = fused(pooled(**changes), registry)
    assert operators == ["DequantizeLinear", "MaxPool", "QuantizeLinear"]
    assert reasons == [reason]


@pytest.mark.parametrize(
    ("op", "dims", "folded"),
    [("Add", (3,), True), ("Mul", (4, 1, 1), True), ("Add", (4, 3, 1), False), ("MatMul", (3, 1), False)],
)
def test_constants_of_one_axis_become_floats(op: str, dims: tuple[int, ...], folded: bool) -> None:
    rng = np.random.default_rng(2)
    constants = {
        "w": rng.integers(-99, 99, dims).astype(np.int32), "s": np.float32(0.03), "z": np.int32(0),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"]),
        helper.make_node(op, ["x", "d"], ["y"]),
    ]
    made = helper.make_graph(
        nodes,
        "constants",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    model = ir.from_proto(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)]))
    run_passes(model)
    operand = next(n for n in model.graph if n.op_type == op).inputs[1]
    assert operand is not None
    assert operand.is_initializer() == folded
    if folded:
        assert operand.const_value is not None
        np.testing.assert_array_equal(
            operand.const_value.numpy(), constants["w"].astype(np.float32) * constants["s"]
        )
