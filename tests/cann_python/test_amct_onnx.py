"""amct_onnx: programs that quantise with AMCT's interface, its files and its command line."""

from __future__ import annotations

import ctypes
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from amct_program import BATCHES, forward, quantise
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ascend_ep.accuracy.amct.calibration_model import read_batches
from ascend_ep.cli.amct import main as command
from ascend_ep.cli.atc import main as atc
from ascend_ep.errors import AscendError


def test_the_four_steps(amct: Any, tmp_path: Path) -> None:
    config = quantise(amct)
    assert (config["batch_num"], config["activation_offset"]) == (2, True)
    assert [k for k, v in config.items() if isinstance(v, dict)] == ["conv1", "d", "classifier"]
    record = Path("tmp/record.txt").read_text()
    assert [record.count(k) for k in ("record {", "scale_d", "scale_w", "offset_w: 0")] == [3, 0, 76, 76]
    plain = forward(amct, "tmp/modified.onnx")  # a batch more than is kept
    np.testing.assert_array_equal(plain, forward(amct, "m.onnx"))
    seen = Path("tmp/record.txt").read_text()
    assert [seen.count(k) for k in ("record {", "scale_d", "offset_d", "scale_w")] == [3, 3, 3, 76]
    batches = Path("tmp/record.txt.batches")
    assert sorted(p.name for p in batches.iterdir()) == ["0", "1"]
    assert (batches / "1").read_bytes().endswith(BATCHES[1].tobytes())
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    assert not batches.exists()
    quantised = forward(amct, "results/m_fake_quant_model.onnx")
    assert 0 < np.abs(quantised - plain).max() < 0.03 * np.abs(plain).max()
    assert Path("tmp/record.txt").read_text() == seen
    layers = json.loads(Path("results/m_quant.json").read_text())["layers"]
    assert layers["conv1"]["quantised"]
    line = ["--model=results/m_deploy_model.onnx", "--framework=5", "--output=q", "--soc_version=Ascend310P3"]
    assert atc([*line, "--input_shape=x:1,3,8,8"]) == 0


def test_where_programs_import_and_load_from(amct: Any) -> None:
    from amct_onnx.convert_model import convert_qat_model  # type: ignore[import-not-found]
    from amct_onnx.custom_op.amct_custom_op import AMCT_SO  # type: ignore[import-not-found]

    assert (AMCT_SO, convert_qat_model) == (amct.AMCT_SO, amct.convert_qat_model)
    library = Path(amct.__file__).parent / "custom_op" / "libamct_onnx_ops.so"
    assert ctypes.CDLL(str(library)).RegisterCustomOps
    quantise(amct, 1)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.register_custom_ops_library(str(library))
    ort.InferenceSession("tmp/modified.onnx", options).run(None, {"x": BATCHES[0]})
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")


