"""--insert_op_conf: bytes in, what the model itself computes from the preprocessed image out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from atc_models import PLAIN, failure, image_model, run, save

import ascend_ep
from ascend_ep.cli import om
from ascend_ep.graph.reference import reference_run

RGB = "input_format: RGB888_U8"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def configuration(text: str, mode: str = "static") -> str:
    Path("aipp.cfg").write_text(f"aipp_op {{\n  aipp_mode: {mode}\n{text}\n}}\n")
    return "--insert_op_conf=aipp.cfg"


def converted(capsys: pytest.CaptureFixture[str], proto: onnx.ModelProto, text: str, *words: str) -> None:
    save(proto)
    status, lines, _ = run(capsys, "--model=m.onnx", *PLAIN, "--self_check=1", configuration(text), *words)
    assert status == 0, lines
    assert any("AIPP" in line for line in lines)


def answer(image: np.ndarray) -> np.ndarray:
    session = ascend_ep.InferenceSession("m.om")
    (given,) = session.get_inputs()
    assert (given.name, given.type) == ("x", "tensor(uint8)")
    assert list(given.shape) == [*image.shape]
    return np.asarray(session.run(None, {"x": image})[0])


def agrees(found: np.ndarray, proto: onnx.ModelProto, image: np.ndarray) -> None:
    """`image`: what the model is given, in float64."""
    wanted = reference_run(proto, {"x": image})["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)  # sums of 27 products up to 255


def test_a_bundle_is_compared_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    """ascend-om diff gives the source model what the bundle's own preprocessing makes."""
    converted(capsys, image_model(), "input_format: RGB888_U8 mean_chn_0: 100 var_reci_chn_1: 0.5")
    np.save("x.npy", random_bytes(1, 12, 12, 3))
    assert om.main(["diff", "m.onnx", "m.om", "--input=x=x.npy"]) == 0


