"""What the precision modes change: results, sizes, and what is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.compiler.convert import ConvertOptions, convert
from ascend_ep.compiler.precision import BFLOAT16_PRODUCTS, EXACT, shortfall

HIDDEN = 256


def two_layers() -> onnx.ModelProto:
    random = np.random.default_rng(0)
    weights = {
        "w1": random.standard_normal((HIDDEN, 2 * HIDDEN)) / HIDDEN**0.5,
        "b1": random.standard_normal(2 * HIDDEN),
        "w2": random.standard_normal((2 * HIDDEN, HIDDEN)) / HIDDEN**0.5,
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "w2"], ["y"]),
        ],
        "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", HIDDEN])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", HIDDEN])],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def run(model: bytes, x: np.ndarray) -> np.ndarray:
    (y,) = ascend_ep.InferenceSession(model).run(None, {"x": x})
    return y


@pytest.mark.parametrize("mode", sorted(BFLOAT16_PRODUCTS))
def test_products_in_bfloat16(mode: str) -> None:
    model, x = two_layers(), np.random.default_rng(1).standard_normal((5, HIDDEN)).astype(np.float32)
    exact = convert(model, ConvertOptions(self_check=True)).to_bytes()
    narrow = convert(model, ConvertOptions(precision=mode, self_check=True)).to_bytes()
    assert len(narrow) < 0.6 * len(exact)
    wanted, got = run(exact, x), run(narrow, x)
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    assert 1e-5 < error < 1e-2  # bfloat16 keeps 8 bits: 2^-9 a product, averaged over 256 of them
    assert got.dtype == np.float32
    np.testing.assert_array_equal(run(narrow, x[2:4]), got[2:4])


def test_attention_in_bfloat16() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["q", "kt"], ["qk"]),
            helper.make_node("Softmax", ["qk"], ["weights"], axis=-1),
            helper.make_node("MatMul", ["weights", "v"], ["y"]),
        ],
        "attention",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, d)
            for n, d in [("q", [1, 2, "n", 32]), ("kt", [1, 2, 32, 70]), ("v", [1, 2, 70, 32])]
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, "n", 32])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    random = np.random.default_rng(2)
    feeds = {n: random.standard_normal((1, 2, *d)).astype(np.float32) for n, d in
             [("q", (9, 32)), ("kt", (32, 70)), ("v", (70, 32))]}  # fmt: skip
    exact, narrow = (
        ascend_ep.InferenceSession(
            convert(model, ConvertOptions(precision=mode, self_check=True)).to_bytes()
        ).run(None, feeds)[0]
        for mode in ("origin", "allow_mix_precision_bf16")
    )
    error = np.abs(narrow - exact).max() / np.abs(exact).max()
    assert 1e-4 < error < 2e-2  # scores of variance 32 err by some 2^-9 of themselves, weights by that much


@pytest.mark.parametrize("mode", sorted(EXACT))
def test_exact_modes_change_nothing(mode: str) -> None:
    model, x = two_layers(), np.ones((2, HIDDEN), np.float32)
    exact = convert(model).to_bytes()
    np.testing.assert_array_equal(
        run(convert(model, ConvertOptions(precision=mode)).to_bytes(), x), run(exact, x)
    )
    assert not shortfall(mode)


def test_what_is_not_done_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(two_layers(), tmp_path / "m.onnx")
    command = [f"--model={tmp_path / 'm.onnx'}", "--framework=5", f"--output={tmp_path / 'm'}"]
    command.append("--soc_version=Ascend910B3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode, said in (("force_fp16", True), ("allow_mix_precision_bf16", False)):
            assert atc.main([*command, f"--precision_mode={mode}"]) == 0
            output = "".join(capsys.readouterr())
            assert ("no float16 kernels" in output) == said