def test_the_same_without_optimisations(amct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amct.AMCT_SO, "graph_optimization_level", ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    quantise(amct, 1)
    forward(amct, "tmp/modified.onnx", BATCHES[:1])
    assert [p.name for p in Path("tmp/record.txt.batches").iterdir()] == ["0"]


def test_weights_that_a_file_cannot_hold_lie_beside_it(amct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_ep.accuracy.quantization.saving.MOST_INSIDE", 100)
    quantise(amct)
    plain = forward(amct, "tmp/modified.onnx")
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    beside = sorted(p.name.partition(".")[0] for p in Path("results").glob("*.data"))
    assert beside == ["m_deploy_model", "m_fake_quant_model"]
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


def spoil_batch(content: bytes) -> None:
    Path("tmp/record.txt.batches/1").write_bytes(content)


HEAD = np.array([1, 2, 1 << 40, 3], np.int64).tobytes()
SPOILED: list[tuple[Callable[[], Any], str]] = [
    (lambda: Path("tmp/modified.onnx").unlink(), r"E10410.*tmp/modified\.onnx"),
    (lambda: Path("tmp/modified.onnx").write_bytes(b"nonsense"), r"E10041.*tmp/modified\.onnx"),
    (lambda: Path("tmp/modified.onnx").write_bytes(other_model()), "E10001.*quantize_model wrote"),
    (lambda: Path("m.onnx").unlink(), r"E10410.*m\.onnx"),
    (lambda: spoil_batch(b""), r"E40001.*batches/1\] is no whole batch"),
    (lambda: spoil_batch(HEAD[:20]), "E40001.*no whole batch"),
    (lambda: spoil_batch(HEAD), "E40001.*no whole batch"),
    (lambda: spoil_batch(b"\xff" * 64), "E40001.*no whole batch"),
    (lambda: spoil_batch(np.array([99, 0], np.int64).tobytes()), "E40001.*no whole batch"),
    (lambda: spoil_batch(np.array([1, 0, 5, 5], np.int64).tobytes()), "E40001.*12 bytes are left"),
    (lambda: spoil_folder(), "E40002.*batches/1"),
    (lambda: Path("tmp/record.txt.batches/0").unlink(), "E40001.*ran on 0 of 3"),
]


def spoil_folder() -> None:
    Path("tmp/record.txt.batches/1").unlink()
    Path("tmp/record.txt.batches/1").mkdir()


def other_model() -> bytes:
    value = helper.make_tensor_value_info("z", 1, [1])
    node = helper.make_node("Relu", ["z"], ["w"])
    graph = helper.make_graph([node], "g", [value], [helper.make_tensor_value_info("w", 1, [1])])
    return bytes(helper.make_model(graph, ir_version=8).SerializeToString())


@pytest.mark.parametrize(("spoil", "said"), SPOILED)
def test_files_that_were_spoiled(amct: Any, spoil: Callable[[], Any], said: str) -> None:
    quantise(amct, 3)
    forward(amct, "tmp/modified.onnx", BATCHES[:2])
    shutil.copy("tmp/record.txt.batches/0", "tmp/record.txt.batches/2")
    spoil()
    with pytest.raises(AscendError, match=said):
        amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")


@pytest.mark.parametrize(
    ("record_file", "said"), [("m.onnx/record.txt", "E40002"), ("a\0b.txt", "E40001"), ("r" * 300, "E40002")]
)
def test_a_record_file_that_cannot_be(amct: Any, record_file: str, said: str) -> None:
    amct.create_quant_config("config.json", "m.onnx")
    with pytest.raises(AscendError, match=said):
        amct.quantize_model("config.json", "m.onnx", "modified.onnx", record_file)


@pytest.mark.parametrize("at_once", [False, True])
def test_sessions_count_their_batches_together(amct: Any, at_once: bool) -> None:
    """As programs do that open a session for each batch; the inputs of a batch stay together."""
    values = [helper.make_tensor_value_info(n, t, ["N", 4]) for n, t in (("a", 1), ("b", 7), ("y", 1))]
    nodes = [helper.make_node("Cast", ["b"], ["c"], to=1), helper.make_node("Add", ["a", "c"], ["s"])]
    nodes += [helper.make_node("MatMul", ["s", "w"], ["y"], "product")]
    graph = helper.make_graph(
        nodes, "two", values[:2], values[2:], [numpy_helper.from_array(np.eye(4, dtype="f4"), "w")]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "two.onnx")
    amct.create_quant_config("c.json", "two.onnx", batch_num=6)
    amct.quantize_model("c.json", "two.onnx", "modified.onnx", "record.txt")

    def run(batch: int) -> None:
        given = {"a": np.full((2, 4), batch, "f4"), "b": np.full((2, 4), batch, "i8")}
        ort.InferenceSession("modified.onnx", amct.AMCT_SO).run(None, given)

    with ThreadPoolExecutor(4 if at_once else 1) as threads:
        list(threads.map(run, range(8)))
    found = read_batches("record.txt", ["a", "b"], 6)
    assert all(b["a"].dtype == np.float32 and b["b"].dtype == np.int64 for b in found)
    assert all(b["a"].shape == (2, 4) and (b["a"] == b["b"]).all() for b in found)
    assert len({float(b["a"][0, 0]) for b in found}) == 6
    assert at_once or [float(b["a"][0, 0]) for b in found] == [0, 1, 2, 3, 4, 5]
    amct.save_model("modified.onnx", "record.txt", "r/two")


def test_a_folder_that_is_gone_fails_the_run(amct: Any) -> None:
    quantise(amct)
    Path("tmp/record.txt.batches").rmdir()
    with pytest.raises(Exception, match="can't write a batch of the calibration"):
        forward(amct, "tmp/modified.onnx")


@pytest.mark.parametrize("batch", [np.zeros((0, 3, 8, 8), "f4"), np.full((1, 3, 8, 8), np.nan, "f4")])
def test_batches_that_show_nothing(amct: Any, batch: NDArray[np.float32]) -> None:
    quantise(amct, 1)
    forward(amct, "tmp/modified.onnx", [batch])
    said = r"E40001: no element of \[x\], which \[conv1\] reads, is finite in any of 1 samples\n.*skip_layers"
    with pytest.raises(AscendError, match=said):
        amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    assert not Path("results").exists()


def test_elements_that_are_not_finite_are_said(amct: Any, caplog: pytest.LogCaptureFixture) -> None:
    quantise(amct, 2)
    spoiled = BATCHES[0].copy()
    spoiled[0, 0, 0, :2] = np.nan, np.inf
    forward(amct, "tmp/modified.onnx", [spoiled, BATCHES[1]])
    amct.save_model("tmp/modified.onnx", "tmp/record.txt", "results/m")
    assert "2 of 1536 elements of [x] aren't finite" in caplog.text
    assert np.isfinite(forward(amct, "results/m_fake_quant_model.onnx")).all()


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


def test_layers_go_back_to_float_until_the_evaluator_is_content(amct: Any) -> None:
    from amct_onnx.common.auto_calibration import (  # type: ignore[import-not-found]
        AutoCalibrationEvaluatorBase,
    )

    class Evaluator(AutoCalibrationEvaluatorBase):  # type: ignore[misc]
        """Content where at most so many weights are integers."""

        def __init__(self, most: int, most_calls: int = 99) -> None:
            self.most, self.calls = most, most_calls
            self.losses: list[int] = []

        def calibration(self, model_file: str) -> None:
            forward(amct, model_file)

        def evaluate(self, model_file: str) -> int:
            return sum(t.data_type == onnx.TensorProto.INT8 for t in onnx.load(model_file).graph.initializer)

        def metric_eval(self, original_metric: int, new_metric: int) -> tuple[bool, int]:
            self.calls -= 1
            if self.calls == 0:
                raise ZeroDivisionError
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
    written = {p: p.read_bytes() for p in Path("results").iterdir()} | {
        Path("record.txt"): Path("record.txt").read_bytes()
    }
    Path("record.txt.calibration_model.onnx.mine").touch()
    files = sorted(Path().rglob("*"))
    with pytest.raises(AscendError, match=r"E41024.*with 3 of its layers in float\.\n   fix: .*metric_eval"):
        amct.accuracy_based_auto_calibration("m.onnx", Evaluator(-1), *given)
    with pytest.raises(ZeroDivisionError):
        amct.accuracy_based_auto_calibration("m.onnx", Evaluator(0, most_calls=2), *given)
    assert {p: p.read_bytes() for p in written} == written
    assert sorted(Path().rglob("*")) == files
    with pytest.raises(AscendError, match="strategy"):
        amct.accuracy_based_auto_calibration("m.onnx", evaluator, *given, strategy="Incremental")


class Content:
    """An evaluator that is content where at most so many weights are integers."""

    def __init__(self, amct: Any, most: int) -> None:
        self.amct, self.most, self.seen = amct, most, []  # type: Any, int, list[int]

    def calibration(self, model_file: str) -> None:
        forward(self.amct, model_file)

    def evaluate(self, model_file: str) -> int:
        return sum(t.data_type == onnx.TensorProto.INT8 for t in onnx.load(model_file).graph.initializer)

    def metric_eval(self, original_metric: int, new_metric: int) -> tuple[bool, int]:
        self.seen.append(new_metric)
        return new_metric <= self.most, new_metric - original_metric


def test_a_strategy_of_the_program(amct: Any) -> None:
    from amct_onnx.common.auto_calibration.auto_calibration_strategy_base import (  # type: ignore[import-not-found]
        AutoCalibrationStrategyBase,
    )

    class OneByOne(AutoCalibrationStrategyBase):  # type: ignore[misc]
        def initialize(self, ranking_info: dict[str, float]) -> None:
            assert all(0.99 < v < 1 for v in ranking_info.values())
            self.next = sorted(ranking_info, key=lambda name: ranking_info[name])
            self.layers = dict.fromkeys(ranking_info, True)

        def update_quant_config(self, metric_eval: tuple[bool, int]) -> dict[str, Any]:
            self.result["stop_flag"] = metric_eval[0] or not self.next
            if not self.result["stop_flag"]:
                self.layers[self.next.pop(0)] = False
            self.result["roll_back_config"] = self.layers
            return self.result

    amct.create_quant_config("config.json", "m.onnx", batch_num=3)
    given = ("config.json", "record.txt", "results/m")
    evaluator = Content(amct, 2)
    made = amct.accuracy_based_auto_calibration("m.onnx", evaluator, *given, strategy=OneByOne())
    assert (evaluator.seen, len(made.kept)) == ([6, 4, 2], 2)  # weights and their zero points
    with pytest.raises(AscendError, match=r"E41024.*with 3 of its"):
        amct.accuracy_based_auto_calibration("m.onnx", Content(amct, -1), *given, strategy=OneByOne())
    OneByOne.update_quant_config = lambda self, metric_eval: {}  # type: ignore[method-assign]
    with pytest.raises(AscendError, match=r"E10001.*\[strategy\].*roll_back_config"):
        amct.accuracy_based_auto_calibration("m.onnx", evaluator, *given, strategy=OneByOne())


SCRIPT = """
import amct_onnx.common.cmd_line_utils.data_handler as data_handler
import amct_onnx as amct
import onnxruntime
class Evaluator():
    def calibration(self, modified_model):
        session = onnxruntime.InferenceSession(modified_model, amct.AMCT_SO)
        for batch in data_handler.load_data({'x': [4, 3, 8, 8]}, ['bins/'], ['float32'], 2):
            session.run(['y'], batch)
"""


def test_the_command_with_a_script(amct: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bins").mkdir()
    for i, batch in enumerate(BATCHES):
        batch.tofile(f"bins/{i}.bin")
    line = ["calibration", "--model", "m.onnx", "--save_path", "out/m", "--batch_num", "2", "--evaluator"]
    for number, end in enumerate(("customize_evaluator = Evaluator()\n", "")):
        Path(f"script{number}.py").write_text(SCRIPT + end)
        assert command([*line, f"script{number}.py"]) == 0
        assert "3 of 3 products quantised, by 2 samples" in capsys.readouterr().out
    assert sorted(p.name for p in Path("out").iterdir()) == [
        *("m_deploy_model.onnx", "m_fake_quant_model.onnx", "m_quant.json")
    ]
    Path("none.py").write_text("a = 1\n")
    assert command([*line, "none.py"]) != 0
    assert "E10001" in capsys.readouterr().err
    assert command([*line, "script0.py", "--data_dir", "bins"]) != 0
    assert "--data_dir" in capsys.readouterr().err


def qat_model(
    zero: tuple[int, str] | None, weight: str, zeros: list[int] | None, scales: int, constants: bool
) -> None:
    """Writes qat.onnx: a product [?, 4] x [4, 2] of QuantizeLinear and DequantizeLinear, its weights with two
    scales; `zero`: of the activation, with its type; `weight`, `zeros`: type and zero points of the weights;
    `scales`: how many the activation has."""
    arrays = {
        "sd": np.full(scales, 0.5, "f4") if scales > 1 else np.float32(0.5),
        "w": np.arange(8).reshape(4, 2).astype(weight),
        "sw": np.array([0.25, 2], "f4"),
    }
    if zero is not None:
        arrays["zd"] = np.full(np.shape(arrays["sd"]), zero[0], zero[1])
    if zeros is not None:
        arrays["zw"] = np.array(zeros, weight)
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()]
    data = ["sd", "zd"] if zero else ["sd"]
    nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in tensors] if constants else []
    nodes += [
        helper.make_node("QuantizeLinear", ["x", *data], ["q"]),
        helper.make_node("DequantizeLinear", ["q", *data], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "sw", *(["zw"] if zeros else [])], ["e"], axis=1),
        helper.make_node("MatMul", ["d", "e"], ["y"], 'the "last"'),
    ]
    x, y = (helper.make_tensor_value_info(n, 1, ["N", k]) for n, k in (("x", 4), ("y", 2)))
    graph = helper.make_graph(nodes, "qat", [x], [y], [] if constants else tensors)
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), "qat.onnx")


