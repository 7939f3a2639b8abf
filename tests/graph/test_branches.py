"""An If of known condition becomes its branch; others, and wrongly declared ones, stay."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.registry import Registry

BRANCHES = """
    then_branch = up () => (float[n,k] a, float[n,k] b) {
        two = Constant<value = float {2}>()
        h = Mul(GIVEN, two)
        a = Exp(h)
        b = Identity(GIVEN)
    },
    else_branch = down () => (float[n,k] a, float[n,k] b) <float[1] c = {3}> {
        h = Add(GIVEN, c)
        a = Neg(h)
        b = Relu(h)
    }
"""


def model(condition: str, inputs: str, outputs: str = "float[n,k] y, float[n,k] z") -> onnx.ModelProto:
    """Two Ifs one after the other, with the same names inside; the first's result is the second's x."""
    first, second = (BRANCHES.replace("GIVEN", name) for name in "xp")
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({outputs}) {{
            size = Shape(x)
            zero = Constant<value = int64 {{0}}>()
            rows = Gather(size, zero)
            three = Constant<value = int64 {{3}}>()
            same = Equal(rows, three)
            p, q = If ({condition}) <{first}>
            s, z = If ({condition}) <{second}>
            y = Add(s, q)
        }}"""
    )


def operators(
    source: onnx.ModelProto, feeds: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> Counter[str]:
    """What the passes leave, checked after each; the results stay the same."""
    monkeypatch.setenv("ASCEND_EP_VERIFY", "1")
    registry = Registry()
    wanted = reference_run(source, feeds, registry)
    simplified = run_passes(load_model(source), registry, fusing=False)
    results = reference_run(ir.to_proto(simplified), feeds, registry)
    for name, want in wanted.items():
        np.testing.assert_allclose(results[name], want, rtol=1e-12, err_msg=name)
    return Counter(n.op_type for n in simplified.graph)


@pytest.mark.parametrize("rows", [3, 4])
def test_a_condition_on_a_fixed_shape(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((rows, 5)).astype(np.float32)
    left = operators(model("same", f"float[{rows},5] x"), {"x": x}, monkeypatch)
    taken = {"Mul": 2, "Exp": 2} if rows == 3 else {"Add": 2, "Neg": 2, "Relu": 2}
    assert left == Counter(taken) + Counter({"Add": 1})


def test_a_condition_of_the_data_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    source = model("given", "float[3,5] x, bool given")
    for given in (True, False):
        left = operators(source, {"x": x, "given": np.array(given)}, monkeypatch)
        assert left == {"If": 2, "Add": 1}
    free = operators(model("same", "float[n,5] x"), {"x": x}, monkeypatch)
    assert free["If"] == 2


EXPORTED = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[2,6] x) => (RESULT) {
    flat = Constant<value = bool {0}>()
    p = If (flat) <
        then_branch = up () => (float[12] a) { all = Constant<value = int64[1] {-1}>() a = Reshape(x, all) },
        else_branch = down () => (float[2,6] b) { b = Exp(x) }
    >
    m = Neg(p)
    z = If (flat) <
        then_branch = up2 () => (float[12] c) { c = Squeeze(m) },
        else_branch = down2 () => (float[12] d) { d = Abs(m) }
    >
    y = Sqrt(z)
}
"""


@pytest.mark.parametrize("result", ["float[2,6] y", "float[2,6] y, float[12] z"])
def test_wrong_shapes_inside_are_forgotten(result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """d is [2,6], as torch.onnx.export writes it of scatter_reduce; an output may be declared so, too."""
    source = onnx.parser.parse_model(EXPORTED.replace("RESULT", result))
    source.graph.output[0].type.tensor_type.ClearField("shape")
    x = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)
    assert operators(source, {"x": x}, monkeypatch)["If"] == 0


#: `x.squeeze(0)` of x [n,4,3] as torch.onnx.export writes it, and what follows
SQUEEZED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4,3] x, bool given) => (y)
    <int64[1] zero = {0}, int64[1] one = {1}, float[2,3] w = {1, 2, 3, 4, 5, 6}> {
    shape = Shape(x)
    rows = Gather(shape, zero)
    single = Equal(rows, NUMBER)
    s = If (single) <
        then_branch = flat () => (a) { a = Squeeze(x, zero) },
        else_branch = same () => (b) { b = Identity(x) }
    >
    FOLLOWS
}
"""
#: ... which one rank fits, which both do, or which may not run
FOLLOWING = {
    "y = Gemm<transB = 1>(s, w)": 0,
    "t = Neg(s) y = Gemm<transB = 1>(t, w)": 0,
    "y = Neg(s)": 1,
    "t = Unsqueeze(s, zero) y = ReduceSum<keepdims = 0>(t, one)": 1,
    "y = If (given) <then_branch = p () => (c) { c = Gemm<transB = 1>(s, w) },"
    " else_branch = q () => (d) { d = Neg(w) }>": 2,
}


@pytest.mark.parametrize("follows", FOLLOWING)
def test_a_squeeze_that_later_nodes_need(follows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = onnx.parser.parse_model(SQUEEZED.replace("NUMBER", "one").replace("FOLLOWS", follows))
    x = np.random.default_rng(0).standard_normal((1, 4, 3)).astype(np.float32)
    left = operators(source, {"x": x, "given": np.array(True)}, monkeypatch)
    assert left["If"] == FOLLOWING[follows]


def test_another_size_than_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would say at run that the size is another."""
    text = SQUEEZED.replace("NUMBER", "two").replace("<int64[1] zero", "<int64[1] two = {2}, int64[1] zero")
    source = onnx.parser.parse_model(text.replace("FOLLOWS", "y = Gemm<transB = 1>(s, w)"))
    monkeypatch.setenv("ASCEND_EP_VERIFY", "1")
    simplified = run_passes(load_model(source), Registry(), fusing=False)
    assert sum(node.op_type == "If" for node in simplified.graph) == 1
