"""Dynamic AIPP: pictures whose parameters come with a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cli.atc import main as atc

from .conftest import Runner

MODEL = "m (float[2, 3, 4, 6] x) => (float[2, 3, 4, 6] y) { y = Neg(x) }"
CONFIG = 'aipp_op {{ aipp_mode: dynamic related_input_name: "x" {more} }}'
WIDTH, HEIGHT = 8, 6


@pytest.fixture
def config(tmp_path: Path) -> Callable[[str], Path]:
    def written(more: str) -> Path:
        path = tmp_path / "aipp.cfg"
        path.write_text(CONFIG.format(more=more))
        return path

    return written


def images(pixels: np.ndarray, means: list[float], scales: list[float]) -> np.ndarray:
    """[2, 6, 8, 3] channels last, cropped, scaled and padded as the program asks for."""
    made = np.zeros((2, 3, 4, 6))
    for i, picture in enumerate(pixels):
        crop = picture[2:5, 1 + i : 6 + i].transpose(2, 0, 1)
        made[i, :, 1:, :5] = (crop - np.array(means)[:, None, None]) * np.array(scales)[:, None, None]
    return made


def test_runs(convert: Callable[..., Path], config: Callable[[str], Path], run: Runner) -> None:
    made = convert(MODEL, f"--insert_op_conf={config('max_src_image_size: 400')}")
    done = run("aipp.c", made)
    assert done.status == 0, done.err
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert rows["inputs"] == ["2", "1", "400", "1", "1"]
    assert rows["unset"] == ["145014"]
    assert rows["format"] == ["100000", "200006"]
    assert rows["indices"] == ["145015", "145015"]
    assert rows["set"] == ["0"]
    assert rows["sizes"] == ["145000"]
    data = (np.arange(2 * WIDTH * HEIGHT * 3) * 7 % 256).astype(np.uint8)
    parameters = ([10.5, 20, 30], [0.5, 1, 2])

    def got(name: str) -> np.ndarray:
        assert rows[name][0] == "0"
        return -np.array(rows[name][1:], float).reshape(2, 3, 4, 6)

    rgb = data.reshape(2, HEIGHT, WIDTH, 3)[..., ::-1].astype(float)
    assert np.allclose(got("rgb"), images(rgb, *parameters))
    size = WIDTH * HEIGHT * 3 // 2
    yuv = data[: 2 * size].reshape(2, size).astype(int)
    y = yuv[:, : WIDTH * HEIGHT].reshape(2, HEIGHT, WIDTH)
    uv = yuv[:, WIDTH * HEIGHT :].reshape(2, HEIGHT // 2, WIDTH // 2, 2).repeat(2, 1).repeat(2, 2) - 128
    u, v = uv[..., 0], uv[..., 1]
    colours = [256 * y + 359 * v, 256 * y - 88 * u - 183 * v, 256 * y + 454 * u]
    expected = np.stack([np.clip(c >> 8, 0, 255) for c in colours], -1).astype(float)
    assert np.allclose(got("yuv"), images(expected, *parameters))


def test_the_size_is_needed(
    config: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx

    onnx.save(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {MODEL}'), tmp_path / "m.onnx"
    )
    line = ["--framework=5", "--soc_version=Ascend910B3", f"--insert_op_conf={config('')}"]
    assert atc([f"--model={tmp_path}/m.onnx", f"--output={tmp_path}/m", *line]) != 0
    said = capsys.readouterr()
    assert "E10052" in said.out + said.err
    assert "max_src_image_size" in said.out + said.err
