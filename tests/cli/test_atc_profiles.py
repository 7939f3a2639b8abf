"""--dynamic_batch_size, --dynamic_image_size, --dynamic_dims, from the command line to the runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.cli.atc_profiles import read_profiles
from ascend_ep.cli.atc_shapes import parse_input_shape
from ascend_ep.errors import AscendError
from ascend_ep.runtime.profiles import SHAPE_DATA

ROWS = "agraph (float[N,3] x) => (float[N,3] y) { s = Softmax<axis=-1>(x) y = Add(s, x) }"
IMAGES = "agraph (float[N,2,H,W] x) => (float[N,2,I,J] y) { y = AveragePool<kernel_shape=[3,3]>(x) }"
PAIR = "agraph (float[A,B] a, float[C,B] b) => (float[A,C] y) { t = Transpose(b) y = MatMul(a, t) }"


def convert(folder: Path, graph: str, *flags: str) -> int:
    model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> ' + graph)
    onnx.save(model, folder / "m.onnx")
    common = (
        "--framework=5",
        f"--model={folder}/m.onnx",
        f"--output={folder}/m",
        "--soc_version=Ascend310P3",
    )
    return atc.main([*common, "--precision_mode=must_keep_origin_dtype", *flags])


def check(session: Any, folder: Path, feed: dict[str, Any]) -> None:
    """The session computes what onnxruntime computes for the source model."""
    own = onnxruntime.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    expected = own.run(None, feed)[0]
    np.testing.assert_allclose(session.run(None, feed)[0], expected, rtol=1e-5, atol=1e-6)


def random(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape, np.float32)


def test_a_batch_profile_runs_and_another_size_is_refused(tmp_path: Path) -> None:
    assert convert(tmp_path, ROWS, "--input_shape=x:-1,3", "--dynamic_batch_size=1,2,8,") == 0
    session = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    for batch in (1, 2, 8):
        feed = {"x": random(batch, 3)}
        check(session, tmp_path, feed)
    with pytest.raises(AscendError, match=r"'batch' = 4: none of the model's profiles \(1; 2; 8\)"):
        session.run(None, {"x": random(4, 3)})
    stock = onnxruntime.InferenceSession(tmp_path / "m_ctx.onnx", providers=["AscendEP"])
    check(stock, tmp_path, feed)
    with pytest.raises(Exception, match="none of the model's profiles"):
        stock.run(None, {"x": random(4, 3)})


def test_a_caller_of_acl_chooses_by_a_tensor_of_sizes(tmp_path: Path) -> None:
    assert convert(tmp_path, ROWS, "--input_shape=x:-1,3", "--dynamic_batch_size=1,2,8") == 0
    session = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    assert [i.name for i in session.get_inputs()] == ["x"]
    x = random(8, 3)
    result = session.run(None, {"x": x, SHAPE_DATA: np.array([2], np.int32)})[0]
    np.testing.assert_array_equal(result, session.run(None, {"x": x[:2]})[0])
    with pytest.raises(AscendError, match=r"is \[3\], none of the model's profiles \(1; 2; 8\)"):
        session.run(None, {"x": x, SHAPE_DATA: np.array([3], np.int32)})
    with pytest.raises(AscendError, match=r"has 3 elements; the chosen profile takes \[8, 3\]"):
        session.run(None, {"x": x[:1], SHAPE_DATA: np.array([8], np.int32)})


def test_image_sizes(tmp_path: Path) -> None:
    flags = ("--input_shape=x:1,2,-1,-1", "--dynamic_image_size=4,6;8,8")
    assert convert(tmp_path, IMAGES, *flags) == 0
    session = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    for height, width in ((4, 6), (8, 8)):
        feed = {"x": random(1, 2, height, width)}
        check(session, tmp_path, feed)
    with pytest.raises(AscendError, match=r"'height' = 8, 'width' = 6: none .* \(4,6; 8,8\)"):
        session.run(None, {"x": random(1, 2, 8, 6)})


def test_dims_that_agree_in_every_profile_are_one(tmp_path: Path) -> None:
    flags = ("--input_shape=a:-1,-1;b:5,-1", "--dynamic_dims=1,4,4;7,6,6", "--input_format=ND")
    assert convert(tmp_path, PAIR, *flags) == 0
    session = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    for rows, depth in ((1, 4), (7, 6)):
        feed = {"a": random(rows, depth), "b": random(5, depth)}
        check(session, tmp_path, feed)
    sizes = {SHAPE_DATA: np.array([1, 4, 4])}
    assert session.run(None, {"a": random(7, 6), "b": random(5, 6), **sizes})[0].shape == (1, 5)


def test_a_profile_that_does_not_fit_the_model_fails_at_conversion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--input_shape=a:2,-1;b:5,-1", "--dynamic_dims=4,4;6,7", "--input_format=ND")
    assert convert(tmp_path, PAIR, *flags) == 255
    assert "E19014" in capsys.readouterr().out
    assert not (tmp_path / "m.om").exists()


def refusal(shape: str, **flags: str) -> AscendError:
    with pytest.raises(AscendError) as caught:
        read_profiles({"input_shape": shape, **flags}, parse_input_shape(shape, ["x"]) if shape else {})
    return caught.value


@pytest.mark.parametrize(
    ("code", "shape", "flags"),
    [
        ("E10004", "", {"dynamic_batch_size": "1,2"}),
        ("E10040", "x:1~4,3", {"dynamic_batch_size": "1,2"}),
        ("E10035", "x:-1,3", {"dynamic_batch_size": "1"}),
        ("E10036", "x:-1,3", {"dynamic_batch_size": ",".join(map(str, range(1, 103)))}),
        ("E10037", "x:-1,-1", {"dynamic_dims": "1,2;3"}),
        ("E10038", "x:-1,3", {"dynamic_batch_size": "0,2"}),
        ("E10013", "x:-1,3", {"dynamic_batch_size": "1,99999999999"}),
        ("E10039", "x:-1,3", {"dynamic_batch_size": "2,2"}),
        ("E10003", "x:-1,3", {"dynamic_batch_size": "1,2;3"}),
        ("E10012", "x:-1,3;y:", {"dynamic_batch_size": "1,2"}),
        ("E10018", "x:-1,-1", {"dynamic_batch_size": "1,2"}),
        ("E10031", "x:2,3", {"dynamic_batch_size": "1,2"}),
        ("E10020", "x:1,3,-1,-1", {"dynamic_image_size": "4;8"}),
        ("E10019", "x:1,-1,-1,-1", {"dynamic_image_size": "4,4;8,8"}),
        ("E10019", "x:1,3,-1,-1", {"dynamic_image_size": "4,4;8,8", "input_format": "NHWC"}),
        ("E10040", "x:1,3,4,4", {"dynamic_image_size": "4,4;8,8"}),
        ("E10001", "x:1,3,-1,-1", {"dynamic_image_size": "4,4;8,8", "input_format": "ND"}),
        ("E10001", "x:-1,3", {"dynamic_dims": "4;8", "input_format": "NCHW"}),
        ("E10003", "x:-1,3", {"dynamic_dims": "4,4;8,8"}),
        ("E10045", "x:-1,-1", {"dynamic_dims": "4;8"}),
        ("E10046", "x:-1,3;y:-1,3", {"dynamic_dims": "4;8"}),
    ],
)
def test_refusals(code: str, shape: str, flags: dict[str, str]) -> None:
    assert refusal(shape, **flags).code == code


def test_two_kinds_of_profiles_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main(["--model=m.onnx", "--dynamic_batch_size=1,2", "--dynamic_dims=1;2"]) == 255
    assert "E10009" in capsys.readouterr().out
