"""What convolutions read themselves: images put together, scaled, shifted and limited in front of them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run

EXACT = ConvertOptions(self_check=False)
BF16 = ConvertOptions(self_check=False, precision="allow_mix_precision_bf16")
#: Of the greatest element.
BOUNDS = {EXACT.precision: 2e-5, BF16.precision: 3e-2}


def dense_block(size: int | str, limit: str = "Relu", reads_twice: bool = False) -> onnx.ModelProto:
    """Two layers of a DenseNet: each puts all images before it together, normalises them, and adds one. With
    `reads_twice` the last layer's image is pooled as well."""
    rng = np.random.default_rng(3)
    given: dict[str, np.ndarray] = {"stem": rng.standard_normal((24, 3, 3, 3)).astype(np.float32) / 5}
    nodes = [helper.make_node("Conv", ["x", "stem"], ["i0"], "stem", pads=[1, 1, 1, 1])]
    images = ["i0"]
    for i, channels in enumerate((24, 40), 1):
        for name in ("scale", "shift", "mean"):
            given[f"{name}{i}"] = rng.standard_normal(channels).astype(np.float32)
        given[f"var{i}"] = rng.uniform(0.5, 2, channels).astype(np.float32)
        given[f"w{i}"] = rng.standard_normal((16, channels, 1, 1)).astype(np.float32) / 6
        nodes.append(helper.make_node("Concat", images, [f"j{i}"], f"join{i}", axis=1))
        norm = [f"{name}{i}" for name in ("j", "scale", "shift", "mean", "var")]
        nodes.append(helper.make_node("BatchNormalization", norm, [f"n{i}"], f"norm{i}"))
        bounds = ["", "six"] if limit == "Clip" else []
        nodes.append(helper.make_node(limit, [f"n{i}", *bounds], [f"r{i}"], f"limit{i}"))
        nodes.append(helper.make_node("Conv", [f"r{i}", f"w{i}"], [f"i{i}"], f"conv{i}"))
        images.append(f"i{i}")
    given["six"] = np.float32(6).reshape(())
    outputs = [("i2", FLOAT, None)]
    if reads_twice:
        nodes.append(helper.make_node("GlobalAveragePool", ["r2"], ["pooled"], "pool"))
        outputs.append(("pooled", FLOAT, None))
    if limit != "Clip":
        del given["six"]
    return model(nodes, [("x", FLOAT, [2, 3, size, size])], outputs, given)


def kernels(made: Conversion) -> list[str]:
    return [i.kernel for part in made.plan.native_parts() for i in part.insns]


def check(source: onnx.ModelProto, options: ConvertOptions) -> list[str]:
    """The kernels of the converted model, whose results are compared."""
    made = convert(source, options)
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 9)).astype(np.float32)
    found = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    wanted = reference_run(source, {"x": x})
    for y, exact in zip(found, wanted.values(), strict=True):
        assert np.abs(y - exact).max() <= BOUNDS[options.precision] * np.abs(exact).max()
    return kernels(made)


@pytest.mark.parametrize("options", [EXACT, BF16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("limit", ["Relu", "Clip"])
@pytest.mark.parametrize("size", [9, "s"])
def test_a_dense_block_is_its_convolutions(options, limit, size) -> None:
    found = check(dense_block(size, limit), options)
    assert [k for k in found if k != "copy"] == ["conv_last", "conv_joined", "conv_joined"]


@pytest.mark.parametrize("options", [EXACT, BF16], ids=["float32", "bfloat16"])
def test_what_others_read_is_made(options) -> None:
    found = check(dense_block(9, reads_twice=True), options)
    assert (found.count("conv_joined"), found.count("concat"), found.count("elementwise")) == (1, 1, 1)


def test_switched_off() -> None:
    off = ConvertOptions(self_check=False, fusions_off={"ConvPrologueFusionPass"})
    assert "conv_joined" not in kernels(convert(dense_block(9), off))


@pytest.mark.parametrize("function", ["Sigmoid", "Tanh", "Abs"])
def test_other_functions_stay(function) -> None:
    found = kernels(convert(dense_block(9, function), EXACT))
    assert "conv_joined" not in found
    assert found.count("elementwise") == 2
