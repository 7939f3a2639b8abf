"""Sample runs of models whose free dimensions can't have any size."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError


def converted(inputs: str, nodes: str, weights: str = "") -> Conversion:
    text = f'<ir_version: 10, opset_import: ["": 17]> g ({inputs}) => (float[R] y) <{weights}> {{ {nodes} }}'
    return convert(onnx.parser.parse_model(text))


def test_sizes_that_a_node_asks_for() -> None:
    conversion = converted("float[N,4] a", "r = Reshape(a, s) y = ReduceSum<keepdims=0>(r, o)",
                           "int64[2] s = {3, 8}, int64[1] o = {0}")  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = ascend_ep.InferenceSession(conversion.to_bytes())
    assert {s.edge.name: s.array.shape for s in conversion.plan.samples}["a"] == (6, 4)
    assert session.run(None, {"a": np.ones((6, 4), np.float32)})[0].shape == (8,)


def test_no_sizes_fit() -> None:
    """21 elements are no rows of 4: a wrong model, but the sample run is not what says so."""
    conversion = converted("float[N,4] a", "r = Reshape(a, s) y = ReduceSum<keepdims=0>(r, o)",
                           "int64[2] s = {3, 7}, int64[1] o = {0}")  # fmt: skip
    with pytest.warns(RuntimeWarning, match="without a sample run"):
        bundle = conversion.to_bytes()
    assert conversion.plan.samples == []
    with pytest.raises(AscendError, match=r"'4\*N' must be 21 .*: given are 8 and 21"):
        ascend_ep.InferenceSession(bundle).run(None, {"a": np.ones((2, 4), np.float32)})


def test_no_row_of_a_mask_is_all_hidden() -> None:
    """Where it is, float32 keeps nothing of the scores beside -1e9, and the float64 reference all."""
    text = """<ir_version: 10, opset_import: ["": 17]> g (float[N,T] a, int64[N,T] mask) => (float[N,T] y)
        <float low = {-1e9}, float one = {1}> {
        m = Cast<to=1>(mask) h = Sub(one, m) l = Mul(h, low) s = Add(a, l) y = Softmax(s) }"""
    conversion = convert(onnx.parser.parse_model(text))
    conversion.to_bytes()
    mask = next(s.array for s in conversion.plan.samples if s.edge.name == "mask")
    assert np.all(mask.max(axis=1) == 1)
