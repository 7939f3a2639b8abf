"""Which convolutions of small groups compute several at once, and that their results are the same."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run
from ascend_ep.plan.kernel_params import CONV_LAST
from ascend_ep.runtime._rt import lib

BOUNDS = {"origin": 2e-5, "mixed_bfloat16": 3e-2}
#: Groups, inputs and outputs of each: and groups at once where vectors have 16 lanes, and 8.
JOINED = {(32, 4, 4): (4, 2), (6, 8, 8): (2, 1), (9, 3, 4): (3, 1), (5, 2, 3): (5, 1), (4, 16, 16): (1, 1)}


def grouped(group: int, inputs: int, outputs: int) -> onnx.ModelProto:
    rng = np.random.default_rng(2)
    given = {
        "v": rng.standard_normal((group * inputs, 3, 1, 1)),
        "w": rng.standard_normal((group * outputs, inputs, 3, 3)) / np.sqrt(9 * inputs),
        "b": rng.standard_normal(group * outputs),
    }
    window = {"group": group, "pads": [1, 1, 1, 1], "strides": [2, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["c"], "stem"),
        helper.make_node("Conv", ["c", "w", "b"], ["d"], "conv", **window),
        helper.make_node("Relu", ["d"], ["y"], "relu"),
    ]
    weights = {name: array.astype(np.float32) for name, array in given.items()}
    return model(nodes, [("x", FLOAT, [2, 3, 9, 10])], [("y", FLOAT, None)], weights)


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("sizes", JOINED, ids=str)
def test_groups_at_once(sizes, precision) -> None:
    source = grouped(*sizes)
    made = convert(source, ConvertOptions(self_check=False, precision=precision))
    (part,) = made.plan.native_parts()
    found = [CONV_LAST.get(i.ints, "group") for i in part.insns if i.kernel == "conv_last"]
    at_once = JOINED[sizes][lib.asc_isa_current() < lib.ASC_ISA_AVX512]
    assert found == [1, sizes[0] // at_once]
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 10)).astype(np.float32)
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    wanted = reference_run(source, {"x": x})["y"]
    assert np.abs(y - wanted).max() <= BOUNDS[precision] * np.abs(wanted).max()


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("stray", [np.inf, np.nan], ids=str)
def test_what_is_not_finite_stays_in_its_groups_and_windows(stray, precision) -> None:
    """docs/limits.md: it may reach the groups that are computed at once with its own, and no further."""
    group, inputs, outputs = 32, 4, 4
    weights = np.random.default_rng(2).standard_normal((group * outputs, inputs, 3, 3)).astype(np.float32)
    conv = helper.make_node("Conv", ["x", "w"], ["y"], "conv", group=group, pads=[1, 1, 1, 1])
    dims = [2, group * inputs, 6, 7]
    source = model([conv], [("x", FLOAT, dims)], [("y", FLOAT, None)], {"w": weights})
    made = convert(source, ConvertOptions(self_check=False, precision=precision))
    session = ascend_ep.InferenceSession(made.to_bytes())
    x = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
    (finite,) = session.run(None, {"x": x})
    x[1, 9 * inputs, 2, 3] = stray
    (y,) = session.run(None, {"x": x})
    at_once = JOINED[group, inputs, outputs][lib.asc_isa_current() < lib.ASC_ISA_AVX512] * outputs
    first = 9 * outputs // at_once * at_once
    met = np.zeros(y.shape, bool)
    met[1, first : first + at_once, 1:4, 2:5] = True
    assert not np.isfinite(y[1, 9 * outputs : 10 * outputs, 1:4, 2:5]).any()
    np.testing.assert_array_equal(y[~met], finite[~met])
