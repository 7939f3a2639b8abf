"""`python -m ais_bench`: its files, lines and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import acl_bundles
import numpy as np
import pytest

from ascend_ep.cann.ais_bench.command_line import main


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Five of them, half as large as the input of the static bundle; their names sort by number."""
    folder = tmp_path / "images"
    folder.mkdir()
    for i in (0, 1, 2, 9, 10):
        np.save(folder / f"img_{i}.npy", np.full((1, 3, 8, 8), i, np.float32))
    return folder


def said(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = main([str(w) for w in words])
    captured = capfd.readouterr()
    return status, captured.out + captured.err


def test_made_up_data(bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, text = said(capfd, "--model", bundles["static"], "--output", tmp_path, "--loop=4", "--debug", "1")
    assert status == 0
    mean = re.search(
        r"NPU_compute_time \(ms\): min = .*, max = .*, mean = (\S+), median = \S+, percent", text
    )
    rate = re.search(r"throughput 1000\*batchsize.mean\(2\)/NPU_compute_time.mean\((\S+)\): (\S+)", text)
    assert mean
    assert rate
    assert rate[1] == mean[1]
    assert float(rate[2]) == pytest.approx(2000 / float(mean[1]))
    assert "#0    x  (2, 3, 8, 8)  float32  1536  1536" in text
    (folder,) = (p for p in tmp_path.iterdir() if p.is_dir())
    assert sorted(p.name for p in folder.iterdir()) == ["pure_infer_data_0.bin", "pure_infer_data_1.bin"]
    summary = json.loads(Path(f"{folder}_summary.json").read_text())
    assert len(summary["npu_compute_time_list"]) == summary["NPU_compute_time"]["count"] == 4
    keys = {"NPU_compute_time", "H2D_latency", "D2H_latency", "throughput", "npu_compute_time_list"}
    assert keys | {"pid", "filesinfo", "args"} == set(summary)


@pytest.mark.parametrize(
    "more", [[], ["--run_mode=tensor"], ["--run_mode=full"], ["--pipeline=1", "--threads=2"]]
)
def test_files_fill_batches(
    bundles: dict[str, str], images: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], more: list[str]
) -> None:
    given = ["--input", images, "--output", tmp_path, "--output_dirname=out", "--outfmt=NPY", *more]
    status, text = said(capfd, "--model", bundles["static"], *given)
    assert status == 0
    assert "get filesperbatch files0 size:768 tensor0size:1536 filesperbatch:2 runcount:3" in text
    assert len(list((tmp_path / "out").iterdir())) == 10
    for i in (0, 1, 2, 9, 10):
        np.testing.assert_array_equal(np.load(tmp_path / f"out/img_{i}_1.npy"), np.full((1, 3, 8, 8), -i))
    found = json.loads((tmp_path / "out_summary.json").read_text())["filesinfo"]
    assert [Path(found[str(i)]["infiles"][0]).stem for i in range(5)] == [
        f"img_{i}" for i in (0, 1, 2, 9, 10)
    ]


@pytest.mark.parametrize(
    ("kind", "option", "batch"),
    [
        ("batch", "--dymBatch=2", 2),
        ("image", "--dymHW=16,4", 1),
        ("dims", "--dymDims=a:2,8;b:2,8", 2),
        ("range", "--dymShape=a:3,5;b:3,5", 3),
        ("pair", "--batchsize=7", 7),
    ],
)
def test_shapes_are_chosen(
    bundles: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    kind: str,
    option: str,
    batch: int,
) -> None:
    room = ["--outputSize=1000,1000"] if kind == "range" else []
    given = ["--pure_data_type=random", "--output", tmp_path, "--output_dirname=o", option, *room]
    status, text = said(capfd, "--model", bundles[kind], *given)
    assert (status, f"batchsize.mean({batch})" in text) == (0, True), text
    count = {"batch": 2 * 3 * 64, "image": 3 * 64, "dims": 16, "range": 15, "pair": 8}[kind]
    assert (tmp_path / "o/pure_infer_data_1.bin").stat().st_size == 4 * count


@pytest.mark.parametrize(("kind", "option"), [("dims", "dymdims"), ("range", "dymshape")])
def test_files_choose_shapes(
    bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str, option: str
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        for i, shape in enumerate([(4, 4), (2, 8)]):
            np.save(tmp_path / name / f"{i}.npy", np.ones(shape, np.float32))
    given = ["--input", f"{tmp_path}/a,{tmp_path}/b", f"--auto_set_{option}_mode=1", "--output", tmp_path]
    room = ["--outputSize=100,100", "--outfmt=TXT", "--output_dirname=o"]
    status, text = said(capfd, "--model", bundles[kind], *given, *room)
    assert (status, "batchsize.mean(3.0)" in text) == (0, True), text
    assert (tmp_path / "o/1_0.txt").read_text() == ("2.000000 " * 8 + "\n") * 2
    assert (tmp_path / "o/0_1.txt").read_text() == ("2 " * 4 + "\n") * 4


def test_every_shape_in_a_range(bundles: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    given = ["--dymShape_range=a:1~5~2,3-4;b:1~5~2,3-4", "--outputSize=1000,1000"]
    status, text = said(capfd, "--model", bundles["range"], *given)
    assert status == 0
    # 36 of them, of which those whose inputs broadcast run
    assert "run_count:36 success_count:" in text
    assert re.search(r"0 dymshape:a:\d,\d;b:\d,\d  result:OK throughput:[1-9]", text)


def test_several_devices(
    bundles: dict[str, str], images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_EP_DEVICES", "2")
    given = ["--model", bundles["static"], "--input", images, "--divide_input=1", "--device=0,1"]
    ended = acl_bundles.run(tmp_path, "-m", "ais_bench", *given, "--output", "r", "--output_dirname=o")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rates = [float(r) for r in re.findall(r"i:\d device_\d throughput:(\S+) ", ended.stdout)]
    total = re.search(r"summary throughput:(\S+)", ended.stdout)
    assert total
    assert float(total[1]) == pytest.approx(sum(rates))
    written = {
        d: sorted(p.name for p in (tmp_path / "r/o" / d).glob("*_0.bin")) for d in ("device0", "device1")
    }
    assert written == {
        "device0": [f"img_{i}_0.bin" for i in (0, 1, 2)],
        "device1": ["img_10_0.bin", "img_9_0.bin"],
    }
    ended = acl_bundles.run(tmp_path, "-m", "ais_bench", "--model", bundles["static"], "--device=0,200")
    assert (ended.returncode, "E45006" in ended.stdout) == (1, True)


def test_times_of_kernels_are_written(
    bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, text = said(capfd, "--model", bundles["static"], "--output", tmp_path, "--profiler=1")
    assert status == 0
    path = re.search(r"profile written: (.*)", text)
    assert path
    assert any("_kernel_time" in event["name"] for event in json.loads(Path(path[1]).read_text()))


def test_what_has_no_effect_is_said(
    bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["--output", tmp_path, "--dump_npy=1", "--energy_consumption=1", "--npu_id=3"]
    status, text = said(capfd, "--model", bundles["static"], *given)
    assert status == 0
    for option in ("dump_npy", "energy_consumption", "npu_id"):
        assert f"[WARNING] --{option} has no effect" in text
    status, text = said(capfd, "--model", bundles["range"], "--dymShape=a:2,2;b:2,2")
    assert (status, "the size of output [s] isn't known before a run" in text) == (1, True)


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["--loop=0"], 2, "E45001: The value of [--loop] is invalid"),
        (["--debug=maybe"], 2, "[maybe] is neither 1 nor 0"),
        (["--device=256"], 2, "beyond 0 to 255"),
        (["--outfmt=PNG"], 2, "--outfmt"),
        (["--dymDims=a"], 2, "[a] is no name with sizes"),
        (["--dymHW=3"], 2, "isn't height,width"),
        (["--outputsize=3"], 2, "Did you mean [--outputSize]"),
        (["--output_dirname=o"], 1, "E45002"),
        (["--profiler=1"], 1, "need --output"),
        (["--dymBatch=2", "--dymHW=1,2"], 1, "choose the same shapes"),
        (["--threads=2"], 1, "--threads needs --pipeline"),
        (["--backend=trtexec"], 1, "E45007"),
        (["--input=none"], 1, "E45003: [none] is refused: there is no such file"),
        (["--dymBatch=2"], 1, "wasn't converted for --dymBatch. \n"),
        (["--run_mode=files"], 1, "takes .bin files"),
        (["--outputSize=24,5"], 1, "Output [z] has 1536 bytes, its buffer 5"),
    ],
)
def test_mistakes_are_named(
    bundles: dict[str, str], capfd: pytest.CaptureFixture[str], words: list[str], status: int, expected: str
) -> None:
    try:
        found, text = said(capfd, "--model", bundles["static"], *words)
    except SystemExit as ended:
        captured = capfd.readouterr()
        found, text = int(str(ended.code)), captured.out + captured.err
    assert (found, expected.strip().rstrip(".") in text) == (status, True), text
    assert "Traceback" not in text


def test_files_that_do_not_fit_are_named(
    bundles: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.bin").write_bytes(b"12345")
    (tmp_path / "b.npy").write_bytes(b"no array")
    (tmp_path / "folder").mkdir()
    for given, expected in {
        "a.bin": "it has 5 bytes, input [x] 1536",
        "b.npy": "it can't be read",
        "folder": "it holds no .npy or .bin files",
        "folder,a.bin": "files and folders are mixed",
    }.items():
        paths = ",".join(str(tmp_path / part) for part in given.split(","))
        status, text = said(capfd, "--model", bundles["static"], "--input", paths)
        assert (status, expected in text) == (1, True), text
    status, text = said(capfd, "--model", bundles["pair"], "--input", tmp_path / "a.bin")
    assert (status, "the model has 2 inputs; these are 1 files" in text) == (1, True), text
