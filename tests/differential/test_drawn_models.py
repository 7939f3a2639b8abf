"""Whole models that are drawn, in bundles of all passes, of none, and without one, beside onnxruntime.

`tools/fuzz_models` runs more of them.
"""

from __future__ import annotations

import random
from unittest import mock

import numpy as np
import pytest
from model_fuzzing import checking
from model_fuzzing.checking import PASSES, Difference, checked, differences, smallest
from model_fuzzing.growing import Graph
from model_fuzzing.models import drawn_model
from model_fuzzing.saving import faults_of_levels, saved
from onnx import helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 600), marks=pytest.mark.slow)])
def test_what_onnxruntime_computes(seeds: range) -> None:
    ran = 0
    for seed in seeds:
        model = drawn_model(seed)
        if not model.outputs or checked(model) is None:
            continue
        ran += 1
        found = differences(model, [PASSES, (random.Random(seed).choice(PASSES),)])
        assert found is None, f"seed {seed}: {found}"
    assert ran > len(seeds) * 0.9


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 200), marks=pytest.mark.slow)])
def test_what_the_optimizer_saved(seeds: range) -> None:
    said = {seed: faults_of_levels(drawn_model(seed)) for seed in seeds}
    assert {seed: s for seed, s in said.items() if s not in ("", "-")} == {}
    assert sum(s == "" for s in said.values()) > len(seeds) * 0.7


def test_saved_for_one_cpu() -> None:
    """A convolution in blocks of channels is refused, with the way out."""
    weights = numpy_helper.from_array(np.ones((16, 16, 3, 3), np.float32), "w")
    values = [helper.make_tensor_value_info(n, 1, [1, 16, None, None]) for n in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])], "g", values[:1], values[1:], [weights]
    )
    model = saved(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "all")
    if not any(node.domain == "com.microsoft.nchwc" for node in model.graph.node):
        pytest.skip("onnxruntime writes no blocks on this CPU")
    with pytest.raises(AscendError, match="save it again at ORT_ENABLE_EXTENDED") as caught:
        convert(model)
    assert "custom_op_info" not in str(caught.value)


