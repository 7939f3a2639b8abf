"""Options that change results give with AscendEP what they give on the CPU provider, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from provider_graphs import model, run_python, value

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from ascend_ep.provider import report

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def _weighted(dtype: int, shape: list[int], nested: bool, folded: bool) -> bytes:
    """y = x + w of any element type, the weight read inside a branch, or through an operator that folds."""
    kind = oh.tensor_dtype_to_np_dtype(dtype)
    w = np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(kind)
    read = [oh.make_node("Neg", ["w"], ["n"])] if folded else [oh.make_node("Identity", ["w"], ["n"])]
    add = [oh.make_node("Cast", ["n"], ["c"], to=1), oh.make_node("Add", ["x", "c"], ["s"])]
    if not nested:
        nodes = [*read, *add, oh.make_node("Abs", ["s"], ["y"])]
    else:
        branch = oh.make_graph([*read, *add], "branch", [], [value("s", None)])
        other = oh.make_graph([oh.make_node("Neg", ["x"], ["m"])], "other", [], [value("m", None)])
        nodes = [
            oh.make_node("ReduceSum", ["x"], ["t"], keepdims=0),
            oh.make_node("Greater", ["t", "low"], ["is_high"]),
            oh.make_node("If", ["is_high"], ["i"], then_branch=branch, else_branch=other),
            oh.make_node("Abs", ["i"], ["y"]),
        ]
    constants = {"w": w} | ({"low": np.float32(-100)} if nested else {})
    return model(nodes, [value("x", ["N", 4])], [value("y", ["N", 4])], constants)


def _both(content: bytes, change: Callable[[Any], object], **feed: Any) -> list[Any]:
    """The first result on the CPU provider and with AscendEP."""
    results = []
    for provider in ("CPUExecutionProvider", "AscendEP"):
        options = ort.SessionOptions()
        options.log_severity_level = 3
        change(options)
        made = ort.InferenceSession(content, options, providers=[provider])
        results.append(made.run(None, feed or {"x": X})[0])
    return results


TYPES = [onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE]
TYPES += [onnx.TensorProto.INT8, onnx.TensorProto.INT32, onnx.TensorProto.INT64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [[4], [2, 4]])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("folded", [False, True])
def test_added_initializers(dtype: int, shape: list[int], nested: bool, folded: bool) -> None:
    new = np.full(shape, 9, oh.tensor_dtype_to_np_dtype(dtype))
    given = ort.OrtValue.ortvalue_from_numpy(new)
    theirs, ours = _both(_weighted(dtype, shape, nested, folded), lambda o: o.add_initializer("w", given))
    sign = -1 if folded else 1
    wanted = np.abs(X + np.float32(sign * 9))
    if np.array_equal(ours, wanted):  # also where onnxruntime has folded the model's own value
        return
    np.testing.assert_array_equal(ours, theirs)
    assert folded or dtype != onnx.TensorProto.FLOAT, "only what onnxruntime folds keeps the model's value"


def test_an_added_initializer_of_another_shape_is_refused() -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(np.zeros(3, np.float32)))
    content = _weighted(1, [4], False, False)
    made = ort.InferenceSession(content, options, providers=["AscendEP"], enable_fallback=0)
    assert "[w] has element type 1 and shape [4]" in report(made).error


def test_our_own_options_are_followed_on_a_model() -> None:
    options = ascend_ep.SessionOptions()
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(np.full(4, 9, np.float32)))
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    made = ascend_ep.InferenceSession(_weighted(1, [4], False, False), options)
    np.testing.assert_array_equal(made.run(None, {"x": X})[0], np.abs(X + 9))
    assert made.get_session_options().get_session_config_entry("session.disable_cpu_ep_fallback") == "1"


def test_compiled_models_refuse_other_initializers(tmp_path: Path) -> None:
    conversion = convert(_weighted(1, [4], False, False))
    conversion.write(tmp_path / "m.om")
    (tmp_path / "m_ctx.onnx").write_bytes(conversion.context_model("m.om"))
    options = ort.SessionOptions()
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(np.full(4, 9, np.float32)))
    with pytest.raises(AscendError, match=r"\[w\] can't be replaced"):
        ort.InferenceSession(str(tmp_path / "m_ctx.onnx"), options, providers=["AscendEP"])


@pytest.mark.parametrize(("key", "text"), [("session.set_denormal_as_zero", "1"), ("ep.context_enable", "1")])
@pytest.mark.parametrize("options", [ort.SessionOptions, ascend_ep.SessionOptions])
def test_entries_that_a_bundle_cannot_follow(key: str, text: str, options: Any) -> None:
    bundle = convert(_weighted(1, [4], False, False)).to_bytes()
    made = options()
    made.add_session_config_entry(key, "0")
    ascend_ep.InferenceSession(bundle, made)
    made = options()
    made.add_session_config_entry(key, text)
    with pytest.raises(AscendError, match=f"{key}={text}"):
        ascend_ep.InferenceSession(bundle, made)


_DENORMALS = """
import numpy as np, onnx, onnxruntime as ort, sys
import ascend_ep
content = open(sys.argv[1], "rb").read()
x = np.full((1 << 18,), 1e-39, np.float32)
for provider in ("CPUExecutionProvider", "AscendEP"):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    made = ort.InferenceSession(content, options, providers=[provider])
    print(provider, [int(np.count_nonzero(made.run(None, {"x": x})[0])) for _ in range(5)])
