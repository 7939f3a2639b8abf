"""Passes keep results and do what they say."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from simplified_models import build, node, ops, simplified

from ascend_ep.errors import AscendError
from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.passes.contract import run_in_order, verify
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.registry import Registry


def test_a_choice_that_is_made_already(registry: Registry) -> None:
    """A constant condition, the same throughout; not one that differs, nor a choice that is broadcast."""
    nodes = [
        node("Where", ["yes", "x", "zero"], ["a"]),
        node("Where", ["no", "zero", "a"], ["b"]),
        node("Where", ["some", "b", "zero"], ["c"]),
        node("Where", ["wide", "c", "zero"], ["y"]),
    ]
    constants = {
        "yes": np.ones((3, 1), bool), "no": np.zeros(1, bool), "some": np.array([True, False, True, True]),
        "wide": np.ones((2, 1, 1), bool), "zero": np.zeros(1, np.float32),
    }  # fmt: skip
    made = simplified(build(nodes, {"x": [3, 4]}, ["y"], constants), registry, x=(3, 4))
    assert ops(made) == {"Where": 2}


def test_chains_of_layout_operators(registry: Registry) -> None:
    nodes = [
        node("Transpose", ["x"], ["a"], perm=[1, 0, 2]),
        node("Transpose", ["a"], ["b"], perm=[1, 0, 2]),
        node("Identity", ["b"], ["c"]),
        node("Reshape", ["c", "flat"], ["d"]),
        node("Reshape", ["d", "split"], ["e"]),
        node("Cast", ["e"], ["f"], to=TensorProto.FLOAT),
        node("Dropout", ["f"], ["h"]),
        node("Relu", ["h"], ["y"]),
    ]
    constants = {"flat": np.array([-1], np.int64), "split": np.array([4, -1], np.int64)}
    model = simplified(build(nodes, {"x": ["N", 4, 6]}, ["y"], constants), registry, x=(2, 4, 6))
    assert ops(model) == {"Reshape": 1, "Relu": 1}


def test_outputs_keep_their_names(registry: Registry) -> None:
    """Identities of inputs, of initializers and of other outputs; an identity that can be dropped."""
    nodes = [
        node("Identity", ["x"], ["y0"]),
        node("Identity", ["w"], ["y1"]),
        node("Relu", ["x"], ["y2"]),
        node("Identity", ["y2"], ["y3"]),
        node("Neg", ["x"], ["n"]),
        node("Identity", ["n"], ["y4"]),
    ]
    proto = build(nodes, {"x": [3]}, ["y0", "y1", "y2", "y3", "y4"], {"w": np.ones(2, np.float32)})
    model = simplified(proto, registry, x=(3,))
    assert ops(model) == {"Identity": 3, "Relu": 1, "Neg": 1}


def test_shape_arithmetic_folds_when_static(registry: Registry) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Concat", ["n1", "minus"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": np.array(0), "axis": np.array([0]), "minus": np.array([-1])}
    model = simplified(build(nodes, {"x": [2, 3, 4]}, ["y"], constants), registry, x=(2, 3, 4))
    assert ops(model) == {"Reshape": 1}
    model = simplified(build(nodes, {"x": ["N", 3, 4]}, ["y"], constants), registry, x=(5, 3, 4))
    assert ops(model) == {"Reshape": 1}
    target = model.graph[0].inputs[1]
    assert target is not None
    assert target.const_value is not None
    assert target.const_value.numpy().tolist() == [0, 12]


@pytest.mark.parametrize("op", ["Slice", "Pad", "Expand", "Tile", "Concat"])
def test_no_ops_of_every_kind(op: str, registry: Registry) -> None:
    zero, two = np.zeros(4, np.int64), np.array([1, 1])
    operands = {
        "Slice": {"a": np.array([0]), "b": np.array([2**63 - 1])},
        "Pad": {"a": zero},
        "Expand": {"a": two},
        "Tile": {"a": two},
        "Concat": {},
    }[op]
    attributes = {"axis": 1} if op == "Concat" else {}
    nodes = [node(op, ["x", *operands], ["a1"], **attributes), node("Relu", ["a1"], ["y"])]
    model = simplified(build(nodes, {"x": ["N", 4]}, ["y"], operands), registry, x=(3, 4))
    assert ops(model) == {"Relu": 1}


def test_what_only_looks_like_a_no_op_stays(registry: Registry) -> None:
    """A reversing Slice and a shifting Pad keep the dims but not the elements."""
    constants = {
        "start": np.array([-1]), "end": np.array([-(2**31)]), "axis": np.array([0]), "step": np.array([-1]),
        "pads": np.array([1, 0, -1, 0]),
    }  # fmt: skip
    nodes = [node("Slice", ["x", "start", "end", "axis", "step"], ["a"]), node("Pad", ["a", "pads"], ["y"])]
    model = simplified(build(nodes, {"x": [3, 2]}, ["y"], constants), registry, x=(3, 2))
    assert ops(model) == {"Slice": 1, "Pad": 1}


def test_batch_norm_folds_into_convolution(registry: Registry) -> None:
    random = np.random.default_rng(1)
    constants = {
        "w": random.standard_normal((6, 2, 3, 3)),
        **{name: random.standard_normal(6) for name in ("b", "scale", "shift", "mean")},
        "var": random.uniform(0.1, 2, 6),
    }
    constants = {k: v.astype(np.float32) for k, v in constants.items()}
    norm = ["scale", "shift", "mean", "var"]
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], group=2, kernel_shape=[3, 3]),
        node("BatchNormalization", ["c", *norm], ["d"]),
        node("Conv", ["x", "w"], ["e"], group=2, pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["e", *norm], ["y1"], epsilon=0.5),
        node("Relu", ["d"], ["y0"]),
    ]
    proto = build(nodes, {"x": ["N", 4, 7, 7]}, ["y0", "y1"], constants)
    assert ops(simplified(proto, registry, x=(2, 4, 7, 7))) == {"Conv": 2, "Relu": 1}


@pytest.mark.parametrize("group", [1, 2, 4])
def test_batch_norm_folds_into_transposed_convolution(registry: Registry, group: int) -> None:
    random = np.random.default_rng(1)
    constants = {
        "w": random.standard_normal((4, 6 // group if group < 4 else 3, 3, 2)),
        "scale": random.standard_normal(6 if group < 4 else 12),
    }
    outputs = len(constants["scale"])
    constants |= {name: random.standard_normal(outputs) for name in ("b", "shift", "mean")}
    constants["var"] = random.uniform(0.1, 2, outputs)
    constants = {k: v.astype(np.float32) for k, v in constants.items()}
    for bias in (["b"], []):
        nodes = [
            node("ConvTranspose", ["x", "w", *bias], ["c"], group=group, strides=[2, 1]),
            node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["y"]),
        ]
        proto = build(nodes, {"x": ["N", 4, 5, 6]}, ["y"], constants)
        assert ops(simplified(proto, registry, x=(2, 4, 5, 6))) == {"ConvTranspose": 1}


def test_batch_norm_of_a_shared_convolution_stays(registry: Registry) -> None:
    constants = {k: np.ones(2, np.float32) for k in ("s", "b", "m", "v")} | {
        "w": np.ones((2, 1, 1, 1), np.float32)
    }
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
        node("Relu", ["c"], ["z"]),
    ]
    model = simplified(build(nodes, {"x": [1, 1, 2, 2]}, ["y", "z"], constants), registry, x=(1, 1, 2, 2))
    assert ops(model)["BatchNormalization"] == 1


def test_equal_nodes_merge_and_dead_ones_go(registry: Registry) -> None:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Relu", ["x"], ["b"]),
        node("Add", ["a", "b"], ["y"]),
        node("Exp", ["x"], ["dead"]),
    ]
    assert ops(simplified(build(nodes, {"x": [3]}, ["y"]), registry, x=(3,))) == {"Relu": 1, "Add": 1}


def test_large_results_are_not_folded(registry: Registry) -> None:
    nodes = [node("ConstantOfShape", ["shape"], ["c"]), node("Add", ["x", "c"], ["y"])]
    model = simplified(build(nodes, {"x": [1]}, ["y"], {"shape": np.array([1024, 513])}), registry, x=(1,))
    assert ops(model)["ConstantOfShape"] == 1
    model = simplified(build(nodes, {"x": [1]}, ["y"], {"shape": np.array([1024, 256])}), registry, x=(1,))
    assert ops(model) == {"Add": 1}


def local_functions() -> onnx.ModelProto:
    """Square and SiLU of domain "local", both with a body that squares: no SiLU that a library knows."""
    body = [node("Mul", ["a", "a"], ["s"]), node("Relu", ["s"], ["r"])]
    opsets = [helper.make_opsetid("", 17)]
    proto = build(
        [node("Square", ["x"], ["t"], domain="local"), node("SiLU", ["t"], ["y"], domain="local")],
        {"x": [3]},
        ["y"],
    )
    proto.functions.extend(
        helper.make_function("local", name, ["a"], ["r"], body, opsets) for name in ("Square", "SiLU")
    )
    proto.opset_import.append(helper.make_opsetid("local", 1))
    return proto


def test_functions_are_inlined_whatever_built_in_operators_are_called(registry: Registry) -> None:
    proto = local_functions()
    own = registry.beside([(f.domain, f.name) for f in proto.functions])
    assert ops(simplified(proto, own, x=(3,))) == {"Mul": 2, "Relu": 2}


def test_functions_that_the_user_defines_stay_calls() -> None:
    proto = local_functions()
    given = parse_definitions(
        '{"op": "SiLU", "inputs": [{"name": "x", "type": "float32"}],'
        ' "outputs": [{"name": "y", "type": "float32"}], "formula": "y = x*x"}'
    )
    own = Registry(definitions=given).beside([(f.domain, f.name) for f in proto.functions])
    assert ops(simplified(proto, own, x=(3,))) == {"Mul": 1, "Relu": 1, "SiLU": 1}


def test_recursive_functions_are_refused(registry: Registry) -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    body = [node("Loop1", ["a"], ["r"], domain="local")]
    proto = build([node("Loop1", ["x"], ["y"], domain="local")], {"x": [3]}, ["y"])
    proto.functions.append(helper.make_function("local", "Loop1", ["a"], ["r"], body, opsets))
    proto.opset_import.append(helper.make_opsetid("local", 1))
    with pytest.raises(AscendError, match="E10041"):
        run_passes(load_model(proto), registry)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_folding_of_onnx_node_cases(registry: Registry) -> None:
    """With all inputs constant, what folds has exactly the expected results."""
    folded = 0
    for case in collect_testcases(None):
        feeds, expected = case.data_sets[0]
        proto = onnx.ModelProto()
        proto.CopyFrom(case.model)
        plain = all(isinstance(a, np.ndarray) and a.dtype.kind in "fiub" for a in (*feeds, *expected))
        if len(proto.graph.node) != 1 or not plain or len(feeds) != len(proto.graph.input):
            continue
        if any(o.version < 7 for o in proto.opset_import) or any(o.domain for o in proto.opset_import):
            continue
        for info, array in zip(proto.graph.input, feeds, strict=True):
            proto.graph.initializer.append(numpy_helper.from_array(array, info.name))
        del proto.graph.input[:]
        names = [o.name for o in proto.graph.output]
        for name in names:
            proto.graph.node.append(node("Identity", [name], [f"{name}.out"]))
        del proto.graph.output[:]
        proto.graph.output.extend(helper.make_empty_tensor_value_info(f"{n}.out") for n in names)
        model = run_passes(load_model(proto), registry)
        if set(ops(model)) != {"Identity"}:
            continue
        folded += 1
        for output, wanted in zip(model.graph.outputs, expected, strict=True):
            producer = output.producer()
            assert producer is not None
            source = producer.inputs[0]
            assert source is not None
            assert source.const_value is not None
            array = source.const_value.numpy()
            assert array.dtype == wanted.dtype, case.name
            np.testing.assert_allclose(array, wanted, rtol=1e-3, atol=1e-5, err_msg=case.name)
    assert folded > 700


class Breaks(ir.passes.InPlacePass):
    def call(self, model: ir.Model) -> ir.passes.PassResult:
        model.graph[0].outputs[0].name = model.graph[1].outputs[0].name
        return ir.passes.PassResult(model, True)


def test_an_illegal_graph_names_the_pass(registry: Registry) -> None:
    model = load_model(build([node("Relu", ["x"], ["a"]), node("Exp", ["a"], ["y"])], {"x": [3]}, ["y"]))
    verify(model, "now")
    with pytest.raises(AscendError, match="after pass Breaks"):
        run_in_order(model, [Breaks()])
