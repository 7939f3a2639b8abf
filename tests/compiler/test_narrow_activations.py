"""What products in bfloat16 alone read is stored in it, and no bit of a result changes, on any ISA level."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llama
import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.compiler import pipeline
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.dtypes import BFLOAT16
from ascend_ep.plan.plan import VIEW, NativePartition, Plan
from ascend_ep.runtime._rt import ffi, lib

WIDTH = 48
NARROW = ConvertOptions(self_check=False, sample_seed=None, precision="allow_mix_precision_bf16")
rng = np.random.default_rng(2)
VALUES = {name: rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) for name in ("w1", "w2")}
VALUES |= {"odd": rng.standard_normal((WIDTH - 1, 8)).astype(np.float32)}
VALUES |= {"scale": np.ones(WIDTH, np.float32), "two": np.float32(2)}
VALUES |= {
    "first": np.array([0]),
    "most": np.array([WIDTH - 1]),
    "last": np.array([-1]),
    "flat": np.array([-1, WIDTH]),
}
FEEDS = {"x": rng.standard_normal((2, 5, WIDTH)).astype(np.float32)}
NORM = "n = LayerNormalization<axis = -1>(x, scale)"


def model(body: str, outputs: str) -> onnx.ModelProto:
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    g (float[2,5,{WIDTH}] x) => ({results}) {{ {body} }}"""
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in VALUES.items())
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def kernels_of_narrow(plan: Plan) -> list[str]:
    """What writes the values that are bfloat16."""
    parts = [p for p in plan.partitions if isinstance(p, NativePartition)]
    return [i.kernel for p in parts for i in p.insns if i.outs[0].dtype == BFLOAT16]


def both(source: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], bytes, bytes]:
    """The writers of narrow values, and the bundle with and without any."""
    made = convert(source, NARROW)
    for part in made.plan.partitions:
        for ref in part.values if isinstance(part, NativePartition) else ():
            assert ref.kind != VIEW or ref.base is None or ref.dtype == ref.base.dtype
    with monkeypatch.context() as m:
        m.setattr(pipeline, "narrow_activations", lambda plan: 0)
        plain = convert(source, NARROW)
    assert kernels_of_narrow(plain.plan) == []
    return kernels_of_narrow(made.plan), made.to_bytes(), plain.to_bytes()


def check(body: str, outputs: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    kernels, *bundles = both(model(body, outputs), monkeypatch)
    wanted, got = (ascend_ep.InferenceSession(b).run(None, FEEDS) for b in bundles)
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(a, b)
    return kernels


PRODUCTS = "a = MatMul(n, w1) b = MatMul(n, w2)"


def test_what_products_read_is_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(f"{NORM} {PRODUCTS}", "a b", monkeypatch) == ["layer_norm"]


def test_so_it_is_behind_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"{NORM} r = Reshape(n, flat) a = MatMul(r, w1) b = MatMul(n, w2)"
    assert check(body, "a b", monkeypatch) == ["layer_norm"]


def test_so_it_is_with_an_epilogue(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(f"{NORM} g = Gelu(n) a = MatMul(g, w1)", "a", monkeypatch) == ["layer_norm"]


def test_a_program_rounds_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "t = Mul(x, two) c = Cos(t) n = Add(c, x) a = MatMul(n, w1)"
    assert check(body, "a", monkeypatch) == ["elementwise"]


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        (f"{NORM} {PRODUCTS}", "a b n"),
        (f"{NORM} {PRODUCTS} r = Reshape(n, flat)", "a b r"),
        (f"{NORM} {PRODUCTS} c = Add(b, n)", "a c"),
        (f"{NORM} a = MatMul(n, w1) r = Reshape(n, flat) b = Softmax(r)", "a b"),
        (f"{NORM} m = Slice(n, first, most, last) a = MatMul(m, odd)", "a"),
        (f"{NORM} t = Transpose<perm = [0, 2, 1]>(n) a = MatMul(n, t)", "a"),
        ("a = MatMul(x, w1) b = MatMul(a, w2)", "b"),
        ("s = Softmax(x) a = MatMul(s, w1)", "a"),
    ],
)  # fmt: skip
def test_what_anything_else_sees_stays(body: str, outputs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(body, outputs, monkeypatch) == []


@pytest.mark.parametrize(("seq", "past"), [(9, 0), (1, 8), ("seq", 0)])
def test_decoders_keep_their_bits(
    seq: int | str, past: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = llama.build("tiny", seq=seq, past=past, form="exported")
    kernels, *bundles = both(source, monkeypatch)
    attention = "attention_append" if past else "attention"
    gated = "matmul" if seq != 1 else "swiglu"
    assert kernels == [attention, gated] * 2
    np.savez(tmp_path / "feeds.npz", **llama.sample_inputs(source, seq=9))
    for name, bundle in zip(("narrow", "plain"), bundles, strict=True):
        (tmp_path / f"{name}.om").write_bytes(bundle)
    levels = [i for i in range(lib.ASC_ISA_COUNT) if lib.asc_isa_supported(i)] if seq == 9 else [-1]
    for isa in levels:
        environment = dict(os.environ)
        if isa >= 0:
            environment["ASCEND_EP_CPU"] = str(ffi.string(lib.asc_isa_name(isa)).decode())
        subprocess.run([sys.executable, "-c", SAME, str(tmp_path)], check=True, env=environment)


SAME = """
import sys, numpy, ascend_ep
feeds = dict(numpy.load(sys.argv[1] + "/feeds.npz"))
names = [f"{sys.argv[1]}/{name}.om" for name in ("narrow", "plain")]
runs = [ascend_ep.InferenceSession(name).run(None, feeds) for name in names]
assert all(numpy.array_equal(a, b) for a, b in zip(*runs, strict=True))
"""
