"""--singleop: operators of the graph engine, each a .om that computes what NumPy says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from atc_models import EXACT, failure, run

import ascend_ep

LINE = ["--singleop=op_list.json", "--output=out", "--soc_version=Ascend910B3", EXACT]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tensor(*shape: int, type: str = "float", format: str = "ND", **more: Any) -> dict[str, Any]:
    return {"format": format, "shape": list(shape), "type": type, **more}


def constant(value: Any, type: str = "int64") -> dict[str, Any]:
    return tensor(*np.shape(value), type=type, is_const=True, const_value=value)


ABSENT = {"format": "RESERVED", "type": "UNDEFINED"}


def op(name: str, inputs: list[Any], output: Any, **attributes: Any) -> dict[str, Any]:
    return {
        "op": name,
        "input_desc": inputs,
        "output_desc": output if isinstance(output, list) else [output],
        "attr": [{"name": k, "type": kind(v), "value": v} for k, v in attributes.items()],
    }


def kind(value: Any) -> str:
    if isinstance(value, list):
        return f"list_{kind(value[0])}" if value else "list_int"
    return {bool: "bool", int: "int", float: "float", str: "string"}[type(value)]


def erf_free_gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def convolution(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    return np.einsum("nchwij,ocij->nohw", windows, w)


def averages(x: np.ndarray, counted: Any) -> np.ndarray:
    """Over windows of 2 by 2 with a row of padding above; `counted`: elements of each row of windows."""
    return above(x, 0.0).reshape(1, 2, 3, 2, 3, 2).sum((3, 5)) / counted


def above(x: np.ndarray, value: float) -> np.ndarray:
    return np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 0)), constant_values=value)


def normalised(x: np.ndarray, scale: Any, offset: Any, mean: Any, variance: Any) -> np.ndarray:
    scale, offset, mean, variance = (v.reshape(3, 1, 1) for v in (scale, offset, mean, variance))
    return (x - mean) / np.sqrt(variance + 0.5) * scale + offset


IMAGE, LAST = {"format": "NCHW"}, {"format": "NHWC"}
AVERAGE: dict[str, Any] = {
    "inputs": [tensor(1, 2, 5, 6)],
    "output": tensor(1, 2, 3, 3),
    "ksize": [1, 1, 2, 2],
    "strides": [1, 1, 2, 2],
    "pads": [1, 0, 0, 0],
}
CASES: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "Add": (
        op("Add", [tensor(3, 3, type="int32")] * 2, tensor(3, 3, type="int32")),
        lambda a, b: a + b,
    ),
    "RealDiv": (op("RealDiv", [tensor(2, 5)] * 2, tensor(2, 5)), lambda a, b: a / b),
    "Maximum": (op("Maximum", [tensor(2, 5), tensor(5)], tensor(2, 5)), np.maximum),
    "MatMulV2": (
        op(
            "MatMulV2",
            [tensor(5, 7), tensor(3, 7), ABSENT],
            tensor(5, 3),
            transpose_x1=False,
            transpose_x2=True,
        ),
        lambda a, b: a @ b.T,
    ),
    "MatMul with bias": (
        op("MatMul", [tensor(7, 5), tensor(7, 3), tensor(3)], tensor(5, 3), transpose_x1=True),
        lambda a, b, c: a.T @ b + c,
    ),
    "BatchMatMul": (
        op("BatchMatMul", [tensor(2, 5, 7), tensor(2, 3, 7)], tensor(2, 5, 3), adj_x2=True),
        lambda a, b: a @ b.transpose(0, 2, 1),
    ),
    "Conv2D": (
        op(
            "Conv2D",
            [tensor(1, 3, 9, 9, **IMAGE), tensor(4, 3, 3, 3, **IMAGE)],
            tensor(1, 4, 4, 4, **IMAGE),
            strides=[1, 1, 2, 2],
            pads=[1, 0, 0, 1],
            dilations=[1, 1, 1, 1],
            groups=1,
            data_format="NCHW",
        ),
        convolution,
    ),
    "Conv2D in NHWC": (
        op(
            "Conv2D",
            [tensor(1, 9, 9, 3, **LAST), tensor(4, 3, 3, 3, **IMAGE)],
            tensor(1, 4, 4, 4, **LAST),
            strides=[1, 2, 2, 1],
            pads=[1, 0, 0, 1],
            dilations=[1, 1, 1, 1],
        ),
        lambda x, w: convolution(x.transpose(0, 3, 1, 2), w).transpose(0, 2, 3, 1),
    ),
    "Conv2D with HWCN weights": (
        op(
            "Conv2D",
            [tensor(1, 9, 9, 3, **LAST), tensor(3, 3, 3, 4, format="HWCN")],
            tensor(1, 4, 4, 4, **LAST),
            strides=[1, 2, 2, 1],
            pads=[1, 0, 0, 1],
            data_format="NHWC",
        ),
        lambda x, w: convolution(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)).transpose(0, 2, 3, 1),
    ),
    "GEMM": (
        op(
            "GEMM",
            [tensor(4, 5), tensor(3, 5), tensor(4, 3), tensor(), tensor()],
            tensor(4, 3),
            transpose_a=False,
            transpose_b=True,
        ),
        lambda a, b, c, alpha, beta: alpha * (a @ b.T) + beta * c,
    ),
    "ArgMaxV2 of a vector as one number": (
        op("ArgMaxV2", [tensor(9), constant([0], "int32")], tensor(1, type="int32")),
        lambda x: np.argmax(x, keepdims=True),
    ),
    "ReduceSumD to one number": (
        op("ReduceSumD", [tensor(3, 5)], tensor(1, 1, 1), axes=[0, 1], keep_dims=False),
        lambda x: x.sum().reshape(1, 1, 1),
    ),
    "param_type": (op("Abs", [tensor(3, param_type="required")], tensor(3)), np.abs),
    "Relu": (op("Relu", [tensor(3, 5)], tensor(3, 5)), lambda x: np.maximum(x, 0)),
    "Relu6": (op("Relu6", [tensor(3, 5)], tensor(3, 5)), lambda x: np.clip(x, 0, 6)),
    "Gelu": (op("Gelu", [tensor(3, 5)], tensor(3, 5)), erf_free_gelu),
    "Swish": (op("Swish", [tensor(3, 5)], tensor(3, 5), scale=2.0), lambda x: x / (1 + np.exp(-2 * x))),
    "LeakyRelu": (
        op("LeakyRelu", [tensor(3, 5)], tensor(3, 5), negative_slope=0.25),
        lambda x: np.where(x > 0, x, x / 4),
    ),
    "SoftmaxV2": (op("SoftmaxV2", [tensor(3, 5)], tensor(3, 5), axes=[-1]), softmax),
    "ReduceSumD": (
        op("ReduceSumD", [tensor(3, 5, 2)], tensor(3, 2), axes=[1], keep_dims=False),
        lambda x: x.sum(1),
    ),
    "ReduceMean": (
        op("ReduceMean", [tensor(3, 5), constant([0])], tensor(1, 5), keep_dims=True),
        lambda x: x.mean(0, keepdims=True),
    ),
    "TransposeD": (
        op("TransposeD", [tensor(3, 5, 2)], tensor(2, 3, 5), perm=[2, 0, 1]),
        lambda x: x.transpose(2, 0, 1),
    ),
    "ConcatD": (
        op("ConcatD", [tensor(3, 2), tensor(3, 4)], tensor(3, 6), concat_dim=1, N=2),
        lambda a, b: np.concatenate([a, b], 1),
    ),
    "Pack": (op("Pack", [tensor(3)] * 2, tensor(3, 2), axis=1, N=2), lambda a, b: np.stack([a, b], 1)),
    "AddN": (op("AddN", [tensor(3)] * 3, tensor(3), N=3), lambda *x: sum(x)),
    "Reshape": (op("Reshape", [tensor(3, 4), constant([2, -1])], tensor(2, 6)), lambda x: x.reshape(2, 6)),
    "GatherV2": (
        op("GatherV2", [tensor(4, 3), constant([2, 0]), constant([0])], tensor(2, 3)),
        lambda x: x[[2, 0]],
    ),
    "SliceD": (
        op("SliceD", [tensor(4, 5)], tensor(2, 4), offsets=[1, 1], size=[2, -1]),
        lambda x: x[1:3, 1:],
    ),
    "PadD": (op("PadD", [tensor(2, 3)], tensor(3, 5), paddings=[[1, 0], [0, 2]]), None),
    "Cast": (
        op("Cast", [tensor(3, 5)], tensor(3, 5, type="int32"), dst_type=3),
        lambda x: x.astype(np.int32),
    ),
    "Rsqrt": (op("Rsqrt", [tensor(3)], tensor(3)), None),
    "Square": (op("Square", [tensor(3)], tensor(3)), np.square),
    "MaxPool": (
        op(
            "MaxPool",
            [tensor(1, 2, 6, 6, **IMAGE)],
            tensor(1, 2, 3, 3, **IMAGE),
            ksize=[1, 1, 2, 2],
            strides=[1, 1, 2, 2],
            padding="VALID",
        ),
        lambda x: x.reshape(1, 2, 3, 2, 3, 2).max((3, 5)),
    ),
    "MaxPool in NHWC": (
        op(
            "MaxPool",
            [tensor(1, 6, 6, 2, **LAST)],
            tensor(1, 3, 3, 2, **LAST),
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="VALID",
        ),
        lambda x: x.reshape(1, 3, 2, 3, 2, 2).max((2, 4)),
    ),
    "MaxPoolV3": (
        op(
            "MaxPoolV3",
            [tensor(1, 2, 5, 6)],
            tensor(1, 2, 3, 3),
            ksize=[1, 1, 2, 2],
            strides=[1, 1, 2, 2],
            padding_mode="CALCULATED",
            pads=[1, 0, 0, 0],
            data_format="NCHW",
            global_pooling=False,
            ceil_mode=False,
        ),
        lambda x: above(x, -np.inf).reshape(1, 2, 3, 2, 3, 2).max((3, 5)),
    ),
    "AvgPoolV2 with what is outside": (op("AvgPoolV2", **AVERAGE, exclusive=False), lambda x: averages(x, 4)),
    "AvgPoolV2": (op("AvgPoolV2", **AVERAGE), lambda x: averages(x, np.array([[2.0], [4.0], [4.0]]))),
    "global AvgPoolV2": (
        op("AvgPoolV2", [tensor(1, 2, 5, 6)], tensor(1, 2, 1, 1), global_pooling=True, ksize=[1, 1, 5, 6]),
        lambda x: x.mean((2, 3), keepdims=True),
    ),
    "BatchNorm": (
        op(
            "BatchNorm",
            [
                tensor(2, 3, 2, 2, **IMAGE),
                tensor(3),
                tensor(3),
                tensor(3),
                constant([1.0, 2.0, 4.0], "float32"),
            ],
            [tensor(2, 3, 2, 2, **IMAGE), *[tensor(3)] * 4],
            epsilon=0.5,
            is_training=False,
        ),
        lambda x, *of: normalised(x, *of, np.array([1.0, 2.0, 4.0])),
    ),
    "Fill": (op("Fill", [constant([2, 3]), tensor(1)], tensor(2, 3)), lambda x: np.broadcast_to(x, (2, 3))),
    "Flatten": (op("Flatten", [tensor(2, 3, 4)], tensor(6, 4), axis=2), lambda x: x.reshape(6, 4)),
    "BiasAdd": (
        op("BiasAdd", [tensor(1, 3, 2, 2, **IMAGE), tensor(3)], tensor(1, 3, 2, 2, **IMAGE)),
        lambda x, b: x + b.reshape(3, 1, 1),
    ),
    "SwiGLU": (op("SwiGLU", [tensor(2, 6)], tensor(2, 3)), None),
}  # None: only that it converts and its self-check holds


def write(*ops: dict[str, Any]) -> None:
    Path("op_list.json").write_text(json.dumps(list(ops)))


def test_every_operator_of_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    named = [entry | {"name": name.replace(" ", "_")} for name, (entry, _) in CASES.items()]
    write(*named)
    status, lines, _ = run(capsys, *LINE, "--self_check=1")
    assert status == 0, lines[-6:]
    generator = np.random.default_rng(5)
    for name, (_, wanted) in CASES.items():
        session = ascend_ep.InferenceSession(f"out/{name.replace(' ', '_')}.om")
        assert session.get_providers() == ["AscendEP"]
        feeds = {}
        for given in session.get_inputs():
            values = generator.standard_normal(given.shape)
            feeds[given.name] = (values * 5).astype(np.int32 if "int32" in given.type else np.float32)
        found, *_ = session.run(None, feeds)
        if wanted is not None:
            exact = wanted(*(v.astype(np.float64) if v.dtype == np.float32 else v for v in feeds.values()))
            np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5, err_msg=name)


def test_default_file_names_and_free_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    free = tensor(-1, 8, shape_range=[[1, 16]])
    write(
        op("Add", [tensor(3, 3, type="int32")] * 2, tensor(3, 3, type="int32")),
        op("Relu", [free], free) | {"compile_flag": 1},
        op("Neg", [tensor(2, 2, type="float16", format="NCHW")], tensor(2, 2, type="float16", format="NCHW")),
    )
    assert run(capsys, *LINE)[0] == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "0_Add_3_2_3_3_3_2_3_3_3_2_3_3.om",
        "1_Relu_0_2_-1_8_0_2_-1_8.om",
        "2_Neg_1_0_2_2_1_0_2_2.om",
    ]
    session = ascend_ep.InferenceSession("out/1_Relu_0_2_-1_8_0_2_-1_8.om")
    assert session.run(None, {"x0": -np.ones((5, 8), np.float32)})[0].shape == (5, 8)
    with pytest.raises(ascend_ep.AscendError):
        session.run(None, {"x0": np.ones((17, 8), np.float32)})


def test_an_operator_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A definition given with --custom_op_info counts more than the engine's operator of that name."""
    definition = {
        "op": "Swish",
        "inputs": [{"name": "x", "type": "float32"}],
        "outputs": [{"name": "y", "type": "float32"}],
        "attributes": [{"name": "scale", "type": "float", "default": 1.0}],
        "formula": "y = scale*x",
    }
    Path("swish.json").write_text(json.dumps(definition))
    write(op("Swish", [tensor(4)], tensor(4), scale=3.0) | {"name": "mine"})
    assert run(capsys, *LINE, "--custom_op_info=swish.json")[0] == 0
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(ascend_ep.InferenceSession("out/mine.om").run(None, {"x0": x})[0], 3 * x)


