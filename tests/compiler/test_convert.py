"""Conversion: partitions, the boundary of a model, unknown operators, options, checks of what was written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, INT64, WEIGHT, mixed, model, projection, swish, unknown

import ascend_ep
from ascend_ep.compiler.claims import Claims
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.self_check import check_against_reference
from ascend_ep.compiler.semantics import Semantics
from ascend_ep.errors import AscendError
from ascend_ep.graph.load import load_model
from ascend_ep.graph.reference import reference_run
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.plan import HostPartition, NativePartition
from ascend_ep.runtime.binding import open_model
from ascend_ep.runtime.bundle import Bundle


def run(source: onnx.ModelProto, feeds: dict[str, np.ndarray], **options: object) -> list[np.ndarray]:
    return ascend_ep.InferenceSession(convert(source, ConvertOptions(**options)).to_bytes()).run(None, feeds)  # type: ignore[arg-type]


def rows(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((n, 16)).astype(np.float32)


def test_a_custom_operator_end_to_end(tmp_path: Path) -> None:
    onnx.save(swish(), tmp_path / "m.onnx")
    conversion = convert(tmp_path / "m.onnx")
    (row,) = conversion.partition_table
    assert (row.target, row.op_type) == ("AscendEP", "Swish")
    assert "Swish.json" in row.definition
    conversion.write(tmp_path / "m.om")
    x = rows(5)
    (y,) = ascend_ep.InferenceSession(tmp_path / "m.om").run(None, {"x": x})
    wide = x.astype(np.float64)
    np.testing.assert_allclose(y, wide / (1 + np.exp(-1.5 * wide)), rtol=3e-7, atol=1e-12)


def test_partitions_of_a_mixed_model() -> None:
    conversion = convert(mixed())
    rows_of = {r.node: r for r in conversion.partition_table}
    assert rows_of["mm"].target == "AscendEP"
    assert rows_of["nz"].target == "CPU"
    assert rows_of["nz"].reason
    assert rows_of["size"].target == "AscendEP", "a shape is known as dims, even of data-dependent size"
    kinds = [type(p) for p in conversion.plan.partitions]
    assert kinds == [NativePartition, HostPartition, NativePartition, NativePartition]


def test_partitions_are_the_same_when_all_was_expected_to_run_natively() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Cos", ["r"], ["c"]),
        helper.make_node("Mod", ["c", "c"], ["m"], fmod=1),
        helper.make_node("ReverseSequence", ["m", "l"], ["y"]),
    ]
    lengths = {"l": np.array([2, 1], np.int64)}
    odd = model(nodes, [("x", FLOAT, [3, 2])], [("y", FLOAT, None)], lengths)
    wide = model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", 14, [2])], [("y", 14, None)])
    for source in (mixed(), odd, wide):
        tables = [
            convert(source, ConvertOptions(expect_native=expected)).partition_table
            for expected in (False, True)
        ]
        assert tables[0] == tables[1]


def test_a_symbol_that_only_an_earlier_input_has() -> None:
    """The second native partition computes with N, which none of its own inputs has as a dim."""
    source = model(
        [
            helper.make_node("NonZero", ["x"], ["nz"], "nz"),
            helper.make_node("Shape", ["x"], ["s"], "s"),
            helper.make_node("Gather", ["s", "zero"], ["n"], "n"),
            helper.make_node("Cast", ["n"], ["c"], "c", to=INT64),
            helper.make_node("Add", ["nz", "c"], ["y"], "add"),
        ],
        [("x", FLOAT, ["N", 16])],
        [("y", INT64, [2, "K"])],
        {"zero": np.array([0])},
    )
    x = rows(3)
    np.testing.assert_array_equal(run(source, {"x": x})[0], np.stack(np.nonzero(x)) + 3)


def test_unknown_operators_are_named_all_at_once() -> None:
    with pytest.raises(AscendError) as caught:
        convert(unknown())
    assert caught.value.code == "E19010"
    text = str(caught.value)
    assert "my::1::Foo" in text
    assert "my::1::Swsh" in text
    assert "near it: Swish" in text
    words = next(shlex.split(line) for line in caught.value.details if '{"op": "Foo"' in line)
    assert (words[0], *words[2:]) == ("echo", ">", "Foo.json")
    stub = json.loads(words[1])
    assert stub["attributes"] == [{"name": "alpha", "type": "float"}]


def test_a_defined_operator_with_types_nothing_runs() -> None:
    source = model(
        [helper.make_node("Swish", ["x"], ["y"], "sw", domain="my")],
        [("x", onnx.TensorProto.STRING, [2])],
        [("y", onnx.TensorProto.STRING, [2])],
    )
    with pytest.raises(AscendError) as caught:
        convert(source)
    assert caught.value.code in ("E20001", "E41011")


@pytest.mark.parametrize("name", ["m", "mm:0"])
def test_other_outputs(name: str) -> None:
    conversion = convert(projection(), ConvertOptions(out_nodes=[name]))
    assert [r.node for r in conversion.partition_table] == ["mm"]
    made = ascend_ep.InferenceSession(conversion.to_bytes())
    assert [o.name for o in made.get_outputs()] == ["m"]
    x = rows(2)
    np.testing.assert_allclose(made.run(None, {"x": x})[0], x @ WEIGHT, rtol=0, atol=1e-5)


def test_an_output_that_is_not_there() -> None:
    with pytest.raises(AscendError) as caught:
        convert(projection(), ConvertOptions(out_nodes=["nobody:0"]))
    assert caught.value.code == "E10016"


def test_outputs_of_another_type() -> None:
    x = rows(2)
    (y,) = run(projection(), {"x": x}, output_types={"": "FP16"})
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, (x @ WEIGHT).T, rtol=2e-3, atol=1e-3)


def test_input_shapes() -> None:
    made = ascend_ep.InferenceSession(
        convert(projection(), ConvertOptions(input_shapes={"x": [4, 16]})).to_bytes()
    )
    assert made.get_inputs()[0].shape == [4, 16]
    with pytest.raises(AscendError, match=r"\[4, 16\]"):
        made.run(None, {"x": rows(3)})


def test_boundaries_without_a_node_between() -> None:
    source = model(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Flatten", ["x"], ["z"])],
        [("x", FLOAT, ["N", 2]), ("unused", INT64, [1])],
        [("y", FLOAT, None), ("z", FLOAT, None), ("x", FLOAT, ["N", 2]), ("W", FLOAT, [16, 8])],
        {"W": WEIGHT},
    )
    x = rows(1).reshape(8, 2)
    y, z, again, w = run(source, {"x": x, "unused": np.array([3])})
    for made in (y, z, again):
        np.testing.assert_array_equal(made, x)
        assert not np.shares_memory(made, x)
    np.testing.assert_array_equal(w, WEIGHT)


def test_samples_are_what_the_bundle_computes(tmp_path: Path) -> None:
    path = tmp_path / "m.om"
    convert(projection()).write(path)
    stored = {e.name: a for e, a in Bundle(open_model(path)).samples()}
    expected = reference_run(projection(), {"x": stored["x"]})["y"]
    np.testing.assert_allclose(stored["y"], expected, rtol=1e-5, atol=1e-5)
    convert(projection(), ConvertOptions(sample_seed=None)).write(path)
    assert Bundle(open_model(path)).samples() == []


def test_a_wrong_kernel_is_found_by_the_self_check(monkeypatch: pytest.MonkeyPatch) -> None:
    conversion = convert(projection())
    insn = conversion.plan.partitions[0].insns[0]  # type: ignore[union-attr]
    insn.floats = (1.001, *insn.floats[1:])  # the factor of a matmul
    with pytest.raises(AscendError) as caught:
        conversion.to_bytes()
    assert caught.value.code == "E41020"


def test_a_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    conversion = convert(projection())
    insn = conversion.plan.partitions[0].insns[0]  # type: ignore[union-attr]
    insn.kernel = "no_such_kernel"
    with pytest.raises(AscendError) as caught:
        conversion.write(tmp_path / "m.om")
    assert caught.value.code == "E40006"
    assert list(tmp_path.iterdir()) == []


def test_every_step_can_be_read(tmp_path: Path) -> None:
    convert(projection(), ConvertOptions(dump=tmp_path))
    steps = {p.name.split("-", 1)[1]: p.read_text() for p in tmp_path.iterdir()}
    assert {"loaded.onnxtxt", "simplified.onnxtxt", "shapes.txt", "partitions.txt", "plan.txt"} <= set(steps)
    onnx.parser.parse_model(steps["loaded.onnxtxt"])
    assert "matmul(" in steps["plan.txt"]


def test_conversion_is_reproducible() -> None:
    assert convert(mixed()).to_bytes() == convert(mixed()).to_bytes()


def test_what_onnxruntime_refuses_fails_the_conversion() -> None:
    source = model(
        [helper.make_node("NonZero", ["x"], ["y"], "nz")],
        [("x", onnx.TensorProto.BFLOAT16, [2])],
        [("y", INT64, None)],
    )
    with pytest.raises(AscendError, match="onnxruntime refused") as caught:
        convert(source).to_bytes()
    assert caught.value.code == "E40006"


def test_an_output_that_is_an_input_of_unknown_rank() -> None:
    source = model([helper.make_node("Identity", ["x"], ["y"])], [("x", FLOAT, None)], [("x", FLOAT, None)])
    with pytest.raises(AscendError, match="no tensor of known rank") as caught:
        convert(source)
    assert caught.value.code == "E10055"


def test_a_known_node_of_an_input_of_unknown_rank() -> None:
    """CastLike of a constant is a constant, but a native partition would have to read the input."""
    source = model(
        [helper.make_node("CastLike", ["one", "x"], ["y"], "c")],
        [("x", INT64, None)],
        [("y", INT64, [1])],
        {"one": np.array([1])},
    )
    loaded, registry = load_model(source), Registry.from_options()
    facts = infer_facts(loaded, registry)
    claims = Claims(Semantics(loaded, registry), facts)
    (node,) = loaded.graph
    assert claims.is_known(node)
    assert claims(node) == "the rank of 'x' is unknown"


@pytest.mark.parametrize("name", ["DOUBLE", "INT8", "FP16"])
def test_an_output_type_passes_the_self_check(name: str) -> None:
    """The reference knows the model's own types, and float32 does not gain bits by a cast."""
    source = projection()
    convert(source, ConvertOptions(output_types={"": name}, self_check=True)).to_bytes()


