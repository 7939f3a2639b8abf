"""Native partitions of nothing but single elements join the host's; others stay."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.weighing import TOO_SMALL
from ascend_ep.plan.plan import NativePartition

YES, NO = "yes () => (float[n] p) { p = Exp(x) }", "no () => (float[n] q) { q = Neg(x) }"
BRANCHES = f"then_branch = {YES}, else_branch = {NO}"


def kinds_of(nodes: str, rate: int = 16000) -> tuple[str, set[str]]:
    """N or H for each partition in order, and the reasons; results are onnxruntime's."""
    text = f"""<ir_version: 10, opset_import: ["": 17]> g (float[n] x, int64 rate) => (float[n] y)
        <int64 high = {{16000}}, int64 two = {{2}}> {{ {nodes} }}"""
    model = onnx.parser.parse_model(text)
    conversion = convert(model, ConvertOptions(codegen="off", self_check=False))
    feeds = {"x": np.linspace(-1, 1, 5, dtype=np.float32), "rate": np.array(rate)}
    host = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, feeds)
    np.testing.assert_allclose(got, host.run(None, feeds)[0], rtol=1e-5)
    kinds = "".join("N" if isinstance(p, NativePartition) else "H" for p in conversion.plan.partitions)
    return kinds, {row.reason for row in conversion.partition_table if row.target != "AscendEP"}


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("before", ["c = Equal(rate, high)", "h = Mul(rate, two) c = Less(h, high)"])
def test_a_condition_of_single_elements_is_the_hosts(before: str, rate: int) -> None:
    kinds, reasons = kinds_of(f"{before} y = If<{BRANCHES}>(c)", rate)
    assert kinds == "H"
    assert TOO_SMALL in reasons


@pytest.mark.parametrize(
    ("nodes", "kinds"),
    [
        ("m = ReduceMax<keepdims = 0>(x) z = Sub(m, m) c = Less(z, m) y = If<{b}>(c)", "NH"),
        ("c = Equal(rate, high) i = If<{b}>(c) y = Tanh(i)", "HN"),
        ("s = Tanh(x) c = Equal(rate, high) i = If<{b}>(c) y = Add(i, s)", "HN"),
    ],
)
def test_others_stay(nodes: str, kinds: str) -> None:
    found, _ = kinds_of(nodes.replace("{b}", BRANCHES))
    assert found == kinds


def test_a_model_without_host_nodes_is_native() -> None:
    assert kinds_of("c = Equal(rate, high) f = Cast<to = 1>(c) y = Mul(x, f)") == ("N", set())