RELU = op("Relu", [tensor(2)], tensor(2))
FILES: dict[str, tuple[str | None, str, str]] = {
    "missing": (None, "E10023", "[op_list.json] for parameter [--singleop]"),
    "not json": ("[{]", "E10025", "line 1, column 3"),
    "no list": ("{}", "E10025", "it must be a list of operators"),
    "empty": ("[]", "E10025", "it names no operator"),
    "no name": (json.dumps([RELU | {"op": ""}]), "E10026", "The Op name is empty"),
    "unknown key": (json.dumps([RELU | {"inputs": []}]), "E10025", "the key 'inputs' is unknown"),
    "type": (json.dumps([op("Relu", [tensor(2, type="flaot")], tensor(2))]), "E10027", '"flaot" is none of'),
    "format": (
        json.dumps([op("Relu", [tensor(2, format="NC1HWC0")], tensor(2))]),
        "E10027",
        "[format] of [input]",
    ),
    "shape": (json.dumps([op("Relu", [tensor(-2)], tensor(2))]), "E10027", "[shape] of [input] tensor [0]"),
    "absent": (json.dumps([op("Relu", [tensor(2)], [ABSENT])]), "E10027", "an output cannot be absent"),
    "nameless attribute": (
        json.dumps([RELU | {"attr": [{"type": "int", "value": 1}]}]),
        "E10029",
        "Attribute name of Op [Relu] is empty",
    ),
    "wrong value": (
        json.dumps([RELU | {"attr": [{"name": "a", "type": "int", "value": "1"}]}]),
        "E10030",
        '"1" is no int',
    ),
    "unknown attribute": (
        json.dumps([op("SoftmaxV2", [tensor(2, 2)], tensor(2, 2), axis=1)]),
        "E10030",
        "Did you mean [axes]",
    ),
    "two layouts": (
        json.dumps(
            [op("Conv2D", [tensor(1, 3, 9, 9, **IMAGE)] * 2, tensor(1, 1, 1, 1, **IMAGE), data_format="NHWC")]
        ),
        "E10030",
        "it is NHWC, and the input's format NCHW",
    ),
    "unknown operator": (json.dumps([op("MatMull", [tensor(2)], tensor(2))]), "E10501", "near it: MatMul"),
    "wrong shape": (json.dumps([op("Relu", [tensor(2)], tensor(3))]), "E19014", "which is [2]"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, code, reason = FILES[name]
    if text is not None:
        Path("op_list.json").write_text(text)
    said = failure(capsys, *LINE)
    assert said.startswith(f"{code}: "), said
    assert reason in said
    assert not list(Path().rglob("*.om"))


def test_a_folder_is_no_list(capsys: pytest.CaptureFixture[str]) -> None:
    Path("op_list.json").mkdir()
    assert failure(capsys, *LINE).startswith("E10024: ")


def test_what_may_not_stand_beside(capsys: pytest.CaptureFixture[str]) -> None:
    write(RELU)
    said = failure(capsys, *LINE, "--input_shape=x:1")
    assert "[--singleop] and [--input_shape] are mutually exclusive" in said
    assert "[soc_version]" in failure(capsys, *LINE[:2])
