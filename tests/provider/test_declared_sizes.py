"""Sizes declared of what data decides: onnxruntime takes them for remarks, and so does everything here."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from everywhere import Everywhere, Feeds, parsed, stock

HEAD = "float[N] x, bool[N] c, int64[2] s, int64[1] k"
WEIGHTS = (
    "<int64[1] zero = {0}, int64[1] flat = {-1}, int64 z = {0}, int64 i = {1}, bool yes = {1},"
    " float[1] near = {0.5}>"
)
#: nodes that make h, a float tensor of this rank whose sizes data decides
DECIDED: dict[str, tuple[int, str]] = {
    "Compress": (1, "h = Compress<axis = 0>(x, c)"),
    "NonZero": (2, "n = NonZero(x) h = Cast<to = 1>(n)"),
    "Unique": (1, "h = Unique(x)"),
    "Where, Gather": (1, "n = NonZero(c) m = Reshape(n, flat) h = Gather(x, m)"),
    "Range": (1, "m = Squeeze(k) r = Range(z, m, i) h = Cast<to = 1>(r)"),
    "TopK": (1, "h, t = TopK(x, k)"),
    "Slice": (1, "h = Slice(x, zero, k, zero)"),
    "Resize": (2, "u = Unsqueeze(x, zero) h = Resize<mode = \"nearest\">(u, , , s)"),
    "Reshape": (2, "p = ReduceProd(s) q = Expand(near, p) h = Reshape(q, s)"),
    "Expand": (2, "h = Expand(near, s)"),
    "ConstantOfShape": (2, "h = ConstantOfShape(s)"),
    "Loop": (1, "m = Squeeze(k) h = Loop(m, yes, x) <body = b (int64 j, bool g, float[N] t) => "
                "(bool o, float[M] u) { o = Identity(g) u = Concat<axis = 0>(t, t) }>"),
    "Loop, scanned": (2, "m = Squeeze(k) h = Loop(m, yes) <body = b (int64 j, bool g) => "
                         "(bool o, float[1] u) { o = Identity(g) l = Cast<to = 1>(j) u = Reshape(l, flat)}>"),
    "If": (1, "m = Squeeze(k) l = Greater(m, i) h = If (l) <then_branch = t () => (float[P] p) "
              "{ p = Relu(x) }, else_branch = e () => (float[Q] q) { q = Concat<axis = 0>(x, x) }>"),
}  # fmt: skip
#: nodes from h to y of the same rank
BEYOND = (
    "a = Identity(h) y = Abs(a)",
    "a = Relu(h) y = Mul(a, h)",
    "a = Neg(h) y = Concat<axis = 0>(a, h)",
    "y = ReduceSum<keepdims = 1>(h, zero)",
    "a = Shape(h) b = Cast<to = 1>(a) d = ReduceSum<keepdims = 1>(b, zero) y = Add(h, d)",
    "a = Shape(h) y = Expand(near, a)",
)


def declaring(what: str, beyond: str, dims: tuple[int | str, ...], seed: int) -> bytes:
    """The model; `dims` are declared of y, of h, or of both, and of some values between."""
    rng = random.Random(seed)
    text = f"g ({HEAD}) => (float[{','.join(map(str, dims))}] y) {WEIGHTS} {{ {DECIDED[what][1]} {beyond} }}"
    proto = onnx.ModelProto.FromString(parsed(text, 18))
    graph = proto.graph
    if rng.random() < 0.3:
        graph.output[0].type.tensor_type.ClearField("shape")
    for name in ("h", "a"):
        if rng.random() < 0.6 and not (name == "a" and "a = Shape" in beyond):
            info = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
            graph.value_info.append(info)
    if rng.random() < 0.3:
        graph.output.append(onnx.helper.make_tensor_value_info("h", onnx.TensorProto.FLOAT, dims))
    used = {name for node in graph.node for name in node.input if name}
    inner = {n for node in graph.node for a in node.attribute for b in a.g.node for n in b.input}
    kept = [value for value in graph.input if value.name in used | inner]
    del graph.input[:]
    graph.input.extend(kept)
    return proto.SerializeToString()


def feed(model: bytes, rng: random.Random) -> Feeds:
    n = rng.randint(2, 5)
    x = np.array([rng.choice((-1, 0, 0.5, 2)) for _ in range(n)], np.float32)
    chosen = np.array([rng.random() < 0.5 for _ in range(n)])
    sizes = np.array([rng.randint(1, 4), rng.randint(1, 4)], np.int64)
    everything = {"x": x, "c": chosen, "s": sizes, "k": np.array([rng.randint(0, 2)], np.int64)}
    return {v.name: everything[v.name] for v in onnx.ModelProto.FromString(model).graph.input}


def check_declared(what: str, seed: int) -> None:
    rng = random.Random(seed)
    rank, beyond = DECIDED[what][0], rng.choice(BEYOND)
    # numbers declared of what Shape reads are true for onnxruntime's optimiser, wrong as they may be
    numbers = () if "Shape(h)" in beyond else (1, 2, 7)
    dims = tuple(rng.choice((*numbers, "N", "M", "K")) for _ in range(rank))
    model = declaring(what, beyond, dims, seed)
    stock(model, "CPUExecutionProvider")
    sessions = Everywhere(model)
    for _ in range(4):
        sessions.check(feed(model, rng))


pytestmark = pytest.mark.filterwarnings("ignore:.*(don't count|without a sample run):RuntimeWarning")


@pytest.mark.parametrize("what", DECIDED)
def test_what_data_decides_is_bound_by_no_declaration(what: str) -> None:
    for seed in range(2):
        check_declared(what, seed)


@pytest.mark.slow
@pytest.mark.parametrize("what", DECIDED)
def test_many_declarations(what: str) -> None:
    for seed in range(100, 130):
        check_declared(what, seed)


def test_a_declared_output_binds_no_input_of_a_group() -> None:
    nodes = "k = Compress<axis = 0>(x, c) i = Identity(k) y = Abs(i)"
    sessions = Everywhere(parsed(f"g (float[N] x, bool[N] c) => (float[1] y) {{ {nodes} }}"))
    x = np.array([-1, 2, -3, 4], np.float32)
    for chosen in ([1, 0, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]):
        sessions.check({"x": x, "c": np.array(chosen, bool)})
