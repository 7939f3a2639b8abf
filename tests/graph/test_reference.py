"""The float64 reference against ONNX's own node cases, and its precision where onnx.reference rounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import Reference, reference_run
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.session import InferenceSession

#: random results, results whose precision isn't the input's, or cases onnx.reference can't run
EXCLUDED = (
    "bernoulli", "bitcast", "dynamicquantizelinear", "melweightmatrix", "string_concat", "strnormalizer",
    "tfidf", "image_decoder", "randomnormal", "randomuniform", "sequence_map", "adagrad", "adam", "momentum",
)  # fmt: skip


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_onnx_node_cases(registry: Registry) -> None:
    """Every ONNX case has its expected results, within float32 (or half) rounding."""
    checked = 0
    for case in collect_testcases(None):
        if any(word in case.name for word in EXCLUDED):
            continue
        names = [i.name for i in case.model.graph.input]
        feeds, expected = case.data_sets[0]
        feeds = [onnx.numpy_helper.to_array(f) if isinstance(f, onnx.TensorProto) else f for f in feeds]
        if any(n.domain not in ("", "ai.onnx") for n in case.model.graph.node):
            continue
        given = dict(zip(names, feeds, strict=False))
        try:
            results = reference_run(case.model, given, registry)
        except (ValueError, RuntimeError, TypeError, NotImplementedError, ImportError) as error:
            with pytest.raises(type(error)):  # only what onnx.reference can't run either
                onnx.reference.ReferenceEvaluator(case.model).run(None, given)
            continue
        for (name, ours), theirs in zip(results.items(), expected, strict=True):
            if not isinstance(theirs, np.ndarray) or theirs.dtype.kind in "OU":
                continue
            assert ours.shape == theirs.shape, f"{case.name}: {name}"
            if theirs.dtype.kind in "fV":
                loose = theirs.dtype.itemsize < 4
                tolerance = {"rtol": 2e-2, "atol": 1e-2} if loose else {"rtol": 1e-3, "atol": 1e-4}
                np.testing.assert_allclose(ours, theirs.astype(np.float64), err_msg=case.name, **tolerance)
            else:
                np.testing.assert_array_equal(ours, theirs, err_msg=case.name)
            checked += 1
    assert checked > 1500


def single(
    op: str, inputs: dict[str, np.ndarray], n_out: int = 1, version: int = 23, **attributes: object
) -> onnx.ModelProto:
    types = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in inputs.items()
    ]
    outputs = [f"y{i}" for i in range(n_out)]
    node = helper.make_node(op, list(inputs), outputs, **attributes)
    infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    graph = helper.make_graph([node], "g", types, infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


def test_results_are_double_precision(registry: Registry) -> None:
    """Inputs are no float32 values: an operator that rounds inside would be 1e-8 off."""
    random = np.random.default_rng(0)
    x, w, b = random.standard_normal((3, 7)), random.standard_normal(7), random.standard_normal(7)
    feeds = {"x": x, "w": w, "b": b}
    as32 = {k: v.astype(np.float32) for k, v in feeds.items()}
    centred = x - x.mean(-1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + np.float64(np.float32(1e-5)))
    cases = {
        "LayerNormalization": ({"x", "w", "b"}, norm * w + b),
        "RMSNormalization": (
            {"x", "w"},
            x / np.sqrt((x**2).mean(-1, keepdims=True) + np.float64(np.float32(1e-5))) * w,
        ),
        "Erf": ({"x"}, np.vectorize(math.erf)(x)),
        "Gelu": ({"x"}, 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
        "Softmax": ({"x"}, np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
        "Sigmoid": ({"x"}, 1 / (1 + np.exp(-x))),
        "Tanh": ({"x"}, np.tanh(x)),
    }
    for op, (names, expected) in cases.items():
        model = single(op, {k: v for k, v in as32.items() if k in names})
        result = reference_run(model, {k: v for k, v in feeds.items() if k in names}, registry)["y0"]
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-15, err_msg=op)


def test_unary_operators_are_double_precision(registry: Registry) -> None:
    """Against torch in float64."""
    f = torch.nn.functional
    cases: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "Acosh": lambda x: torch.acosh(x.abs() + 1), "Asinh": torch.asinh, "Atan": torch.atan, "Celu": f.celu,
        "Cosh": torch.cosh, "Elu": f.elu, "Exp": torch.exp,
        "LogSoftmax": lambda x: f.log_softmax(x, -1),
        "Mish": f.mish, "Relu": f.relu, "Sin": torch.sin, "Sinh": torch.sinh, "Softplus": f.softplus,
        "Softsign": f.softsign, "Tan": torch.tan, "Swish": f.silu,
    }  # fmt: skip
    x = np.random.default_rng(3).standard_normal((5, 9))
    for op, function in cases.items():
        given = np.abs(x) + 1 if op == "Acosh" else x
        model = single(op, {"x": given.astype(np.float32)}, version=24)
        result = reference_run(model, {"x": given}, registry)["y0"]
        expected = function(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-15, err_msg=op)


def test_attention_is_double_precision(registry: Registry) -> None:
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((2, 2, 5, 4)) for _ in range(3))
    model = single("Attention", {n: a.astype(np.float32) for n, a in zip("qkv", (q, k, v), strict=True)})
    scores = q @ k.swapaxes(-1, -2) / 2.0
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(
        reference_run(model, {"q": q, "k": k, "v": v}, registry)["y0"], expected, rtol=1e-13
    )


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("group", [1, 2, 4])
def test_convolution_against_direct_sum(registry: Registry, auto_pad: str, group: int) -> None:
    """<conv(x), y> == <x, conv_transpose(y)>, and Conv against onnx.reference."""
    random = np.random.default_rng(2)
    x, w = random.standard_normal((2, 4, 9, 8)), random.standard_normal((8, 4 // group, 3, 2))
    attributes: dict[str, object] = {"group": group, "strides": [2, 1], "dilations": [1, 2]}
    attributes |= {"pads": [1, 0, 2, 1]} if auto_pad == "NOTSET" else {"auto_pad": auto_pad}
    feeds = {"x": x.astype(np.float32), "w": w.astype(np.float32)}
    ours = reference_run(single("Conv", feeds, **attributes), {"x": x, "w": w}, registry)["y0"]
    if auto_pad == "NOTSET":
        theirs = onnx.reference.ReferenceEvaluator(single("Conv", feeds, **attributes)).run(None, feeds)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
        y = random.standard_normal(ours.shape)
        weights = {"y": y.astype(np.float32), "w": feeds["w"]}
        back = single("ConvTranspose", weights, output_padding=[1, 0], **attributes)
        adjoint = reference_run(back, {"y": y, "w": w}, registry)["y0"]
        assert np.vdot(ours, y) == pytest.approx(np.vdot(x, adjoint), rel=1e-9)


@pytest.mark.parametrize("by_column", [0, 1])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
        {"kernel_shape": [2, 3], "strides": [2, 1], "dilations": [2, 1], "pads": [0, 1, 1, 0]},
        {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [1, 1]},
        {
            "kernel_shape": [1, 2],
            "strides": [1, 3],
            "dilations": [1, 2],
            "auto_pad": "SAME_UPPER",
            "ceil_mode": 1,
        },
    ],
)
def test_places_of_maxima(registry: Registry, attributes: dict[str, object], by_column: int) -> None:
    """onnxruntime is the judge: onnx.reference has others with auto_pad, and with a kernel alone."""
    x = np.random.default_rng(3).standard_normal((2, 3, 10, 9)).astype(np.float32)
    made = single("MaxPool", {"x": x}, 2, 12, **attributes, storage_order=by_column)
    made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    made.ir_version = 8
    cpu = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    ours, theirs = reference_run(made, {"x": x}, registry), cpu.run(None, {"x": x})
    np.testing.assert_array_equal(ours["y0"], theirs[0])
    np.testing.assert_array_equal(ours["y1"], theirs[1])


def test_a_place_of_minus_infinity_is_in_the_image(registry: Registry) -> None:
    x = np.full((1, 1, 4), -np.inf, np.float32)
    made = single("MaxPool", {"x": x}, 2, 12, kernel_shape=[3], strides=[3], pads=[2, 2])
    found = reference_run(made, {"x": x}, registry)
    assert (found["y0"] == -np.inf).all()
    assert found["y1"].tolist() == [[[0, 1]]]


def test_the_place_of_a_maximum_that_is_nan_is_its_own(registry: Registry) -> None:
    """As the values are NaN, here and in bundles; onnxruntime drops it or keeps it by where it stands."""
    x = np.array([[[[1, np.nan, 2, 0], [5, 3, np.nan, np.nan], [np.nan, 4, 6, -np.inf]]]], np.float32)
    for attributes in (
        {"pads": [1, 1, 1, 1]},
        {"strides": [1, 2]},
        {"strides": [2, 2], "pads": [0, 1, 1, 0]},
    ):
        made = single("MaxPool", {"x": x}, 2, 12, kernel_shape=[2, 2], **attributes)
        made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
        found = reference_run(made, {"x": x}, registry)
        bundle = InferenceSession(convert(made, ConvertOptions(sample_seed=None)).to_bytes())
        for ours, theirs in zip(found.values(), bundle.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(x.reshape(-1)[found["y1"]], found["y0"])


@pytest.mark.parametrize("mode", [None, "bilinear", "nearest", "bicubic"])
def test_modes_of_older_grid_samples(registry: Registry, mode: str | None) -> None:
    random = np.random.default_rng(4)
    feeds = {"x": random.standard_normal((2, 3, 5, 6)), "grid": random.uniform(-1.2, 1.2, (2, 4, 3, 2))}
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    made = single("GridSample", feeds, version=16, **({"mode": mode} if mode else {}))
    made.ir_version = 8
    cpu = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = reference_run(made, feeds, registry)["y0"]
    np.testing.assert_allclose(ours, cpu.run(None, feeds)[0], rtol=1e-5, atol=1e-5)


def test_an_axis_of_one_element(registry: Registry) -> None:
    x = np.random.default_rng(5).standard_normal((2, 3))
    made = single("CumSum", {"x": x, "axis": np.array([1])})
    np.testing.assert_allclose(
        reference_run(made, {"x": x, "axis": np.array([1])}, registry)["y0"], x.cumsum(1)
    )


def test_constants_and_casts_stay_double(registry: Registry) -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value_float=0.1),
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1])], [helper.make_tensor_value_info("y", 1, [1])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    reference = Reference(model, registry)
    assert reference.run({"x": np.array([1 / 3])})["y"][0] == 1 / 3 * np.float64(np.float32(0.1))


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("opset", [7, 9, 11, 12, 13])
@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("BatchNormalization", [rows(2, 3, 4), rows(3), rows(3), rows(3), np.abs(rows(3)) + 1], {}),
        ("Softmax", [rows(2, 3, 4)], {}),
        ("Softmax", [rows(2, 3, 4)], {"axis": 1}),
        ("LogSoftmax", [rows(2, 3, 4)], {"axis": 1}),
        ("Hardmax", [rows(2, 3, 4)], {"axis": 1}),
        ("LRN", [rows(2, 5, 3)[..., None]], {"size": 3}),
        ("LRN", [rows(2, 5, 3)[..., None]], {"size": 5, "alpha": 0.1, "beta": 0.5, "bias": 2.0}),
        ("LpNormalization", [rows(3, 4)], {"p": 1}),
    ],
)
def test_meanings_of_older_opsets(
    registry: Registry, opset: int, operator: str, inputs: list[np.ndarray], attributes: dict[str, object]
) -> None:
    """onnxruntime is the judge: onnx.reference reads several of these as the newest opset does."""
    names = [f"x{i}" for i in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], **attributes)],
        "g",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape)
            for n, x in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, inputs[0].shape)],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    feeds = dict(zip(names, inputs, strict=True))
    cpu = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    # float32 rounding of a dozen operations
    np.testing.assert_allclose(
        reference_run(made, feeds, registry)["y"], cpu.run(None, feeds)[0], rtol=2e-5, atol=2e-6
    )
