"""Settings of amct_onnx: configurations, definition files, arguments; what is wrong or idle is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from amct_program import quantise

from ascend_ep.accuracy.amct import configuration
from ascend_ep.accuracy.amct.definition_file import definition_of
from ascend_ep.accuracy.amct.members import DEFINITION, GLOBAL, LAYER, Table
from ascend_ep.errors import AscendError
from ascend_ep.opdef.registry import Registry


def activation(**members: object) -> dict[str, Any]:
    return {"conv1": {"activation_quant_params": members}}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"batch_num": 0}, "batch_num"),
    ({"activation_offset": "yes"}, "activation_offset"),
    ({"conv2": {"quant_enable": True}}, r"Did you mean \[conv1\]"),
    ({"batch_nun": 2}, r"no such layer\. Did you mean \[batch_num\]"),
    ({"conv1": 5}, "an object with members: quant_enable"),
    ({"conv1": {"quant_enabel": False}}, r"no such member\. Did you mean \[quant_enable\]"),
    ({"conv1": {"activation_quant_params": 3}}, r"conv1\.activation_quant_params"),
    ({"conv1": {"dmq_balancer_param": "x"}}, r"conv1\.dmq_balancer_param.*0 to 1"),
    ({"conv1": {"weight_quant_params": {"wts_algo": []}}}, "arq_quantize"),
    ({"conv1": {"weight_quant_params": {"wts_algo": "nuq_quantize"}}}, "arq_quantize"),
    ({"conv1": {"weight_quant_params": {"num_bits": 4}}}, "8 bits"),
    (activation(max_percentile="x"), r"conv1\.activation_quant_params\.max_percentile.*over 0\.5"),
    (activation(act_algo="foo"), "one of ifmr, hfmg"),
    (activation(num_of_bins=17), "one of 1024, 2048"),
    (activation(search_range=[1.3, 0.7]), "the smaller first"),
    (
        {
            "conv1": {"quant_enable": False},
            "d": {"quant_enable": False},
            "classifier": {"quant_enable": False},
        },
        "no layer",
    ),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_a_configuration_that_is_wrong(amct: Any, change: dict[str, Any], said: str) -> None:
    config = quantise(amct)
    Path("c.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(AscendError, match=f"E10001.*{said}") as caught:
        amct.quantize_model("c.json", "m.onnx", "tmp/modified.onnx", "tmp/record.txt")
    assert "c.json" in str(caught.value)


JUNK: list[Any] = [None, True, 0, 1, -1, 17, 0.7, 1e300, float("nan"), 10**30, "", "x", "INT4"]
JUNK += [[], [1], ["x"], [0.7, "x"], {}, {"x": 1}, {"x": {}}]


def paths(table: Table, *names: str, seen: list[Table]) -> Iterator[tuple[str, ...]]:
    """The ways to all members at or below `names`, one to each table that is not in `seen`."""
    inner = table[0] if isinstance(table, list) else table
    if names:
        yield names
    if isinstance(inner, dict) and not any(inner is other for other in seen):
        seen.append(inner)
        for name, each in inner.items():
            yield from paths(each, *names, name, seen=seen)


@pytest.fixture
def layers(amct: Any, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The layers of m.onnx are found once."""
    registry = Registry.from_options()
    found = configuration.layers_of("m.onnx", registry)
    monkeypatch.setattr(configuration, "layers_of", lambda *_: found)
    return registry


def refused(where: str, act: Callable[..., Any], *given: Any) -> bool:
    """Whether it ends in an error that says all; any other is the test's."""
    try:
        act(*given)
    except AscendError as error:
        return error.code == "E10001" and where in str(error) and bool(error.fix)
    return False


def test_every_member_of_a_configuration_with_wrong_values(layers: Registry) -> None:
    table: Table = {**GLOBAL, "conv1": LAYER}
    for path in paths(table, seen=[]):
        count = 0
        for junk in JUNK:
            found: dict[str, Any] = {"version": 1, "d": {}}
            inner = found
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = junk
            count += refused("c.json", configuration.understood, found, "m.onnx", layers, "c.json")
        assert count > len(JUNK) // 2, path


def test_every_field_of_a_definition_with_wrong_values() -> None:
    others = {"layer_type": '"Conv"', "layer_name": '"d"'}
    texts = [": abc", ": 17", ": -1", ": 0.7", ": 1e999", ": nan", ": true", ': "x"', ": [1, 2]", " { }"]
    texts += [": INT4", " { x: 1 }", ":", " [", ": INT8"]
    for path in paths(DEFINITION, seen=[]):
        count = 0
        for text in texts:
            inner = path[-1] + text
            for name, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
                if name.startswith("override_"):
                    kind = "layer_type" if name.endswith("types") else "layer_name"
                    inner += "" if child == kind else f" {kind}: {others[kind]}"
                    inner += "" if child == "calibration_config" else " calibration_config { }"
                inner = f"{name} {{ {inner} }}"
            count += refused("q.cfg", definition_of, inner, Path("q.cfg"))
        assert count > len(texts) // 2, path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("common_config { ifmr_quantize { dst_type: FOO } }", r"q\.cfg:1:43.*dst_type.*INT8 here"),
        ("common_config { dmq_balancer { migration_strength: abc } }", r"q\.cfg:1:52.*0 to 1"),
        ("common_config {\n arq_quantize { quant_bits: 4 } }", r"q\.cfg:2:29.*8 bits"),
        ("common_config { hfmg_quantize { num_of_bins: 17 } }", "one of 1024"),
        ("common_config { hfmg_quantize { } ifmr_quantize { } }", "not both"),
        ('override_layer_types { layer_type: "Nonsense" calibration_config { } }', "one of Conv, Gemm"),
        ("override_layer_types { calibration_config { } }", r"q\.cfg:1:22.*\[layer_type\] is missing"),
        ('override_layer_types { layer_type: "Conv" }', r"\[calibration_config\] is missing"),
        ('skip_layers: "x"', "no such layer"),
        ("common_config { ifmr_quantize { search_range_start: 2 } }", "the smaller first"),
    ],
)
def test_a_definition_that_is_wrong(layers: Registry, text: str, said: str) -> None:
    Path("q.cfg").write_text(text)
    with pytest.raises(AscendError, match=f"E10001.*{said}"):
        configuration.create("m.onnx", layers, definition="q.cfg")


