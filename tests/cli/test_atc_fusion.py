"""--fusion_switch_file really switches rules, --fusion_report says what they did and why not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.opdef.fusion_rules import RULES

FLOAT = TensorProto.FLOAT
node = helper.make_node


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """relu(silu(x) @ w + b) as exporters write it, with one sigmoid that a second node reads."""
    nodes = [
        node("Sigmoid", ["x"], ["s"], "sigmoid"),
        node("Mul", ["x", "s"], ["g"], "gate"),
        node("MatMul", ["g", "w"], ["m"], "product"),
        node("Add", ["m", "b"], ["a"], "bias"),
        node("Relu", ["a"], ["y"], "relu"),
        node("Sigmoid", ["y"], ["t"], "again"),
        node("Mul", ["y", "t"], ["z"], "gate2"),
    ]
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((16, 8)), "b": rng.standard_normal(8)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 16])],
        [helper.make_tensor_value_info(n, FLOAT, ["N", 8]) for n in ("z", "t")],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


def run(model: Path, *flags: str) -> int:
    words = [f"--model={model}", "--framework=5", f"--output={model.with_name('m')}"]
    exact = ["--soc_version=Ascend910B3", "--precision_mode=must_keep_origin_dtype"]
    return atc.main([*words, *exact, *flags])


def switch(model: Path, content: object) -> str:
    path = model.with_name("switch.cfg")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return f"--fusion_switch_file={path}"


def result(model: Path) -> dict[str, dict[str, dict[str, str]]]:
    (found,) = json.loads(model.with_name("fusion_result.json").read_text())
    assert found["session_and_graph_id"] == "0_0"
    return {group: found[group] for group in ("graph_fusion", "ub_fusion")}


def outputs(model: Path) -> list[np.ndarray]:
    x = np.random.default_rng(1).standard_normal((5, 16)).astype(np.float32)
    return ascend_ep.InferenceSession(str(model.with_name("m.om"))).run(None, {"x": x})


def test_rules_are_on_unless_switched(model: Path) -> None:
    assert run(model, switch(model, {"Switch": {}})) == 0
    found = result(model)
    assert found["graph_fusion"] == {"SiLUFusionPass": {"effect_times": "1", "match_times": "2"}}
    epilogue = found["ub_fusion"]["ProductEpilogueFusionPass"]
    assert epilogue == {"effect_times": "1", "match_times": "2", "repository_hit_times": "0"}


def test_switched_off_a_rule_does_nothing_and_results_stay(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model) == 0
    assert "SiLU" in capsys.readouterr().out
    assert not model.with_name("fusion_result.json").exists()
    wanted = outputs(model)
    everything = {"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}
    assert run(model, switch(model, everything)) == 0
    printed = capsys.readouterr()
    assert "SiLU" not in printed.out
    assert "WARNING" not in printed.err
    assert result(model) == {"graph_fusion": {}, "ub_fusion": {}}
    for mine, theirs in zip(outputs(model), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_a_rule_of_its_own_counts_more_than_all(model: Path) -> None:
    switches = {"Switch": {"GraphFusion": {"SiLUFusionPass": "on", "ALL": "off"}, "UBFusion": {"ALL": "off"}}}
    assert run(model, switch(model, switches)) == 0
    assert set(result(model)["graph_fusion"]) == {"SiLUFusionPass"}
    assert not result(model)["ub_fusion"]


def test_lines_name_rules_of_both_groups(model: Path) -> None:
    assert run(model, switch(model, "SiLUFusionPass:off\n\nProductEpilogueFusionPass : off\n")) == 0
    names = {name for group in result(model).values() for name in group}
    assert not {"SiLUFusionPass", "ProductEpilogueFusionPass"} & names
    assert run(model, switch(model, "ALL:off\n")) == 0
    assert result(model) == {"graph_fusion": {}, "ub_fusion": {}}


def test_an_unknown_rule_is_warned_of_with_its_neighbours(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model, switch(model, {"Switch": {"GraphFusion": {"SiLUFusionPas": "off"}}})) == 0
    warning = capsys.readouterr().err
    assert "GraphFusion has no rule SiLUFusionPas" in warning
    assert "Near it: SiLUFusionPass" in warning


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"Switch": {"GraphFusion": {"ALL": "off"},}}', ["line 1, column"]),
        ('{"Switch": {"GraphFusion": {"ALL": "of"}}}', ["Switch.GraphFusion.ALL", "neither on nor off"]),
        ('{"Switch": {"GraphFusion": {"ALL": true}}}', ["neither on nor off"]),
        ('{"Switch": {"GraphFusio": {}}}', ["Switch.GraphFusio is none of"]),
        ('{"Switch": {"GraphFusion": []}}', ["a map at Switch.GraphFusion"]),
        ('{"switch": {}}', ["a map at Switch"]),
        ("[]", ["a map at the file"]),
        ('{"Switch": {}, "Switch": {}}', ["key [Switch] is given twice"]),
        ("SiLUFusionPass:off\nGelu\n", ["Line 2"]),
        ("SiLUFusionPass:maybe\n", ["line 1, SiLUFusionPass"]),
        ("[" * 100000, ["nested"]),
        ("\udcff", ["UTF-8"]),
    ],
    ids=range(12),
)
def test_a_malformed_file_is_refused_with_its_place(
    model: Path, content: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = model.with_name("switch.cfg")
    path.write_bytes(content.encode(errors="surrogateescape"))
    assert run(model, f"--fusion_switch_file={path}") == 255
    printed = capsys.readouterr().out
    assert "E10001" in printed
    assert "[--fusion_switch_file]" in printed
    assert "The form is" in printed
    assert all(word in printed for word in words)
    assert not model.with_name("m.om").exists()


def test_a_missing_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(model, "--fusion_switch_file=/nowhere/s.json") == 255
    assert "E10410" in capsys.readouterr().out


def test_the_report_has_every_candidate_with_its_reason(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = model.with_name("report.json")
    assert run(model, "--fusion_report", switch(model, {"Switch": {}})) == 0  # takes no word behind it
    assert run(model, f"--fusion_report={target}") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("Fusion report: ") and "KiB of traffic saved" in line for line in lines)
    (near,) = {line for line in lines if "gate2" in line and "SiLUFusionPass" in line}
    assert near.endswith("not: its intermediate value 't' is used elsewhere")
    report = json.loads(target.read_text())
    made = {(c["rule"], c["node"]): c for c in report["candidates"]}
    fused = made["SiLUFusionPass", "gate"]
    assert fused["fused"]
    assert fused["operators"] == ["Sigmoid", "Mul"]
    size = 64 * 16 * 4  # a free dim counts as 64
    assert fused["assessment"]["bytes_apart"] == 5 * size
    assert fused["assessment"]["bytes_fused"] == 2 * size
    assert fused["assessment"]["on_chip_budget"] == 196608
    assert not made["SiLUFusionPass", "gate2"]["fused"]
    for c in report["candidates"]:
        assert c["assessment"]["bytes_saved"] > 0 or not c["fused"]


def test_gated_layers_are_in_the_report_and_have_a_switch(model: Path) -> None:
    """The products of the first are of one input, those of the second of two."""
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 17]>
        m (float[N,256] x, float[N,768] z) => (float[N,8] y) {
            g = MatMul(x, v) s = Sigmoid(g) i = Mul(g, s) u = MatMul(x, w) h = Mul(i, u)
            a = MatMul(h, p) t = Sigmoid(a) j = Mul(a, t) b = MatMul(z, q) y = Mul(j, b) }""")
    sizes = {"v": (256, 768), "w": (256, 768), "p": (768, 8), "q": (768, 8)}
    arrays = {n: np.full(dims, 0.1 + i, np.float32) for i, (n, dims) in enumerate(sizes.items())}
    made.graph.initializer.extend(numpy_helper.from_array(array, n) for n, array in arrays.items())
    onnx.save(made, model)
    target = model.with_name("report.json")
    report = f"--fusion_report={target}"
    rule = "GatedProductsFusionPass"
    assert run(model, report, switch(model, {"Switch": {}})) == 0
    times = {"effect_times": "1", "match_times": "2", "repository_hit_times": "0"}
    assert result(model)["ub_fusion"][rule] == times
    found = [c for c in json.loads(target.read_text())["candidates"] if c["rule"] == rule]
    assert [c["operators"] for c in found] == [["MatMul", "MatMul", "SwiGLU"]] * 2
    assert [c["reason"] for c in found] == ["", "its products are of different inputs"]
    elements = 64 * (256 + 4 * 768)  # x once more, and two sides there and back
    assert found[0]["assessment"]["bytes_saved"] == 4 * elements
    assert run(model, report, switch(model, f"{rule}:off")) == 0
    assert rule not in result(model)["ub_fusion"]
    assert json.loads(target.read_text())["off"] == [rule]


