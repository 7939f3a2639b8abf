"""Converting a model of small weights and large activations takes little more memory than running it."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest

from ascend_ep.compiler import self_check
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

ALLOWED = 300  #: MB beyond 1.3 times onnxruntime's own peak
# A process begins with the ru_maxrss of the one that started it.
PEAK = """
(own,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(own.split()[1]) // 1024)
"""
CONVERT = f"""
import sys
from ascend_ep.cli.atc import main
path, output = sys.argv[1:]
assert main([f"--model={{path}}", "--framework=5", f"--output={{output}}", "--soc_version=Ascend910B3"]) == 0
{PEAK}
"""
RUN = f"""
import sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
session.run(None, {{i.name: numpy.zeros(i.shape, numpy.float32) for i in session.get_inputs()}})
{PEAK}
"""


def images(channels: int, height: int, width: int) -> onnx.ModelProto:
    """Two convolutions of one image, and its channels' means."""
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal((channels, c, 3, 3)).astype(np.float32) / 8 for c in (1, channels))
    image, means = f"float[1,1,{height},{width}] x", f"float[1,{channels},1,1] y"
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 17]> g ({image}) => ({means}) {{
        a = Conv<pads = [1,1,1,1]>(x, first) b = Relu(a) c = Conv<pads = [1,1,1,1]>(b, second) d = Relu(c)
        y = GlobalAveragePool(d) }}"""
    )  # fmt: skip
    model.graph.initializer.extend(
        [onnx.numpy_helper.from_array(first, "first"), onnx.numpy_helper.from_array(second, "second")]
    )
    return model


def peak(code: str, *arguments: str) -> tuple[int, str]:
    """A process's largest resident size in MB, and what it said on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    return int(done.stdout.split()[-1]), done.stderr


@pytest.mark.measures
def test_large_activations(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(images(40, 901, 161), path)
    ours, said = peak(CONVERT, str(path), str(tmp_path / "m"))
    theirs, _ = peak(RUN, str(path))
    assert ours <= 1.3 * theirs + ALLOWED
    assert "the check was shortened" in said
    assert "--self_check=1" in said


@pytest.mark.parametrize("shared", ["Identity(w)", "Transpose(w)", "Relu(w)", "Reshape(w, s)"])
@pytest.mark.measures
def test_a_weight_that_many_layers_share(tmp_path: Path, shared: str) -> None:
    """Each layer has a node that copies, turns or changes the one weight, as exporters write it."""
    layers, size = 80, 1024  # 4 MB each: 320 MB of copies
    weight = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32) / 32
    nodes = " ".join(f"w{i} = {shared} x{i + 1} = MatMul(x{i}, w{i})" for i in range(layers))
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 17]> g (float[1,{size}] x0) => (float[1,{size}] x{layers})
        <int64[2] s = {{{size}, -1}}> {{ {nodes} }}"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    ours, _ = peak(CONVERT, str(path), str(tmp_path / "m"))
    assert ours <= 300  # 80 MB of libraries, the file, its weight and another copy


@pytest.mark.parametrize("limit", ["SMALL_NODES", "SMALL_WEIGHTS", "SMALL_BYTES", "SMALL_SECONDS"])
def test_what_is_left_out_is_said(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with --self_check=1 nothing is."""
    model = images(2, 9, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convert(model).to_bytes()
        monkeypatch.setattr(self_check, limit, 0)
        convert(model, ConvertOptions(self_check=True)).to_bytes()
        convert(model, ConvertOptions(self_check=False)).to_bytes()
    with pytest.warns(RuntimeWarning, match=r"the check was shortened: .*\(--self_check=1 compares"):
        convert(model).to_bytes()
