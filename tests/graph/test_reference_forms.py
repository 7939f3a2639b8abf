"""What onnx.reference evaluates in some forms only, or not at all, in our reference beside onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper

from ascend_ep.graph.reference import reference_run


def beside_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> None:
    """The reference gives what onnxruntime's CPU provider does, of its shape, within float32 rounding."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for ours, theirs in zip(reference_run(model, feeds).values(), session.run(None, feeds), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


X = np.random.default_rng(3).standard_normal((2, 3, 20)).astype(np.float32)
#: Operators of which onnx.reference runs some forms only: the node's inputs, and its attributes.
FORMS: dict[str, tuple[str, dict[str, np.ndarray], dict[str, object]]] = {
    "fewer places": ("GatherElements", {"x": X, "i": np.array([[[3, 0]]], np.int64)}, {"axis": -1}),
    "one dim": ("GlobalMaxPool", {"x": X}, {}),
    "depth of one element": (
        "OneHot",
        {"i": np.array([0, -1, 7, -9], np.int64), "n": np.array([4], np.int64), "v": X[0, 0, :2]},
        {},
    ),
    "bounds of one element": (
        "Range",
        {n: np.array([v], np.float32) for n, v in {"a": 0, "b": 5, "c": 2}.items()},
        {},
    ),
    "frames of the window": (
        "STFT",
        {"x": X[0], "step": np.array(3, np.int64), "window": np.hanning(8).astype(np.float32)},
        {},
    ),
    "all bins": (
        "STFT",
        {"x": X[0, :, :, None], "step": np.array(4, np.int64), "": X, "n": np.array(5, np.int64)},
        {"onesided": 0},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_that_onnx_leaves_out(form: str) -> None:
    op, inputs, attributes = FORMS[form]
    graph = helper.make_graph(
        [helper.make_node(op, list(inputs), ["y"], **attributes)],
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in inputs.items()
            if name
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    beside_onnxruntime(model, {name: array for name, array in inputs.items() if name})


def test_what_is_in_an_optional() -> None:
    """onnx.reference gives a list of it."""
    text = """<ir_version: 9, opset_import: ["" : 18]> agraph
              (float[2,3,20] x) => (float[2,3,20] y, bool given) {
              held = Optional(x) y = OptionalGetElement(held) given = OptionalHasElement(held) }"""
    beside_onnxruntime(onnx.parser.parse_model(text), {"x": X})


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_loops_stack_what_they_give(trips: int) -> None:
    """Of any rank, along a new axis; the number of trips may be a tensor of one element."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["more"], ["on"]),
            helper.make_node("Add", ["a", "x"], ["b"]),
            helper.make_node("ReduceSum", ["b"], ["row"], keepdims=0),
            helper.make_node("Identity", ["b"], ["whole"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("more", TensorProto.BOOL, []),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [3, 2]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [3, 2]),
            helper.make_tensor_value_info("row", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("whole", TensorProto.FLOAT, [3, 2]),
        ],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["last", "rows", "wholes"], body=body)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2]),
            helper.make_tensor_value_info("n", TensorProto.INT64, [1]),
        ],
        [helper.make_empty_tensor_value_info(name) for name in ("last", "rows", "wholes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    beside_onnxruntime(model, {"x": X[0, :, :2], "n": np.array([trips], np.int64)})


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scans_along_any_axis(axis: int, backwards: int) -> None:
    shape = [d for i, d in enumerate(X.shape) if i != axis]
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "x"], ["b"]), helper.make_node("Neg", ["b"], ["y"])],
        "body",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "ax"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "by"],
    )
    chosen = {"scan_input_axes": [axis], "scan_output_axes": [2 - axis]}
    chosen |= {"scan_input_directions": [backwards], "scan_output_directions": [1 - backwards]}
    node = helper.make_node("Scan", ["a", "x"], ["last", "y"], body=body, num_scan_inputs=1, **chosen)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape),
        ],
        [helper.make_empty_tensor_value_info(name) for name in ("last", "y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    beside_onnxruntime(model, {"a": np.ones(shape, np.float32), "x": X})


#: Operators of com.microsoft on quantised tensors: the operands besides x, and attributes.
QUANTISED: dict[str, tuple[int, dict[str, object]]] = {
    "QLinearAdd": (2, {}),
    "QLinearMul": (2, {}),
    "QLinearSigmoid": (1, {}),
    "QLinearLeakyRelu": (1, {"alpha": 0.2}),
    "QLinearGlobalAveragePool": (1, {}),
    "QLinearAveragePool": (1, {"kernel_shape": [3], "pads": [1, 1]}),
    "QLinearSoftmax": (1, {"opset": 13, "axis": -1}),
    "QLinearConcat": (2, {"axis": 1}),
}


@pytest.mark.parametrize("op", QUANTISED)
def test_quantised_operators_of_onnxruntime(op: str) -> None:
    """Within the step that onnxruntime's float32 may round otherwise."""
    count, attributes = QUANTISED[op]
    x = np.random.default_rng(4).integers(0, 256, (2, 3, 9)).astype(np.uint8)
    scales = {"s0": np.float32(0.05), "s1": np.float32(0.03), "t": np.float32(0.04)}
    zeros = {"z0": np.uint8(120), "z1": np.uint8(3), "r": np.uint8(90)}
    operands = [name for i in range(count) for name in ("x", f"s{i}", f"z{i}")]
    concat = op == "QLinearConcat"
    node = helper.make_node(
        op,
        ["t", "r", *operands] if concat else [*operands, "t", "r"],
        ["y"],
        domain="com.microsoft",
        **attributes,
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(np.array(a), n) for n, a in {**scales, **zeros}.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ours, theirs = reference_run(model, {"x": x})["y"], session.run(None, {"x": x})[0]
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1
    assert len(np.unique(ours)) > 2


def test_functions_of_another_opset() -> None:
    body = [helper.make_node("Cast", ["x"], ["d"], to=11), helper.make_node("Cast", ["d"], ["y"], to=1)]
    function = helper.make_function("mine", "F", ["x"], ["y"], body, [helper.make_opsetid("", 13)])
    nodes = [helper.make_node("F", ["x"], ["h"], domain="mine"), helper.make_node("Neg", ["h"], ["z"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=9)
    beside_onnxruntime(model, {"x": X})
