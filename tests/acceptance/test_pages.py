"""Pages whose commands and programs run one after another, in an empty folder, as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from page_commands import blocks, ran

from ascend_ep.runtime.binding import lib

DOCS = Path(__file__).parents[2] / "docs"
PKG_CONFIG = shutil.which("pkg-config") is not None


@pytest.fixture
def printed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What all blocks of a page print, with a trust store and devices of their own."""
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))
    monkeypatch.setenv("ASCEND_EP_DEVICE_STATE", str(tmp_path / "devices"))
    monkeypatch.delenv("ASCEND_CUSTOM_OPS", raising=False)
    (folder := tmp_path / "user").mkdir()
    every = blocks((DOCS / request.param).read_text())
    apart = ["torch_npu"] if PKG_CONFIG else ["torch_npu", "pkg-config"]  # tests/acl runs these
    here = [(kind, text) for kind, text in every if not any(word in text for word in apart)]
    return "".join(ran(folder, kind, text) for kind, text in here)


@pytest.mark.parametrize("printed", ["c-programs.md"], indirect=True)
def test_c_programs(printed: str) -> None:
    _, _, results = printed.partition("1 output of 3 by 4\n")
    assert [line.strip() for line in results.splitlines()] == [
        "0.2500 0.2500 0.2500 0.2500",
        "0.1345 0.1345 0.3655 0.3655",
        "0.0001 0.9996 0.0001 0.0001",
        *["0.1345 0.1345 0.3655 0.3655"] * (1 + PKG_CONFIG),  # C++: by CMake, pkg-config
    ]


@pytest.mark.parametrize("printed", ["acl.md"], indirect=True)
def test_programs_on_ascendcl(printed: str) -> None:
    assert printed.count("0.0321 0.0871 0.2369 0.6439\n") == 2
    assert "| npu-smi " in printed
    assert "| No running processes found in NPU 0 " in printed


@pytest.mark.parametrize("printed", ["hccl.md"], indirect=True)
def test_several_devices(printed: str) -> None:
    _, _, ranks = printed.partition("set_env.sh\n")
    assert ranks == "".join(f"rank {rank}: 10\n" for rank in range(4))


@pytest.mark.parametrize("printed", ["ais-bench.md"], indirect=True)
def test_ais_bench(printed: str) -> None:
    assert printed.count("throughput 1000*batchsize.mean(2)/NPU_compute_time.mean(") == 2, printed
    assert "throughput 1000*batchsize.mean(8)/" in printed
    assert "12.000000 12.000000 12.000000 12.000000 \n" in printed
    assert "total [3. 3. 3. 3.] top [2. 2. 2. 2.]\nruns: 1\n" in printed
    assert "sum [3. 3. 3. 3.]\n" in printed
    assert "it has 16 bytes (int8[16]); the model takes 32" in printed
    assert "Execute sample success" in printed
    assert "PureInfer result saved in ./result/PureInfer_perf_of_pair_in_device_0.txt" in printed


@pytest.mark.parametrize("printed", ["ascend-c.md"], indirect=True)
def test_ascend_c(printed: str) -> None:
    page = (DOCS / "ascend-c.md").read_text()
    (fault,) = re.findall(r"^fault .*$", page, re.MULTILINE)
    assert re.findall(r"^fault .*$", printed, re.MULTILINE) == [fault]
    assert "status 1\n" in printed
    assert "proof holds" in printed


@pytest.mark.parametrize("printed", ["onnxruntime.md"], indirect=True)
def test_onnxruntime(printed: str) -> None:
    wanted = "-0.15625, -0.5    , -1.     ]], dtype=float32)]"
    assert printed.count(wanted) == 2, printed
    assert "AscendEP: all 2 nodes in 1 group" in printed


