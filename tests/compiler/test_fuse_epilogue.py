"""What follows a product becomes its epilogue, and what must not, doesn't; results stay onnxruntime's."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from fused_kernels import fused_kernels

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

rng = np.random.default_rng(0)

SCALARS = {
    "half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "root2": 2**0.5, "eighth": 0.125, "cubic": 0.044715,
    "gain": (2 / np.pi) ** 0.5, "low": -0.25, "high": 0.75, "quick": 1.702,
}  # fmt: skip
WEIGHTS = {"w": (16, 40), "b": (40,), "k": (8, 3, 3, 3), "kb": (8,)}


def model(body: str, inputs: str = "float[N,5,16] x, float[N,5,40] r", outputs: str = "y") -> onnx.ModelProto:
    names = ", ".join(f"float[] {n}" for n in SCALARS)
    sizes = {n: ",".join(map(str, s)) for n, s in WEIGHTS.items()}
    weights = ", ".join(f"float[{s}] {n}" for n, s in sizes.items())
    results = ", ".join(f"float[] {o}" for o in outputs.split())
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    g ({inputs}) => ({results}) <{names}, {weights}> {{ {body} }}"""
    made = onnx.parser.parse_model(text)
    values = {n: np.array(v, np.float32) for n, v in SCALARS.items()}
    values |= {n: rng.standard_normal(s).astype(np.float32) for n, s in WEIGHTS.items()}
    del made.graph.initializer[:]
    made.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in values.items())
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def kernels_of(source: onnx.ModelProto, **feeds: np.ndarray) -> Counter[str]:
    return Counter(fused_kernels(source, feeds, codegen="auto", atol=2e-5))


def vectors() -> dict[str, np.ndarray]:
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in [("x", (2, 5, 16)), ("r", (2, 5, 40))]}


GELU = """z = Add(m, b)  d = Div(z, root2)  e = Erf(d)  f = Add(e, one)  g = Mul(z, f)  y = Mul(g, half)"""
GELU_TANH = """z = Add(m, b)  p = Pow(z, three)  q = Mul(p, cubic)  s = Add(z, q)  u = Mul(s, gain)
               t = Tanh(u)  v = Add(t, one)  g = Mul(half, z)  y = Mul(g, v)"""


@pytest.mark.parametrize(
    "tail",
    [
        "y = Add(m, b)", "y = Add(b, m)", "y = Add(m, r)", "t = Add(m, b) y = Add(t, r)", "y = Relu(m)",
        "t = Add(m, b) y = Relu(t)", "t = Add(m, b) s = Sigmoid(t) y = Mul(t, s)", "y = Tanh(m)",
        "t = Add(m, b) u = Add(r, t) y = Sigmoid(u)", "y = Clip(m, low, high)", "y = Clip(m, , high)",
        "t = Mul(m, eighth) y = Add(t, r)", "t = Div(m, root2) y = Relu(t)", GELU, GELU_TANH,
        "y = HardSwish(m)", "t = Add(m, b) s = HardSigmoid<alpha=0.16666667>(t) y = Mul(t, s)",
        "t = Add(m, b) y = LeakyRelu<alpha=0.1>(t)", "t = Mul(m, eighth) y = Max(m, t)",
        "t = Add(m, b) y = Gelu(t)", 't = Add(m, b) y = Gelu<approximate="tanh">(t)',
    ],
)  # fmt: skip
def test_one_instruction_remains(tail: str) -> None:
    found = kernels_of(model(f"m = MatMul(x, w) {tail}"), **vectors())
    assert found == {"matmul": 1}


