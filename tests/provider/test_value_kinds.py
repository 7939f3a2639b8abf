"""Values of every kind, in the graph, in a function of the model and in a branch.

What is no dense tensor of whole bytes is left to onnxruntime, and the rest of the model stays ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from provider_graphs import value

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.provider import report

NODE = oh.make_node
ML = "ai.onnx.ml"
T = onnx.TensorProto
X = np.random.default_rng(3).uniform(-3, 3, (3, 4)).astype(np.float32)
X[0, 0], X[1, 1], X[2, 2] = 0.25, -0.75, 1.25  # halves, once they are doubled


def _through(dtype: int) -> list[onnx.NodeProto]:
    """h as elements of another type and back."""
    return [NODE("Cast", ["h"], ["k"], to=dtype), NODE("Cast", ["k"], ["z"], to=T.FLOAT)]


#: By kind nodes that make z, a float tensor, of h by way of k, a value of that kind.
KINDS: dict[str, list[onnx.NodeProto]] = {
    "sequence of maps": [
        NODE("ZipMap", ["h"], ["k"], domain=ML, classlabels_int64s=[0, 1, 2, 3]),
        NODE("Identity", ["h"], ["z"]),
    ],
    "sequence of maps by name": [
        NODE("ZipMap", ["h"], ["k"], domain=ML, classlabels_strings=list("abcd")),
        NODE("Identity", ["h"], ["z"]),
    ],
    "sequence": [
        NODE("SequenceConstruct", ["h", "h"], ["k"]),
        NODE("ConcatFromSequence", ["k"], ["z"], axis=0),
    ],
    "optional": [NODE("Optional", ["h"], ["k"]), NODE("OptionalGetElement", ["k"], ["z"])],
    "string": _through(T.STRING),
    "int4": _through(T.INT4),
    "uint4": _through(T.UINT4),
    "float8": _through(T.FLOAT8E4M3FN),
    "bfloat16": _through(T.BFLOAT16),
    "float16": _through(T.FLOAT16),
    "double": _through(T.DOUBLE),
    "int64": _through(T.INT64),
    "int8": _through(T.INT8),
    "bool": _through(T.BOOL),
    "untyped": [NODE("Neg", ["h"], ["k"]), NODE("Neg", ["k"], ["z"])],
}
#: Kinds that onnxruntime's Python interface gives as an output.
SHOWN = {
    "sequence of maps",
    "sequence of maps by name",
    "sequence",
    "double",
    "int64",
    "bool",
    "float16",
    "string",
}
PLACES = ["graph", "function", "branch"]


def _with(kind: str, place: str, free: bool, shown: bool) -> bytes:
    """y = relu(z) of h = 2 x, where z comes by way of a value of this kind, which is an output if `shown`."""
    nodes, functions, opsets = list(KINDS[kind]), [], [oh.make_opsetid("", 21), oh.make_opsetid(ML, 1)]
    results = ["z", "k"] if shown else ["z"]
    if place == "function":
        functions = [oh.make_function("mine", "Through", ["h"], results, nodes, opsets)]
        nodes = [NODE("Through", ["h"], results, domain="mine")]
    elif place == "branch":
        then = oh.make_graph(nodes, "then", [], [onnx.ValueInfoProto(name=name) for name in results])
        nodes = [
            NODE("ReduceMax", ["x"], ["top"], keepdims=0),
            NODE("Greater", ["top", "low"], ["is_high"]),
            NODE("If", ["is_high"], results, then_branch=then, else_branch=then),
        ]
    dims: list[int | str] = ["N", 4] if free else [3, 4]
    graph = oh.make_graph(
        [NODE("Mul", ["x", "two"], ["h"]), *nodes, NODE("Relu", ["z"], ["y"])],
        "kinds",
        [value("x", dims)],
        [value("y", None), *([onnx.ValueInfoProto(name="k")] if shown else [])],
        [onnx.numpy_helper.from_array(np.float32(v), n) for n, v in (("two", 2), ("low", -100))],
    )
    imports = [*opsets, oh.make_opsetid("mine", 1)]
    return oh.make_model(graph, opset_imports=imports, functions=functions, ir_version=10).SerializeToString()


def _assert_same(found: Any, expected: Any, path: str = "") -> None:
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for i, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            _assert_same(ours, theirs, f"{path}[{i}]")
    elif isinstance(expected, dict):
        assert found == expected, path
    else:
        np.testing.assert_array_equal(found, expected, err_msg=path)


CASES = [
    (kind, place, free, shown)
    for kind in KINDS
    for place in PLACES
    for free in ((False, True) if place == "graph" else (True,))
    for shown in ({False, kind in SHOWN})
    if not (shown and place == "branch" and "map" in kind)  # onnxruntime has no maps out of a branch
]


@pytest.mark.parametrize(("kind", "place", "free", "shown"), CASES)
def test_kind(kind: str, place: str, free: bool, shown: bool) -> None:
    content = _with(kind, place, free, shown)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    try:
        host = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        pytest.skip(f"onnxruntime's CPU provider doesn't take it: {error}")
    expected = host.run(None, {"x": X})
    made = ort.InferenceSession(content, options, providers=["AscendEP"], enable_fallback=0)
    _assert_same(made.run(None, {"x": X}), expected)
    assert not report(made).error
    ours = {p.op_type for p in report(made).placements if p.target == "AscendEP"}
    assert "Mul" in ours
    assert "Relu" in ours or kind == "sequence"  # of free dims: the rank of its elements isn't followed
    bundle = ascend_ep.InferenceSession(convert(content).to_bytes())
    _assert_same(bundle.run(None, {"x": X}), expected)


ROUNDED = [0.5, -0.5, 1.5, 2.5, -1.5, 7.4, 7.5, 8, 9.5, -8.4, -8.5, -9, 20.7, 200, 300, -300, 0.49999997, 1e9]


@pytest.mark.parametrize("dtype", [T.INT4, T.UINT4, T.INT2, T.UINT2])
@pytest.mark.parametrize("wide", [T.FLOAT, T.FLOAT16, T.DOUBLE])
def test_casts_to_less_than_a_byte_round_halves_away_from_zero(dtype: int, wide: int) -> None:
    """And then keep the low bits, in onnxruntime and here; its older releases have no integers of 2 bits."""
    nodes = [NODE("Cast", ["x"], ["w"], to=wide), NODE("Cast", ["w"], ["k"], to=dtype)]
    nodes += [NODE("Cast", ["k"], ["y"], to=T.FLOAT)]
    graph = oh.make_graph(nodes, "casts", [value("x", ["N"])], [value("y", ["N"])])
    made = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 25)], ir_version=12).SerializeToString()
    x = np.array(ROUNDED, np.float32)
    try:
        host = ort.InferenceSession(made, providers=["CPUExecutionProvider"])
    except Exception as error:
        pytest.skip(str(error))
    found = ascend_ep.InferenceSession(convert(made).to_bytes()).run(None, {"x": x})
    np.testing.assert_array_equal(found[0], host.run(None, {"x": x})[0])
