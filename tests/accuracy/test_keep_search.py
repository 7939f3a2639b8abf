"""Models that float16 breaks, the search that mends them, and its lists: minimal, entry by entry.

They are attention whose logits overflow before they are capped, a variance of large activations, a long sum,
and the BERT of models/, which wasn't made for this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.accuracy.keep_search import Accuracy, Trials, measure_outputs, shortest_list
from ascend_ep.accuracy.node_errors import Measure, NodeErrors
from ascend_ep.cli import atc, om
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.session_apart import SessionApart

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

import bert

Arrays = dict[str, NDArray[Any]]


def model_of(nodes: list[onnx.NodeProto], inputs: dict[str, list[int]], **constants: Any) -> onnx.ModelProto:
    """Nodes are called after their first output; the last one's is the model's."""
    for node in nodes:
        node.name = node.output[0]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in inputs.items()]
    out = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    weights = [
        numpy_helper.from_array(np.asarray(a) if np.asarray(a).dtype.kind == "i" else np.float32(a), n)
        for n, a in constants.items()
    ]
    graph = helper.make_graph(nodes, "fails", infos, [out], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def capped_attention() -> tuple[onnx.ModelProto, Arrays]:
    """softmax(cap tanh(q k / cap)) v: logits of some 1e5 become 30 at most, if they don't overflow first."""
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["logits"]),
        helper.make_node("Div", ["logits", "wide"], ["scaled"]),
        helper.make_node("Tanh", ["scaled"], ["squashed"]),
        helper.make_node("Mul", ["squashed", "cap"], ["capped"]),
        helper.make_node("Softmax", ["capped"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "v"], ["mixed"]),
    ]
    random = np.random.default_rng(3)
    feeds = {
        n: (random.standard_normal(d) * s).astype(np.float32)
        for n, d, s in (("q", (12, 64), 120.0), ("k", (64, 12), 120.0), ("v", (12, 64), 1.0))
    }
    model = model_of(nodes, {n: list(a.shape) for n, a in feeds.items()}, wide=1e5, cap=3.0)
    return model, feeds