@pytest.mark.parametrize(
    ("tail", "outputs"),
    [
        ("t = Relu(m) y = Add(t, m)", "y"),  # two readers, and no activation of that form
        ("y = Relu(m) u = Neg(m)", "y u"),  # the sums are wanted elsewhere
        ("t = Add(m, b) y = Relu(t)", "y t"),  # the middle is an output
        ("t = Add(m, b) u = Mul(t, quick) s = Sigmoid(u) y = Mul(t, s)", "y"),  # another GELU
        ("t = Add(m, b) u = Add(t, r) y = Add(u, x0)", "y"),  # three addends
        ("t = Add(m, b) u = Mul(t, half) y = Add(u, r)", "y"),  # scaled after the bias
        ("y = Mul(m, r)", "y"),
        ("y = Add(m, g)", "y"),  # an axis grows
    ],
)
def test_the_rest_stays(tail: str, outputs: str) -> None:
    inputs = "float[N,5,16] x, float[N,5,40] r, float[1,5,1] x0, float[3,1,1,1] g"
    more = {n: rng.standard_normal(s).astype(np.float32) for n, s in [("x0", (1, 5, 1)), ("g", (3, 1, 1, 1))]}
    found = kernels_of(model(f"m = MatMul(x, w) {tail}", inputs, outputs), **vectors(), **more)
    assert found["matmul"] == 1
    assert found["elementwise"] > 0


def test_a_residual_block_is_two_convolutions() -> None:
    body = """a = Conv<pads=[1,1,1,1]>(x, k, kb)  t = Relu(a)  c = Slice(t, s, e, ax)
              d = Conv<pads=[1,1,1,1]>(c, k, kb)  u = Add(d, a2)  y = Relu(u)"""
    source = model(body, "float[1,3,9,9] x, float[1,8,9,9] a2")
    for name, value in [("s", 0), ("e", 3), ("ax", 1)]:
        source.graph.initializer.append(onnx.numpy_helper.from_array(np.array([value], np.int64), name))
    feeds = {n: rng.standard_normal((1, c, 9, 9)).astype(np.float32) for n, c in [("x", 3), ("a2", 8)]}
    found = kernels_of(source, **feeds)
    assert found["conv_last"] == 2
    assert found["elementwise"] == 0


def test_a_product_moves_behind_what_makes_its_addend() -> None:
    body = "m = MatMul(x, w)  h = MatMul(x, w2)  q = Neg(h)  t = Add(m, q)  y = Relu(t)"
    source = model(body)
    source.graph.initializer.append(
        onnx.numpy_helper.from_array(rng.standard_normal((16, 40)).astype(np.float32), "w2")
    )
    assert kernels_of(source, **vectors()) == {"matmul": 2, "elementwise": 1}


PRODUCTS = ("MatMul(x, {w})", "Gemm(x, {w})", "Gemm(x, {w}, b)")
FLOORS = (
    "Add({p}, e)",
    "Add(e, {p})",
    "Max({p}, e)",
    "Clip({p}, e)",
    "Add({q}, e)",
    "Max({q}, e)",
    "Sub({q}, d)",
)


@pytest.mark.parametrize("size", [1e-3, 1e-7, 1e-8, 1e-10, 1e-12, 1e-20, 1e-30])
def test_what_keeps_a_logarithm_finite_stays(size: float) -> None:
    """x + 1e-10 and max(x, 1e-10) are not x and relu(x): a logarithm or a quotient may follow."""
    nodes, outputs, weights = [], [], []
    for i, (product, floor, last) in enumerate(itertools.product(PRODUCTS, FLOORS, ("Log", "Reciprocal"))):
        relu = f"q{i} = Relu(p{i})" if "{q}" in floor else ""
        floored = floor.format(p=f"p{i}", q=f"q{i}")
        nodes.append(f"p{i} = {product.format(w=f'w{i}')} {relu} f{i} = {floored} y{i} = {last}(f{i})")
        outputs.append(f"float[3,8] y{i}")
        weights.append(f"float[4,8] w{i} = {{{','.join([str(i + 1)] * 32)}}}")
    constants = f"float[8] b = {{{','.join(['0'] * 8)}}}, float e = {{{size}}}, float d = {{-{size}}}"
    text = f"""<ir_version: 10, opset_import: ["": 17]> g (float[3,4] x) => ({", ".join(outputs)})
        <{constants}, {", ".join(weights)}> {{ {" ".join(nodes)} }}"""
    source = onnx.parser.parse_model(text)
    x = np.array([[0, 0, 0, 0], [1, 2, 3, 4], [0, 0, 0, size]], np.float32)
    host = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = ascend_ep.InferenceSession(
        convert(source, ConvertOptions(self_check=False, codegen="off")).to_bytes()
    )
    for output, result, wanted in zip(
        outputs, ours.run(None, {"x": x}), host.run(None, {"x": x}), strict=True
    ):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, err_msg=output)
