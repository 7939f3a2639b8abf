"""--op_select_implmode, --optypelist_for_implmode, --op_precision_mode: what they change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.cli.atc_implementations import MODES, implementations
from ascend_ep.errors import AscendError

WIDTH = 64


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """gelu(x @ w), and a second gelu of it."""
    w = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32) / 8
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
        helper.make_node("Gelu", ["p"], ["g"], name="first"),
        helper.make_node("Gelu", ["g"], ["y"], name="second"),
    ]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", WIDTH]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "gelus", infos[:1], infos[1:], [numpy_helper.from_array(w, "w")])
    path = tmp_path_factory.mktemp("implementations") / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def difference(model: Path, tmp_path: Path, *flags: str) -> float:
    """Of the float32 bundle made with these flags, from the one made without, relative."""
    exact = ["--precision_mode=must_keep_origin_dtype"]
    x = np.random.default_rng(1).standard_normal((8, WIDTH)).astype(np.float32)
    results = []
    for i, more in enumerate(([], flags)):
        words = [
            f"--model={model}",
            "--framework=5",
            f"--output={tmp_path / str(i)}",
            "--soc_version=Ascend910B3",
        ]
        assert atc.main([*words, *exact, *more]) == 0
        results.append(ascend_ep.InferenceSession(tmp_path / f"{i}.om").run(None, {"x": x})[0])
    return float(np.abs(results[1] - results[0]).max() / np.abs(results[0]).max())


def test_high_precision_is_what_there_is_anyway(model: Path, tmp_path: Path) -> None:
    assert difference(model, tmp_path, "--op_select_implmode=high_precision") == 0.0


def test_high_performance_is_gelu_by_tanh(model: Path, tmp_path: Path) -> None:
    found = difference(model, tmp_path, "--op_select_implmode=high_performance")
    assert 1e-5 < found < 1e-3  # the two forms differ by 4.7e-4 at most
    listed = ["--op_select_implmode=high_performance", "--optypelist_for_implmode=Gelu,Sigmoid"]
    assert difference(model, tmp_path, *listed) == found


def test_products_become_fast_when_they_are_named_or_all_are(model: Path, tmp_path: Path) -> None:
    named = ["--op_select_implmode=high_performance", "--optypelist_for_implmode=BatchMatMulV2"]
    assert 1e-3 < difference(model, tmp_path, *named) < 2e-2  # bfloat16: 2^-9 an operand
    assert 1e-3 < difference(model, tmp_path, "--op_select_implmode=high_performance_for_all") < 2e-2


def test_nodes_by_name(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "precision.ini"
    path.write_text("[ByOpType]\nSoftmaxV2=high_performance # one\n[ByNodeName]\nsecond=high_performance\n")
    second = difference(model, tmp_path, f"--op_precision_mode={path}")
    assert "SoftmaxV2 has one implementation here" in "".join(capsys.readouterr())
    path.write_text("Gelu=high_performance")
    both = difference(model, tmp_path, f"--op_precision_mode={path}")
    assert 0.0 < second < 1e-3
    assert both != second


def test_float32_execution_keeps_nodes(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "precision.ini"
    path.write_text("Gelu=enable_float_32_execution\nMatMulV2=enable_float_32_execution\n")
    flags = [f"--op_precision_mode={path}", "--precision_mode=force_fp16"]
    assert difference(model, tmp_path, *flags) == 0.0
    assert difference(model, tmp_path, flags[1]) > 1e-5


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_of_the_real_tool_is_taken(tmp_path: Path, mode: str, capsys) -> None:
    path = tmp_path / "precision.ini"
    path.write_text(f"LayerNorm={mode}\n")
    implementations({"op_precision_mode": str(path)})
    changes_nothing = mode in ("norm_class", "support_out_of_bound_index")
    assert (f"LayerNorm={mode} changes nothing" in "".join(capsys.readouterr())) == changes_nothing


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Gelu", "Line 1: 'Gelu' is not of the form"),
        ("\nGelu=fast", "Line 2: 'fast' is none of"),
        ("[ByType]\n", "Line 1: [ByType] is none of [ByOpType], [ByNodeName]"),
        ("=high_precision", "Line 1"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "precision.ini"
    path.write_text(text)
    with pytest.raises(AscendError) as caught:
        implementations({"op_precision_mode": str(path)})
    assert caught.value.code == "E10001"
    assert said in caught.value.text


def test_flags_that_need_or_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(AscendError, match="together with --op_select_implmode"):
        implementations({"optypelist_for_implmode": "Gelu"})
    with pytest.raises(AscendError) as caught:
        implementations({"op_precision_mode": "f", "op_select_implmode": "high_precision"})
    assert caught.value.code == "E10056"