def test_error_of_nodes_behind_preprocessing(capsys: pytest.CaptureFixture[str]) -> None:
    """In float16, by node; the list that restores it is for a bundle that takes bytes, too."""
    converted(
        capsys,
        image_model(),
        "input_format: RGB888_U8 mean_chn_0: 100 min_chn_1: 0.5",
        "--precision_mode=force_fp16",
    )
    np.save("x.npy", random_bytes(1, 12, 12, 3))
    compared = ["diff", "m.onnx", "m.om", "--input=x=x.npy", "--json", "--accuracy=1e-5"]
    assert om.main([*compared, "--per-node"]) == 1
    found = json.loads(capsys.readouterr().out)
    (conv,) = (n for n in found["nodes"] if n["op_type"] == "Conv")
    assert 0 < conv["own"]["relative"] < 1e-2
    assert om.main([*compared, "--propose_keep_dtype=kept.txt"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["keep_dtype"]) == ["conv1", "relu1"]
    (given,) = ascend_ep.InferenceSession(found["bundle"]).get_inputs()
    assert given.type == "tensor(uint8)"


def random_bytes(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)


def test_rgb_mean_and_deviation(capsys: pytest.CaptureFixture[str]) -> None:
    proto = image_model()
    converted(
        capsys,
        proto,
        "input_format: RGB888_U8 mean_chn_0: 124\nmean_chn_1: 117 mean_chn_2: 104\n"
        "var_reci_chn_0: 0.017 var_reci_chn_1: 0.018 var_reci_chn_2: 1.7e-2  # ImageNet",
    )
    image = random_bytes(1, 12, 12, 3)
    wanted = (image - np.array([124, 117, 104])) * np.array([0.017, 0.018, 0.017])
    agrees(answer(image), proto, wanted.transpose(0, 3, 1, 2))


def test_bgr_crop_and_padding(capsys: pytest.CaptureFixture[str]) -> None:
    proto = image_model()
    converted(
        capsys,
        proto,
        "input_format: RGB888_U8 rbuv_swap_switch: true\n"
        "crop: true src_image_size_w: 30 src_image_size_h: 20 load_start_pos_w: 5 load_start_pos_h: 3\n"
        "crop_size_w: 9 crop_size_h: 10 padding: true left_padding_size: 1 right_padding_size: 2\n"
        "top_padding_size: 2 padding_value: -0.5 min_chn_1: 2.5",
    )
    image = random_bytes(1, 20, 30, 3)
    inner = image[:, 3:13, 5:14, ::-1] - np.array([0, 2.5, 0])
    wanted = np.pad(inner, ((0, 0), (2, 0), (1, 2), (0, 0)), constant_values=-0.5)
    agrees(answer(image), proto, wanted.transpose(0, 3, 1, 2))


def test_yuv420sp_as_cameras_give_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The default matrix makes BGR of BT.601 YUV: 18 rows of 12 bytes hold an image of 12 x 12."""
    proto = image_model()
    converted(capsys, proto, "input_format: YUV420SP_U8 csc_switch: true")
    image = random_bytes(1, 18, 12, 1)
    y = image[0, :12, :, 0].astype(int) - 16
    u = np.kron(image[0, 12:, 0::2, 0], np.ones((2, 2), int)).astype(int) - 128
    v = np.kron(image[0, 12:, 1::2, 0], np.ones((2, 2), int)).astype(int) - 128
    bgr = [(298 * y + 516 * u) >> 8, (298 * y - 100 * u - 208 * v) >> 8, (298 * y + 409 * v) >> 8]
    agrees(answer(image), proto, np.clip(bgr, 0, 255)[None].astype(float))


def test_xrgb_without_its_first_channel(capsys: pytest.CaptureFixture[str]) -> None:
    proto = image_model()
    converted(capsys, proto, "input_format: XRGB8888_U8 ax_swap_switch: true rbuv_swap_switch: true")
    image = random_bytes(1, 12, 12, 4)
    agrees(answer(image), proto, image[..., [3, 2, 1]].transpose(0, 3, 1, 2).astype(float))


def test_grey_images_of_any_batch(capsys: pytest.CaptureFixture[str]) -> None:
    proto = image_model(channels=1, batch="n")
    converted(capsys, proto, "input_format: YUV400_U8 mean_chn_0: 128", "--json=table.json")
    image = random_bytes(3, 12, 12, 1)
    found = ascend_ep.InferenceSession("m.om").run(None, {"x": image})[0]
    agrees(np.asarray(found), proto, image.transpose(0, 3, 1, 2).astype(float) - 128)


def test_images_of_any_size(capsys: pytest.CaptureFixture[str]) -> None:
    proto = image_model()
    for axis, name in ((2, "h"), (3, "w")):
        proto.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    converted(capsys, proto, "input_format: RGB888_U8 mean_chn_0: 128")
    image = random_bytes(1, 9, 14, 3)
    found = ascend_ep.InferenceSession("m.om").run(None, {"x": image})[0]
    agrees(np.asarray(found), proto, (image - np.array([128.0, 0, 0])).transpose(0, 3, 1, 2))
    for text in ("input_format: YUV420SP_U8 csc_switch: true", RGB + " padding: true", RGB + " crop: true"):
        said = failure(capsys, "--model=m.onnx", *PLAIN, configuration(text))
        assert "its height and width are free" in said


def test_half_precision_inputs_are_rounded_after(capsys: pytest.CaptureFixture[str]) -> None:
    save(image_model(dtype=onnx.TensorProto.FLOAT16))
    text = configuration("input_format: RGB888_U8 var_reci_chn_0: 0.01")
    assert run(capsys, "--model=m.onnx", *PLAIN, text)[0] == 0
    assert ascend_ep.InferenceSession("m.om").get_inputs()[0].type == "tensor(uint8)"


REFUSED = {
    "unknown key": ("input_formt: RGB888_U8", "aipp.cfg:3:1", "Did you mean [input_format]"),
    "unknown format": ("input_format: RGB888", "aipp.cfg:3:15", "RGB888_U8"),
    "no colon": ("crop true", "aipp.cfg:3:6", "':' is expected"),
    "twice": ("crop: true crop: false", "aipp.cfg:3:12", "given twice"),
    "not a number": ("mean_chn_0: red", "aipp.cfg:3:13", "must be an integer"),
    "too large": ("mean_chn_0: 256", "aipp.cfg:3:13", "within [0, 255]"),
    "stray sign": ("crop: tr$ue", "aipp.cfg:3:9", "'$' cannot stand here"),
    "no format": ("crop: false", "aipp.cfg:1:1", "[input_format] is required"),
    "unknown input": (RGB + ' related_input_name: "data"', "aipp.cfg:1:1", "no such input"),
    "rank": (RGB + " related_input_rank: 2", "aipp.cfg:1:1", "the model has 1 inputs"),
    "channels": ("input_format: YUV400_U8", "aipp.cfg:1:1", "1 channels, the model's input 3"),
    "crop outside": (
        RGB + " crop: true src_image_size_w: 14 src_image_size_h: 14 load_start_pos_w: 5",
        "aipp.cfg:1:1",
        "is 17, more than [src_image_size_w], 14",
    ),
    "sizes": (RGB + " src_image_size_w: 14", "aipp.cfg:1:1", "set [crop] to true"),
    "padding": (
        RGB + " crop: true src_image_size_w: 14 src_image_size_h: 14 crop_size_w: 12 padding: true"
        " left_padding_size: 2",
        "aipp.cfg:1:1",
        "the model's input has 12",
    ),
    "odd": (
        "input_format: YUV420SP_U8 csc_switch: true crop: true src_image_size_w: 31 src_image_size_h: 30",
        "aipp.cfg:1:1",
        "[src_image_size_w] is 31; with YUV420SP_U8 it must be even",
    ),
    "x first": ("input_format: XRGB8888_U8", "aipp.cfg:1:1", "[ax_swap_switch]"),
    "resize": (RGB + " resize: true", "aipp.cfg:1:1", "[resize] is reserved"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_e10052_says_where(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, place, reason = REFUSED[name]
    save(image_model())
    said = failure(capsys, "--model=m.onnx", *PLAIN, configuration(text))
    assert said.startswith("E10052: ")
    assert f"{place}: AIPP configuration is invalid. Reason: " in said
    assert reason in said
    assert not Path("m.om").exists()


@pytest.mark.parametrize("text", ["", "aip_op {}", "aipp_op {", "aipp_op { }", "\xff"])
def test_files_that_are_no_configuration(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    save(image_model())
    Path("aipp.cfg").write_bytes(text.encode("latin1"))
    assert failure(capsys, "--model=m.onnx", *PLAIN, "--insert_op_conf=aipp.cfg").startswith("E10052: ")


@pytest.mark.parametrize("encoding", ["gbk", "utf-8-sig"])
def test_comments_in_any_encoding(encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    save(image_model())
    text = "aipp_op { # 静态模式\r\n  aipp_mode: static\r\n  input_format: RGB888_U8 # 图像\r\n}\r\n"
    Path("aipp.cfg").write_bytes(text.encode(encoding))
    assert run(capsys, "--model=m.onnx", *PLAIN, "--insert_op_conf=aipp.cfg")[0] == 0
    Path("aipp.cfg").write_bytes(text.replace("# 图像", "图像").encode(encoding))
    assert "aipp.cfg:3:" in failure(capsys, "--model=m.onnx", *PLAIN, "--insert_op_conf=aipp.cfg")


def test_two_blocks_for_one_input(capsys: pytest.CaptureFixture[str]) -> None:
    save(image_model())
    Path("aipp.cfg").write_text("aipp_op { aipp_mode: static input_format: 3 }\n" * 2)
    said = failure(capsys, "--model=m.onnx", *PLAIN, "--insert_op_conf=aipp.cfg")
    assert "aipp.cfg:2:1: AIPP configuration" in said
    assert "has another [aipp_op] already, at aipp.cfg:1:1" in said


def test_what_atc_excludes(capsys: pytest.CaptureFixture[str]) -> None:
    save(image_model())
    said = failure(capsys, "--model=m.onnx", *PLAIN, configuration(RGB), "--dynamic_dims=1;2")
    assert said.startswith("E10001: ")
    assert "AIPP cannot be used with [--dynamic_dims]" in said
    said = failure(capsys, "--model=m.onnx", *PLAIN, configuration("", "dynamic"))
    assert said.startswith("E10052: ")
    assert "[max_src_image_size] is required" in said
