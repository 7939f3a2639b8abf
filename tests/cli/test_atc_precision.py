"""The flags of precision: files and what is wrong with them, and modes that can't be had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.cli.atc_precision import precision, precision_lists
from ascend_ep.compiler.precision.mixed_lists import Colour
from ascend_ep.errors import AscendError
from ascend_ep.graph.passes.retype import NodeTypes

FLOAT32, FLOAT16 = TensorProto.FLOAT, TensorProto.FLOAT16


def given(tmp_path: Path, flag: str, text: str) -> dict[str, str]:
    path = tmp_path / "file"
    path.write_text(text)
    return {flag: str(path)}


def test_lines_of_keep_dtype(tmp_path: Path) -> None:
    lists = precision_lists(
        given(tmp_path, "keep_dtype", "a/b:0\n\n# all\nOpType::SoftmaxV2\n"), "force_fp16"
    )
    assert (set(lists.keep), set(lists.keep_types)) == ({"a/b:0"}, {"SoftmaxV2"})


def test_lines_of_customize_dtypes(tmp_path: Path) -> None:
    text = "n::InputDtype:float16,float32,OutputDtype:float32\n"
    text += "OpType::Conv2D:InputDtype:bfloat16,OutputDtype:bfloat16,"
    lists = precision_lists(given(tmp_path, "customize_dtypes", text), "origin")
    assert lists.custom == {"n": NodeTypes((FLOAT16, FLOAT32), FLOAT32)}
    assert lists.custom_types == {"Conv2D": NodeTypes((16,), 16)}


def test_changes_of_the_mixed_lists(tmp_path: Path) -> None:
    changes = {
        "black-list": {"to-remove": ["SoftmaxV2"], "to-add": ["Conv2D"]},
        "white-list": {"to-add": ["Sigmoid"]},
    }
    lists = precision_lists(given(tmp_path, "modify_mixlist", json.dumps(changes)), "mixed_float16").mixed
    colours = {op: lists.colour(op) for op in ("Softmax", "Conv", "Sigmoid", "MatMul", "Exp", "Add")}
    assert list(colours.values()) == [
        Colour.GREY,
        Colour.BLACK,
        Colour.WHITE,
        Colour.WHITE,
        Colour.BLACK,
        Colour.GREY,
    ]


TWICE = '{"black-list": {"to-add": ["A"]}, "white-list": {"to-add": ["A"]}}'


@pytest.mark.parametrize(
    ("flag", "mode", "text", "said"),
    [
        ("keep_dtype", "fp16", "a\nOpType::\n", "Line 2: it names nothing"),
        ("customize_dtypes", "fp16", "\nn:float16", "Line 2: 'n:float16' is not of the form"),
        ("customize_dtypes", "fp16", "n::InputDtype:float61,OutputDtype:float", "'float61' is none of"),
        ("customize_dtypes", "fp16", "n::InputDtype:,OutputDtype:float16", "names no type of inputs or"),
        ("customize_dtypes", "fp16", "n::InputDtype:float,OutputDtype:float16,float", "have one type"),
        ("modify_mixlist", "fp16", "{}", "not for fp16"),
        ("modify_mixlist", "mixed_float16", '{\n"black-list": [}', "line 2, column 16"),
        ("modify_mixlist", "mixed_float16", '{"blacklist": {}}', "black-list"),
        ("modify_mixlist", "mixed_float16", '{"black-list": {"add": []}}', "no map of to-add"),
        ("modify_mixlist", "mixed_float16", '{"black-list": {"to-remove": ["Gemm"]}}', "Gemm is not on"),
        ("modify_mixlist", "mixed_float16", TWICE, "A is added to more"),
        ("modify_mixlist", "mixed_float16", "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, flag: str, mode: str, text: str, said: str) -> None:
    with pytest.raises(AscendError) as caught:
        precision_lists(given(tmp_path, flag, text), mode)
    assert caught.value.code == "E10001"
    assert said in caught.value.text
    assert str(tmp_path / "file") in caught.value.text


def test_modes_that_cannot_be_had() -> None:
    for mode in ("cube_hif8", "mixed_hif8"):
        with pytest.raises(AscendError, match="HiFloat8") as caught:
            precision({"precision_mode_v2": mode})
        assert caught.value.code == "E10055"
    assert precision({}) == "force_fp16"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """(x * 40) @ w + x, with a weight beyond float16."""
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((32, 32)), "forty": np.array([40.0]), "huge": np.array([1e6])}
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["x", "forty"], ["m"], name="scale"),
            helper.make_node("MatMul", ["m", "w"], ["p"], name="product"),
            helper.make_node("Add", ["p", "x"], ["y"], name="residual"),
            helper.make_node("Min", ["y", "huge"], ["z"], name="limit"),
        ],
        "small",
        [helper.make_tensor_value_info("x", FLOAT32, ["n", 32])],
        [helper.make_tensor_value_info("z", FLOAT32, ["n", 32])],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()],
    )
    path = tmp_path_factory.mktemp("precision") / "m.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def converted(model: Path, tmp_path: Path, *flags: str) -> ascend_ep.InferenceSession:
    words = [f"--model={model}", "--framework=5", f"--output={tmp_path / 'm'}", "--soc_version=Ascend910B3"]
    assert atc.main([*words, *flags]) == 0
    return ascend_ep.InferenceSession(tmp_path / "m.om")


def half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(np.float64)


def test_the_default_rounds_every_value_to_float16(model: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((4, 32)).astype(np.float32)
    (z,) = converted(model, tmp_path).run(None, {"x": x})
    w = numpy_helper.to_array(onnx.load(model).graph.initializer[0])
    product = half(half(half(x) * 40) @ half(w))
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z, z.astype(np.float16))
    np.testing.assert_allclose(
        z, half(product + half(x)), rtol=2**-9
    )  # a unit: float32 sums may sit on a tie


def test_inputs_of_float16(model: Path, tmp_path: Path) -> None:
    session = converted(model, tmp_path, "--input_fp16_nodes=x", "--output_type=FP16")
    assert [a.type for a in (*session.get_inputs(), *session.get_outputs())] == ["tensor(float16)"] * 2
    x = np.random.default_rng(1).standard_normal((4, 32)).astype(np.float16)
    (z,) = session.run(None, {"x": x})
    (same,) = converted(model, tmp_path).run(None, {"x": x.astype(np.float32)})
    np.testing.assert_array_equal(z, same.astype(np.float16))


def test_weights_are_clipped_unless_told_not_to(model: Path, tmp_path: Path) -> None:
    x = np.full((1, 32), 1e3, np.float32)
    clipped, infinite = (
        converted(model, tmp_path, f"--is_weight_clip={clip}").run(None, {"x": x})[0] for clip in (1, 0)
    )
    assert clipped.max() == 65504  # what overflowed, limited by what was 1e6
    assert np.isposinf(infinite.max())


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["--input_fp16_nodes=q"], "E10016"),
        (["--precision_mode_v2=mixed_hif8"], "E10055"),
        (["--precision_mode=force_fp16", "--precision_mode_v2=fp16"], "E10056"),
    ],
)
def test_refusals_of_the_command_line(
    model: Path, tmp_path: Path, flags: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--model={model}", "--framework=5", f"--output={tmp_path / 'm'}", "--soc_version=Ascend910B3"]
    assert atc.main([*words, *flags]) == 255
    assert code in capsys.readouterr().out


def test_kept_names_must_be_in_the_model(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = given(tmp_path, "keep_dtype", "produkt")["keep_dtype"]
    words = [f"--model={model}", "--framework=5", f"--output={tmp_path / 'm'}", "--soc_version=Ascend910B3"]
    assert atc.main([*words, f"--keep_dtype={kept}"]) == 255
    assert "Opname [produkt] specified in [--keep_dtype]" in capsys.readouterr().out


def test_float16_that_nobody_asked_for_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    words = [
        "--framework=5",
        f"--model={tmp_path}/m.onnx",
        f"--output={tmp_path}/m",
        "--soc_version=Ascend910B3",
    ]
    for mode, said in (
        ([], True),
        (["--precision_mode=force_fp16"], False),
        (["--precision_mode_v2=origin"], False),
    ):
        assert atc.main([*words, *mode]) == 0
        assert ("computed in float16" in capsys.readouterr().err) is said
