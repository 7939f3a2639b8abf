"""Casts to and from types that are stored but not computed with, against ml_dtypes: every code of float8,
every integer of 4 and 2 bits, and floats around their halves."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

FLOAT8 = {
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
}
INTEGERS = {
    TensorProto.UINT4: ml_dtypes.uint4,
    TensorProto.INT4: ml_dtypes.int4,
    TensorProto.UINT2: ml_dtypes.uint2,
    TensorProto.INT2: ml_dtypes.int2,
}


def cast(x: np.ndarray, given: int, to: int, **attributes: int) -> np.ndarray:
    """Cast as a native model of one node."""
    node = helper.make_node("Cast", ["x"], ["y"], to=to, **attributes)
    infos = [helper.make_tensor_value_info(n, t, x.shape) for n, t in (("x", given), ("y", to))]
    graph = helper.make_graph([node], "cast", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=10)
    conversion = convert(model, ConvertOptions(passes=False, sample_seed=None))
    assert [row.target for row in conversion.partition_table] == ["AscendEP"]
    (y,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, {"x": x})
    return np.asarray(y)


def floats(dtype: type) -> np.ndarray:
    """Every number of a type, the points halfway between neighbours, their neighbours, and what is beyond."""
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    known = np.unique(codes[np.isfinite(codes)])
    middles = ((known[1:] + known[:-1]) / 2).astype(np.float32)
    beyond = np.array(
        [1e-30, 1e30, np.inf, -np.inf, np.nan, -0.0, known[-1] * 1.01, known[-1] * 1.5], np.float32
    )
    around = [np.nextafter(middles, np.float32(s)) for s in (-np.inf, np.inf)]
    return np.concatenate([known.astype(np.float32), middles, *around, beyond, -beyond])


@pytest.mark.parametrize("number", FLOAT8)
def test_float8(number: int) -> None:
    dtype = FLOAT8[number]
    codes = np.arange(256, dtype=np.uint8).view(dtype)
    np.testing.assert_array_equal(cast(codes, number, TensorProto.FLOAT), codes.astype(np.float32))
    x = floats(dtype)
    y = cast(x, TensorProto.FLOAT, number, saturate=0)
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(dtype).astype(np.float32))
    largest = float(ml_dtypes.finfo(dtype).max)
    y = cast(x, TensorProto.FLOAT, number)
    np.testing.assert_array_equal(
        y.astype(np.float32), x.clip(-largest, largest).astype(dtype).astype(np.float32)
    )


@pytest.mark.parametrize("number", INTEGERS)
def test_integers_of_less_than_a_byte(number: int) -> None:
    dtype = INTEGERS[number]
    every = np.arange(-20, 20)
    narrow = every.astype(dtype)
    np.testing.assert_array_equal(
        cast(every, TensorProto.INT64, number).view(np.uint8), narrow.view(np.uint8)
    )
    np.testing.assert_array_equal(cast(narrow, number, TensorProto.FLOAT), narrow.astype(np.float32))
    np.testing.assert_array_equal(cast(narrow, number, TensorProto.INT8), narrow.astype(np.int8))


def test_a_constant_is_converted_too() -> None:
    """An initializer of float8, cast where it is used: no conversion is left in the plan for the host."""
    weight = np.array([1.5, -448, 0.0625], ml_dtypes.float8_e4m3fn)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    add = helper.make_node("Add", ["x", "y"], ["z"])
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("x", "z")]
    graph = helper.make_graph(
        [node, add], "weight", infos[:1], infos[1:], [numpy_helper.from_array(weight, "w")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    conversion = convert(model, ConvertOptions(passes=False, sample_seed=None))
    assert {row.target for row in conversion.partition_table} == {"AscendEP"}
    (z,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, {"x": np.ones(3, np.float32)})
    np.testing.assert_array_equal(z, weight.astype(np.float32) + 1)
