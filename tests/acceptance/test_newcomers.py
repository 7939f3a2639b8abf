"""What each kind of new user does first, by one page, where nothing is installed but what that page says.

tools/test --slow makes the environments; $ASCEND_EP_TEST_NEWCOMERS is the path that their names follow.
Commands are those that the installation put on the PATH. A walk is given nothing of the tests' environment.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest
from page_commands import blocks, ran

from ascend_ep.compiler.convert import convert

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GIVEN = os.environ.get("ASCEND_EP_TEST_NEWCOMERS", "")
CLIENT = os.environ.get("ASCEND_EP_TEST_TRITON_PYTHON")
#: What is installed already isn't installed again.
PRELUDE = "set -euo pipefail\npip() { :; }\n"


class Newcomer:
    """In an empty folder, with the commands of one environment on the PATH."""

    def __init__(self, extras: str, folder: Path) -> None:
        place = Path(f"{GIVEN}{extras}")
        if not GIVEN or not place.is_dir():
            pytest.skip("ASCEND_EP_TEST_NEWCOMERS names no environments: tools/test --slow makes them")
        self.folder, self.bin = folder, place / "bin"

    def runs(self, kind: str, text: str) -> str:
        return ran(self.folder, kind, text, PRELUDE, str(self.bin / "python"), 1200)

    def walks(self, page: str, until: str = "", without: tuple[str, ...] = ()) -> str:
        """What all blocks of a page print, up to a heading, but those with one of these words."""
        text = (ROOT / page).read_text()
        text = text.partition(f"\n## {until}\n")[0] if until else text
        every = [(kind, t) for kind, t in blocks(text) if not any(word in t for word in without)]
        assert every
        if all(kind == "python" for kind, _ in every):  # one program, in pieces
            return self.runs("python", "\n".join(t for _, t in every))
        return "".join(self.runs(kind, t) for kind, t in every)

    def fails(self, command: str) -> str:
        """What a command that ends with another status than 0 prints."""
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def newcomer(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Newcomer:
    (folder := tmp_path / "user").mkdir()
    made = Newcomer(request.param, folder)
    for name in [n for n in os.environ if n.startswith(("ASCEND", "PYTHON", "XDG", "VIRTUAL_ENV"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}/usr/local/bin:/usr/bin:/bin")
    return made


of = pytest.mark.parametrize


@of("newcomer", ["base"], indirect=True)
def test_who_only_runs_bundles(newcomer: Newcomer) -> None:
    """`pip install .`: numpy, cffi and ours. What converts names the extra that is missing."""
    layer = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        layer (float[N, 4] x) => (float[N, 4] y) { h = Swish(x)  y = Softmax(h) }""")
    (newcomer.folder / "m.om").write_bytes(convert(layer).to_bytes())
    program = """
import ascend_ep, numpy as np
print(ascend_ep.InferenceSession("m.om").run(None, {"x": np.array([[0, 0, 0, 9]], np.float32)}))"""
    assert re.search(r"1\.23\d*e-04.*9\.99\d+e-01", newcomer.runs("python", program))
    newcomer.runs(
        "sh", "ascend-ep doctor\nascend-om inspect m.om\nascend-om verify m.om\nascend-om bench m.om"
    )
    onnx.save(layer, newcomer.folder / "m.onnx")
    for command in (
        "ascend-atc --model=m.onnx --framework=5 --output=m --soc_version=Ascend910B3",
        "ascend-om bench m.onnx",
        "ascend-om quantize m.onnx --data .",
        "ascend-serve --model-repository=.",
        "python -c 'import ascend_ep; ascend_ep.convert(\"m.onnx\")' 2>&1 | tail -n 1; exit 1",
    ):
        said = newcomer.fails(command)
        assert re.search(r"pip install .*ascend-ep\[(convert|serve|onnxruntime)\]", said), (command, said)


@of("newcomer", ["onnxruntime"], indirect=True)
def test_who_has_onnxruntime_and_an_unknown_operator(newcomer: Newcomer) -> None:
    assert newcomer.walks("docs/onnxruntime.md").count("-0.15625, -0.5    , -1.     ]]") == 2


@of("newcomer", ["onnxruntime"], indirect=True)
def test_who_has_a_formula(newcomer: Newcomer) -> None:
    """The README's walk, without its server."""
    printed = newcomer.walks("README.md", "Where to read on", ("tools/demo", "ascend-serve", "curl", "──"))
    numbers = [float(t) for t in re.findall(r"-?\d+\.\d*(?:e[+-]?\d+)?", printed.partition("[array")[2])]
    x = np.array([-1, 0, 1, 2], np.float64)
    expected = -x / (1 + np.exp(-1.5 * x))
    np.testing.assert_allclose(numbers[:8], [*expected, *expected], rtol=1e-5, atol=1e-6)
    assert (newcomer.folder / "project").is_dir()


@of("newcomer", ["convert"], indirect=True)
def test_who_programs_in_c(newcomer: Newcomer) -> None:
    absent = tuple(tool for tool in ("pkg-config", "cmake") if shutil.which(tool) is None)
    printed = newcomer.walks("docs/c-programs.md", without=absent)
    assert printed.count("0.1345 0.1345 0.3655 0.3655") == 3 - len(absent), printed


@of("newcomer", ["convert"], indirect=True)
def test_who_writes_ascend_c(newcomer: Newcomer) -> None:
    assert "proof holds" in newcomer.walks("docs/ascend-c.md")


@of("newcomer", ["convert"], indirect=True)
def test_who_comes_from_atc_and_ais_bench(newcomer: Newcomer) -> None:
    printed = newcomer.walks("docs/ais-bench.md", without=("torch_npu",))
    assert "total [3. 3. 3. 3.] top [2. 2. 2. 2.]\nruns: 1\n" in printed


@of("newcomer", ["torch"], indirect=True)
def test_who_comes_from_pytorch(newcomer: Newcomer) -> None:
    newcomer.walks("docs/pytorch.md", "A C++ extension", ("tools/torch_calls",))
    assert (newcomer.folder / "m.onnx").is_file()
    assert "y" in newcomer.runs("sh", "ascend-om inspect m.om")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [s.getsockname()[1] for s in sockets]
    for each in sockets:
        each.close()
    return found


@contextmanager
def served(newcomer: Newcomer, line: str, port: int) -> Iterator[None]:
    process = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=newcomer.folder)
    try:
        until = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://localhost:{port}/v2/health/ready", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.2)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@of("newcomer", ["serve"], indirect=True)
def test_who_serves(newcomer: Newcomer) -> None:
    """The page on serving up to its client, which is Triton's own, where the tests have it."""
    first, asked, program = blocks((ROOT / "docs/serving.md").read_text())[:3]
    *prepared, line = first[1].strip().splitlines()
    assert line.startswith("ascend-serve ")
    newcomer.runs("sh", "\n".join(prepared))
    http, grpc, metrics = free_ports(3)
    ports = f" --http-port={http} --grpc-port={grpc} --metrics-port={metrics}"
    with served(newcomer, line.partition("#")[0] + ports, http):
        here = [text.replace("localhost:8000", f"localhost:{http}") for _, text in (asked, program)]
        assert '"data":[-0.2689' in newcomer.runs("sh", here[0]).replace(" ", "")
        if CLIENT:
            printed = ran(newcomer.folder, "python", here[1], python=CLIENT, seconds=1200)
            np.testing.assert_allclose(
                [float(t) for t in re.findall(r"-?\d+\.\d*(?:e[+-]?\d+)?", printed)],
                [-0.26894143, 0, 0.7310586, 1.7615942],
                rtol=1e-6,
            )