def large_variance() -> tuple[onnx.ModelProto, Arrays]:
    """Normalisation over channels, written out: squares of some 1e3 overflow, their mean is a divisor."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1]),
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Mul", ["centred", "centred"], ["squares"]),
        helper.make_node("ReduceMean", ["squares"], ["variance"], axes=[1]),
        helper.make_node("Sqrt", ["variance"], ["deviation"]),
        helper.make_node("Div", ["centred", "deviation"], ["normal"]),
        helper.make_node("Relu", ["normal"], ["y"]),
    ]
    x = (np.random.default_rng(4).standard_normal((2, 16, 9)) * 1e3).astype(np.float32)
    return model_of(nodes, {"x": list(x.shape)}), {"x": x}


def long_sum() -> tuple[onnx.ModelProto, Arrays]:
    """A mean taken as a sum of 200000 numbers near 1, and then a division."""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["positive"]),
        helper.make_node("ReduceSum", ["positive", "axes"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "part"], ["mean"]),
        helper.make_node("Sub", ["positive", "mean"], ["y"]),
    ]
    x = (np.random.default_rng(5).standard_normal((1, 200_000)) + 1).astype(np.float32)
    return model_of(nodes, {"x": list(x.shape)}, part=1 / 200_000, axes=np.array([1])), {"x": x}


def small_bert() -> tuple[onnx.ModelProto, Arrays]:
    return bert.build("tiny"), bert.sample_inputs("tiny")


@dataclass(frozen=True)
class Failing:
    """`known`: the list to be found, where it is evident."""

    build: Callable[[], tuple[onnx.ModelProto, Arrays]]
    accuracy: str
    known: tuple[str, ...] = ()
    clip_weights: bool = True


CASES = {
    "capped_attention": Failing(capped_attention, "1e-2", ("logits", "scaled")),
    "large_variance": Failing(large_variance, "1e-2", ("squares", "variance", "deviation")),
    "long_sum": Failing(long_sum, "rms=1e-2", ("sum", "mean")),
    # its mask multiplies the least float32 by 0: NaN where that number has become infinite
    "bert_mask": Failing(small_bert, "1e-2", ("/Mul",), clip_weights=False),
    # nothing overflows; rounding adds up
    "bert_rounding": Failing(small_bert, "1e-3"),
}


@pytest.mark.parametrize(
    "case", [pytest.param(n, marks=pytest.mark.slow) if n == "bert_rounding" else n for n in CASES]
)
def test_the_search_restores_the_accuracy_with_a_minimal_list(case: str) -> None:
    failing = CASES[case]
    (model, feeds), text, known = failing.build(), failing.accuracy, failing.known
    accuracy, registry = Accuracy.parse(text), Registry.from_options()
    options = ConvertOptions(
        precision="force_fp16", clip_weights=failing.clip_weights, codegen="off", sample_seed=None
    )
    expected = reference_run(model, feeds, registry)
    session = SessionApart(convert(model, options).to_bytes())
    assert not all(accuracy.holds(m) for m in measure_outputs(session, feeds, expected).values())

    errors = NodeErrors(model, options, feeds, registry).found()
    names = list(dict.fromkeys(e.name for e in errors if e.changed))
    search = Trials(model, options, feeds, expected, accuracy)
    kept = shortest_list(names, search.hold, lambda text: None)
    assert kept
    if known:
        assert set(kept) == set(known)
    afresh = Trials(model, options, feeds, expected, accuracy)
    assert afresh.hold(kept)
    for name in kept:
        assert not afresh.hold([k for k in kept if k != name]), f"{name} could have been left out"


def test_error_is_shown_where_it_enters() -> None:
    model, feeds = large_variance()
    options = ConvertOptions(precision="force_fp16", codegen="off")
    errors = NodeErrors(model, options, feeds, Registry.from_options()).found()
    assert errors[0].name == "squares"  # the first to overflow, whatever comes of it
    by_name = {e.name: e for e in errors}
    assert by_name["squares"].own.relative == np.inf
    assert by_name["normal"].total.relative == 1.0  # something over infinity
    assert by_name["normal"].own.relative < 1e-3
    assert by_name["deviation"].own.relative < 1e-3
    assert by_name["y"].own.relative == 0.0  # Relu rounds nothing
    assert by_name["mean"].total.relative < 1e-3


@pytest.mark.parametrize(
    ("got", "wanted", "dtype", "measure"),
    [
        ([1.0, 2.0], [1.0, 2.0], 10, Measure(1.0, 0.0, 0.0, 0.0)),
        ([np.inf, 2.0], [1.0, 2.0], 10, Measure(0.0, np.inf, np.inf, np.inf)),
        ([np.inf, 3.0], [np.inf, 2.0], 10, Measure(1.0, 0.5, 0.5, 512.0)),
        ([1.0 + 2**-10], [1.0], 10, Measure(1.0, 2**-10, 2**-10, 1.0)),
        ([1.0 + 2**-7], [1.0], 16, Measure(1.0, 2**-7, 2**-7, 1.0)),
        ([2.0**-24, 1.0], [0.0, 1.0], 10, Measure(1.0, 2**-24, 2**-24, 1.0)),
        ([1.0], [0.0], 1, Measure(0.0, np.inf, np.inf, 2.0**149)),
    ],
)
def test_measures(got: list[float], wanted: list[float], dtype: int, measure: Measure) -> None:
    found = Measure.of(np.array(got), np.array(wanted), dtype)
    assert (found.relative, found.rms, found.ulp) == (measure.relative, measure.rms, measure.ulp)
    assert found.cosine == pytest.approx(measure.cosine)


def test_a_list_that_cannot_be_is_said() -> None:
    with pytest.raises(AscendError, match="not even all 2 nodes") as caught:
        shortest_list(["a", "b"], lambda kept: False, lambda text: None)
    assert caught.value.code == "E41023"
    assert shortest_list(["a", "b"], lambda kept: True, lambda text: None) == []


@pytest.mark.parametrize("needed", [{"c"}, {"a", "f"}, {"b", "c", "g"}, {"a", "b", "c", "d", "e", "f", "g"}])
def test_the_search_finds_what_is_needed(needed: set[str]) -> None:
    assert set(shortest_list("abcdefg", lambda kept: needed <= set(kept), lambda text: None)) == needed


@pytest.mark.parametrize("text", ["", "x", "0", "2", "rms=", "ulp=1", "cosine=-1"])
def test_an_accuracy_that_is_none(text: str) -> None:
    with pytest.raises(AscendError, match="is no accuracy"):
        Accuracy.parse(text)


def test_the_commands_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """atc, diff with a proposal, and atc with the file it wrote: the same bundle as diff converted itself."""
    model, feeds = large_variance()
    onnx.save(model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", feeds["x"])
    words = [f"--model={tmp_path / 'm.onnx'}", "--framework=5", "--soc_version=Ascend910B3"]
    assert atc.main([*words, f"--output={tmp_path / 'm'}"]) == 0
    compared = ["diff", str(tmp_path / "m.onnx"), str(tmp_path / "m.om"), f"--input=x={tmp_path / 'x.npy'}"]
    capsys.readouterr()
    assert om.main([*compared, "--per-node"]) == 1
    assert "FAIL: relative at most 0.001" in capsys.readouterr().out
    listed = tmp_path / "keep.txt"
    assert om.main([*compared, f"--propose_keep_dtype={listed}", "--accuracy=1e-2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert listed.read_text().split() == found["keep_dtype"]
    assert found["nodes"][0]["own"]["relative"] is None  # infinite
    assert atc.main([*words, f"--output={tmp_path / 'again'}", f"--keep_dtype={listed}"]) == 0
    runs = [
        ascend_ep.InferenceSession(p).run(None, feeds)[0] for p in (tmp_path / "again.om", found["bundle"])
    ]
    np.testing.assert_array_equal(*runs)
    again = ["diff", str(tmp_path / "m.onnx"), str(tmp_path / "again.om"), f"--input=x={tmp_path / 'x.npy'}"]
    assert om.main([*again, "--per-node", "--accuracy=1e-2"]) == 0


def test_bfloat16_products_can_be_kept_too() -> None:
    """Both products round their operands; only both kept give float32's accuracy."""
    random = np.random.default_rng(6)
    weights = {n: random.standard_normal((32, 32)) / 6 for n in ("w1", "w2")}
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["first"]),
        helper.make_node("Relu", ["first"], ["positive"]),
        helper.make_node("MatMul", ["positive", "w2"], ["second"]),
    ]
    model, feeds = model_of(nodes, {"x": [4, 32]}, **weights), {"x": random.standard_normal((4, 32))}
    feeds = {"x": feeds["x"].astype(np.float32)}
    registry = Registry.from_options()
    options = ConvertOptions(precision="mixed_bfloat16", codegen="off")
    errors = NodeErrors(model, options, feeds, registry).found()
    names = [e.name for e in errors if e.changed]
    assert set(names) == {"first", "second"}
    assert all(1e-4 < e.own.relative < 2e-2 for e in errors if e.changed)
    trials = Trials(model, options, feeds, reference_run(model, feeds, registry), Accuracy.parse("1e-5"))
    assert set(shortest_list(names, trials.hold, lambda text: None)) == {"first", "second"}
