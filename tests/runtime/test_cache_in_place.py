"""A key-value cache that grows in place: one buffer bound as past and present of a decoding step."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

BATCH, HEADS, ROOM, SIZE = 2, 3, 12, 8


def decoding_step() -> onnx.ModelProto:
    """One query against a cache of ROOM places, of which each row has filled its own number."""
    cache, new = [BATCH, HEADS, ROOM, SIZE], [BATCH, HEADS, 1, SIZE]
    floats = {"q": new, "k": new, "v": new, "past_k": cache, "past_v": cache}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in floats.items()]
    inputs += [helper.make_tensor_value_info(n, TensorProto.INT64, [BATCH]) for n in ("place", "filled")]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, new)]
    outputs += [helper.make_tensor_value_info(f"present_{n}", TensorProto.FLOAT, cache) for n in "kv"]
    nodes = [
        helper.make_node("TensorScatter", [f"past_{n}", n, "place"], [f"present_{n}"], axis=2) for n in "kv"
    ]
    attended = ["q", "present_k", "present_v", "", "", "", "filled"]
    nodes.append(helper.make_node("Attention", attended, ["y"]))
    graph = helper.make_graph(nodes, "step", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


def attended(q: Any, keys: Any, values: Any, filled: Any) -> Any:
    """softmax(q k^T / sqrt(size)) v over the filled places, in float64."""
    scores = np.einsum("bhqd,bhkd->bhqk", q.astype(np.float64), keys) / np.sqrt(SIZE)
    scores = np.where(np.arange(ROOM) < filled[:, None, None, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhqk,bhkd->bhqd", weights / weights.sum(axis=-1, keepdims=True), values)


@pytest.fixture(scope="module")
def session() -> ascend_ep.InferenceSession:
    bundle = convert(decoding_step(), ConvertOptions(sample_seed=None)).to_bytes()
    return ascend_ep.InferenceSession(bundle)


def test_steps_append_to_the_bound_cache(session: ascend_ep.InferenceSession) -> None:
    assert session.get_providers() == ["AscendEP"]
    generator = np.random.default_rng(3)
    caches = {n: np.zeros((BATCH, HEADS, ROOM, SIZE), np.float32) for n in "kv"}
    expected = {n: cache.copy() for n, cache in caches.items()}
    y = np.empty((BATCH, HEADS, 1, SIZE), np.float32)
    place = np.array([0, 4])  # rows of different lengths
    for row in range(BATCH):
        for n in "kv":
            old = generator.standard_normal((HEADS, place[row], SIZE), np.float32)
            caches[n][row, :, : place[row]] = expected[n][row, :, : place[row]] = old
    binding = session.io_binding()
    for n in "kv":
        binding.bind_cpu_input(f"past_{n}", caches[n])
        binding.bind_ortvalue_output(f"present_{n}", ascend_ep.OrtValue.ortvalue_from_numpy(caches[n]))
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(y))
    for _ in range(5):
        step = {n: generator.standard_normal((BATCH, HEADS, 1, SIZE), np.float32) for n in "qkv"}
        for n, array in step.items():
            binding.bind_cpu_input(n, array)
        binding.bind_cpu_input("place", place)
        binding.bind_cpu_input("filled", place + 1)
        session.run_with_iobinding(binding)
        for row in range(BATCH):
            for n in "kv":
                expected[n][row, :, place[row]] = step[n][row, :, 0]
        for n in "kv":
            np.testing.assert_array_equal(caches[n], expected[n])
        np.testing.assert_allclose(y, attended(step["q"], expected["k"], expected["v"], place + 1), atol=2e-6)
        place = place + 1


def test_a_place_behind_the_cache_is_refused(session: ascend_ep.InferenceSession) -> None:
    new, cache = np.ones((BATCH, HEADS, 1, SIZE), np.float32), np.ones((BATCH, HEADS, ROOM, SIZE), np.float32)
    feed = {"q": new, "k": new, "v": new, "past_k": cache, "past_v": cache, "filled": np.array([1, 1])}
    with pytest.raises(ascend_ep.AscendError, match="E40011"):
        session.run(None, feed | {"place": np.array([0, ROOM])})
