"""ascend_ep.backend: ONNX's backend API in both runtimes, and what travels through host partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ascend_ep import backend
from ascend_ep.errors import AscendError

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[Any], outputs: Sequence[Any], opset: int = 21
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def tensor(name: str, dtype: int, shape: Sequence[int | str] = ("n",)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, list(shape))


def negated() -> onnx.ModelProto:
    info = [tensor(name, TensorProto.FLOAT, [3, 4]) for name in "xy"]
    return model([helper.make_node("Neg", ["x"], ["y"])], info[:1], info[1:])


@pytest.fixture(params=["own", "onnxruntime"])
def runtime(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(backend.VARIABLE, request.param)
    return str(request.param)


def test_a_model_runs_on_lists_dicts_and_one_array(runtime: str) -> None:
    prepared = backend.prepare(negated(), "CPU", num_threads=1)
    for given in ([X], {"x": X}, X):
        (y,) = prepared.run(given)
        np.testing.assert_array_equal(y, -X)
    assert backend.run_model(negated().SerializeToString(), [X])[0].shape == (3, 4)


def test_a_node_runs_as_a_model(runtime: str) -> None:
    node = helper.make_node("Concat", ["a", "", "b"][::2], ["y"], axis=1)
    (y,) = backend.run_node(node, [X, X], opset_version=21)
    np.testing.assert_array_equal(y, np.concatenate([X, X], 1))
    swish = helper.make_node("Swish", ["x"], ["y"], domain="ai.ascend")
    if runtime == "own":
        (y,) = backend.run_node(swish, [X], outputs_info=[(np.dtype(np.float32), (3, 4))], opset_version=1)
        np.testing.assert_allclose(y, X / (1 + np.exp(-X)), rtol=2e-6, atol=1e-6)


def test_compatible_means_prepare_accepts(runtime: str) -> None:
    unknown = model([helper.make_node("NoSuch", ["x"], ["y"])], [tensor("x", 1)], [tensor("y", 1)])
    assert backend.is_compatible(negated())
    assert not backend.is_compatible(unknown)
    assert backend.supports_device("CPU")
    assert backend.supports_device("NPU:0")
    assert not backend.supports_device("CUDA")


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (lambda: backend.prepare(negated(), "CUDA"), "device [CUDA]"),
        (lambda: backend.prepare(negated()).run([X, X]), "2 values were given to a model with 1 inputs"),
        (lambda: backend.prepare(negated(), nonsense=1), "nonsense"),
        (
            lambda: backend.run_node(helper.make_node("Neg", ["x"], ["y"]), []),
            "0 values were given to a node",
        ),
    ],
)
def test_wrong_use_is_said(work: Any, text: str) -> None:
    with pytest.raises(AscendError) as caught:
        work()
    assert caught.value.code == "E40001"
    assert text in str(caught.value)


def test_wrong_runtime_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.VARIABLE, "other")
    with pytest.raises(AscendError, match="is no runtime"):
        backend.prepare(negated())


FLOAT8 = [
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
]


@pytest.mark.parametrize("dtype", [*FLOAT8, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.bfloat16])
def test_types_that_numpy_lacks_go_in_and_out(dtype: type, runtime: str) -> None:
    """Odd lengths, so that the last byte of packed types is half full; both directions, and empty tensors."""
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    m = model(
        [
            helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Neg", ["f"], ["g"]),
            helper.make_node("Cast", ["g"], ["h"], to=number),
        ],
        [tensor("x", number)],
        [tensor("f", TensorProto.FLOAT), tensor("h", number)],
    )
    prepared = backend.prepare(m)
    for n in (0, 1, 7):
        x = (np.arange(n) % 8 - (0 if dtype is ml_dtypes.uint4 else 4)).astype(dtype)
        f, h = prepared.run([x])
        np.testing.assert_array_equal(f, x.astype(np.float32))
        assert h.dtype == np.dtype(dtype)
        if dtype is not ml_dtypes.uint4:
            wanted = np.minimum(-f, 7) if dtype is ml_dtypes.int4 else -f
            np.testing.assert_array_equal(h.astype(np.float32), wanted)


def test_strings_and_sequences_pass_between_partitions(runtime: str) -> None:
    """A sequence that host nodes make and read, with native nodes before, between and after."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("SequenceConstruct", ["a", "x"], ["s"]),
        helper.make_node("SequenceAt", ["s", "zero"], ["b"]),
        helper.make_node("Abs", ["b"], ["c"]),
        helper.make_node("SequenceInsert", ["s", "c"], ["t"]),
        helper.make_node("StringConcat", ["u", "u"], ["v"]),
    ]
    sequence = helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, [3, 4])
    m = model(
        nodes,
        [tensor("x", TensorProto.FLOAT, [3, 4]), tensor("u", TensorProto.STRING, [2])],
        [sequence, tensor("v", TensorProto.STRING, [2])],
    )
    m.graph.value_info.append(tensor("b", TensorProto.FLOAT, [3, 4]))
    m.graph.initializer.append(helper.make_tensor("zero", TensorProto.INT64, [], [0]))
    prepared = backend.prepare(m)
    t, v = prepared.run([X, np.array(["ä", "b"], object)])
    for got, want in zip(t, [-X, X, abs(X)], strict=True):
        np.testing.assert_array_equal(got, want)
    assert list(v) == ["ää", "bb"]
    if runtime == "own":
        targets = {row.op_type: row.target for row in prepared.placement}
        assert targets["Neg"] == targets["Abs"] == "AscendEP"
        assert targets["SequenceAt"] == "CPU"


def test_sequences_and_optionals_at_the_boundary(runtime: str) -> None:
    of = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [3, 4]))
    m = model(
        [
            helper.make_node("SequenceAt", ["s", "i"], ["y"]),
            helper.make_node("OptionalHasElement", ["o"], ["z"]),
        ],
        [
            helper.make_value_info("s", of),
            tensor("i", TensorProto.INT64, []),
            helper.make_value_info("o", helper.make_optional_type_proto(of)),
        ],
        [tensor("y", TensorProto.FLOAT, [3, 4]), tensor("z", TensorProto.BOOL, [])],
    )
    y, z = backend.run_model(m, [[X, -X], np.array(1), None])
    np.testing.assert_array_equal(y, -X)
    assert not z


def test_slopes_of_old_models_are_one_a_channel() -> None:
    slopes = helper.make_tensor("s", 1, [4], [0.1, 0.2, 0.3, 0.4])
    m = model(
        [helper.make_node("PRelu", ["x", "s"], ["y"])],
        [tensor("x", 1, [2, 4, 4])],
        [tensor("y", 1, [2, 4, 4])],
        opset=6,
    )
    m.graph.initializer.append(slopes)
    x = np.linspace(-2, 1, 32, dtype=np.float32).reshape(2, 4, 4)
    wanted = np.where(x < 0, x * np.array([0.1, 0.2, 0.3, 0.4], np.float32)[:, None], x)
    np.testing.assert_array_equal(backend.run_model(m, x)[0], wanted)


def test_old_operator_sets_are_read(runtime: str) -> None:
    """Add of version 6 broadcasts along the axis that it names."""
    m = model(
        [helper.make_node("Add", ["x", "b"], ["y"], broadcast=1, axis=0)],
        [tensor("x", 1, [3, 4]), tensor("b", 1, [3])],
        [tensor("y", 1, [3, 4])],
        opset=6,
    )
    b = np.array([1, 2, 3], np.float32)
    if runtime == "own":  # onnxruntime has no kernel that old
        np.testing.assert_array_equal(backend.run_model(m, [X, b])[0], X + b[:, None])
