"""Elementwise instructions of 8-bit images become tables, or one kernel, which give what they gave."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from plan_header import min_reader

import ascend_ep
from ascend_ep.compiler import pipeline
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.rewrites import byte_tables

rng = np.random.default_rng(8)
C = 5
CONSTANTS = {
    "s": np.float32(0.07), "z": np.uint8(120), "s2": np.float32(0.05), "z2": np.uint8(7), "z0": np.uint8(0),
    "s3": np.float32(0.04), "z3": np.int8(-9), "one": np.float32([1.5]),
    "scale": rng.uniform(0.5, 2, C).astype(np.float32), "bias": rng.standard_normal(C).astype(np.float32),
    "column": rng.standard_normal((C, 1, 1)).astype(np.float32),
    "row": rng.standard_normal(9).astype(np.float32),
    "bias8": rng.integers(-99, 99, C).astype(np.int8), "scale8": np.float32(0.02), "zero8": np.int8(0),
    "mean": np.zeros(C, np.float32), "variance": np.ones(C, np.float32),
}  # fmt: skip
D, Q = "DequantizeLinear", "QuantizeLinear"
NORM = f"""w = {D}(bias8, scale8, zero8) f = {D}(x, s, z) n = BatchNormalization(f, scale, w, mean, variance)
    q = {Q}(n, s2, z2)"""
SWISH = f"a = {D}(q, s2, z2) h = HardSigmoid<alpha = 0.16666667>(a) m = Mul(a, h) y = {Q}(m, s3, z3)"
#: bodies, and the kernels of the plan
CASES = {
    "one function": (f"f = {D}(x, s, z) g = Tanh(f) y = {Q}(g, s2, z2)", ["byte_table"]),
    "int8 results": (f"f = {D}(x, s, z) g = Sigmoid(f) y = {Q}(g, s3, z3)", ["byte_table"]),
    "channels": (f"f = {D}(x, s, z) g = Mul(f, column) y = {Q}(g, s2, z2)", ["byte_table"]),
    "rows": (f"f = {D}(x, s, z) g = Add(f, row) y = {Q}(g, s2, z2)", ["byte_table"]),
    "two axes": (f"f = {D}(x, s, z) g = Add(f, row) h = Mul(g, column) y = {Q}(h, s2, z2)", ["elementwise"]),
    "a norm of bytes": (f"{NORM} {SWISH}", ["byte_table"]),
    "branches of a function": (
        f"""{NORM} a = {D}(q, s2, z2) t = Tanh(a) u = {Q}(t, s3, z3) b = {D}(q, s2, z2) v = {D}(u, s3, z3)
        m = Mul(b, v) p = {Q}(m, s2, z2) o = {D}(p, s2, z2) g = Abs(o) y = {Q}(g, s, z)""",
        ["byte_table"],
    ),
    "a function that two read": (
        f"{NORM} {SWISH} d = {D}(y, s3, z3) e = Exp(d) y2 = {Q}(e, s2, z2)",
        ["byte_table", "byte_table"],
    ),
    "beside a kernel of its own": (
        f"""f = {D}(x, s, z) g = Tanh(f) u = {Q}(g, s2, z2) e = {D}(u, s2, z2) r = Softmax(e)
        y2 = {Q}(r, s2, z2) d = {D}(u, s2, z2) k = Exp(d) y = {Q}(k, s2, z2)""",
        ["byte_table", "elementwise", "softmax", "quantize", "byte_table"],
    ),
    "two images": (
        f"f = {D}(x, s, z) g = {D}(x2, s2, z2) h = Add(f, g) t = Tanh(h) y = {Q}(t, s2, z2)",
        ["elementwise"],
    ),
    "a function in a product": (  # as a SwiGLU
        f"""f = {D}(x, s, z) t = Sigmoid(f) u = {Q}(t, s2, z2) e = {D}(u, s2, z2) g = {D}(x2, s, z)
        h = Mul(e, g) y = {Q}(h, s2, z2)""",
        ["byte_table", "byte_binary"],
    ),
    "two functions in a sum of more": (
        f"""f = {D}(x, s, z) t = Sigmoid(f) u = {Q}(t, s2, z2) e = {D}(u, s2, z2) g = {D}(x2, s, z) a = Abs(g)
        b = {Q}(a, s2, z0) c = {D}(b, s2, z0) h = Add(e, c) k = Tanh(h) y = {Q}(k, s2, z2)""",
        ["byte_table", "byte_table", "elementwise"],
    ),
    "a function beside its image": (
        f"""f = {D}(x, s, z) g = {D}(x2, s2, z2) t = Tanh(f) u = {Q}(t, s2, z2) e = {D}(u, s2, z2)
        h = Mul(f, e) k = Add(h, g) y = {Q}(k, s2, z2)""",
        ["byte_table", "elementwise"],
    ),
    "a function in a table": (
        f"""f = {D}(x, s, z) t = Tanh(f) u = {Q}(t, s2, z2) e = {D}(u, s2, z2) g = Mul(e, column)
        y = {Q}(g, s2, z2)""",
        ["byte_table"],
    ),
    "a sum": (f"f = {D}(x, s, z) g = {D}(x2, s2, z0) h = Add(f, g) y = {Q}(h, s2, z2)", ["byte_binary"]),
    "a sum, cut": (
        f"f = {D}(x, s, z) g = {D}(x2, s2, z2) h = Add(f, g) r = Relu(h) y = {Q}(r, s2, z0)",
        ["byte_binary"],
    ),
    "a product": (f"f = {D}(x, s, z) g = {D}(x2, s2, z2) h = Mul(f, g) y = {Q}(h, s2, z2)", ["byte_binary"]),
}


def built(body: str, dims: str) -> onnx.ModelProto:
    outs = "".join(f", uint8[{dims}] {n}" for n in ("y2",) if f"{n} = " in body)
    ins = "".join(f", uint8[{dims}] {n}" for n in ("x2",) if n in body)
    kind = "int8" if "y = QuantizeLinear(g, s3" in body or "y = QuantizeLinear(m, s3" in body else "uint8"
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        m (uint8[{dims}] x{ins}) => ({kind}[{dims}] y{outs}) {{ {body} }}"""
    )
    used = {i for n in model.graph.node for i in n.input}
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in CONSTANTS.items() if k in used]
    model.graph.initializer.extend(tensors)
    return model


