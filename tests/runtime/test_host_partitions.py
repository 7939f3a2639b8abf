"""Sessions of onnxruntime beside native code: their threads, which don't spin when native code runs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.runtime.host_partition import STOP_SPINNING, host_session_options

SPINNING = "session.intra_op.allow_spinning"


def layers() -> bytes:
    """A native product, and one on the host, in a loop that carries a sequence."""
    body = """body = b (int64 i, bool c, seq(float[256,256]) s) => (bool d, seq(float[256,256]) t) {
        z = Constant<value_int = 0>() h = SequenceAt(s, z) p = MatMul(h, h) r = Relu(p)
        t = SequenceInsert(s, r, z) d = Identity(c) }"""
    text = f"""<ir_version: 10, opset_import: ["": 17]> g (float[256,256] x) => (float[256,256] y)
        <int64 n = {{4}}, bool c = {{1}}, int64 o = {{0}}> {{ a = MatMul(x, x) q = SequenceConstruct(a)
        t = Loop<{body}>(n, c, q) u = SequenceAt(t, o) y = Neg(u) }}"""
    return convert(onnx.parser.parse_model(text), ConvertOptions(self_check=False, codegen="off")).to_bytes()


def idle_cpu(session: Any, feeds: dict[str, np.ndarray]) -> float:
    """The CPU time of this process in the 20 ms after a run, of ten the median."""
    found = []
    for _ in range(10):
        session.run(None, feeds)
        before = time.process_time()
        time.sleep(0.02)
        found.append(time.process_time() - before)
    return float(np.median(found))


def test_no_thread_spins_after_a_run() -> None:
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = 4
    session = ascend_ep.InferenceSession(layers(), options)
    assert session.get_providers() == ["AscendEP", "CPUExecutionProvider"]
    x = np.full((256, 256), 1e-3, np.float32)
    assert idle_cpu(session, {"x": x}) < 2e-3


@pytest.mark.parametrize("kind", [ascend_ep.SessionOptions, onnxruntime.SessionOptions, lambda: None])
def test_options_of_host_sessions(kind: Any) -> None:
    given = kind()
    made = host_session_options(given, 3)
    assert made.get_session_config_entry(STOP_SPINNING) == "1"
    assert host_session_options(made, 3) is made
    assert made.intra_op_num_threads == (0 if made is given else 3)


@pytest.mark.parametrize("kind", [ascend_ep.SessionOptions, onnxruntime.SessionOptions])
def test_what_the_user_chose_stays(kind: Any) -> None:
    given = kind()
    given.intra_op_num_threads = 2
    given.add_session_config_entry(SPINNING, "1")
    made = host_session_options(given, 3)
    assert (made.intra_op_num_threads, made.get_session_config_entry(SPINNING)) == (2, "1")
    with pytest.raises(RuntimeError):
        made.get_session_config_entry(STOP_SPINNING)


def test_threads_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_EP_THREADS", "1")
    assert host_session_options(None).intra_op_num_threads == 1


GIVEN = """<ir_version: 10, opset_import: ["": 17]>
    g (float[n,2] x, float[n,2] z, bool c) => (float[n,2] y)"""
CHOSEN = "If(c) <then_branch = a () => (p) { p = Neg(s) }, else_branch = b () => (q) { q = Exp(s) }>"
BESIDE = f"{GIVEN} {{ s = Add(x, z) i = {CHOSEN} y = Tanh(i) }}"
ALONE = f"{GIVEN} {{ y = {CHOSEN.replace('Neg(s)', 'Add(x, z)').replace('Exp(s)', 'Mul(x, z)')} }}"
X = np.arange(6, dtype=np.float32).reshape(3, 2)
#: feeds as they may follow each other, good and bad
FEEDS: list[Any] = [
    {"x": X, "z": X, "c": np.array(True)},
    {"x": X, "z": X + 1, "c": np.array(False)},
    {"z": X, "c": np.array(True), "x": X},
    {"x": X[:1], "z": X[:1], "c": np.array(True)},
    {"x": X[:, ::-1], "z": X.astype(">f4"), "c": np.array(True)},
    {"x": np.asfortranarray(X), "z": X.tolist(), "c": True},
    {"x": X.astype(np.float64), "z": X, "c": np.array(True)},
    {"x": X, "z": X, "c": np.array(1)},
    {"x": X, "z": X[:, :1], "c": np.array(True)},
    {"x": X, "z": X[0], "c": np.array(True)},
    {"x": X, "z": X},
    {"x": X, "z": X, "d": np.array(True)},
    {"x": X, "z": X, "c": np.array(True), "d": X},
    [X, X, np.array(True)],
]


@pytest.mark.parametrize("text", [BESIDE, ALONE])
def test_each_feed_is_checked_whatever_came_before(text: str) -> None:
    model = convert(onnx.parser.parse_model(text), ConvertOptions(self_check=False, codegen="off")).to_bytes()

    def outcome(session: Any, feed: Any) -> Any:
        try:
            return session.run(None, feed)[0].tolist()
        except ascend_ep.AscendError as error:
            return error.code

    alone = [outcome(ascend_ep.InferenceSession(model), feed) for feed in FEEDS]
    assert sum(isinstance(each, str) for each in alone) == 8
    session = ascend_ep.InferenceSession(model)
    for first in range(len(FEEDS)):
        for second in range(len(FEEDS)):
            assert outcome(session, FEEDS[first]) == alone[first], first
            assert outcome(session, FEEDS[second]) == alone[second], (first, second)