@pytest.mark.parametrize("given", [{"skip_layers": 5}, {"skip_layers": "conv1"}, {"activation_offset": "no"}])
def test_arguments_that_are_wrong(amct: Any, given: dict[str, Any]) -> None:
    with pytest.raises(AscendError, match=rf"E10001.*\[{next(iter(given))}\]"):
        amct.create_quant_config("config.json", "m.onnx", **given)


CFG = """
# settings of all
batch_num : 2
activation_offset : false
skip_layers : "conv1"
skip_layer_types : "MatMul"
common_config : {
    ifmr_quantize : { search_range_start : 0.7 max_percentile : 0.9999 }
    arq_quantize { channel_wise: true }
}
override_layer_configs : {
    layer_name : "d"
    calibration_config : { ifmr_quantize : { min_percentile : 0.999 } }
}
"""


def test_what_changes_nothing_is_said(amct: Any, caplog: pytest.LogCaptureFixture) -> None:
    Path("one.cfg").write_text("joint_quant: true\ncommon_config { arq_quantize { asymmetric: true } }\n")
    amct.create_quant_config("config.json", "m.onnx", config_defination="one.cfg")
    assert {r.message.split()[0] for r in caplog.records} == {"joint_quant", "asymmetric"}
    caplog.clear()
    config = json.loads(Path("config.json").read_text()) | {"do_fusion": False, "joint_quant": False}
    config["conv1"]["dmq_balancer_param"] = 0.5
    Path("config.json").write_text(json.dumps(config))
    amct.quantize_model("config.json", "m.onnx", "modified.onnx", "record.txt")
    said = [r.message for r in caplog.records]
    assert [text for text in said if text.startswith("do_fusion changes nothing here")]
    assert [text for text in said if text.startswith("layers differ in dmq_balancer_param")]
    assert len(said) == 2


def test_an_override_that_changes_nothing_is_said(layers: Registry, caplog: pytest.LogCaptureFixture) -> None:
    text = "common_config { hfmg_quantize { num_of_bins: 1024 } }"
    text += " nuq_config { mapping_file: 'm.json' nuq_quantize { num_steps: 32 num_of_iteration: 0 } }"
    text += " tensor_quantize { layer_name: 'add' input_index: 1 }"
    Path("q.cfg").write_text(f'{text} override_layer_types {{ layer_type: "Gemm" calibration_config {{ }} }}')
    found = configuration.create("m.onnx", layers, ["d"], definition="q.cfg")
    found["d"]["activation_quant_params"]["search_step"] = 0.01
    configuration.understood(found, "m.onnx", layers)
    said = [r.message for r in caplog.records]
    assert said.pop(0).startswith("with config_defination, skip_layers,")
    assert [text.partition(" changes nothing")[0] for text in said] == [
        *("num_of_bins", "nuq_config", "tensor_quantize", "override_layer_types of Gemm"),
        *("num_of_bins", "search_step"),
    ]


def test_layers_that_stay_in_float_anyway_may_be_named(
    layers: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    config = configuration.create("m.onnx", layers, ["p", "conv1"])
    assert not config["conv1"]["quant_enable"]
    config |= {"p": {"quant_enable": True}, "f": {"quant_enable": False}}
    told = configuration.understood(config, "m.onnx", layers)
    assert [p.name for p in told.products] == ["d", "classifier"]
    assert [r.message.partition(",")[0] for r in caplog.records] == ["p stays in float"]


def test_a_layer_overrides_the_algorithm_of_all(layers: Registry) -> None:
    own = 'layer_name: "d" calibration_config { ifmr_quantize { search_range_start: 0.8 } }'
    Path("q.cfg").write_text(f"common_config {{ hfmg_quantize {{ }} }} override_layer_configs {{ {own} }}")
    found = configuration.create("m.onnx", layers, definition="q.cfg")
    assert found["conv1"]["activation_quant_params"]["act_algo"] == "hfmg"
    assert found["d"]["activation_quant_params"]["act_algo"] == "ifmr"
    assert found["d"]["activation_quant_params"]["search_range"] == [0.8, 1.3]


def test_a_definition_file(amct: Any) -> None:
    Path("q.cfg").write_text(CFG)
    config = quantise(amct, config_defination="q.cfg")
    assert [config[k]["quant_enable"] for k in ("conv1", "d", "classifier")] == [False, True, False]
    assert config["batch_num"] == 2
    shares = [config[k]["activation_quant_params"]["min_percentile"] for k in ("conv1", "d")]
    assert shares == [0.999999, 0.999]
    assert config["d"]["activation_quant_params"]["max_percentile"] == 0.9999
    for text, said in (
        ("batch_nun : 2", r"q.cfg:1:1.*\[batch_num\]"),
        ("batch_num : 2 batch_num : 3", "twice"),
    ):
        Path("q.cfg").write_text(text)
        with pytest.raises(AscendError, match=said):
            amct.create_quant_config("c.json", "m.onnx", config_defination="q.cfg")