def converted(model: onnx.ModelProto) -> tuple[list[str], dict[str, np.ndarray], list[np.ndarray]]:
    """The plan's kernels, data, and results."""
    made = convert(model, ConvertOptions(self_check=False, sample_seed=None))
    kernels = [i.kernel for p in made.plan.partitions for i in getattr(p, "insns", [])]
    session = ascend_ep.InferenceSession(made.to_bytes())
    feeds = {
        i.name: np.random.default_rng(3).integers(0, 256, (2, C, 30, 9)).astype(np.uint8)
        for i in model.graph.input
    }
    return kernels, feeds, session.run(None, feeds)


@pytest.mark.parametrize("dims", [f"2,{C},30,9", f"N,{C},H,9"])
@pytest.mark.parametrize("name", CASES)
def test_tables_give_what_programs_give(name: str, dims: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, wanted = CASES[name]
    model = built(body, dims)
    kernels, feeds, results = converted(model)
    assert kernels == wanted
    options = onnxruntime.SessionOptions()  # higher levels add and multiply bytes with another rounding
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    stock = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    for got, expected in zip(results, stock.run(None, feeds), strict=True):
        np.testing.assert_array_equal(got, expected)
    monkeypatch.setattr(pipeline, "tabulate_bytes", lambda part: 0)
    monkeypatch.setattr(pipeline, "combine_bytes", lambda part: 0)
    plain, _, same = converted(model)
    assert not {"byte_table", "byte_binary"} & set(plain)
    for got, expected in zip(results, same, strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("dims", "kernels"),
    [(f"1,{C},4,7", ["elementwise"]), (f"1,{C},4,8", ["byte_table"]), (f"N,{C}", ["byte_table"])],
)
def test_few_elements_need_no_table(dims: str, kernels: list[str]) -> None:
    body = f"f = {D}(x, s, z) g = Mul(f, {'scale' if 'N' in dims else 'column'}) y = {Q}(g, s2, z2)"
    made = convert(built(body, dims), ConvertOptions(self_check=False, sample_seed=None))
    assert [i.kernel for p in made.plan.native_parts() for i in p.insns] == kernels


def test_bundles_name_a_reader_and_hold_no_constants_of_the_program() -> None:
    made = convert(built(f"{NORM} {SWISH}", "N,5,H,W"), ConvertOptions(self_check=False, sample_seed=None))
    (part,) = made.plan.native_parts()
    assert [tuple(r.dims) for r in part.values if r.weight is not None] == [(C, byte_tables.ENTRIES)]


@pytest.mark.parametrize("order", ["h = Add(f, long)", "h = Mul(long, f)"])
@pytest.mark.parametrize(("length", "kernel"), [(200, "byte_binary"), (100, "byte_table")])
def test_a_row_of_constants(order: str, length: int, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long rows have the kernel of two images, of the same bits as the elementwise program."""
    model = built(f"f = {D}(x, s, z) {order} r = Relu(h) y = {Q}(r, s2, z2)", f"33,{length}")
    row = np.random.default_rng(1).standard_normal(length).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(row, "long"))
    x = np.random.default_rng(2).integers(0, 256, (33, length)).astype(np.uint8)
    results = []
    for taken in ([kernel], ["elementwise"]):
        made = convert(model, ConvertOptions(self_check=False, sample_seed=None))
        assert [i.kernel for p in made.plan.native_parts() for i in p.insns] == taken
        image = made.to_bytes()
        assert min_reader(image) == {"byte_binary": 13, "byte_table": 9, "elementwise": 1}[taken[0]]
        results.append(ascend_ep.InferenceSession(image).run(None, {"x": x})[0])
        monkeypatch.setattr(pipeline, "tabulate_bytes", lambda part: 0)
        monkeypatch.setattr(pipeline, "combine_rows", lambda part: 0)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("table", ["s, z", "s", "s3, z3", "scale, zeros, axis=1"])
def test_a_constant_is_quantised_before(table: str, opset: int) -> None:
    """As the kernel does it: halves, what overflows and NaN, by one scale or one for each column."""
    given, _, axis = table.partition(", axis")
    attribute = f"<axis{axis}>" if axis else ""
    kind = "int8" if "z3" in table else "uint8"
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {opset}]>
        m (float[3, {C}] x) => ({kind}[3, {C}] y, {kind}[3, {C}] known) {{
            y = {Q}{attribute}(x, {given}) q = {Q}{attribute}(w, {given}) known = Identity(q) }}"""
    )
    w = np.random.default_rng(4).standard_normal((3, C)).astype(np.float32) * 9
    w[0] = [np.nan, np.inf, -np.inf, 0.5 * CONSTANTS["s"], 1.5 * CONSTANTS["s"]]
    zeros = np.arange(C, dtype=np.uint8)
    tensors = {**{n: CONSTANTS[n] for n in given.split(", ") if n in CONSTANTS}, "w": w, "zeros": zeros}
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in tensors.items() if n in given or n == "w"
    )
    made = convert(model, ConvertOptions(self_check=False, sample_seed=None))
    y, known = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": w})
    assert (
        sum(i.kernel in ("quantize", "elementwise") for p in made.plan.native_parts() for i in p.insns) == 1
    )
    np.testing.assert_array_equal(y, known)
