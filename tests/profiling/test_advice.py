"""Advice: what edits do to a model, and that the command names a planted weakness first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.custom_ops.native_op import search_seconds
from ascend_ep.errors import AscendError
from ascend_ep.profiling.advice.edits import join_products, narrow_doubles, raise_opset
from ascend_ep.profiling.advice.loops import unroll_loops
from ascend_ep.profiling.advice.spellings import respell
from ascend_ep.profiling.advice.tries import Change, Outcome, changes, ranked, widen
from ascend_ep.profiling.interleaved import Comparison

HEAD = '<ir_version: 8, opset_import: ["": 17]> g '
RNG = np.random.default_rng(0)
SQUARE = (RNG.standard_normal((64, 64)) / 8).astype(np.float32)
WIDE = RNG.standard_normal((256, 256)) / 16
LOOP = """(float[8,64] x) => (float[8,64] y) { y = Loop<body = b (int64 i, bool c, float[8,64] s) =>
    (bool co, float[8,64] so) { co = Identity(c)  z = MatMul(s, w)  so = Tanh(z) }>(n, t, x) }"""


def model(text: str, **constants: Any) -> onnx.ModelProto:
    made = onnx.parser.parse_model(HEAD + text)
    for name, value in constants.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return made


def doubles() -> onnx.ModelProto:
    body = "{ a = Cast<to=11>(x)  b = MatMul(a, w)  y = Cast<to=1>(b) }"
    return model(f"(float[32,256] x) => (float[32,256] y) {body}", w=WIDE)


def loop() -> onnx.ModelProto:
    return model(LOOP, n=np.int64(8), t=np.array(True), w=SQUARE)


def swish() -> onnx.ModelProto:
    text = "(float[8,64] x) => (float[8,64] y) { n = Neg(x)  e = Exp(n)  p = Add(one, e)  y = Div(x, p) }"
    return model(text, one=np.float32(1))


def products() -> onnx.ModelProto:
    text = "(float[8,64] x) => (float[8,64] y, float[8,32] z) { y = MatMul(x, a)  z = MatMul(x, b) }"
    return model(text, a=SQUARE, b=SQUARE[:, :32].copy())


def double_boundary() -> onnx.ModelProto:
    text = "(double[8,64] x) => (double[8,64] y, double[8,64] z) { y = MatMul(x, w)  z = Tanh(y) }"
    return model(text, w=SQUARE.astype(np.float64))


@pytest.mark.parametrize(
    ("source", "edit", "count", "gone"),
    [
        (doubles, narrow_doubles, 2, "Never"),
        (double_boundary, narrow_doubles, 4, "Never"),
        (loop, unroll_loops, 1, "Loop"),
        (swish, respell, 1, "Exp"),
        (products, join_products, 2, "Never"),
        (swish, raise_opset, 2, "Exp"),
    ],
)
def test_an_edit_keeps_results(
    source: Callable[[], onnx.ModelProto], edit: Callable[[onnx.ModelProto], int], count: int, gone: str
) -> None:
    before, after = source(), source()
    assert edit(after) == count
    onnx.checker.check_model(after, full_check=True)
    assert gone not in {node.op_type for node in after.graph.node}
    old, new = (ascend_ep.InferenceSession(convert(m).to_bytes()) for m in (before, after))
    feed = {
        i.name: RNG.standard_normal(i.shape).astype(np.float64 if "double" in i.type else np.float32)
        for i in old.get_inputs()
    }
    for a, b in zip(old.run(None, feed), new.run(None, feed), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("edit", [narrow_doubles, unroll_loops, respell, join_products])
def test_a_model_without_the_weakness_stays(edit: Callable[[onnx.ModelProto], int]) -> None:
    made = model("(float[8,64] x) => (float[8,64] y) { y = MatMul(x, w) }", w=SQUARE)
    before = made.SerializeToString()
    assert edit(made) == 0
    assert made.SerializeToString() == before


def test_loops_that_stay() -> None:
    """Of unknown rounds, or that may end early."""
    unknown = model(
        LOOP.replace("(float[8,64] x)", "(float[8,64] x, int64 n)", 1), t=np.array(True), w=SQUARE
    )
    early = model(LOOP.replace("co = Identity(c)", "co = Not(c)"), n=np.int64(8), t=np.array(True), w=SQUARE)
    assert unroll_loops(unknown) == unroll_loops(early) == 0


def test_a_batch_of_one() -> None:
    made = model("(float[1,64] x) => (float[1,64] y) { y = MatMul(x, w) }", w=SQUARE)
    assert widen(made) == 2
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 8


def test_shapes_of_one_sample_grow_too() -> None:
    text = "(float[1,64] x) => (float[1,8,8] y) { a = MatMul(x, w)  y = Reshape(a, s) }"
    one, eight = (model(text, w=SQUARE, s=np.array([1, 8, 8])) for _ in range(2))
    widen(eight)
    old, new = (ascend_ep.InferenceSession(convert(m).to_bytes()) for m in (one, eight))
    x = RNG.standard_normal((8, 64)).astype(np.float32)
    np.testing.assert_allclose(new.run(None, {"x": x})[0][3:4], old.run(None, {"x": x[3:4]})[0], rtol=1e-5)


def test_what_helps() -> None:
    change, sure = Change("x", "y"), Comparison(0.5, 0.45, 0.55, 1, 0.5, 20, 0.1)
    unsure = Comparison(0.5, 0.3, 1.2, 1, 0.5, 20, 0.1)
    assert Outcome(change, 2.0, sure, 1e-6, "", ()).helps
    assert not Outcome(change, 2.0, unsure, 1e-6, "", ()).helps
    exact = Outcome(change, 2.0, sure, 1e-2, "", ())
    assert (exact.helps, exact.trades) == (False, True)
    batch = Change("batch", "y", batch=8)
    assert Outcome(batch, 4.0, Comparison(2.0, 1.9, 2.1, 1, 2, 20, 0.1), 0, "", ()).helps


def test_ranks() -> None:
    """Of gains that noise doesn't tell apart the change named first; trades behind, errors never."""

    def outcome(name: str, ratio: float, error: float = 0.0) -> Outcome:
        found = Comparison(ratio, ratio * 0.9, ratio * 1.1, 1, ratio, 20, 0.1)
        return Outcome(Change(name, ""), 1 / ratio, found, error, "", ())

    given = [
        *(outcome("slower", 1.5), outcome("wrong", 0.1, 0.5), outcome("trade", 0.2, 1e-2)),
        *(outcome("simple", 0.52), outcome("other", 0.5), outcome("best", 0.3)),
    ]
    names = [o.change.name for o in ranked(given)]
    assert names[:4] == ["best", "simple", "other", "trade"]
    assert not any(o.helps or o.trades for o in given[:2])


