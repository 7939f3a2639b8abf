"""What appends to a cache joins the attention that reads it; what must not, stays."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fused_kernels import fused_kernels

PARTS = """keys = Concat<axis = 2>(past_k, k) values = Concat<axis = 2>(past_v, v)"""
ATTEND = """kt = Transpose<perm = [0, 1, 3, 2]>(keys) s = MatMul(q, kt) w = Softmax<axis = -1>(s)
            y = MatMul(w, values)"""


def model(body: str, outputs: str, past: str) -> onnx.ModelProto:
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    cache, new = f"float[1,4,{past},16]", "float[1,4,1,16]"
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    g ({new} q, {new} k, {new} v, {cache} past_k, {cache} past_v) => ({results}) {{ {body} }}"""
    made = onnx.parser.parse_model(text)
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def kernels_of(source: onnx.ModelProto, off: tuple[str, ...] = ()) -> list[str]:
    rng = np.random.default_rng(0)
    feeds = {n: rng.standard_normal((1, 4, 1, 16)).astype(np.float32) for n in "qkv"}
    feeds |= {n: rng.standard_normal((1, 4, 9, 16)).astype(np.float32) for n in ("past_k", "past_v")}
    return fused_kernels(source, feeds, off=off)


@pytest.mark.parametrize("past", ["9", "P"])
@pytest.mark.parametrize("outputs", ["y keys values", "values y", "y"])
def test_a_cache_joins_its_attention(outputs: str, past: str) -> None:
    assert kernels_of(model(f"{PARTS} {ATTEND}", outputs, past)) == ["attention_append"]


def test_what_is_appended_may_be_read_afterwards() -> None:
    body = f"{PARTS} {ATTEND} z = Relu(keys)"
    assert kernels_of(model(body, "y keys values z", "9")) == ["attention_append", "elementwise"]


def test_what_is_read_before_stays_apart() -> None:
    found = kernels_of(model(f"{PARTS} z = Relu(keys) {ATTEND}", "y keys values z", "9"))
    assert found == ["concat", "concat", "elementwise", "attention"]


def test_values_of_another_making_stay_apart() -> None:
    body = f"keys = Concat<axis = 2>(past_k, k) values = Concat<axis = 2>(v, past_v, none) {ATTEND}"
    source = model(f"none = Constant<value = float[1,4,0,16] {{}}>() {body}", "y keys", "9")
    assert "attention_append" not in kernels_of(source)


def test_values_of_another_past_stay_apart() -> None:
    """As many keys as values, but other numbers of them are past."""
    body = f"p, n = Split<axis = 2>(past_v, parts) more = Concat<axis = 2>(n, v) {PARTS} {ATTEND}"
    source = model(f"parts = Constant<value = int64[2] {{5, 4}}>() {body}", "y keys values", "9")
    values = next(n for n in source.graph.node if n.output[0] == "values")
    values.input[:] = ["p", "more"]
    assert "attention" in kernels_of(source)


def test_a_query_that_is_appended_stays_apart() -> None:
    found = kernels_of(model(f"{PARTS} {ATTEND.replace('(q,', '(keys,')}", "y values", "9"))
    assert found == ["concat", "concat", "attention"]


def test_switched_off() -> None:
    found = kernels_of(model(f"{PARTS} {ATTEND}", "y keys values", "9"), ("CacheAppendFusionPass",))
    assert found == ["concat", "concat", "attention"]
