"""Convolutions of few outputs that make several neighbours of a line at once."""

from __future__ import annotations

import random

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
from ascend_ep.plan.plan import NativePartition

EXACT = ConvertOptions(precision="origin", self_check=False)


def few_outputs(
    outputs: int,
    channels: int,
    width: int | str,
    taps: tuple[int, ...] = (3, 3),
    strides: tuple[int, ...] = (1, 1),
    pads: tuple[int, ...] = (1, 1, 1, 1),
    dilations: tuple[int, ...] = (1, 1),
    group: int = 1,
    residual: bool = False,
) -> onnx.ModelProto:
    """Convolutions before and after one with few outputs, which may add what went into it."""
    rng = np.random.default_rng(outputs)
    shapes = {
        "u": (channels, 5, 1, 1),
        "w": (outputs, channels // group, *taps),
        "b": (outputs,),
        "v": (7, outputs, 1, 1),
    }
    weights = {
        n: (rng.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype(np.float32) for n, s in shapes.items()
    }
    window = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    nodes = [
        helper.make_node("Conv", ["x", "u"], ["a"], "before"),
        helper.make_node("Conv", ["a", "w", "b"], ["c"], "few", **window),
        *([helper.make_node("Add", ["c", "a"], ["d"], "sum")] if residual else []),
        helper.make_node("Relu", ["d" if residual else "c"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "v"], ["y"], "after"),
    ]
    return model(nodes, [("x", FLOAT, ["n", 5, 6, width])], [("y", FLOAT, None)], weights)


def widths(conversion: Conversion) -> list[int]:
    """Of each convolution the taps along a line."""
    (part,) = (p for p in conversion.plan.partitions if isinstance(p, NativePartition))
    return [int(str(i.ints[-4])) for i in part.insns if i.kernel == "conv_last"]


def check(
    source: onnx.ModelProto, width: int, options: ConvertOptions = EXACT, bound: float = 2e-5
) -> list[int]:
    made = convert(source, options)
    session = ascend_ep.InferenceSession(made.to_bytes())
    for batch in (1, 2):
        x = np.random.default_rng(batch).standard_normal((batch, 5, 6, width)).astype(np.float32)
        wanted = reference_run(source, {"x": x})["y"]
        assert np.abs(session.run(None, {"x": x})[0] - wanted).max() <= bound * np.abs(wanted).max()
    return widths(made)


def test_three_outputs() -> None:
    assert check(few_outputs(3, 16, 24), 24)[1] == 3 + 3  # four neighbours


def test_a_residual_is_added_to_each() -> None:
    assert check(few_outputs(8, 8, 12, residual=True), 12)[1] == 3 + 1


def test_in_bfloat16() -> None:
    options = ConvertOptions(precision="mixed_bfloat16", self_check=False)
    assert check(few_outputs(3, 15, 24), 24, options, 2e-2)[1] == 3 + 3


@pytest.mark.parametrize(
    "window",
    [
        {"width": 23},  # a prime
        {"width": "w"},
        {"taps": (1, 1), "pads": (0, 0, 0, 0)},  # a wider window is nothing but zeros
        {"dilations": (2, 2), "pads": (2, 2, 2, 2)},
        {"group": 11, "channels": 22, "outputs": 22},
        {"outputs": 16},
    ],
    ids=str,
)
def test_left_as_it_is(window: dict[str, object]) -> None:
    given = {"outputs": 3, "channels": 16, "width": 24} | window
    taps = (3, 3) if "taps" not in window else (1, 1)
    width = 23 if given["width"] == 23 else 24
    assert check(few_outputs(**given), width)[1] == taps[1]  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_random_windows(seed: int) -> None:
    rng = random.Random(seed)
    taps = rng.choice([1, 3, 5]), rng.choice([2, 3, 5, 9])
    stride = rng.choice([1, 1, 2, 3])
    out, outputs = rng.choice([6, 8, 10, 12, 30]), rng.randint(1, 9)
    before, after = rng.randint(0, taps[1]), rng.randint(0, taps[1])
    width = (out - 1) * stride + taps[1] - before - after
    if width < 1:
        before = after = 0
        width = (out - 1) * stride + taps[1]
    pads = (taps[0] // 2, before, taps[0] // 2, after)
    check(few_outputs(outputs, rng.choice([1, 3, 8, 17]), width, taps, (1, stride), pads), width)