def test_a_product_of_a_product_has_a_row_and_long_chains_have_limits(model: Path) -> None:
    """The report's classes beyond the usual ones, in one model."""
    chain = " ".join(f"c{i + 1} = {('Abs', 'Neg', 'Tanh')[i % 3]}(c{i})" for i in range(201))
    made = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 17]>
        m (float[16,64] x, float[N,8] c0) => (float[16,64] y, float[N,8] c201) {{
            h = MatMul(x, v) g = Relu(h) y = MatMul(g, w) {chain} }}""")
    arrays = {n: np.full((64, 64), 0.1, np.float32) for n in ("v", "w")}
    made.graph.initializer.extend(numpy_helper.from_array(array, n) for n, array in arrays.items())
    onnx.save(made, model)
    target = model.with_name("report.json")
    assert run(model, f"--fusion_report={target}") == 0
    found = json.loads(target.read_text())["candidates"]
    (products,) = [c for c in found if c["rule"] == "ProductChainFusionPass"]
    assert (products["fused"], products["assessment"]["class"]) == (False, "not worth it")
    assert products["reason"] == "it is complex and saves less than 30% of the traffic"
    kernels = [c for c in found if c["rule"] == "ElementwiseChainFusionPass"]
    assert [len(c["operators"]) for c in kernels] == [128, 129, 73]
    assert [c["reason"] for c in kernels] == ["", "it has 129 operators", ""]
    assert {c["assessment"]["class"] for c in kernels} == {"challenge"}


def test_help_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main(["--help=all"]) == 0
    printed = capsys.readouterr().out
    assert all(rule.name in printed and rule.group in printed for rule in RULES)