@pytest.mark.parametrize(("start", "end", "step"), [(-1, -(2**63), -(2**63)), (0, 9, 2**63 - 1)])
def test_steps_beyond_any_size(start: int, end: int, step: int) -> None:
    """With a free size they are part of a formula."""
    values = [helper.make_tensor_value_info("x", 1, ["n"]), helper.make_tensor_value_info("y", 1, [None])]
    bounds = {"start": [start], "end": [end], "axes": [0], "step": [step]}
    constants = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in bounds.items()]
    node = helper.make_node("Slice", ["x", *bounds], ["y"])
    graph = helper.make_graph([node], "g", values[:1], values[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.arange(5, dtype=np.float32)
    (got,) = ascend_ep.InferenceSession(convert(model, checking.OPTIONS).to_bytes()).run(None, {"x": x})
    assert got.tolist() == [x[start]]


@pytest.mark.parametrize("axis", [0, 2])
def test_the_places_of_nothing(axis: int) -> None:
    """Along an empty axis, where another empty one leaves nothing to tell."""
    given = [helper.make_tensor_value_info("x", 1, [0, 2, 0, 7])]
    made = [helper.make_tensor_value_info("y", 7, None)]
    graph = helper.make_graph([helper.make_node("ArgMin", ["x"], ["y"], axis=axis)], "g", given, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    bundle = convert(model, checking.OPTIONS).to_bytes()
    (got,) = ascend_ep.InferenceSession(bundle).run(None, {"x": np.zeros((0, 2, 0, 7), np.float32)})
    assert got.shape == ((1, 2, 0, 7) if axis == 0 else (0, 2, 1, 7))


def test_the_smallest_part_is_found() -> None:
    """Of a model whose Tanh is wrong, in onnxruntime's own eyes, the Tanh alone is left."""
    model = next(
        m for m in map(drawn_model, range(200)) if len(m.nodes) > 8 and _has(m.nodes, "Softmax") == 1
    )

    def wrong(part: object, off: object = ()) -> str:
        return "wrong" if _has(part.nodes, "Softmax") else ""  # type: ignore[attr-defined]

    with mock.patch.object(checking, "checked", wrong):
        found = smallest(model)
    assert isinstance(found, Difference)
    assert [n.op_type for n in found.drawn.nodes] == ["Softmax"]
    assert "Softmax" in str(found)


def _has(nodes: list[helper.onnx.NodeProto], op_type: str) -> int:
    return sum(n.op_type == op_type for n in nodes)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        (-3, -(2**62), -1),
        (-3, -(2**62), -2),
        (-3, -3, -1),
        (-9, 1, 1),
        (5, -9, -1),
        (9, 0, -1),
        (-3, -(2**62), -(2**63)),
        (9, 2**63 - 1, -1),
        (-1, 2**31 - 1, -(2**63)),
        (1, 2**63 - 2, 2**63 - 1),
    ],
)
@pytest.mark.parametrize("known", ["all", "bounds", "none"])
def test_slices_that_begin_before_the_first(start: int, end: int, step: int, known: str) -> None:
    """Backwards from before the first element, ONNX takes the first, and NumPy none."""
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    bounds = {n: np.array([v]) for n, v in zip("seat", (start, end, 0, step), strict=True)}
    node = helper.make_node("Slice", ["x", *"seat"], ["y"])
    constants = {} if known == "none" else bounds if known == "bounds" else {**bounds, "x": x}
    feeds = {n: v for n, v in {**bounds, "x": x}.items() if n not in constants}
    for free in ("none", "each"):
        made = checking.Drawn([node], {}, constants, feeds, ["y"], 17, free)
        assert checked(made) == ""


@pytest.mark.parametrize(
    ("size", "start", "made"), [(4, -9, [0]), (4, -5, [0]), (4, 9, [3, 2, 1, 0]), (0, -3, [])]
)
def test_bounds_of_the_run_cut_what_the_model_declares(
    size: int, start: int, made: list[int], recwarn: pytest.WarningsRecorder
) -> None:
    """The kernel that reads its bounds takes the first element, too, and says nothing of contradictions."""
    node = helper.make_node("Slice", ["x", "start", "end", "", "step"], ["y"])
    given = {"x": (1, [size])} | {n: (7, [1]) for n in ("start", "end", "step")}
    inputs = [helper.make_tensor_value_info(n, *s) for n, s in given.items()]
    outputs = [helper.make_tensor_value_info("y", 1, [len(made)])]
    graph = helper.make_graph([node], "cut", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    bounds = {"start": np.array([start]), "end": np.array([-(2**62)]), "step": np.array([-1])}
    feeds = {"x": np.arange(size, dtype=np.float32)} | bounds
    (got,) = ascend_ep.InferenceSession(convert(model, checking.OPTIONS).to_bytes()).run(None, feeds)
    assert got.tolist() == made
    assert [w for w in recwarn if "slice" in str(w.message)] == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("opset", [11, 16, 17, 23])
@pytest.mark.parametrize("outputs", [1, 3])
def test_layer_norms_before_their_opset(opset: int, outputs: int) -> None:
    """onnxruntime has it in ONNX's domain at every operator set, and its optimizer writes it."""
    rng = np.random.default_rng(opset)
    x, scale, bias = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 8), 8, 8))
    names = ["y", "mean", "deviation"][:outputs]
    node = helper.make_node("LayerNormalization", ["x", "scale", "bias"], names, axis=-1)
    made = checking.Drawn([node], {}, {"scale": scale, "bias": bias}, {"x": x}, names, opset, "each")
    assert checked(made) == ""


def test_a_refused_node_is_no_part_of_the_model() -> None:
    from model_fuzzing.draw import Draw

    graph = Graph(Draw(1), 17)
    graph.values["x"] = np.ones((2, 3), np.float32)
    assert graph.add("MatMul", ["x", "x"]) is None
    assert graph.nodes == []
    assert graph.add("Add", ["x", "x"]) is not None
