"""amct_onnx: programs that quantise with AMCT's interface, its files and its command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ascend_ep.cli.amct import main as command
from ascend_ep.cli.atc import main as atc
from ascend_ep.cli.toolkit import MODULES
from ascend_ep.errors import AscendError

RNG = np.random.default_rng(7)
BATCHES: list[NDArray[np.float32]] = [RNG.normal(size=(4, 3, 8, 8)).astype(np.float32) for _ in range(3)]


@pytest.fixture
def amct(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(MODULES)
    monkeypatch.chdir(tmp_path)
    shapes = {"w": (64, 3, 3, 3), "b": (64,), "v": (8, 64, 1, 1), "fc": (8, 4)}
    rng = np.random.default_rng(0)
    tensors = [numpy_helper.from_array(rng.normal(0, 0.3, d).astype("f4"), n) for n, d in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "fc"], ["y"], "classifier"),
    ]
    infos = [helper.make_tensor_value_info(n, 1, d) for n, d in (("x", ["N", 3, 8, 8]), ("y", ["N", 4]))]
    graph = helper.make_graph(nodes, "small", infos[:1], infos[1:], tensors)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), "m.onnx")
    import amct_onnx  # type: ignore[import-not-found]

    return amct_onnx


def forward(amct: Any, path: str, batches: list[NDArray[np.float32]] = BATCHES) -> NDArray[np.float32]:
    session = ort.InferenceSession(path, amct.AMCT_SO)
    return np.concatenate([session.run(["y"], {"x": x})[0] for x in batches])


def quantise(amct: Any, batch_num: int = 2, **options: Any) -> dict[str, Any]:
    amct.create_quant_config("tmp/config.json", "m.onnx", batch_num=batch_num, **options)
    amct.quantize_model(
        config_file="tmp/config.json",
        model_file="m.onnx",
        modified_onnx_file="tmp/modified.onnx",
        record_file="tmp/record.txt",
    )
    found: dict[str, Any] = json.loads(Path("tmp/config.json").read_text())
    return found


def test_the_four_steps(amct: Any, tmp_path: Path) -> None:
    config = quantise(amct)
    assert (config["batch_num"], config["activation_offset"]) == (2, True)
    assert [k for k, v in config.items() if isinstance(v, dict)] == ["conv1", "d", "classifier"]
    plain = forward(amct, "tmp/modified.onnx")  # a batch more than is kept
    np.testing.assert_array_equal(plain, forward(amct, "m.onnx"))
    batches = Path("tmp/record.txt.batches")
    assert sorted(p.name for p in batches.iterdir()) == ["0_0", "1_0"]
    assert (batches / "1_0").read_bytes().endswith(BATCHES[1].tobytes())
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    assert not batches.exists()
    quantised = forward(amct, "results/m_fake_quant_model.onnx")
    assert 0 < np.abs(quantised - plain).max() < 0.03 * np.abs(plain).max()
    record = Path("tmp/record.txt").read_text()
    assert [record.count(k) for k in ("record {", "scale_d", "offset_d", "scale_w")] == [3, 3, 3, 76]
    layers = json.loads(Path("results/m_quant.json").read_text())["layers"]
    assert layers["conv1"]["quantised"]
    line = ["--model=results/m_deploy_model.onnx", "--framework=5", "--output=q", "--soc_version=Ascend310P3"]
    assert atc([*line, "--input_shape=x:1,3,8,8"]) == 0


def test_the_same_without_optimisations(amct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amct.AMCT_SO, "graph_optimization_level", ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    quantise(amct, 1)
    forward(amct, "tmp/modified.onnx", BATCHES[:1])
    assert [p.name for p in Path("tmp/record.txt.batches").iterdir()] == ["0_0"]


def test_weights_that_a_file_cannot_hold_lie_beside_it(amct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_ep.compiler.quantization.saving.MOST_INSIDE", 100)
    quantise(amct)
    assert Path("tmp/modified.onnx.data").exists()
    plain = forward(amct, "tmp/modified.onnx")
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    assert {p.name for p in Path("results").glob("*.data")} == {
        "m_deploy_model.onnx.data",
        "m_fake_quant_model.onnx.data",
    }
    for name in ("deploy", "fake_quant"):
        assert (
            np.abs(forward(amct, f"results/m_{name}_model.onnx") - plain).max() < 0.03 * np.abs(plain).max()
        )


def test_steps_out_of_order(amct: Any) -> None:
    with pytest.raises(AscendError, match=r"E10001.*No quantize_model of this program"):
        amct.save_model("tmp/modified.onnx", "tmp/other.txt", "results/m")
    quantise(amct, 3)
    forward(amct, "tmp/modified.onnx", BATCHES[:2])
    with pytest.raises(AscendError, match=r"E40001.*ran on 2 of 3 batches"):
        amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    plain = ort.SessionOptions()
    plain.log_severity_level = 4
    with pytest.raises(Exception, match=r"ascend_ep\.calibration"):
        ort.InferenceSession("tmp/modified.onnx", plain)


def test_a_folder_that_is_gone_fails_the_run(amct: Any) -> None:
    quantise(amct)
    Path("tmp/record.txt.batches").rmdir()
    with pytest.raises(Exception, match="can't write a batch of the calibration"):
        forward(amct, "tmp/modified.onnx")


def test_settings_that_are_edited_have_their_effect(amct: Any) -> None:
    config = quantise(amct, skip_layers=["conv1"], activation_offset=False)
    assert not config["conv1"]["quant_enable"]
    del config["classifier"]
    Path("tmp/config.json").write_text(json.dumps(config))
    amct.quantize_model("tmp/config.json", "m.onnx", "tmp/modified.onnx", "tmp/record.txt")
    forward(amct, "tmp/modified.onnx")
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    record = Path("tmp/record.txt").read_text()
    assert record.count("record {") == 1
    assert "offset_d: 0" in record


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"batch_num": 0}, "batch_num"),
    ({"activation_offset": "yes"}, "activation_offset"),
    ({"conv2": {"quant_enable": True}}, r"Did you mean \[conv1\]"),
    ({"conv1": {"weight_quant_params": {"wts_algo": "nuq_quantize"}}}, "arq_quantize"),
    ({"conv1": {"weight_quant_params": {"num_bits": 4}}}, "8 bits"),
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
    with pytest.raises(AscendError, match=f"E10001.*{said}"):
        amct.quantize_model("c.json", "m.onnx", "tmp/modified.onnx", "tmp/record.txt")


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


def test_layers_go_back_to_float_until_the_evaluator_is_content(amct: Any) -> None:
    from amct_onnx.common.auto_calibration import (  # type: ignore[import-not-found]
        AutoCalibrationEvaluatorBase,
    )

    class Evaluator(AutoCalibrationEvaluatorBase):  # type: ignore[misc]
        """Content where at most so many weights are integers."""

        def __init__(self, most: int) -> None:
            self.most = most
            self.losses: list[int] = []

        def calibration(self, model_file: str) -> None:
            forward(amct, model_file)

        def evaluate(self, model_file: str) -> int:
            return sum(t.data_type == onnx.TensorProto.INT8 for t in onnx.load(model_file).graph.initializer)

        def metric_eval(self, original_metric: int, new_metric: int) -> tuple[bool, int]:
            self.losses.append(new_metric - original_metric)
            return new_metric <= self.most, self.losses[-1]

    amct.create_quant_config("config.json", "m.onnx", batch_num=2)
    given = ("config.json", "record.txt", "results/m")
    evaluator = Evaluator(100)
    assert amct.accuracy_based_auto_calibration("m.onnx", evaluator, *given).kept == []
    (weights,) = evaluator.losses
    found = amct.accuracy_based_auto_calibration("m.onnx", Evaluator(weights - 1), *given)
    assert len(found.kept) == 1
    errors = {row.name: row.error for row in found.rows}
    assert found.kept == [max(errors, key=lambda name: errors[name] or 0)]
    plain = forward(amct, "m.onnx")
    left = forward(amct, "results/m_fake_quant_model.onnx")
    assert 0 < np.abs(left - plain).max() < 0.03 * np.abs(plain).max()
    assert not list(Path().glob("record.txt.*"))
    with pytest.raises(AscendError, match="E41023"):
        amct.accuracy_based_auto_calibration("m.onnx", Evaluator(-1), *given)
    assert not Path("results/m_deploy_model.onnx").exists()
    with pytest.raises(AscendError, match="strategy"):
        amct.accuracy_based_auto_calibration("m.onnx", evaluator, *given, strategy="Incremental")


def test_the_command(amct: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bins").mkdir()
    for i, batch in enumerate(BATCHES):
        batch.tofile(f"bins/batch{i}.bin")
    line = ["calibration", "--model", "m.onnx", "--save_path", "o/m", "--data_dir", "bins/"]
    assert command([*line, "--input_shape", "x:4,3,8,8", "--data_type", "float32", "--batch_num", "2"]) == 0
    assert "3 of 3 products quantised, by 2 samples" in capsys.readouterr().out
    kept = onnx.load("o/m_deploy_model.onnx").graph.input[0].type.tensor_type.shape.dim[0]
    assert kept.dim_param == "N"  # the shape is that of the samples; the model's stays free
    assert command(["convert", "--model", "o/m_deploy_model.onnx", "--save_path", "o/c"]) == 0
    np.testing.assert_array_equal(
        forward(amct, "o/c_fake_quant_model.onnx"), forward(amct, "o/m_fake_quant_model.onnx")
    )
    for wrong, said in (
        ([*line, "--input_shape", "x:4,3,8"], "E10001"),
        ([*line, "--data_types", "fp33"], "E10001"),
        (line[:5], "E10007"),
        ([*line, "--evaluator", "e.py"], "E40001"),
        (["convert", "--model", "m.onnx", "--save_path", "o/c"], "isn't quantised"),
    ):
        assert command(wrong) == 1
        assert said in capsys.readouterr().err
