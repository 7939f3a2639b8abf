"""The command lines of msame and benchmark.x86_64: what they print and write."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cli.ep import main


def said(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = main([str(w) for w in words])
    captured = capfd.readouterr()
    return status, captured.out + captured.err


def test_msame_on_zeros(bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = ["--output", tmp_path, "--outfmt", "TXT", "--loop=3", "--debug", "true"]
    status, text = said(capfd, "msame", "--model", bundles["pair"], *given)
    assert status == 0
    assert len(re.findall(r"^Inference time: \S+ms$", text, re.M)) == 3
    assert re.search(r"^Inference average time: \d+\.\d{6} ms$", text, re.M)
    assert "Inference average time without first time" in text
    assert re.search(r"pid: \d+ Execute sample success", text)
    (folder,) = (p for p in tmp_path.iterdir() if p.is_dir())
    assert (folder / "pair_output_0.txt").read_text() == ("0 " * 4 + "\n") * 2


def test_msame_on_files_and_folders(
    bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arrays = {name: np.random.default_rng(5).random((2, 8), np.float32) for name in ("a", "b")}
    for name, array in arrays.items():
        (tmp_path / name).mkdir()
        array.tofile(tmp_path / name / "one.bin")
        (array + 1).tofile(tmp_path / name / "two.bin")
    chosen = ["--dymDims", "a:2,8;b:2,8", "--output", tmp_path / "out"]
    paths = ",".join(str(tmp_path / name / "one.bin") for name in arrays)
    status, _ = said(capfd, "msame", "--model", bundles["dims"], "--input", paths, *chosen)
    assert status == 0
    (written,) = (tmp_path / "out").glob("*/dims_output_0.bin")
    np.testing.assert_array_equal(np.fromfile(written, np.float32).reshape(2, 8), arrays["a"] + arrays["b"])
    folders = ",".join(str(tmp_path / name) for name in arrays)
    status, text = said(capfd, "msame", "--model", bundles["dims"], "--input", folders, *chosen)
    assert (status, "Inference average time : " in text) == (0, True)
    assert {p.name for p in (tmp_path / "out").glob("*/*_output_1.bin")} >= {
        "one_output_1.bin",
        "two_output_1.bin",
    }


def test_benchmark_on_a_list(
    bundles: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for i in range(3):
        np.full((3, 8, 8), i, np.float32).tofile(f"image_{i}.bin")
    Path("list.info").write_text("".join(f"{i} ./image_{i}.bin 8 8\n" for i in range(3)))
    given = ["-model_type=vision", "-device_id=0", "-batch_size=2", f"-om_path={bundles['static']}"]
    more = ["-input_width=8", "-input_height=8", "-useDvpp=False", "-input_text_path=list.info"]
    assert said(capfd, "benchmark", *given, *more, "-output_binary=True")[0] == 0
    for i in range(3):
        found = np.fromfile(f"result/dumpOutput_device0/image_{i}_2.bin", np.float32)
        np.testing.assert_array_equal(found, np.full(192, -i))
    lines = Path("result/perf_vision_batchsize_2_device_0.txt").read_text().splitlines()
    assert re.fullmatch(
        r"\[infer\] throughputRate: \S+, Interface throughputRate: \S+, moduleLatency: \S+", lines[2]
    )
    assert said(capfd, "benchmark", *given, *more, "-output_binary=False")[0] == 0
    rows = Path("result/dumpOutput_device0/image_2_1.txt").read_text().splitlines()
    assert rows == ["-2 "] * 3


def test_benchmark_on_made_up_data(
    bundles: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, text = said(capfd, "benchmark", f"-om_path={bundles['batch']}", "-batch_size=2", "-round=4")
    assert (status, len(re.findall(r"Dataset number: \d finished cost", text))) == (0, 4)
    line = Path("result/PureInfer_perf_of_batch_in_device_0.txt").read_text()
    found = re.fullmatch(r"\[INFO\] ave_throughputRate: (\S+)samples/s, ave_latency: (\S+)ms\n", line)
    assert found
    assert float(found[1]) * float(found[2]) == pytest.approx(1000, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["msame", "--model=M"], "--model and --output are needed"),
        (["msame", "--model=M", "--output=o", "--loop=101"], "[--loop] is invalid: it is 1 to 100"),
        (
            ["msame", "--model=M", "--output=o", "--lop=1"],
            "there is no option [--lop=1]. Did you mean [loop]",
        ),
        (["msame", "--model=M", "--output=o", "--outfmt=NPY"], "[NPY] is neither TXT nor BIN"),
        (["msame", "--model=M", "--output=o", "--dymHW=1,2"], "wasn't converted for --dymHW"),
        (["msame", "--model=M", "--output=o", "--input=none.bin"], "[none.bin] is refused"),
        (["benchmark", "-om_path=M"], "-batch_size is missing"),
        (["benchmark", "-om_path=M", "-batch_size=x"], "[x] is no whole number"),
        (["benchmark", "-om_path=M", "-batch_size=2", "-useDvpp=True"], "pictures aren't decoded"),
        (["benchmark", "-om_path=M", "-batch_size=2", "-input_text_path=none"], "[none] is refused"),
    ],
)
def test_mistakes_are_named(
    bundles: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, text = said(capfd, *[w.replace("=M", f"={bundles['static']}") for w in words])
    assert (status, expected in text) == (1, True), text
