"""Models that float16 spoils: the verdict says so first, and the flag it names mends them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from atc_models import run

import ascend_ep
from ascend_ep.cli import atc

LINE = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3", "--log=error"]
VERDICT = re.compile(
    r"float16 makes (\d+ of \d+ elements of output \[y\] infinite or NaN|output \[y\] another \(.*\)) "
    r"with (the sample inputs|inputs of zeros); --precision_mode=(\w+) mends it \(converted and run\)\."
)

#: Nodes from x [2, 16] to y, and constants.
SPOILT = {
    "mel": "c = MatMul(x, w) s = Mul(c, c) t = Add(s, tiny) y = Log(t)",
    "power in decibels": "c = MatMul(x, w) s = Mul(c, c) t = Max(s, tiny) l = Log(t) y = Mul(l, ten)",
    "squares": "c = Mul(x, large) s = Mul(c, c) m = ReduceMean<axes = [1]>(s) y = Sqrt(m)",
    "norm": "c = Mul(x, large) s = ReduceSumSquare<axes = [1]>(c) r = Sqrt(s) y = Div(c, r)",
    "rms norm": ("c = Mul(x, large) s = Mul(c, c) m = ReduceMean<axes = [1]>(s) e = Add(m, tiny) r = Sqrt(e) "
                 "i = Reciprocal(r) y = Mul(c, i)"),
    "divisor": "a = Abs(x) d = Add(a, tiny) y = Reciprocal(d)",
    "probability": "p = Softmax(x) q = Mul(p, tiny) l = Log(q) y = Neg(l)",
    "exponential": "c = Mul(x, ten) e = Exp(c) f = Add(e, ten) y = Log(f)",
    "log of sum": "c = Mul(x, large) d = Mul(c, ten) a = Abs(d) s = ReduceSum(a) y = Log(s)",
    "large product": "c = Mul(x, huge) m = MatMul(c, w) y = Div(m, huge)",
    "scale": "c = Mul(x, huge) y = Mul(c, tiny)",
    "batch normalisation": (
        "u = Unsqueeze(x, axis) c = Mul(u, large) d = Mul(c, c) b = Div(d, huge) y = Squeeze(b, axis)"),
    "variance": ("c = Mul(x, large) m = ReduceMean<axes = [1]>(c) d = Sub(c, m) s = Mul(d, d) "
                 "v = ReduceMean<axes = [1]>(s) e = Add(v, tiny) r = Sqrt(e) y = Div(d, r)"),
}  # fmt: skip
SOUND = {
    "product": "m = MatMul(x, w) y = Relu(m)",
    "softmax": "y = Softmax(x)",
    "not finite in its own types": "y = Log(x)",
    "infinite in its own types": "z = Mul(x, none) y = Reciprocal(z)",
    "masked": "m = Sub(x, huge) c = Concat<axis = 1>(x, m) y = Softmax(c)",
}
CONSTANTS = (
    f"float[16,16] w = {{{','.join(['0.25'] * 256)}}}, float tiny = {{1e-10}}, float ten = {{10}}, "
    "float large = {3000}, float huge = {1e9}, float none = {0}, int64[1] axis = {1}"
)


def write(nodes: str) -> onnx.ModelProto:
    text = '<ir_version: 10, opset_import: ["": 13]> g (float[2,16] x) => (float[2,16] y)'
    model = onnx.parser.parse_model(f"{text} <{CONSTANTS}> {{ {nodes} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "m.onnx")
    return model


@pytest.mark.parametrize("name", SPOILT)
def test_the_verdict_names_the_flag(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(SPOILT[name])
    status, lines, _ = run(capsys, *LINE)
    assert (status, lines[-3], lines[-1]) == (0, "...", atc.SUCCESS)
    found = VERDICT.fullmatch(lines[-2])
    assert found, lines
    mode = f"--precision_mode={found[3]}"
    status, lines, _ = run(capsys, *LINE, mode)
    assert lines[-2:] == ["...", atc.SUCCESS]
    ours = ascend_ep.InferenceSession("m.om")
    host = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    for x in (np.zeros((2, 16), np.float32), *(a for e, a in ours.bundle.samples() if e.is_input)):
        feeds = {"x": np.array(x)}
        np.testing.assert_allclose(ours.run(None, feeds)[0], host.run(None, feeds)[0], rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_said_of_others(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(SOUND[name])
    status, lines, _ = run(capsys, *LINE)
    assert (status, lines[-2:]) == (0, ["...", atc.SUCCESS])
