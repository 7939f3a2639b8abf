"""The schedule that a call took: of each kernel with several forms, shapes that take different ones. Where
users see it."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from weaknesses import weight

import ascend_ep
from ascend_ep.codegen.c_source import InputType, generate_c
from ascend_ep.codegen.compiled_library import compile_library
from ascend_ep.codegen.library_session import TensorSpec, library_session
from ascend_ep.codegen.schedule import Schedule
from ascend_ep.compiler.convert import convert
from ascend_ep.opdef.expression import Apply, Input, Program
from ascend_ep.profiling.database import write_database
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile
from ascend_ep.profiling.report import contents
from ascend_ep.profiling.torch_files import write_torch_files
from ascend_ep.profiling.trace_file import read_trace
from ascend_ep.runtime._rt import ffi, lib

OPSETS = '"": 17, "com.microsoft": 1, "ai.onnx.ml": 3'
TABLE = Path(__file__).parents[2] / "native" / "kernels" / "table.inc"


def integers(kind: Any, *dims: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, dims).astype(kind)


def floats(*shapes: Sequence[int]) -> list[np.ndarray]:
    return [np.ones(shape, np.float32) for shape in shapes]


BYTES = "(uint8[N,64] x, uint8[64,M] w) => (int32[N,M] y) { y = MatMulInteger(x, w) }"
PRODUCT = "(float[N,64] x) => (float[N,{n}] y) {{ y = MatMul(x, w) }}"
CONV = "(float[1,{c},H,W] x) => (float[1,{c},A,B] y) {{ {steps} }}"
CHAIN = "a = Conv(x, u)  b = Relu(a)  c = Conv<group = 32, pads = [{p}]>(b, v)  d = Relu(c)  y = Conv(d, u)"
TWICE = "a = Conv<pads = [1,1,1,1]>(x, w)  b = Relu(a)  y = Conv<pads = [1,1,1,1]>(b, w)"
POOL = "(float[1,8,H,W] x) => (float[1,8,A,B] y) {{ y = {op}<kernel_shape = [3,3], strides = [{s},{s}]>(x) }}"
ROWS = "(float[N,M] x) => ({out} y) {{ y = {op}(x) }}"
TOPK = "(float[N,M] x) => (float[A,B] y) <int64[1] k = {{3}}> {{ y, i = TopK<axis = {axis}>(x, k) }}"
ATTENTION = """(float[1,4,M,32] q, float[1,4,S,32] k, float[1,4,S,32] v) => (float[1,4,M,32] y)
    { t = Transpose<perm = [0,1,3,2]>(k)  a = MatMul(q, t)  c = Softmax(a)  y = MatMul(c, v) }"""
LSTM = "(float[S,B,16] x) => (float[S,1,B,32] y) { y, h, c = LSTM<hidden_size = 32>(x, w, r) }"
GATES = {"w": weight(1, 128, 16), "r": weight(1, 128, 32)}
TRANSPOSED = "(float[1,4,H,W] x) => (float[1,5,A,B] y) {{ y = ConvTranspose<strides = [{s},{s}]>(x, w) }}"
UINT8 = "(uint8[1,8,H,W] x) => (int32[1,8,A,B] y) {{ y = ConvInteger<group = {g}>(x, w) }}"
RESIZE = """(float[1,2,8,8] x) => (float[1,2,16,16] y) { y = Resize<mode = "linear">(x, , s) }"""
SUM = "(float[N,64] x, float[{z}] z) => (float[N,64] y) {{ a = Add(x, z)  y = Exp(a) }}"
CUBE = (1, 8, 12, 12)
#: Between convolutions, where images have channels last.
SAME = "Conv<pads = [1,1,1,1]>"
BETWEEN = f"a = {SAME}(x, u)  b = Relu(a)  c = {{op}}  y = {SAME}(c, u)"
DENSE = """(float[1,{c},H,W] x) => (float[1,{c},A,B] y) {{ a = Conv(x, u)  b = Relu(a)  c = Conv(b, u)
    d = Concat<axis = 1>(a, c)  e = Mul(d, m)  f = Add(e, m)  g = Relu(f)  y = Conv(g, v) }}"""
NORM = """(float[N,64] x) => (float[N,64] y) <float two = {2}, float e = {1e-6}> { p = Pow(x, two)
    m = ReduceMean<axes = [1]>(p)  a = Add(m, e)  r = Sqrt(a)  d = Div(x, r)  y = Mul(d, g) }"""
LAYER = "(float[N,64] x) => (float[N,64] y) { y = LayerNormalization(x, g) }"
NEAREST = """(float[1,2,8,8] x) => (float[1,2,16,16] y) { y = Resize<mode = "nearest">(x, , s) }"""
SCALES = {"s": np.array([1, 1, 2, 2], np.float32)}
OF_BYTES = """(uint8[{dims}] x) => (uint8[{dims}] y) <float s = {{0.07}}, uint8 z = {{120}}>
    {{ f = DequantizeLinear(x, s, z)  g = {op}  y = QuantizeLinear(g, s, z) }}"""
ROPE = """(float[1,8,{dims}] x) => (float[1,8,{dims}] y) <int64[1,8] p = {{0,1,2,3,4,5,6,7}}>
    {{ y = com.microsoft.RotaryEmbedding<interleaved = {pairs}>(x, p, cos, sin) }}"""
HEADS = ROPE.replace("[1,8,{dims}]", "[1,4,8,32]")
REGROUPED = """(float[1,1,8,32] x) => (float[1,1,8,32] y)
    <int64[5] two = {1,1,8,16,2}, int64[4] one = {1,1,8,32}> {
    a = Reshape(x, two)  b = Transpose<perm = [0,1,2,4,3]>(a)  c = Reshape(b, one)
    l, r = Split<axis = 3>(c)  n = Neg(r)  d = Concat<axis = 3>(n, l)
    e = Mul(c, cos)  f = Mul(d, sin)  y = Add(e, f) }"""
ANGLES = {"cos": weight(8, 16), "sin": weight(8, 16)}
CACHED = """(float[1,2,1,32] q, float[1,2,1,32] k, float[1,2,1,32] v, float[1,2,S,32] pk, float[1,2,S,32] pv)
    => (float[1,2,1,32] y, float[1,2,T,32] nk, float[1,2,T,32] nv) { nk = Concat<axis = 2>(pk, k)
    nv = Concat<axis = 2>(pv, v)  t = Transpose<perm = [0,1,3,2]>(nk)  a = MatMul(q, t)  c = Softmax(a)
    y = MatMul(c, nv) }"""
TREES = """(float[N,2] x) => (float[N,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor<
    n_targets = 1, nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [1,0,0],
    nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.5, 0.0, 0.0],
    nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], nodes_missing_value_tracks_true = [0,0,0],
    target_treeids = [0,0], target_nodeids = [1,2], target_ids = [0,0], target_weights = [1.0, 2.0]>(x) }"""
#: Kernel, form, model, inputs, weights.
CASES: list[tuple[str, str, str, list[np.ndarray], dict[str, np.ndarray]]] = [
    ("matmul", "tiles", PRODUCT.format(n=64), floats((8, 64)), {"w": weight(64, 64)}),
    ("matmul", "narrow", PRODUCT.format(n=6), floats((512, 64)), {"w": weight(64, 6)}),
    ("matmul", "unpacked", PRODUCT.format(n=14), floats((512, 64)), {"w": weight(64, 14)}),
    (
        *("qmatmul", "strips", "(uint8[N,64] x) => (int32[N,32] y) { y = MatMulInteger(x, w) }"),
        *([integers(np.uint8, 8, 64)], {"w": integers(np.int8, 64, 32)}),
    ),
    (
        *("qmatmul", "packs_b", BYTES),
        *([integers(np.uint8, 8, 64), integers(np.uint8, 64, 32)], {}),
    ),
    (
        *("conv", "slides", CONV.format(c=8, steps="y = Conv<group = 8, pads = [1,1,1,1]>(x, w)")),
        *(floats((1, 8, 32, 32)), {"w": weight(8, 1, 3, 3)}),
    ),
    (
        *("conv", "depthwise_strips", CONV.format(c=8, steps="y = Conv<group = 8, pads = [1,2,1,2]>(x, w)")),
        *(floats((1, 8, 32, 32)), {"w": weight(8, 1, 3, 5)}),
    ),
    (
        *("conv", "product_of_pixels", CONV.format(c=8, steps="y = Conv(x, w)")),
        *(floats((1, 8, 32, 32)), {"w": weight(8, 8, 1, 1)}),
    ),
    (
        *("conv", "product_of_transposed_taps", TRANSPOSED.format(s=3)),
        *(floats((1, 4, 12, 12)), {"w": weight(4, 5, 2, 2)}),
    ),
    (
        *("conv_last", "strips", CONV.format(c=8, steps="y = Conv<pads = [1,1,1,1]>(x, w)")),
        *(floats((1, 8, 32, 32)), {"w": weight(8, 8, 3, 3)}),
    ),
    *(
        (
            *("conv_last", form, CONV.format(c=32, steps=CHAIN.format(p=p))),
            *(floats((1, 32, 56, 56)), {"u": weight(32, 32, 1, 1), "v": weight(32, 1, k, k)}),
        )
        for form, p, k in (
            ("channelwise_square", "1,1,1,1", 3),
            ("channelwise", "3,3,3,3", 7),
            ("in_place", "3,3,3,3", 7),
        )
    ),
    (
        *("conv_winograd", "winograd_2x2_3x3"),
        CONV.format(c=128, steps=TWICE),
        *(floats((1, 128, 28, 28)), {"w": weight(128, 128, 3, 3)}),
    ),
    (
        *("qconv", "strips_of_padded_copy", UINT8.format(g=1)),
        *([integers(np.uint8, *CUBE)], {"w": integers(np.int8, 8, 8, 3, 3)}),
    ),
    (
        *("qconv", "channels_apart_of_padded_copy", UINT8.format(g=8)),
        *([integers(np.uint8, *CUBE)], {"w": integers(np.int8, 8, 1, 3, 3)}),
    ),
    ("attention", "few_queries", ATTENTION, floats((1, 4, 1, 32), (1, 4, 64, 32), (1, 4, 64, 32)), {}),
    ("attention", "heads", ATTENTION, floats((1, 4, 64, 32), (1, 4, 64, 32), (1, 4, 64, 32)), {}),
    ("recurrent", "whole", LSTM, floats((5, 1, 16)), GATES),
    ("recurrent", "shares_rows", LSTM, floats((50, 16, 16)), GATES),
    ("elementwise", "flat", SUM.format(z="N,64"), floats((9, 64), (9, 64)), {}),
    ("elementwise", "walks", SUM.format(z="N,1"), floats((9, 64), (9, 1)), {}),
    ("elementwise", "repeats", SUM.format(z="64"), floats((9, 64), (64,)), {}),
    (
        *("copy", "rows", "(float[N,M,K] x) => (float[M,N,K] y) { y = Transpose<perm = [1,0,2]>(x) }"),
        *(floats((8, 9, 30)), {}),
    ),
    (
        *("copy", "transpose", "(float[N,M,K] x) => (float[K,N,M] y) { y = Transpose<perm = [2,0,1]>(x) }"),
        *(floats((8, 9, 30)), {}),
    ),
    ("softmax", "row_a_lane", ROWS.format(op="Softmax", out="float[N,M]"), floats((64, 4)), {}),
    ("softmax", "rows", ROWS.format(op="Softmax", out="float[N,M]"), floats((64, 300)), {}),
    ("softmax", "columns", ROWS.format(op="Softmax<axis = 0>", out="float[N,M]"), floats((64, 40)), {}),
    ("reduce", "row_a_lane", ROWS.format(op="ReduceMax<axes = [1]>", out="float[N,1]"), floats((8, 9)), {}),
    ("reduce", "rows", ROWS.format(op="ReduceMax<axes = [1]>", out="float[N,1]"), floats((8, 900)), {}),
    ("reduce", "columns", ROWS.format(op="ReduceMax<axes = [0]>", out="float[1,M]"), floats((8, 9)), {}),
    ("argmax", "short_rows", ROWS.format(op="ArgMax<axis = 1>", out="int64[N,1]"), floats((8, 3)), {}),
    ("argmax", "rows", ROWS.format(op="ArgMax<axis = 1>", out="int64[N,1]"), floats((8, 300)), {}),
    ("argmax", "lines", ROWS.format(op="ArgMax<axis = 0>", out="int64[1,M]"), floats((8, 3)), {}),
    ("topk", "lines", TOPK.format(axis=1), floats((8, 30)), {}),
    ("topk", "copied_lines", TOPK.format(axis=0), floats((8, 30)), {}),
    ("max_pool", "vectors", POOL.format(op="MaxPool", s=1), floats((1, 8, 32, 32)), {}),
    ("max_pool", "tap_by_tap", POOL.format(op="MaxPool", s=2), floats((1, 8, 32, 32)), {}),
    ("average_pool", "vectors", POOL.format(op="AveragePool", s=1), floats((1, 8, 32, 32)), {}),
    ("average_pool", "tap_by_tap", POOL.format(op="AveragePool", s=2), floats((1, 8, 32, 32)), {}),
    *(
        (
            *("resize", form, RESIZE),
            *(floats((1, 2, 8, 8)), {"s": np.array([1, 1, 2, 2], np.float32)}),
        )
        for form in ("rows", "slabs")
    ),
    ("argmin", "short_rows", ROWS.format(op="ArgMin<axis = 1>", out="int64[N,1]"), floats((8, 3)), {}),
    ("log_softmax", "rows", ROWS.format(op="LogSoftmax", out="float[N,M]"), floats((64, 300)), {}),
    (
        *("log_softmax", "columns", ROWS.format(op="LogSoftmax<axis = 0>", out="float[N,M]")),
        *(floats((64, 40)), {}),
    ),
    (
        *("logsumexp", "rows", ROWS.format(op="ReduceLogSumExp<axes = [1]>", out="float[N,1]")),
        *(floats((64, 300)), {}),
    ),
    ("layer_norm", "rows", LAYER, floats((9, 64)), {"g": weight(64)}),
    ("rms_norm", "rows", NORM, floats((9, 64)), {"g": weight(64)}),
    *(
        (
            *(kernel, form, CONV.format(c=32, steps=BETWEEN.format(op=op)), floats((1, 32, 56, 56))),
            {"u": weight(32, 32, 3, 3), "t": weight(32, 32, 3, 3)},
        )
        for kernel, form, op in (
            ("max_pool_last", "lines", "MaxPool<kernel_shape = [2,2], strides = [2,2]>(b)"),
            ("average_pool_last", "lines", "AveragePool<kernel_shape = [2,2], strides = [2,2]>(b)"),
            ("conv_transposed_last", "phases", "ConvTranspose<strides = [2,2]>(b, t)"),
        )
    ),
    (
        *("conv_joined", "pixels", DENSE.format(c=32), floats((1, 32, 28, 28))),
        {"u": weight(32, 32, 1, 1), "v": weight(32, 64, 1, 1), "m": weight(64, 1, 1)},
    ),
    *(
        ("byte_table", form, OF_BYTES.format(dims=dims, op=op), [integers(np.uint8, *shape)], {"r": row})
        for form, dims, op, shape, row in (
            ("vectors", "N,64", "Tanh(f)", (9, 64), weight(1)),
            ("short_runs", "N,9", "Add(f, r)", (40, 9), weight(9)),
        )
    ),
    *(("resize_nearest", form, NEAREST, floats((1, 2, 8, 8)), SCALES) for form in ("rows", "slabs")),
    ("rope", "halves", ROPE.format(dims="32", pairs=0), floats((1, 8, 32)), ANGLES),
    ("rope", "pairs", ROPE.format(dims="32", pairs=1), floats((1, 8, 32)), ANGLES),
    ("rope", "pairs_of_heads", HEADS.format(pairs=0), floats((1, 4, 8, 32)), ANGLES),
    (
        *("rope_regrouped", "regrouped", REGROUPED, floats((1, 1, 8, 32))),
        {"cos": weight(8, 32), "sin": weight(8, 32)},
    ),
    (
        *("attention_append", "few_queries", CACHED),
        *(floats((1, 2, 1, 32), (1, 2, 1, 32), (1, 2, 1, 32), (1, 2, 7, 32), (1, 2, 7, 32)), {}),
    ),
    ("tree_ensemble", "rows", TREES, floats((64, 2)), {}),
]  # fmt: skip


def recorded(text: str, feeds: list[np.ndarray], weights: dict[str, np.ndarray]) -> Profile:
    made = onnx.parser.parse_model(f"<ir_version: 10, opset_import: [{OPSETS}]> g {text}")
    for name, value in weights.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = 2
    session = ascend_ep.InferenceSession(convert(made).to_bytes(), options)
    with ascend_ep.profile() as recording:
        session.run(None, {i.name: x for i, x in zip(session.get_inputs(), feeds, strict=True)})
    return recording.profile


@pytest.mark.parametrize(
    ("kernel", "form", "text", "feeds", "weights"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)
def test_forms(
    kernel: str, form: str, text: str, feeds: list[np.ndarray], weights: dict[str, np.ndarray]
) -> None:
    said = [
        site.call.schedule for site, _ in recorded(text, feeds, weights).sums if site.call.kernel == kernel
    ]
    assert form in [schedule.split(" ")[0] for schedule in said], said
    assert all(re.fullmatch(r"\w+( \w+(=\d+)?)*", schedule) for schedule in said), said


def test_steps_that_one_loop_does_are_counted() -> None:
    """GELU and a quantisation of 5 steps each are 2 loops: 9 steps are folded into others."""
    text = """(float[N,64] x) => (uint8[N,64] y) <float s = {0.05}, uint8 z = {7}>
    { g = Gelu(x)  y = QuantizeLinear(g, s, z) }"""
    (said,) = (site.call.schedule for site, _ in recorded(text, floats((9, 64)), {}).sums)
    assert "folded=9" in said.split(" "), said


def with_forms() -> set[str]:
    """The kernels of the table that have several forms."""
    return set(re.findall(r'^ASC_KERNEL_FORMS\("(\w+)"', TABLE.read_text(), re.MULTILINE))


def test_every_kernel_with_forms_has_a_case() -> None:
    assert with_forms() - {case[0] for case in CASES} == set()


def test_kernels_of_one_form_say_none() -> None:
    """Of all kernels that a model ran, those alone whose rows have forms say one."""
    text = "(float[N,M] x) => (float[N,M] y) <int64 one = {1}> { a = CumSum(x, one)  y = Softmax(a) }"
    said = {site.call.kernel: site.call.schedule for site, _ in recorded(text, floats((8, 9)), {}).sums}
    forms = with_forms()
    assert {kernel for kernel, schedule in said.items() if schedule} == set(said) & forms == {"softmax"}


def test_generated_loops_say_their_schedule(tmp_path: Path) -> None:
    program, schedule = (
        Program((), (("y", Apply("exp", (Input("x"),))),)),
        Schedule(tile=1024, unroll=2, optimize=1),
    )
    source = generate_c("Curve", program, ["x"], [InputType(1, ("n",))], [1], schedule)
    session = library_session(compile_library(source), [TensorSpec(1, (999,))], [TensorSpec(1, (999,))])
    with ascend_ep.profile() as recording:
        session.run(None, {session.get_inputs()[0].name: np.ones(999, np.float32)})
    assert [site.call.schedule for site, _ in recording.profile.sums] == [str(schedule)]


def test_operators_beside_models_say_those_of_their_kernels(tmp_path: Path) -> None:
    status = ffi.new("asc_status *")
    assert lib.asc_trace_start(str(tmp_path).encode(), ffi.NULL, status) == lib.ASC_OK
    x, name = np.ones((64, 300), np.float32), ffi.new("char[]", b"aclnnTwice")
    tensors = ffi.new("asc_tensor[2]")
    for tensor in tensors:
        tensor.data, tensor.dtype, tensor.rank = ffi.from_buffer("char[]", x), 1, 2
        tensor.dims[0:2], tensor.strides[0:2] = [64, 300], [300, 1]
    for axis in (1, 0):
        assert lib.asc_trace_begin_call() == 1
        for ints in ([axis, 1], [axis, 1], [1, 1]):
            code = lib.asc_kernel_call(
                *(
                    -1,
                    b"softmax",
                    tensors,
                    1,
                    tensors + 1,
                    1,
                    ffi.new("int64_t[]", ints),
                    2,
                    ffi.NULL,
                    0,
                    2,
                    status,
                )
            )
            assert code == lib.ASC_OK, ffi.string(status.text)
        call = {"name": name, "kernel": name, "op_type": name, "operands": tensors, "n_in": 1, "n_out": 1}
        lib.asc_trace_end_call(ffi.new("asc_traced_call *", call))
    lib.asc_trace_stop(status)
    trace = read_trace(next(tmp_path.glob("*.trace")))
    said = [bound.calls[0].schedule for bound in trace.bounds]
    assert [re.findall(r"softmax: (\w+)", schedule) for schedule in said] == [["rows"], ["columns", "rows"]]


# --- where users see it -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both() -> Profile:
    """Two softmaxes of different forms."""
    text = """(float[64,4] x, float[64,300] z) => (float[64,4] y, float[64,300] u)
        { y = Softmax(x)  u = Softmax(z) }"""
    return recorded(text, floats((64, 4), (64, 300)), {})


def column(path: Path, name: str) -> list[str]:
    with open(path, newline="") as file:
        return [row[name].split(" ")[0] for row in csv.DictReader(file)]


def test_in_tables_and_files(both: Profile, tmp_path: Path) -> None:
    from ascend_ep.profiling import tables

    shown = tables.text(both)
    assert "row_a_lane chunks=1 threads=1" in shown
    assert re.search(r"^Softmax .*(row_a_lane, rows|rows, row_a_lane) \(2 schedules\)$", shown, re.MULTILINE)
    assert {row["schedule"].split(" ")[0] for row in tables.summary(both)["nodes"]} == {"row_a_lane", "rows"}
    files = {path.name.rsplit("_", 1)[0]: path for path in write_files(both, "PipeUtilization")}
    assert column(files["op_summary"], "cpu_schedule") == ["row_a_lane", "rows"]
    events = json.loads(files["msprof"].read_text())
    assert [e["args"]["schedule"].split(" ")[0] for e in events if "schedule" in e.get("args", {})] == [
        "row_a_lane",
        "rows",
    ]
    torch = write_torch_files(both, tmp_path) / "ASCEND_PROFILER_OUTPUT"
    assert column(torch / "kernel_details.csv", "cpu_schedule") == ["row_a_lane", "rows"]


def test_in_the_database(both: Profile) -> None:
    with sqlite3.connect(write_database(both)) as database:
        query = (
            "SELECT value FROM COMPUTE_TASK_INFO JOIN STRING_IDS ON cpuSchedule = id ORDER BY globalTaskId"
        )
        assert [text.split(" ")[0] for (text,) in database.execute(query)] == ["row_a_lane", "rows"]


def test_on_the_page(both: Profile) -> None:
    page = contents(both, Machine(1e9, 1e9, 1e9, 1))
    assert [said[-1].split(" ")[0] for said in page["timeline"]["sites"]] == ["row_a_lane", "rows"]
    assert {row["schedule"].split(" ")[0] for row in page["nodes"]} == {"row_a_lane", "rows"}