@pytest.mark.parametrize("printed", ["bundle-format.md"], indirect=True)
def test_the_bundle_format(printed: str) -> None:
    frame = re.findall(r"^(\w+): \d+ bytes at (\d+)$", printed, re.MULTILINE)
    assert frame[0] == ("MODEL_DEF", str(264 + 24 * len(frame)))
    assert "PLAN" in dict(frame)
    assert re.search(r"^plan version \d+, for readers from 1 on$", printed, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("printed", ["quantization.md"], indirect=True)
def test_quantization(printed: str) -> None:
    assert printed.count("2 of 2 products quantised, by 32 samples") == 2, printed
    assert "1 of 2 products quantised, by 32 samples" in printed  # 4 bits are for matrix products
    assert "1 of 2 products quantised, by 2 samples" in printed  # amct_onnx
    assert "2 of 2 products quantised, by 8 samples" in printed
    assert "written to m_int8.onnx" in printed
    assert "ATC run success" in printed


@pytest.mark.slow
@pytest.mark.parametrize("printed", ["load.md"], indirect=True)
def test_load(printed: str) -> None:
    for load in ("Concurrency: 1\n", "Concurrency: 4\n", "Request Rate: 50\n", "Request Rate: 100\n"):
        assert load in printed
    assert "best: ascend-serve --model-repository=models --instances=" in printed


@pytest.mark.parametrize("printed", ["profiling.md"], indirect=True)
def test_profiling(printed: str) -> None:
    assert printed.count("100 runs, 200 kernel calls") == 2, printed
    assert "AICORE Compute Efficiency" in printed
    assert "[INFO] Profiling results saved in" in printed
    assert '"ascend_profile":"PROF_000001_' in printed
    assert printed.count("1 runs, 2 kernel calls") == 2
    assert "what bounds it" in printed
    assert "### ✅ layer.om: " in printed


@pytest.mark.slow
@pytest.mark.parametrize("printed", ["depthwise.md"], indirect=True)
def test_a_kernel_brought_up(printed: str) -> None:
    """Every step is right, and the table's model is what the commands print."""
    page = (DOCS / "depthwise.md").read_text()
    rows = re.findall(
        r"^\| (?:naive|rows|kept) \| .*? \| ([\d.]+) us \| ([\d.]+) us \| (\w+) \|$", page, re.M
    )
    said = re.findall(r"at least ([\d.]+) us, ([\d.]+) us if its units", printed)
    assert said == [(least, turns) for least, turns, _ in rows]
    assert [limit for *_, limit in rows] == ["scalar", "memory", "memory"]
    assert printed.count("with the golden file: largest difference") == 3
    assert "[AdviceScalar] the scalar unit reads 1742400 elements" in printed
    (library,) = re.findall(r"model of Ascend910B1: at least ([\d.]+) us", printed)
    (bound,) = re.findall(r"^\| the library's Conv \| .*? \| ([\d.]+) us", page, re.MULTILINE)
    assert f"{float(library) / 10:.3g}" == bound
    assert len(re.findall(r"^median ", printed, re.MULTILINE)) == 4


def test_the_last_kernel_of_that_page(tmp_path: Path) -> None:
    """On a small image: a sample of the slow test, with rows that no block begins or ends evenly."""
    every = blocks((DOCS / "depthwise.md").read_text())
    arrays = next(text for _, text in every if "arrays.py <<" in text).replace(
        "arrays.py 112", "arrays.py 14"
    )
    edit = next(text for _, text in every if "kept.py <<" in text)
    ran(tmp_path, "sh", arrays)
    ran(tmp_path, *next(block for block in every if block[1].startswith("// rows.cpp")))
    printed = ran(tmp_path, "sh", edit.replace("side=112 --block_dim 22", "side=14 --block_dim 3"))
    assert "with the golden file: largest difference" in printed
    assert "fault" not in printed


def test_every_reader_has_a_row() -> None:
    """docs/bundle-format.md says what each number of ASC_READER_VERSION knows."""
    rows = re.findall(r"^\| (\d+) \| ", (DOCS / "bundle-format.md").read_text(), re.MULTILINE)
    assert [int(row) for row in rows] == list(range(1, lib.ASC_READER_VERSION + 1))
