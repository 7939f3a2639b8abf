"""onnxruntime's own tools and libraries of operators beside AscendEP."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep
import ascend_ep.provider

PROVIDERS = ["AscendEP", "CPUExecutionProvider"]
#: NegPos of onnxruntime-extensions gives what is below 0 of a tensor, and what is above.
WITH_A_LIBRARY = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.contrib": 1]>
 g (float[n,4] x, float[4,4] w) => (float[n,4] y) {
   h = MatMul(x, w)  p, q = ai.onnx.contrib.NegPos(h)  y = Sub(p, q) }"""


def test_operators_of_onnxruntime_extensions_beside_ours() -> None:
    library = pytest.importorskip("onnxruntime_extensions").get_library_path()
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(library)
    model = onnx.parser.parse_model(WITH_A_LIBRARY).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=PROVIDERS)
    placed = {p.op_type: p for p in ascend_ep.provider.report(session).placements}
    assert placed["MatMul"] not in ascend_ep.provider.report(session).on_cpu
    x, w = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    (y,) = session.run(None, {"x": x, "w": w})
    np.testing.assert_allclose(y, -np.abs(x @ w), rtol=1e-5, atol=1e-6)


#: A decoder of one layer as onnxruntime-genai calls it, whose attention is a mean of the values so far.
DECODER = """<ir_version: 10, opset_import: ["": 20]>
 g (int64[b,s] input_ids, int64[b,t] attention_mask, float[b,2,p,8] past_key_0, float[b,2,p,8] past_value_0)
 => (float[b,s,32] logits, float[b,2,t,8] present_key_0, float[b,2,t,8] present_value_0)
 <int64[4] heads = {0,0,2,8}, int64[1] two = {2}, int64[1] one = {1}> {
   x = Gather(words, input_ids)  a = MatMul(x, weight)  h = Reshape(a, heads)
   k = Transpose<perm = [0,2,1,3]>(h)
   present_key_0 = Concat<axis = 2>(past_key_0, k)
   present_value_0 = Concat<axis = 2>(past_value_0, k)
   m = ReduceMean<keepdims = 0>(present_value_0, two)  f = Flatten(m)  u = Unsqueeze(f, one)
   y = Add(x, u)  z = Gelu(y)  logits = MatMul(z, out) }"""


def test_onnxruntime_genai_generates_the_tokens_of_the_cpu_provider(tmp_path: Path) -> None:
    genai = pytest.importorskip("onnxruntime_genai")
    random = np.random.default_rng(0)
    model = onnx.parser.parse_model(DECODER)
    for name, shape in (("words", (32, 16)), ("weight", (16, 16)), ("out", (16, 32))):
        values = random.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    onnx.save(model, tmp_path / "model.onnx")

    def tokens(providers: list[dict[str, dict[str, str]]]) -> list[int]:
        decoder = {
            "filename": "model.onnx",
            "session_options": {"provider_options": providers},
            "head_size": 8,
            "hidden_size": 16,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "num_hidden_layers": 1,
            "inputs": {
                **{name: name for name in ("input_ids", "attention_mask")},
                **{f"past_{k}_names": f"past_{k}_%d" for k in ("key", "value")},
            },
            "outputs": {
                "logits": "logits",
                **{f"present_{k}_names": f"present_{k}_%d" for k in ("key", "value")},
            },
        }
        ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
        about = {"type": "llama", **ids, "context_length": 64, "vocab_size": 32, "decoder": decoder}
        search = {"max_length": 20, "do_sample": False, "past_present_share_buffer": False}
        config = {"model": about, "search": search}
        (tmp_path / "genai_config.json").write_text(json.dumps(config), encoding="utf-8")
        loaded = genai.Model(str(tmp_path))
        options = genai.GeneratorParams(loaded)
        options.set_search_options(max_length=12, min_length=12)
        generator = genai.Generator(loaded, options)
        generator.append_tokens(np.array([[3, 4, 5]], np.int32))
        while not generator.is_done():
            generator.generate_next_token()
        return [int(t) for t in generator.get_sequence(0)]

    expected = tokens([])
    genai.register_execution_provider_library("AscendEP", ascend_ep.get_library_path())
    assert len(expected) == 12
    assert tokens([{"AscendEP": {}}]) == expected
    with pytest.raises(RuntimeError, match="no_such_option"):
        tokens([{"AscendEP": {"no_such_option": "1"}}])