def test_rounding_before_a_step_is_no_wrong_kernel() -> None:
    """1e8 + x is a multiple of 8 in float32: what Mod leaves of it has nothing of the float64 reference."""
    source = model(
        [
            helper.make_node("Add", ["x", "far"], ["a"]),
            helper.make_node("Mod", ["a", "seven"], ["y"], fmod=1),
        ],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        {"far": np.array([1e8], np.float32), "seven": np.array([7], np.float32)},
    )
    with pytest.warns(RuntimeWarning, match="rounding before Mod"):
        convert(source).to_bytes()
    with pytest.raises(AscendError, match="E41020"):
        convert(source, ConvertOptions(self_check=True)).to_bytes()


def test_a_model_that_magnifies_rounding_is_no_wrong_kernel() -> None:
    """float32 keeps one digit of x in 1e6 + x."""
    source = model(
        [helper.make_node("Add", ["x", "far"], ["a"]), helper.make_node("Sub", ["a", "far"], ["y"])],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        {"far": np.array([1e6], np.float32)},
    )
    with pytest.warns(RuntimeWarning, match="the last bit of every value"):
        convert(source).to_bytes()
    with pytest.raises(AscendError, match="E41020"):
        convert(source, ConvertOptions(self_check=True)).to_bytes()


def test_a_reference_of_nan_says_nothing_of_a_kernel() -> None:
    """Attention doesn't read what its mask hides, where the reference has NaN from 0 * NaN."""
    source = model(
        [helper.make_node("Div", ["x", "zero"], ["a"]), helper.make_node("Sub", ["a", "a"], ["y"])],
        [("x", FLOAT, [4])],
        [("y", FLOAT, [4])],
        {"zero": np.zeros(1, np.float32)},
    )
    plan = convert(source).plan
    with pytest.warns(RuntimeWarning, match="NaN of the sample inputs"):
        check_against_reference(source, plan, [np.zeros(4, np.float32)], Registry(), 2e-4, "", must=False)


