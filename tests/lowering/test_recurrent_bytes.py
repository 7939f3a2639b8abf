"""DynamicQuantizeLSTM: native, and to the bit as onnxruntime has it where CPUs have fused multiplications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from saturation import unsaturated

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.quantised_references import dynamic_quantize_lstm

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
NAMES = ["x", "w", "r", "b", "lengths", "h0", "c0", "p", "w_scale", "w_zero", "r_scale", "r_zero"]
FREE = {"x": (0, 1), "h0": (1,), "c0": (1,), "lengths": (0,)}  #: axes of inputs
WEIGHTS = {"w", "r", "b", "p", "w_scale", "w_zero", "r_scale", "r_zero"}


def arrays(
    hidden: int, batch: int = 1, directions: int = 1, steps: int = 4, width: int = 9, dtype: Any = np.int8,
    per_column: bool = False,
) -> dict[str, np.ndarray]:  # fmt: skip
    random, gates = np.random.default_rng(hidden), 4 * hidden
    low, high = (-127, 128) if dtype == np.int8 else (0, 256)
    tables = (directions, gates) if per_column else (directions,)
    floats = {
        "x": (steps, batch, width), "b": (directions, 2 * gates), "h0": (directions, batch, hidden),
        "c0": (directions, batch, hidden), "p": (directions, 3 * hidden),
    }  # fmt: skip
    made = {n: random.standard_normal(s).astype(np.float32) for n, s in floats.items()}
    made["h0"] = np.tanh(made["h0"])
    made["w"] = unsaturated(random.integers(low, high, (directions, width, gates)).astype(dtype))
    made["r"] = unsaturated(random.integers(low, high, (directions, hidden, gates)).astype(dtype))
    for name, rows in (("w_scale", width), ("r_scale", hidden)):
        made[name] = ((1 + random.random(tables)) / 128 / rows**0.5).astype(np.float32)
    for name in ("w_zero", "r_zero"):
        made[name] = np.full(tables, 0 if dtype == np.int8 else 128, dtype)
    made["lengths"] = random.integers(0, steps + 1, batch).astype(np.int32)
    return made


def model(values: dict[str, np.ndarray], without: str = "lengths p", **attributes: Any) -> onnx.ModelProto:
    """A layer of these operands but for some; weights are constants."""
    names = [n if n not in without.split() else "" for n in NAMES]
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y", "h", "c"], domain="com.microsoft", **attributes
    )
    kinds = {n: helper.np_dtype_to_tensor_dtype(values[n].dtype) for n in names if n}
    fed = [n for n in kinds if n not in WEIGHTS]
    dims = {n: [None if i in FREE[n] else d for i, d in enumerate(values[n].shape)] for n in fed}
    inputs = [helper.make_tensor_value_info(n, kinds[n], dims[n]) for n in fed]
    outputs = [helper.make_tensor_value_info(n, 1, None) for n in ("y", "h", "c")]
    constants = [numpy_helper.from_array(values[n], n) for n in kinds if n in WEIGHTS]
    graph = helper.make_graph([node], "layer", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def agree(proto: onnx.ModelProto, values: dict[str, np.ndarray], exact: bool = True) -> None:
    options = onnxruntime.SessionOptions()
    host = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    own = ascend_ep.InferenceSession(convert(proto, ConvertOptions(self_check=False)).to_bytes())
    assert own.get_providers() == ["AscendEP"]
    feeds = {i.name: values[i.name] for i in host.get_inputs()}
    for got, want in zip(own.run(None, feeds), host.run(None, feeds), strict=True):
        assert got.shape == want.shape
        if exact and " fma " in Path("/proc/cpuinfo").read_text():
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-2)


@pytest.mark.parametrize("hidden", [1, 7, 32, 45, 260, 515])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_sizes(hidden: int, dtype: Any) -> None:
    """Of one row; 515 has so many weights that threads share the columns of a step."""
    values = arrays(hidden, dtype=dtype)
    agree(model(values, hidden_size=hidden), values)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("without", ["lengths p", "lengths p b h0 c0", "p h0"])
def test_forms(direction: str, per_column: bool, without: str) -> None:
    values = arrays(24, directions=DIRECTIONS[direction], per_column=per_column)
    exact = "lengths" in without  # onnxruntime finds the scale of X in the steps that any row takes
    agree(model(values, without, hidden_size=24, direction=direction), values, exact)


def test_rows() -> None:
    """Few rows of a large state are quantised together; of many, onnxruntime quantises some together."""
    values = arrays(260, batch=3)
    agree(model(values, hidden_size=260), values)
    values = arrays(24, batch=7, per_column=True)
    agree(model(values, without="p", hidden_size=24), values, exact=False)


@pytest.mark.parametrize(
    "attributes",
    [{"input_forget": 1}, {"clip": 0.4}, {"activations": ["HardSigmoid", "Softsign", "Tanh"]}],
    ids=str,
)
def test_attributes(attributes: dict[str, Any]) -> None:
    values = arrays(24)
    agree(model(values, hidden_size=24, **attributes), values, exact="activations" not in attributes)
    agree(model(values, "lengths", hidden_size=24, **attributes), values, exact=False)


def test_what_is_no_constant_is_left_to_the_host() -> None:
    values = arrays(8)
    proto = model(values, hidden_size=8)
    moved = next(t for t in proto.graph.initializer if t.name == "r_scale")
    proto.graph.initializer.remove(moved)
    proto.graph.input.append(helper.make_tensor_value_info("r_scale", 1, [1]))
    own = ascend_ep.InferenceSession(convert(proto, ConvertOptions(self_check=False)).to_bytes())
    assert "CPUExecutionProvider" in own.get_providers()


def test_a_model_of_the_quantiser(tmp_path: Path) -> None:
    """What onnxruntime's own quantiser makes of layers between products."""
    from onnxruntime.quantization import quantize_dynamic

    random, hidden = np.random.default_rng(0), 48
    shapes = {"w": (2, 192, 20), "r": (2, 192, hidden), "b": (2, 384), "m": (20, 20), "o": (96, 5)}
    weights = [
        numpy_helper.from_array((random.standard_normal(s) / 6).astype(np.float32), n)
        for n, s in shapes.items()
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "m"], ["a"]),
        helper.make_node("LSTM", ["a", "w", "r", "b"], ["s"], hidden_size=hidden, direction="bidirectional"),
        helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["t", "shape"], ["u"]),
        helper.make_node("MatMul", ["u", "o"], ["y"]),
    ]
    weights.append(numpy_helper.from_array(np.array([0, 0, 96], np.int64), "shape"))
    boundary = [helper.make_tensor_value_info(n, 1, ["steps", 1, d]) for n, d in (("x", 20), ("y", 5))]
    graph = helper.make_graph(nodes, "layers", boundary[:1], boundary[1:], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        tmp_path / "f.onnx",
    )
    quantize_dynamic(tmp_path / "f.onnx", tmp_path / "q.onnx", op_types_to_quantize=["LSTM", "MatMul"])
    proto = onnx.load(tmp_path / "q.onnx")
    assert "DynamicQuantizeLSTM" in {n.op_type for n in proto.graph.node}
    agree(proto, {"x": random.standard_normal((11, 1, 20)).astype(np.float32)}, exact=False)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("without", ["lengths p", "b h0 c0", "lengths", ""])
def test_the_reference_is_onnxruntimes(direction: str, without: str) -> None:
    """In float64 but for what is quantised: a step of 8 bits may go the other way, once in a while."""
    values = arrays(7, batch=3, directions=DIRECTIONS[direction])
    proto = model(values, without, direction=direction, hidden_size=7)
    host = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = host.run(None, {i.name: values[i.name] for i in host.get_inputs()})
    settings = {"activations": [], "clip": 0.0, "direction": direction, "input_forget": 0}
    given = [None if n in without.split() else values[n] for n in NAMES]
    for got, want in zip(dynamic_quantize_lstm(given, settings), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-2)
