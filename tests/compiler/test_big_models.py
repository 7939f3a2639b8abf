"""Models with much weight: converted in memory that does not grow with it, and loaded without reading it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ascend_ep

CONVERT = """
import json, sys
from ascend_ep.cli import atc
status = atc.main(sys.argv[1:])
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([status, int(peak) / 1024]))
"""


def save_products(folder: Path, sizes: list[tuple[int, int]], transposed: bool = False) -> Path:
    """A chain of products with random weights [k, n] in a file of their own, written one at a time."""
    nodes, weights, name, offset = [], [], "x", 0
    generator = np.random.default_rng(0)
    with open(folder / "weights.bin", "wb") as file:
        for i, (k, n) in enumerate(sizes):
            rows = generator.standard_normal((n, 64) if transposed else (k, 64), np.float32) / np.float32(
                k**0.5
            )
            repeats = -(-(k if transposed else n) // 64)
            matrix = np.tile(rows, (1, repeats))[:, : k if transposed else n]
            matrix[:, 0] = i  # none is equal to another
            matrix.tofile(file)
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=matrix.shape)
            tensor.data_location = TensorProto.EXTERNAL
            entries = {"location": "weights.bin", "offset": str(offset), "length": str(matrix.nbytes)}
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=value)
            offset += matrix.nbytes
            weights.append(tensor)
            kind = {"op_type": "Gemm", "transB": 1} if transposed else {"op_type": "MatMul"}
            nodes.append(helper.make_node(inputs=[name, f"w{i}"], outputs=[f"y{i}"], **kind))
            name = f"y{i}"
    x, y = (
        helper.make_tensor_value_info(text, TensorProto.FLOAT, [2, size])
        for text, size in (("x", sizes[0][0]), (name, sizes[-1][1]))
    )
    graph = helper.make_graph(nodes, "products", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx"


def converted_in(model: Path, precision: str = "origin") -> float:
    """Converts in a process of its own; its peak memory in MB, mapped files included."""
    flags = ["--framework=5", "--soc_version=Ascend910B3", f"--precision_mode_v2={precision}"]
    words = [*flags, f"--model={model}", f"--output={model.with_suffix('')}"]
    run = subprocess.run([sys.executable, "-c", CONVERT, *words], capture_output=True, text=True, check=True)
    status, peak = json.loads(run.stdout.splitlines()[-1])
    assert status == 0, run.stdout
    return float(peak)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> float:
    """What a conversion of a small model takes: the libraries, in whatever precision."""
    return converted_in(save_products(tmp_path_factory.mktemp("small"), [(64, 64)]), "fp16")


@pytest.mark.parametrize(
    ("precision", "transposed"),
    [
        ("origin", False),
        ("origin", True),
        ("fp16", False),
        pytest.param("fp16", True, marks=pytest.mark.slow),
        ("cube_fp16in_fp32out", False),
        ("mixed_bfloat16", False),
    ],
)
@pytest.mark.measures
def test_memory_does_not_grow_with_the_model(
    base: float, tmp_path: Path, precision: str, transposed: bool
) -> None:
    sizes = [(2048, 2048)] * 8 + [(2048, 4096)]
    peak = converted_in(save_products(tmp_path, sizes, transposed), precision)
    assert peak - base < 1.3 * 32 + 64, "160 MB of weights, the largest 32 MB"
    x = np.full((2, 2048), 1e-3, np.float32)
    session = ascend_ep.InferenceSession(tmp_path / "m.om")
    frugal = ascend_ep.InferenceSession(tmp_path / "m.om", providers=[("AscendEP", {"low_memory": "1"})])
    (y,), (other,) = (s.run(None, {"x": x}) for s in (session, frugal))
    np.testing.assert_array_equal(y, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [[(4096, 4096)] * 32, [(4096, 65536), (65536, 4096)]], ids=["of 64 MB each", "of 1 GB each"]
)
@pytest.mark.measures
def test_two_gigabytes(tmp_path: Path, sizes: list[tuple[int, int]]) -> None:
    largest = max(k * n * 4 for k, n in sizes) / 2**20
    assert converted_in(save_products(tmp_path, sizes)) < 1.3 * largest + 500
    ascend_ep.InferenceSession(tmp_path / "m.om")
    start = time.perf_counter()
    ascend_ep.InferenceSession(tmp_path / "m.om")
    assert time.perf_counter() - start < 0.2