"""


def test_denormals_are_zero_on_all_threads(tmp_path: Path) -> None:
    """In a process of its own: onnxruntime sets the whole thread of the caller."""
    half = {"half": np.float32(0.5)}
    content = model(
        [oh.make_node("Mul", ["x", "half"], ["y"])], [value("x", ["N"])], [value("y", ["N"])], half
    )
    (tmp_path / "m.onnx").write_bytes(content)
    made = run_python(_DENORMALS, str(tmp_path / "m.onnx"))
    cpu, ours = made.stdout.strip().splitlines()
    assert cpu == "CPUExecutionProvider [0, 0, 0, 0, 0]"
    assert ours == "AscendEP [0, 0, 0, 0, 0]"


def test_what_we_cannot_read_is_left_to_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of ours while a graph is looked at costs the speed, never the session."""
    from ascend_ep.provider import placement

    def broken(*args: Any, **named: Any) -> Any:
        raise IndexError("ours")

    for name in ("load_model", "infer_believing", "may_be_one_group", "connected_groups", "compile_model"):
        monkeypatch.setattr(placement, name, broken)
        made = ort.InferenceSession(
            _weighted(1, [4], False, False), providers=["AscendEP"], enable_fallback=0
        )
        wanted = np.abs(X + np.arange(1, 5, dtype=np.float32))
        np.testing.assert_array_equal(made.run(None, {"x": X})[0], wanted)
        monkeypatch.undo()


def test_no_warning_is_printed_for_weights_left_in_their_file(tmp_path: Path) -> None:
    """Sessions with the user's options and without; onnxruntime's default logger is as the user set it."""
    nodes = [oh.make_node("MatMul", ["x", "w"], ["y"])]
    big = {"w": np.ones((1 << 11, 1 << 11), np.float32)}
    content = model(nodes, [value("x", ["N", 2048])], [value("y", ["N", 2048])], big)
    (tmp_path / "big.onnx").write_bytes(content)
    code = """
import onnxruntime as ort, sys
import ascend_ep
options = ort.SessionOptions()
for given in (None, options, options, None):
    made = ort.InferenceSession(sys.argv[1], given, providers=["AscendEP"])
    made.set_providers(["AscendEP"])
print("no more")
options.add_session_config_entry("mine", "1")
options.add_session_config_entry("mine", "2")
ort.set_default_logger_severity(3)
options.add_session_config_entry("mine", "3")
ort.InferenceSession(sys.argv[1], options, providers=["AscendEP"])
options.add_session_config_entry("mine", "4")
"""
    made = run_python(code, str(tmp_path / "big.onnx"))
    assert made.stdout.strip() == "no more"
    warned = [line for line in made.stderr.splitlines() if "already exists" in line]
    assert len(warned) == 1, made.stderr
    assert "[mine] already exists with value [1]" in warned[0]