def test_flags_that_cost_are_tried_without() -> None:
    made = model("(float[8,64] x) => (float[8,64] y) { y = MatMul(x, w) }", w=SQUARE)
    flags = ["--keep_dtype=k.txt", "--soc_version=Ascend910B3", "--precision_mode_v2=fp16"]
    found = {c.name: c for c in changes(made, 2, flags, 8)}
    assert found["keep_dtype"].without == ("--keep_dtype=k.txt",)
    assert found["threads"].threads == 8
    assert "bfloat16" not in found
    assert "schedule" not in found


def test_seconds_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("-1", "later", "nan"):
        monkeypatch.setenv("ASCEND_EP_SEARCH", text)
        with pytest.raises(AscendError, match="ASCEND_EP_SEARCH"):
            search_seconds()


@pytest.mark.measures
@pytest.mark.parametrize(("source", "first"), [(doubles, "float32")])
def test_the_first_advice(
    source: Callable[[], onnx.ModelProto],
    first: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names the weakness, and its command lines make the model that was measured."""
    monkeypatch.chdir(tmp_path)
    onnx.save(source(), "m.onnx")
    assert main(["advise", "m.onnx", "--each=0.1", "--threads=1", "--clock=cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found[0]["name"], found[0]["helps"]) == (first, True), found
    assert found[0]["gain"] > 1.5
    least, most = found[0]["interval"]
    assert 1 < least <= found[0]["gain"] <= most
    edit, conversion = found[0]["commands"]
    assert main(edit.split()[1:]) == 0
    from ascend_ep.cli.atc import main as atc

    assert atc(conversion.split()[1:]) == 0
    assert Path(f"{first}.om").is_file()


def test_the_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (999.0, 0.0, 0.0))
    onnx.save(model("(float[N,64] x) => (float[N,64] y) { y = Softmax(x) }"), tmp_path / "m.onnx")
    assert main(["advise", str(tmp_path / "m.onnx"), "--each=0.02", "--seconds=0"]) == 0
    shown = capsys.readouterr().out
    assert "not tried: no time was left" in shown
    assert "what bounds it" in shown
    assert "load 999" in shown
    assert "--clock=cpu is surer" in shown
    assert main(["advise", str(tmp_path / "m.onnx"), "--each=0.02", "--seconds=0", "--clock=cpu"]) == 0
    shown = capsys.readouterr().out
    assert "what threads gain can't be told now" in shown
    assert "surer" not in shown
    assert main(["advise", str(tmp_path / "m.onnx"), "--apply=nothing"]) == 1
    assert main(["advise", str(tmp_path / "none.onnx")]) == 1
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    assert main(["advise", str(tmp_path / "bad.onnx")]) == 1
    errors = capsys.readouterr().err
    assert [line[:6] for line in errors.splitlines() if line.startswith("E")] == [
        "E10001",
        "E10410",
        "E10041",
    ]