DRAWN = {
    "RandomUniform": "<dtype=1, shape=[4]>()",
    "RandomNormalLike": "(x)",
    "Bernoulli": "(x)",
    "Dropout": "(x, half, true)",
}


@pytest.mark.parametrize("operator", DRAWN)
def test_results_that_are_drawn_are_compared_with_nothing(operator: str) -> None:
    """Two runs never agree, so that nothing can be said against the second."""
    draw = f"{operator} {DRAWN[operator]}"
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> drawn (float[4] x) => (float[4] y) '
        "<float half = {0.5}, bool true = {1}> { d = " + draw + "  y = Add(d, x) }"
    )
    with pytest.warns(RuntimeWarning, match=rf"without a sample run: node \[d\] \({operator}\) draws"):
        bundle = convert(source).to_bytes()
    assert not Bundle(open_model(bundle)).samples()
    with pytest.raises(AscendError, match="E41021"):
        convert(source, ConvertOptions(self_check=True)).to_bytes()


def test_a_dropout_that_does_not_train_draws_nothing() -> None:
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> kept (float[4] x) => (float[4] y) '
        "<float half = {0.5}, bool false = {0}> { d = Dropout(x, half, false)  y = Add(d, x) }"
    )
    assert Bundle(open_model(convert(source, ConvertOptions(self_check=True)).to_bytes())).samples()


@pytest.mark.parametrize(("operator", "count"), [("RandomNormalLike(x)", 1), ("Bernoulli(x)", 2)])
def test_equal_chains_are_one_beside_what_draws(operator: str, count: int) -> None:
    """The pass that merges them knows most of what draws; beside the rest it does nothing."""
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> twice (float[4, 4] x) => (float[4, 4] y) '
        "{ a = Softmax(x)  b = Softmax(x)  c = Sub(a, b)  d = " + operator + "  y = Add(c, d) }"
    )
    with pytest.warns(RuntimeWarning, match="draws"):
        bundle = Bundle(open_model(convert(source, ConvertOptions(codegen="off")).to_bytes()))
    kernels = [i.kernel for p in bundle.partitions if p.is_native for i in bundle.instructions(p)]
    assert kernels.count("softmax") == count
