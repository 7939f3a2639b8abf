"""Sizes declared of what data decides: onnxruntime takes them for remarks, and so does everything here. Right
numbers declared of what a kernel can compare with its arguments make the node native."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from everywhere import Everywhere, Feeds, parsed, ramp, stock

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

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


# --- numbers declared of what comes of arguments that are fed ------------------------------------

FED_HEAD = (
    "float[3,4] x, float[3,1] u, float[1,4,4] c, float[1,2,3] t, int64[3] i, "
    "int64[1] k, int64[2] s, int64[2] r, int64[1] a, int64 n, float[2] v, int64[4] p"
)
#: nodes that make h of arguments that are fed
FED = {
    "ReduceSum": "h = ReduceSum(x, a)",
    "ReduceMax, dropped": "h = ReduceMax<keepdims = 0>(x, a)",
    "ReduceL2, twice": "h = ReduceL2(x, r)",
    "Slice": "h = Slice(x, k, n1, a)",
    "Pad": "h = Pad(x, p)",
    "Pad, axes": 'h = Pad<mode = "edge">(x, s, , a)',
    "Tile": "h = Tile(x, s)",
    "Expand": "h = Expand(u, e)",
    "Reshape": "h = Reshape(x, f)",
    "ConstantOfShape": "h = ConstantOfShape(s)",
    "OneHot": "h = OneHot(i, k, v)",
    "TopK": "h, w = TopK<axis = 0>(x, k)",
    "Range": "l = Range(z, n, o) h = Cast<to = 1>(l)",
    "Resize": 'b = Unsqueeze(x, zero) h = Resize<axes = [1, 2], mode = "linear">(b, , , s)',
    "Resize, scales": 'h = Resize<mode = "nearest">(x, , g)',
    "CenterCropPad": "h = CenterCropPad(x, s)",
    "Col2Im": "h = Col2Im(c, q, ones)",
    "AffineGrid": "h = AffineGrid(t, d)",
    "HannWindow": "h = HannWindow(n)",
    "HammingWindow": "h = HammingWindow<periodic = 0>(n)",
    "BlackmanWindow": "h = BlackmanWindow(n)",
    "Split": "h, w = Split<axis = 1>(x, j)",
    "Unsqueeze": "h = Unsqueeze(x, a)",
    "Squeeze": "b = Transpose(u) m = Unsqueeze(b, a0) h = Squeeze(m, y0)",
}
FED_WEIGHTS = "<int64[1] zero = {0}, int64[2] ones = {1, 1}, int64 z = {0}, int64 o = {1}, int64[1] a0 = {0}>"
#: inputs beside those of FED_HEAD
MORE = "int64[1] n1, int64[2] e, int64[2] f, int64[4] d, int64[2] q, int64[2] j, float[2] g, int64[1] y0"
#: nodes from h to y, whatever the rank
BEYOND_FED = (
    "b1 = Identity(h) y = Abs(b1)",
    "b1 = Relu(h) y = Mul(b1, h)",
    "b1 = Neg(h) y = Concat<axis = 0>(b1, h)",
    "y = ReduceSum<keepdims = 1>(h, zero)",
)


def feed_arguments(model: bytes, rng: random.Random) -> Feeds:
    def floats(*dims: int) -> np.ndarray:
        return np.array([rng.choice((-1, 0.25, 0.5, 2)) for _ in range(np.prod(dims))], np.float32).reshape(
            dims
        )

    def ints(*values: int) -> np.ndarray:
        return np.array(values, np.int64)

    length, first = rng.randint(1, 5), rng.randint(1, 3)
    everything = {
        "x": floats(3, 4), "u": floats(3, 1), "c": floats(1, 4, 4), "t": floats(1, 2, 3), "v": floats(2),
        "i": ints(0, -1, 2), "k": ints(rng.randint(1, 3)), "s": ints(rng.randint(1, 4), rng.randint(1, 4)),
        "r": ints(*rng.choice(((0, 1), (0, 0), (1, -1), (0, -1)))), "a": ints(rng.choice((-2, -1, 0, 1))),
        "n": np.array(length), "n1": ints(length), "p": ints(*(rng.randint(-1, 2) for _ in range(4))),
        "e": ints(rng.choice((1, 3)), rng.randint(1, 4)), "y0": ints(rng.choice((0, 1, -3))),
        "f": ints(*rng.choice(((3, 4), (4, 3), (2, -1), (-1, 6), (0, 4), (12, 1)))),
        "d": ints(1, 1, rng.randint(1, 3), rng.randint(1, 3)), "j": ints(first, 4 - first),
        "q": ints(*rng.choice(((1, 4), (2, 2), (4, 1)))),
        "g": np.array([rng.choice((1, 2)), rng.choice((1, 1.5))], np.float32),
    }  # fmt: skip
    return {value.name: everything[value.name] for value in onnx.ModelProto.FromString(model).graph.input}


def fed(what: str, beyond: str, shapes: dict[str, tuple[int, ...]], rng: random.Random) -> bytes:
    """The model, which declares some of `shapes` of its values; h is an output without them."""
    text = f"g ({FED_HEAD}, {MORE}) => (float y) {FED_WEIGHTS} {{ {FED[what]} {beyond} }}"
    proto = onnx.ModelProto.FromString(parsed(text, 20))
    graph = proto.graph
    used = {name for node in graph.node for name in node.input}
    kept = [value for value in graph.input if value.name in used]
    del graph.input[:], graph.output[:]
    graph.input.extend(kept)
    info = onnx.helper.make_tensor_value_info
    graph.output.append(info("y", onnx.TensorProto.FLOAT, shapes.get("y") if rng.random() < 0.7 else None))
    if not shapes or rng.random() < 0.3:
        graph.output.append(info("h", onnx.TensorProto.FLOAT, shapes.get("h")))
    elif rng.random() < 0.9:
        graph.value_info.append(info("h", onnx.TensorProto.FLOAT, shapes["h"]))
    if "w = " in FED[what]:
        second = onnx.TensorProto.INT64 if what == "TopK" else onnx.TensorProto.FLOAT
        (graph.value_info if shapes else graph.output).append(info("w", second, shapes.get("w")))
    return proto.SerializeToString()


def check_fed(what: str, seed: int) -> None:
    """Declared are the shapes that one feed makes; others make others."""
    rng = random.Random(seed)
    beyond = rng.choice(BEYOND_FED)
    bare = fed(what, beyond, {}, rng)
    right = feed_arguments(bare, rng)
    names = [output.name for output in onnx.ModelProto.FromString(bare).graph.output]
    made = dict(zip(names, stock(bare, "CPUExecutionProvider").run(names, right), strict=True))
    model = fed(what, beyond, {name: array.shape for name, array in made.items()}, rng)
    sessions = Everywhere(model)
    values = onnx.ModelProto.FromString(model).graph
    if any(v.name == "h" for v in (*values.output, *values.value_info)):
        assert {row.target for row in sessions.conversion.partition_table} == {"AscendEP"}
    for feeds in (right, feed_arguments(bare, rng), right, feed_arguments(bare, rng)):
        sessions.check(feeds)


@pytest.mark.parametrize("what", FED)
def test_numbers_declared_of_what_arguments_make(what: str) -> None:
    for seed in range(3):
        check_fed(what, seed)


@pytest.mark.slow
@pytest.mark.parametrize("what", FED)
def test_many_numbers_declared_of_what_arguments_make(what: str) -> None:
    for seed in range(100, 130):
        check_fed(what, seed)


def test_arguments_that_are_wrong_by_themselves_are_our_errors() -> None:
    model = parsed("g (float[3,4] x, int64[1] a) => (float[1,4] y) { h = ReduceSum(x, a) y = Neg(h) }")
    x = ramp(3, 4)
    for session in Everywhere(model).ours.values():
        with pytest.raises(Exception, match="axis 2 is outside a rank of 2"):
            session.run(None, {"x": x, "a": np.array([2])})
        assert session.run(None, {"x": x, "a": np.array([0])})[0].shape == (1, 4)
        assert "AscendEP" in session.get_providers()


@pytest.mark.parametrize("wrong", [2, 7])
def test_declared_numbers_that_no_node_can_work_with(wrong: int) -> None:
    """The sum needs 3 rows or one."""
    text = "g (float[3,4] x, int64[1] b, int64[1] e) => (y) <float[3, 1] w = {1, 2, 3}> "
    proto = onnx.ModelProto.FromString(parsed(text + "{ h = Slice(x, b, e) y = Add(h, w) }"))
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    proto.graph.output.append(onnx.helper.make_tensor_value_info("h", onnx.TensorProto.FLOAT, (wrong, 4)))
    conversion = convert(proto.SerializeToString(), ConvertOptions(precision="origin", self_check=False))
    session = ascend_ep.InferenceSession(conversion.to_bytes())
    for end in (1, 3):
        y, h = session.run(None, {"x": ramp(3, 4), "b": np.array([0]), "e": np.array([end])})
        assert (y.shape, h.shape) == ((3, 4), (end, 4))


# --- any declaration ----------------------------------------------------------------------------


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