@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize(
    ("zero", "weight", "zeros", "offsets"),
    [
        ((3, "u1"), "i1", [0, 0], [3 - 128, 0, 0]),
        ((-3, "i1"), "u1", [128, 7], [-3, 0, 7 - 128]),
        (None, "i1", None, [-128, 0, 0]),  # QuantizeLinear without a zero point makes uint8
        ((0, "i1"), "u1", None, [0, -128, -128]),
    ],
)
def test_the_record_of_a_trained_model(
    amct: Any,
    zero: tuple[int, str] | None,
    weight: str,
    zeros: list[int] | None,
    offsets: list[int],
    constants: bool,
) -> None:
    qat_model(zero, weight, zeros, 1, constants)
    amct.convert_qat_model("qat.onnx", "o/q", "o/record.txt")
    words = Path("o/record.txt").read_text().split()
    members = list(pairwise(words))
    assert [int(value) for name, value in members if name.startswith("offset")] == offsets
    assert [float(value) for name, value in members if name.startswith("scale")] == [0.5, 0.25, 2]
    assert r'key: "the \"last\""' in Path("o/record.txt").read_text()


def test_a_record_that_cannot_be(amct: Any) -> None:
    qat_model((0, "i1"), "i1", None, 4, True)
    with pytest.raises(AscendError, match=r"E40001 qat\.onnx: .*has 4 scales; a record file holds one"):
        amct.convert_qat_model("qat.onnx", "o/q", "o/record.txt")
    assert not Path("o").exists()
    amct.convert_qat_model("qat.onnx", "o/q")
    model = onnx.load("qat.onnx")
    model.graph.node[0].CopyFrom(helper.make_node("ReduceMax", ["x"], ["sd"], keepdims=0))
    onnx.save(model, "qat.onnx")
    with pytest.raises(AscendError, match=r"E40001 qat\.onnx: .*no constant"):
        amct.convert_qat_model("qat.onnx", "o/q", "o/record.txt")


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
        ([*line, "--evaluator", "e.py"], "--data_dir"),
        (["convert", "--model", "m.onnx", "--save_path", "o/c"], "isn't quantised"),
    ):
        assert command(wrong) == 1
        assert said in capsys.readouterr().err
